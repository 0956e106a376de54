//! The ways to say no. A refusal is an answer, not a fault: nothing was written.

use crate::run::RunStatus;
use crate::step::StepStatus;

/// Why a command was not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// the run has ended, and what has ended never changes
    #[error("the run has ended as {}", .0.word())]
    RunEnded(RunStatus),
    /// the step has ended, and what has ended never changes
    #[error("the step has ended as {}", .0.word())]
    StepEnded(StepStatus),
    /// the attempt is not the one in force
    #[error("attempt {named} is not in force; the step is at attempt {current}")]
    AttemptLost {
        /// what the caller named
        named: u32,
        /// what is in force
        current: u32,
    },
    /// the attempt is in force, the lease is not
    #[error("the lease is not the one of attempt {current}")]
    LeaseLost {
        /// the attempt in force
        current: u32,
    },
    /// no attempt is under way
    #[error("no attempt of the step is under way; it is {}", .0.word())]
    NotDispatched(StepStatus),
    /// there is no such step
    #[error("the run has no step {0:?}")]
    UnknownStep(String),
    /// there is no such gate
    #[error("the run has no gate {0:?}")]
    UnknownGate(String),
    /// the run is already under way
    #[error("the run has already started")]
    AlreadyStarted,
    /// nothing may be changed while the run is being stopped
    #[error("the run is being cancelled")]
    Cancelling,
    /// nobody looked the workflow up before the run was asked to follow it
    #[error("workflow {0} was named without its definition; this is a fault of the engine")]
    DefinitionMissing(String),
    /// the run cannot go over to that workflow
    #[error("the run cannot follow workflow {workflow}: {why}")]
    NotAdoptable {
        /// by name and version
        workflow: String,
        /// what stands against it
        why: String,
    },
}

impl Refusal {
    /// A stable word for wires and metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::RunEnded(_) => "run_ended",
            Self::StepEnded(_) => "step_ended",
            Self::AttemptLost { .. } => "stale_attempt",
            Self::LeaseLost { .. } => "stale_lease",
            Self::NotDispatched(_) => "not_dispatched",
            Self::UnknownStep(_) => "unknown_step",
            Self::UnknownGate(_) => "unknown_gate",
            Self::AlreadyStarted => "already_started",
            Self::Cancelling => "run_cancelling",
            Self::DefinitionMissing(_) => "definition_missing",
            Self::NotAdoptable { .. } => "workflow_not_adoptable",
        }
    }

    /// The message came too late or from the wrong attempt: it is recorded, and changes nothing.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        match self {
            Self::RunEnded(_)
            | Self::StepEnded(_)
            | Self::AttemptLost { .. }
            | Self::LeaseLost { .. }
            | Self::NotDispatched(_) => true,
            Self::UnknownStep(_)
            | Self::UnknownGate(_)
            | Self::AlreadyStarted
            | Self::Cancelling
            | Self::DefinitionMissing(_)
            | Self::NotAdoptable { .. } => false,
        }
    }
}
