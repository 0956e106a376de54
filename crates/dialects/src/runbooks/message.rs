//! What all messages of the runbooks dialect have in common.
//!
//! There are exactly eight kinds: the six of [`crate::runbooks::event`], the job of
//! [`crate::runbooks::directive`] and the result of [`crate::runbooks::outcome`]. All are written with
//! capitals (`BatchId`) and read with any (`batchId`), because older senders wrote them differently
//! . [`topic`] says where they travel, [`StepExecutionId`] how they name a step, [`Rejection`]
//! why one of them is not used. `docs/dialects/runbooks-messages.md` is the reference for senders.

mod casing;
mod execution;
mod rejection;
pub mod topic;

pub(super) use self::casing::recase;
pub use self::execution::{StepExecutionId, StepExecutionIdError};
pub use self::rejection::{REASONS, Rejection};

/// The content type of every message.
pub const CONTENT_TYPE: &str = "application/json";

/// The application property that says which event a message is.
pub const MESSAGE_TYPE: &str = "MessageType";

/// The application property by which a worker's subscription finds its jobs.
pub const WORKER_ID: &str = "WorkerId";

/// Writes a message of this dialect.
pub(super) fn body(message: &impl serde::Serialize) -> String {
    serde_json::to_string(message).expect("texts, numbers and JSON can be written as JSON")
}
