//! Why the engine did not do it, sorted by what the caller does next.

use stepwell_core::credit::Credits;
use stepwell_core::id::RunId;
use stepwell_core::refusal::Refusal;
use stepwell_dialects::problem::Problems;
use stepwell_store::StoreError;

/// Why the engine did not do it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// There is no such run; give up.
    #[error("there is no run {0}")]
    NotFound(RunId),
    /// The run says no; the reason is an answer.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The run has changed since the caller saw it; look again and ask again.
    #[error("the run is at version {version} now, no longer at {seen}")]
    Changed {
        /// as the caller saw it
        seen: u64,
        /// as it is
        version: u64,
    },
    /// The key was used for another request; use another key.
    #[error("the idempotency key was used for another request, which made run {run}")]
    KeyReused {
        /// the run of the other request
        run: RunId,
    },
    /// The tenant has as many open runs as it may; wait until some have ended.
    #[error("the tenant has {open} open runs and may have {cap}; wait until some have ended")]
    TenantFull {
        /// open now
        open: u32,
        /// allowed
        cap: u32,
    },
    /// The account does not cover what the run sets aside; grant credits, or lower the estimate.
    #[error("the account holds {balance} credits, which does not cover the estimate")]
    CreditsShort {
        /// what the account holds
        balance: Credits,
    },
    /// More was asked than can be taken in; try again shortly.
    #[error("the engine is busy; try again shortly")]
    Busy,
    /// The store is busy, full or away; try again unchanged.
    #[error("{0}; nothing was lost, try again")]
    Unavailable(String),
    /// The engine is stopping, or another instance has taken over; go to another one.
    #[error("the engine is stopping; try again in a moment")]
    Stopped,
    /// Another instance owns the run and will do what is due.
    #[error("another instance owns run {0}")]
    Elsewhere(RunId),
    /// A workflow that runs refer to cannot be read; a person must look.
    #[error("workflow {name} version {version} cannot be used: {problems}")]
    BadWorkflow {
        /// its name
        name: String,
        /// its version
        version: u32,
        /// what is wrong with it
        problems: Problems,
    },
    /// Something is wrong with the stored data or with the program.
    #[error("internal fault: {0}")]
    Broken(String),
}

impl EngineError {
    /// The same may be asked again in a moment.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Busy
                | Self::Unavailable(_)
                | Self::Stopped
                | Self::Elsewhere(_)
                | Self::BadWorkflow { .. }
        )
    }
}

impl From<StoreError> for EngineError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Fenced { .. } => Self::Stopped,
            StoreError::Unavailable { .. } => Self::Unavailable(error.to_string()),
            StoreError::Refused { .. } | StoreError::Broken { .. } => {
                Self::Broken(error.to_string())
            }
        }
    }
}
