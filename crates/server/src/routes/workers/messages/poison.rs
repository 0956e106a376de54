//! Messages that nobody can follow: kept as dead letters, for a person.
//!
//! They go through a queue of their own, so that one that was taken in is not lost if the process ends
//! before its dead letter is written: whoever comes next settles it.

use stepwell_core::duration::Interval;
use stepwell_core::step::StepError;
use stepwell_dialects::workspaces::{Poison, envelope};
use stepwell_store::{Disposition, NewDeadLetter, NewSubmission, Submission, SubmissionSettlement};

use crate::error::{ApiError, Code};
use crate::routes::platform::fresh_id;
use crate::state::Api;

/// The queue of messages on their way to their dead letters.
const QUEUE: &str = "workspace-messages";

/// How long one that was taken is kept from others.
const KEEP: Interval = Interval::from_secs(60);

/// How long one is kept that nobody settles.
const TTL: Interval = Interval::from_secs(7 * 24 * 60 * 60);

/// How many are settled at once.
const SETTLED_MAX: usize = 16;

/// Keeps a message as a dead letter; what its sender is told.
pub(super) async fn keep(api: &Api, body: &[u8], poison: Poison) -> ApiError {
    tracing::warn!(reason = poison.reason, "poison_message");
    match store(api, body, &poison).await {
        Ok(()) => ApiError::new(Code::PoisonMessage, poison.to_string()),
        Err(error) => error,
    }
}

async fn store(api: &Api, body: &[u8], poison: &Poison) -> Result<(), ApiError> {
    let (store, now) = (api.engine().store(), api.engine().now());
    let message = NewSubmission {
        queue: QUEUE.to_owned(),
        message_id: fresh_id(),
        // The reason travels with it: it may depend on what the store held when it came.
        workflow: poison.reason.to_owned(),
        priority: 0,
        body: String::from_utf8_lossy(body).into_owned(),
        enqueued_at: now,
        expires_at: now.after(TTL),
    };
    store.submit(vec![message]).await?;
    let waiting = store.receive(QUEUE.to_owned(), now, KEEP, SETTLED_MAX).await?.messages;
    let settlements = waiting.into_iter().map(|message| {
        let letter = NewDeadLetter {
            first_error: None,
            reason: message.message.workflow.clone(),
            step: None,
            error: StepError::new("poison_message", description(&message)),
            at: now,
        };
        SubmissionSettlement {
            id: message.id,
            deliveries: message.deliveries,
            disposition: Disposition::DeadLetter(letter),
        }
    });
    store.settle_submissions(settlements.collect()).await?;
    Ok(())
}

/// What is wrong with a message, as far as the message itself shows it.
fn description(message: &Submission) -> String {
    match envelope::read(message.message.body.as_bytes()) {
        Err(poison) => poison.description,
        Ok(read) => format!("job {} is not a job of workspace {}", read.job_id, read.workspace_id),
    }
}
