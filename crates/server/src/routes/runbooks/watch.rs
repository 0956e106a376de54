//! A batch live, as server-sent events: the whole batch whenever it has changed.
//!
//! A batch of thousands of members changes thousands of times a minute. So a change is only the hint
//! to look again, and one look stands for all changes since the last.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use stepwell_core::batch::Batch;
use stepwell_core::id::BatchId;
use stepwell_dialects::runbooks::view;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, interval_at, sleep};

use super::{BatchPath, find, runbook_id};
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::events::{EventBody, HEARTBEAT, LOOK, STILL_HERE, answer};
use crate::schema;
use crate::serve::Stopping;
use crate::state::Api;

/// From one event to the next, at least.
const REST: Duration = Duration::from_millis(250);

/// Events that may wait for a slow client.
const EVENTS_MAX: usize = 4;

/// Follow a batch live
///
/// Server-sent events: one named `batch`, with the batch, at once and whenever it has changed, at most
/// four a second. The stream ends when nothing will change any more.
#[utoipa::path(
    get, path = "/api/batches/{batch}/watch", tag = "batches", operation_id = "watchBatch",
    params(schema::BatchPath),
    responses((status = 200, description = "Events", body = String, content_type = "text/event-stream")),
)]
pub(super) async fn watch(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    stopping: Option<Extension<Stopping>>,
) -> Result<Response, ApiError> {
    // Listening comes before reading: what is committed in between is then heard, not missed.
    let changes = api.engine().batch_changes();
    let batch = find(&api, &caller, id).await?;
    let permit = Arc::clone(api.streams()).try_acquire_owned();
    let permit = permit.map_err(|_| {
        ApiError::new(Code::TooManyStreams, "no further stream can be opened").retry_after(10)
    })?;
    let (sender, receiver) = mpsc::channel(EVENTS_MAX);
    let stream = Stream { api, sender, shown: String::new() };
    let stopping = Stopping::wait(stopping.map(|Extension(stopping)| stopping));
    tokio::spawn(async move {
        tokio::select! {
            ended = stream.run(batch, changes) => if let Err(error) = ended {
                tracing::warn!(code = error.code().word(), "batch_stream_broke_off");
            },
            () = stopping => {}
        }
    });
    Ok(answer(EventBody::new(receiver, permit)))
}

struct Stream {
    api: Api,
    sender: mpsc::Sender<Bytes>,
    /// what was sent last
    shown: String,
}

impl Stream {
    /// Shows the batch, waits until it has changed, and ends with it or with the client.
    async fn run(
        mut self,
        mut batch: Batch,
        mut changes: broadcast::Receiver<BatchId>,
    ) -> Result<(), ApiError> {
        let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        while self.show(&batch).await? && !batch.is_settled() {
            sleep(REST).await;
            loop {
                tokio::select! {
                    changed = changed(&mut changes, batch.id()) => match changed {
                        true => break,
                        false => return Ok(()),
                    },
                    () = self.sender.closed() => return Ok(()),
                    // Changes that another instance makes are not heard here, and one that comes
                    // while an earlier one is being dealt with is not told again.
                    () = sleep(LOOK) => break,
                    _ = heartbeat.tick() => {
                        if self.sender.send(STILL_HERE).await.is_err() {
                            return Ok(());
                        }
                    }
                }
            }
            batch = self.api.engine().batch(batch.id()).await?;
        }
        Ok(())
    }

    /// Sends the batch, if it differs from what was sent last; `false` if the client is gone.
    async fn show(&mut self, batch: &Batch) -> Result<bool, ApiError> {
        let view = view::batch(batch, runbook_id(&self.api, batch).await?);
        let text = serde_json::to_string(&view);
        let text = text.map_err(|error| ApiError::internal(&error.to_string()))?;
        if text == self.shown {
            return Ok(!self.sender.is_closed());
        }
        let event = format!("id: {}\nevent: batch\ndata: {text}\n\n", batch.version);
        self.shown = text;
        Ok(self.sender.send(Bytes::from(event)).await.is_ok())
    }
}

/// Waits until the batch may have changed; `false` if nothing will ever change again.
async fn changed(changes: &mut broadcast::Receiver<BatchId>, batch: BatchId) -> bool {
    loop {
        match changes.recv().await {
            Ok(changed) if changed == batch => return true,
            Ok(_) => {}
            // Some were missed: whether one of them was ours, the batch says.
            Err(broadcast::error::RecvError::Lagged(_)) => return true,
            Err(broadcast::error::RecvError::Closed) => return false,
        }
    }
}
