//! What must follow a decision, after its commit.

use std::sync::Arc;

use crate::id::{LeaseId, StepIndex};
use crate::run::{Header, RunStatus};

/// Names a message that starts an attempt, or asks a polling one again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// for which step
    pub step: StepIndex,
    /// which attempt of it
    pub attempt: u32,
    /// which question of the attempt; 0 is the directive that starts it
    pub poll: u32,
    /// under which lease
    pub lease: LeaseId,
}

/// One thing that must follow.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// hand a directive to the bus
    Publish(Directive),
    /// the bus may forget a directive: its lease has ended, whether a worker answered or not, or a
    /// worker has taken it and keeps it
    Withdraw(Directive),
    /// create and start another run, in the same transaction
    StartRun(Arc<Header>),
    /// tell whoever asked to be told
    Ended {
        /// how
        status: RunStatus,
    },
}
