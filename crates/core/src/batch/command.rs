//! Everything that may be asked of a batch, or may happen to it; and the ways to say no.

use serde::{Deserialize, Serialize};

use super::state::{BatchStatus, Overdue, Timeline};
use crate::command::Act;
use crate::id::{MemberId, PhaseId};
use crate::run::RunStatus;
use crate::time::Timestamp;

/// Asks a batch for a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum BatchCommand {
    /// begin: prepare it, or let its phases run; a manual batch waits for a person
    Detect,
    /// a moment may have come, or a counter may have moved; whether it has, the state says
    Check {
        /// where the run that prepares it stands
        init: Option<RunStatus>,
    },
    /// a person moves a manual batch on: to its preparation, then from phase to phase
    Advance {
        /// who and why
        by: Act,
    },
    /// somebody who keeps the time elsewhere says that the preparation may begin
    BeginInit {
        /// who and why
        by: Act,
    },
    /// somebody who keeps the time elsewhere says that a phase is due
    BeginPhase {
        /// which
        phase: PhaseId,
        /// who and why
        by: Act,
    },
    /// members join
    Join {
        /// how many
        members: u32,
        /// who and why
        by: Act,
    },
    /// members leave
    Remove {
        /// how many
        members: u32,
        /// who and why
        by: Act,
    },
    /// T-0 is another moment
    Move {
        /// which
        start: Timestamp,
        /// who and why
        by: Act,
    },
    /// follow a newer version of the runbook
    Adopt {
        /// its phases
        timeline: Timeline,
        /// what becomes of those past due
        overdue: Overdue,
        /// prepare the batch again
        rerun_init: bool,
        /// who and why
        by: Act,
    },
    /// begin no phase and dispatch nothing
    Pause {
        /// who and why
        by: Act,
    },
    /// go on
    Resume {
        /// who and why
        by: Act,
    },
    /// stop
    Cancel {
        /// who and why
        by: Act,
    },
    /// the first sweep has come further
    Swept {
        /// up to this member; `None`: it is done
        through: Option<MemberId>,
    },
}

/// Why a command was not followed. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchRefusal {
    /// what has ended never changes
    #[error("the batch has ended as {}", .0.word())]
    Ended(BatchStatus),
    /// its source says when it moves on
    #[error("only a manual batch is advanced by hand; this one follows its timeline")]
    NotManual,
    /// it has no T-0
    #[error("a manual batch has no T-0 to move; advance it instead")]
    Manual,
    /// what was begun must end first
    #[error("{0} is still under way; advance again when it is over")]
    UnderWay(String),
    /// every phase has begun
    #[error("every phase of the batch has begun; there is nothing left to advance to")]
    NothingLeft,
    /// there is no such phase
    #[error("the batch has no phase {0}")]
    UnknownPhase(PhaseId),
    /// phases run only in an active batch
    #[error("the batch is {}; its phases begin when it is active", .0.word())]
    NotActive(BatchStatus),
    /// nothing begins in a paused batch
    #[error("the batch is paused; resume it first")]
    Paused,
}

impl BatchRefusal {
    /// A stable word for wires and metrics.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Ended(_) => "batch_ended",
            Self::NotManual => "batch_not_manual",
            Self::Manual => "batch_manual",
            Self::UnderWay(_) => "batch_under_way",
            Self::NothingLeft => "batch_nothing_left",
            Self::UnknownPhase(_) => "unknown_phase",
            Self::NotActive(_) => "batch_not_active",
            Self::Paused => "batch_paused",
        }
    }
}
