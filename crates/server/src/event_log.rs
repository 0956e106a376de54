//! The log of events live: reads on whenever something may have happened, and sends what is new.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::response::Response;
use serde_json::json;
use stepwell_engine::{Change, EngineError};
use stepwell_store::{EventFilter, EventPlace, Events, StoredEvent};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, interval_at, sleep};

use crate::error::{ApiError, Code};
use crate::events::{EventBody, HEARTBEAT, LOOK, STILL_HERE, answer};
use crate::serve::Stopping;
use crate::state::Api;

/// Events that are read at once.
const READ_MAX: usize = 200;

/// Events that may wait for a slow client before reading the log waits for it too.
const WAITING_MAX: usize = 64;

/// From one look at the log to the next: a busy engine changes thousands of runs a second.
const REST: Duration = Duration::from_millis(50);

/// The oldest place that is kept, if events between `after` and it are gone.
pub(crate) fn missed(after: EventPlace, events: &Events) -> Option<EventPlace> {
    let oldest = events.oldest?;
    // Whoever begins at the beginning has missed nothing that it knew of.
    (after.0 > 0 && oldest.0 > after.0 + 1).then_some(oldest)
}

/// Answers with the events after a place, and with what follows, until the client is gone.
pub(crate) fn follow(
    api: Api,
    filter: EventFilter,
    after: EventPlace,
    stopping: Option<Stopping>,
) -> Result<Response, ApiError> {
    // Listening comes before reading: what is committed in between is then heard, not missed.
    let changes = api.engine().changes();
    let permit = Arc::clone(api.streams()).try_acquire_owned();
    let permit = permit.map_err(|_| {
        ApiError::new(Code::TooManyStreams, "no further stream can be opened").retry_after(10)
    })?;
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let stream = Stream { api, filter, after, sender };
    tokio::spawn(async move {
        tokio::select! {
            ended = stream.run(changes) => if let Err(error) = ended {
                tracing::warn!(%error, "event_log_broke_off");
            },
            () = Stopping::wait(stopping) => {}
        }
    });
    Ok(answer(EventBody::new(receiver, permit)))
}

struct Stream {
    api: Api,
    filter: EventFilter,
    after: EventPlace,
    sender: mpsc::Sender<Bytes>,
}

impl Stream {
    async fn run(mut self, mut changes: broadcast::Receiver<Change>) -> Result<(), EngineError> {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        while self.catch_up().await? {
            sleep(REST).await;
            loop {
                tokio::select! {
                    changed = changes.recv() => match changed {
                        // Some may have been missed; the log has them all.
                        Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => break,
                        Err(broadcast::error::RecvError::Closed) => return Ok(()),
                    },
                    () = self.sender.closed() => return Ok(()),
                    // Another instance's changes are not heard here, and not all events have one.
                    () = sleep(LOOK) => break,
                    _ = heartbeat.tick() => {
                        if self.sender.send(STILL_HERE).await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
            // One look stands for all changes so far.
            while changes.try_recv().is_ok() {}
        }
        Ok(())
    }

    /// Sends every event that was not sent yet; `false` if the client is gone.
    async fn catch_up(&mut self) -> Result<bool, EngineError> {
        loop {
            let store = self.api.engine().store();
            let events = store.events(self.filter.clone(), self.after, READ_MAX).await?;
            if let Some(oldest) = missed(self.after, &events) {
                if !self.send(missed_event(self.after, oldest)).await {
                    return Ok(false);
                }
                self.after = EventPlace(oldest.0 - 1);
            }
            let is_last = events.events.len() < READ_MAX;
            for stored in &events.events {
                if !self.send(event(stored)).await {
                    return Ok(false);
                }
            }
            self.after = self.after.max(events.upto);
            if is_last {
                return Ok(!self.sender.is_closed());
            }
        }
    }

    async fn send(&self, text: String) -> bool {
        self.sender.send(Bytes::from(text)).await.is_ok()
    }
}

fn event(stored: &StoredEvent) -> String {
    let (place, event) = (stored.place.0, &stored.event);
    format!("id: {place}\nevent: {}\ndata: {}\n\n", event.kind, event.body)
}

/// Says that some are gone, and where what is left begins; its id is the place before that.
fn missed_event(after: EventPlace, oldest: EventPlace) -> String {
    let data = json!({"after": after, "oldest": oldest});
    format!("id: {}\nevent: missed\ndata: {data}\n\n", oldest.0 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(after: i64, oldest: Option<i64>, expected: Option<i64>) {
        let events = Events { oldest: oldest.map(EventPlace), ..Events::default() };
        assert_eq!(missed(EventPlace(after), &events), expected.map(EventPlace));
    }

    #[test]
    fn only_who_was_away_for_too_long_has_missed_something() {
        check(0, Some(40), None);
        check(7, Some(3), None);
        check(7, Some(8), None);
        check(7, Some(9), Some(9));
        check(7, None, None);
    }
}
