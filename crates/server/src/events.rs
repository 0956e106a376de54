//! Live events of a job, as server-sent events.
//!
//! The history is the source, and a change is only the hint to read on. So no event is lost: not
//! between two reads, not by a listener that lags behind, not by a client that comes back and says
//! which event it saw last. Each event is named `<version>:<index>` after its place in the history.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use axum::response::Response;
use hyper::body::Frame;
use serde_json::Value;
use stepwell_core::entry::Entry;
use stepwell_core::id::RunId;
use stepwell_core::run::Run;
use stepwell_engine::{Change, EngineError};
use stepwell_store::Record;
use tokio::sync::{OwnedSemaphorePermit, broadcast, mpsc};
use tokio::time::Instant;

use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{JobId, header};
use crate::history;
use crate::routes::find;
use crate::schema;
use crate::serve::Stopping;
use crate::state::Api;

pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A comment now and then keeps proxies from taking the silence for the end.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// The comment.
pub(crate) const STILL_HERE: Bytes = Bytes::from_static(b": still here\n\n");

/// How often the history is read without a hint where another instance may decide the job: its hints
/// stay with it.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

/// Records that are read at once.
const RECORDS_MAX: usize = 200;

/// Events that may wait for a slow client before reading the history waits for it too.
const EVENTS_MAX: usize = 64;

/// Follow a job live
///
/// Server-sent events: one for each entry of the history, from the beginning or after
/// `Last-Event-ID`. The stream ends after the event that ended the job.
#[utoipa::path(
    get, path = "/v1/jobs/{job}/events", tag = "jobs", operation_id = "followJob",
    params(schema::JobPath, ("Last-Event-ID" = Option<String>, Header, description = "the event that was seen last")),
    responses((status = 200, description = "Events", body = String, content_type = "text/event-stream")),
)]
pub(crate) async fn follow(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    headers: HeaderMap,
    stopping: Option<Extension<Stopping>>,
) -> Result<Response, ApiError> {
    let seen = header(&headers, &LAST_EVENT_ID)?.map(Place::read).transpose()?.unwrap_or_default();
    // Listening comes before reading: what is committed in between is then heard, not missed.
    let changes = api.engine().changes();
    let run = find(&api, &caller, id).await?;
    let permit = Arc::clone(api.streams()).try_acquire_owned();
    let permit = permit.map_err(|_| {
        ApiError::new(Code::TooManyStreams, "no further stream can be opened").retry_after(10)
    })?;
    let (sender, receiver) = mpsc::channel(EVENTS_MAX);
    let stream = Stream { api, run, seen, sender };
    let stopping = Stopping::wait(stopping.map(|Extension(stopping)| stopping));
    tokio::spawn(async move {
        tokio::select! {
            ended = stream.run(changes) => if let Err(error) = ended {
                tracing::warn!(%error, "event_stream_broke_off");
            },
            () = stopping => {}
        }
    });
    Ok(answer(EventBody::new(receiver, permit)))
}

/// The answer that a stream is.
pub(crate) fn answer(body: EventBody) -> Response {
    let mut response = Response::new(Body::new(body));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// The place of an event in a history.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    version: u64,
    index: usize,
}

impl Place {
    fn read(text: &str) -> Result<Self, ApiError> {
        let parts = text.split_once(':');
        let place = parts.and_then(|(version, index)| {
            Some(Self { version: version.parse().ok()?, index: index.parse().ok()? })
        });
        place.ok_or_else(|| {
            ApiError::parameter(LAST_EVENT_ID.as_str(), "write the id of an event, such as 7:0")
        })
    }
}

/// What is gone when the client is.
struct Gone;

struct Stream {
    api: Api,
    run: Arc<Run>,
    seen: Place,
    sender: mpsc::Sender<Bytes>,
}

impl Stream {
    /// Sends what is new, waits for more, and ends with the job or with the client.
    async fn run(mut self, mut changes: broadcast::Receiver<Change>) -> Result<(), EngineError> {
        let is_shared = self.api.engine().store().is_shared();
        let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        while let Ok(false) = self.catch_up().await? {
            loop {
                tokio::select! {
                    changed = changed(&mut changes, self.run.id()) => match changed {
                        true => break,
                        false => return Ok(()),
                    },
                    () = self.sender.closed() => return Ok(()),
                    () = tokio::time::sleep(LOOK), if is_shared => break,
                    _ = heartbeat.tick() => {
                        if self.sender.send(STILL_HERE).await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends every event that was not sent yet; `true` if the last one ended the job.
    async fn catch_up(&mut self) -> Result<Result<bool, Gone>, EngineError> {
        loop {
            // The record of the event seen last is read again: there may be more in it.
            let after = self.seen.version.saturating_sub(1);
            let store = self.api.engine().store();
            let records = store.history(self.run.id(), after, RECORDS_MAX).await?;
            let is_last = records.len() < RECORDS_MAX;
            self.know_steps_of(&records).await?;
            for record in &records {
                match self.send(record).await {
                    Ok(false) => {}
                    ended => return Ok(ended),
                }
            }
            if is_last {
                return Ok(Ok(false));
            }
        }
    }

    /// A step may have been expanded since the run was read, and events name its items.
    async fn know_steps_of(&mut self, records: &[Record]) -> Result<(), EngineError> {
        let entries = records.iter().flat_map(|record| &record.entries);
        let furthest = entries.filter_map(Entry::step).max();
        if furthest.is_some_and(|step| self.run.steps.get(step.position()).is_none())
            && let Some(run) = self.api.engine().run(self.run.id()).await?
        {
            self.run = run;
        }
        Ok(())
    }

    async fn send(&mut self, record: &Record) -> Result<bool, Gone> {
        for (index, entry) in record.entries.iter().enumerate() {
            // Versions begin at 1, so the default place is before everything.
            let place = Place { version: record.version, index };
            let is_end = matches!(entry.word(), "run_succeeded" | "run_failed" | "run_cancelled");
            if place > self.seen {
                let mut data = history::entry(&self.run, entry);
                data.insert("version".to_owned(), record.version.into());
                data.insert("at".to_owned(), record.at.to_string().into());
                let (version, data) = (record.version, Value::Object(data));
                let event =
                    format!("id: {version}:{index}\nevent: {}\ndata: {data}\n\n", entry.word());
                self.sender.send(Bytes::from(event)).await.map_err(|_| Gone)?;
                self.seen = place;
            }
            if is_end {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Waits until the run may have changed; `false` if nothing will ever change again.
async fn changed(changes: &mut broadcast::Receiver<Change>, run: RunId) -> bool {
    loop {
        match changes.recv().await {
            Ok(change) if change.run == run => return true,
            Ok(_) => {}
            // Some were missed: whether one of them was ours, the history says.
            Err(broadcast::error::RecvError::Lagged(_)) => return true,
            Err(broadcast::error::RecvError::Closed) => return false,
        }
    }
}

/// The body of an event stream: whatever the channel brings.
pub(crate) struct EventBody {
    receiver: mpsc::Receiver<Bytes>,
    _permit: OwnedSemaphorePermit,
}

impl EventBody {
    /// Whatever this channel brings; the permit is given back when the client is gone.
    pub(crate) fn new(receiver: mpsc::Receiver<Bytes>, permit: OwnedSemaphorePermit) -> Self {
        Self { receiver, _permit: permit }
    }
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use stepwell_core::run::RunStatus;
    use uuid::Uuid;

    use super::*;

    fn change(run: u128) -> Change {
        Change { run: RunId(Uuid::from_u128(run)), version: 1, status: RunStatus::Running }
    }

    #[tokio::test]
    async fn a_listener_that_missed_changes_reads_the_history_again() {
        let (sender, mut changes) = broadcast::channel(1);
        for other in 2..9 {
            sender.send(change(other)).unwrap();
        }
        assert!(changed(&mut changes, RunId(Uuid::from_u128(1))).await);
    }

    #[tokio::test]
    async fn changes_of_other_runs_wake_nobody() {
        let (sender, mut changes) = broadcast::channel(8);
        sender.send(change(2)).unwrap();
        sender.send(change(1)).unwrap();
        assert!(changed(&mut changes, RunId(Uuid::from_u128(1))).await);
        assert!(changes.is_empty());
        drop(sender);
        assert!(!changed(&mut changes, RunId(Uuid::from_u128(1))).await);
    }
}
