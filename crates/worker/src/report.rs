//! Reports in batches, each sent until the server has answered it.
//!
//! The server answers a report for good: it counted, or it came too late. Until then it is sent
//! again, even when the delivery was lost meanwhile: whether the attempt is still in force is the
//! server's to say, and after a restart of the server it usually is.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::client::{Client, ClientError};
use crate::wire::{Answer, Report};

const BATCH_MAX: usize = 64;
const BATCH_WAIT: Duration = Duration::from_millis(5);
/// Batches under way at once; the next one grows meanwhile.
const IN_FLIGHT_MAX: usize = 4;

/// Where reports are handed in.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    inbox: mpsc::Sender<Pending>,
}

#[derive(Debug)]
struct Pending {
    report: Report,
    answered: oneshot::Sender<Answer>,
}

impl Reporter {
    /// A reporter, and the loop that sends for it; the loop ends when the last reporter is dropped.
    pub(crate) fn new(client: Client) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (inbox, pending) = mpsc::channel(BATCH_MAX * IN_FLIGHT_MAX);
        (Self { inbox }, send_all(client, pending))
    }

    /// Sends a report; resolves when the server has answered it. `None`: it never will.
    pub(crate) async fn report(&self, report: Report) -> Option<Answer> {
        let (answered, answer) = oneshot::channel();
        self.inbox.send(Pending { report, answered }).await.ok()?;
        answer.await.ok()
    }
}

async fn send_all(client: Client, mut pending: mpsc::Receiver<Pending>) {
    let mut in_flight = JoinSet::new();
    while let Some(first) = pending.recv().await {
        let batch = collect(first, &mut pending).await;
        if in_flight.len() >= IN_FLIGHT_MAX {
            in_flight.join_next().await;
        }
        in_flight.spawn(send(client.clone(), batch));
    }
    in_flight.join_all().await;
}

async fn collect(first: Pending, pending: &mut mpsc::Receiver<Pending>) -> Vec<Pending> {
    let mut batch = vec![first];
    let until = Instant::now() + BATCH_WAIT;
    while batch.len() < BATCH_MAX {
        match tokio::time::timeout_at(until, pending.recv()).await {
            Ok(Some(next)) => batch.push(next),
            Ok(None) | Err(_) => break,
        }
    }
    batch
}

async fn send(client: Client, mut batch: Vec<Pending>) {
    let mut backoff = Backoff::default();
    while !batch.is_empty() {
        let reports: Vec<&Report> = batch.iter().map(|pending| &pending.report).collect();
        let retry_after = match client.results(&reports).await {
            Ok(answers) => {
                batch = unanswered(batch, answers);
                None
            }
            Err(ClientError::Unavailable { message, retry_after }) => {
                tracing::warn!(message, reports = batch.len(), "reports_not_delivered");
                retry_after
            }
            Err(error) => {
                tracing::error!(%error, reports = batch.len(), "reports_refused");
                return;
            }
        };
        if !batch.is_empty() {
            tokio::time::sleep(backoff.next(retry_after)).await;
        }
    }
}

/// Hands the answers out; what is left is what the server could not take now.
fn unanswered(batch: Vec<Pending>, answers: Vec<Answer>) -> Vec<Pending> {
    let mut left = Vec::new();
    for (pending, answer) in batch.into_iter().zip(answers) {
        if answer.is_not_now() {
            left.push(pending);
        } else {
            // Whoever waited may have been told to stop.
            let _ = pending.answered.send(answer);
        }
    }
    left
}
