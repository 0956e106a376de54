//! What must follow a decision, after its commit.

use std::sync::Arc;

use crate::id::{LeaseId, StepIndex};
use crate::run::{Header, RunStatus};

/// One thing that must follow.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// hand a directive to the bus
    Publish {
        /// for which step
        step: StepIndex,
        /// under which lease
        lease: LeaseId,
    },
    /// take a directive back from the bus: its attempt ended without the worker
    Withdraw {
        /// of which step
        step: StepIndex,
        /// under which lease
        lease: LeaseId,
    },
    /// create and start another run, in the same transaction
    StartRun(Arc<Header>),
    /// tell whoever asked to be told
    Ended {
        /// how
        status: RunStatus,
    },
}
