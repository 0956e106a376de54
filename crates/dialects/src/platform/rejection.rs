//! An order that never becomes a job: why, for the dead letter and for the person who reads it.

use std::fmt;

use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use crate::problem::{Problems, quoted};

/// There is no workflow of that name (B-047).
pub const WORKFLOW_NOT_FOUND: &str = "WorkflowNotFound";
/// The message is not what it must be (B-015).
pub const MESSAGE_INVALID: &str = "MessageInvalid";
/// The message waited for too long.
pub const MESSAGE_EXPIRED: &str = "MessageExpired";
/// The workflow does not take this input.
pub const INPUT_INVALID: &str = "InputInvalid";
/// The message was handed out too often, and no job came of it.
pub const DELIVERY_LIMIT: &str = "DeliveryLimit";

/// Every reason, with the word that stands for it where errors have codes.
pub const REASONS: [(&str, &str); 5] = [
    (WORKFLOW_NOT_FOUND, "workflow_not_found"),
    (MESSAGE_INVALID, "message_invalid"),
    (MESSAGE_EXPIRED, "message_expired"),
    (INPUT_INVALID, "input_invalid"),
    (DELIVERY_LIMIT, "delivery_limit"),
];

/// An order that never becomes a job. It is kept as a dead letter and can be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// one of [`REASONS`]
    pub reason: &'static str,
    /// what happened, in a sentence
    pub description: String,
}

impl Rejection {
    /// There is no workflow of that name.
    #[must_use]
    pub fn workflow_not_found(workflow_id: &str) -> Self {
        let description = format!("workflow {} does not exist", quoted(workflow_id));
        Self { reason: WORKFLOW_NOT_FOUND, description }
    }

    /// The message was handed out too often; `cause` is what stood in the way the last time.
    #[must_use]
    pub fn delivery_limit(deliveries: u32, cause: &str) -> Self {
        let description = format!("handed out {deliveries} times without success: {cause}");
        Self { reason: DELIVERY_LIMIT, description }
    }

    pub(super) fn expired(expires_at: Timestamp) -> Self {
        let description = format!("no instance took it before {expires_at}");
        Self { reason: MESSAGE_EXPIRED, description }
    }

    pub(super) fn message_invalid(problems: &Problems) -> Self {
        Self { reason: MESSAGE_INVALID, description: sentence(problems) }
    }

    pub(super) fn input_invalid(problems: &Problems) -> Self {
        Self { reason: INPUT_INVALID, description: sentence(problems) }
    }

    /// The same as the error of a dead letter.
    #[must_use]
    pub fn error(&self) -> StepError {
        let code = REASONS.iter().find(|(reason, _)| *reason == self.reason);
        StepError::new(code.map_or("rejected", |(_, code)| code), self.description.as_str())
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.description)
    }
}

impl std::error::Error for Rejection {}

/// The problems in one sentence; the first few are enough to see what is wrong.
fn sentence(problems: &Problems) -> String {
    const SHOWN_MAX: usize = 3;
    let shown: Vec<String> = problems.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    let more = problems.iter().count().saturating_sub(SHOWN_MAX);
    match more {
        0 => shown.join("; "),
        more => format!("{}; and {more} more", shown.join("; ")),
    }
}
