//! Messages that nobody can follow: kept as dead letters, for a person.

use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::{Poison, envelope};
use stepwell_engine::Unusable;
use stepwell_store::{NewDeadLetter, Submission};

use crate::error::{ApiError, Code};
use crate::state::Api;

/// The queue of messages on their way to their dead letters.
const QUEUE: &str = "workspace-messages";

/// How long one is kept that nobody settles.
const TTL: Interval = Interval::from_secs(7 * 24 * 60 * 60);

/// Keeps a message as a dead letter; what its sender is told.
pub(super) async fn keep(api: &Api, body: &[u8], poison: Poison) -> ApiError {
    tracing::warn!(reason = poison.reason, "poison_message");
    let message = Unusable {
        queue: QUEUE,
        dialect: Dialect::Workspaces,
        // The reason travels with it: it may depend on what the store held when it came.
        about: poison.reason,
        body,
        keep: TTL,
    };
    match api.engine().keep_unusable(message, letter).await {
        Ok(()) => ApiError::new(Code::PoisonMessage, poison.to_string()),
        Err(error) => error.into(),
    }
}

fn letter(message: &Submission, now: Timestamp) -> Option<NewDeadLetter> {
    Some(NewDeadLetter {
        first_error: None,
        reason: message.message.workflow.clone(),
        step: None,
        error: StepError::new("poison_message", description(message)),
        at: now,
    })
}

/// What is wrong with a message, as far as the message itself shows it.
fn description(message: &Submission) -> String {
    match envelope::read(message.message.body.as_bytes()) {
        Err(poison) => poison.description,
        Ok(read) => format!("job {} is not a job of workspace {}", read.job_id, read.workspace_id),
    }
}
