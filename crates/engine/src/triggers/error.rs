//! Why it was not done to a trigger, sorted by what the caller does next.

use stepwell_connectors::egress::SignatureError;
use stepwell_connectors::file_drop::{DropError, GlobError};
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::rejection::Rejection;
use stepwell_dialects::workspaces::schedule::ScheduleError;
use stepwell_store::StoreError;

use crate::error::EngineError;

/// Why it was not done to a trigger.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// The workspace has no such trigger; look at its name.
    #[error("the workspace has no trigger {0:?}")]
    NotFound(String),
    /// It is switched off; switch it on first.
    #[error("trigger {0:?} is switched off; enable it first")]
    Disabled(String),
    /// It has changed since the caller saw it; look again.
    #[error("trigger {name:?} has changed since; it is at version {version} now")]
    Changed {
        /// its name
        name: String,
        /// as it is
        version: u32,
    },
    /// It fires by other means.
    #[error("a trigger of kind {} is not fired by hand; {}", .0.word(), match .0 {
        TriggerKind::FileDrop => "drop a file",
        _ => "send it a signed request",
    })]
    NotByHand(TriggerKind),
    /// It is no webhook.
    #[error("trigger {0:?} takes no webhooks")]
    NoHook(String),
    /// The request is not signed as agreed. Tell the caller no more than that.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The secret is to come from a variable that is not set, or holds none; the operator must look.
    #[error("the variable {0}, which holds the secret of the trigger, is not set or is no secret")]
    NoSecret(String),
    /// The secret is not ours to replace; change the variable.
    #[error("the secret of the trigger comes from the variable {0}; change it there")]
    SecretElsewhere(String),
    /// The document or what it would start is wrong; correct it.
    #[error("{0}")]
    Rejected(Rejection),
    /// The cron expression or the time zone is wrong; correct it.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The directory cannot be watched; name another, or allow it.
    #[error(transparent)]
    Directory(#[from] DropError),
    /// The pattern of names is none; correct it.
    #[error(transparent)]
    Glob(#[from] GlobError),
    /// There is no such workflow; publish it first.
    #[error("there is no workflow {0:?}; publish it first")]
    WorkflowNotFound(String),
    /// The engine says no.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<Rejection> for TriggerError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<StoreError> for TriggerError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}
