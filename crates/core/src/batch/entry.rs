//! Facts of a batch's history. Stored, never edited; fields may be added if they have a default.

use serde::{Deserialize, Serialize};

use super::state::{BatchStatus, PhaseStatus, SweepKind, Timeline};
use crate::command::Act;
use crate::id::{MemberId, PhaseId, RunId};
use crate::time::Timestamp;

/// One fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum BatchEntry {
    /// it exists, with its phases
    Detected,
    /// its preparation began
    InitDispatched {
        /// by this run
        run: RunId,
        /// under this version
        version: u32,
    },
    /// its preparation is done
    InitSucceeded,
    /// its preparation failed
    InitFailed,
    /// its phases may run
    Activated,
    /// a person moved it on
    Advanced {
        /// who and why
        by: Act,
    },
    /// a phase began
    PhaseDispatched {
        /// which
        phase: PhaseId,
        /// who said so; `None`: its time had come
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Act>,
    },
    /// a phase is over
    PhaseEnded {
        /// which
        phase: PhaseId,
        /// how
        status: PhaseStatus,
    },
    /// members joined
    MembersJoined {
        /// how many
        members: u32,
        /// who and why
        by: Act,
    },
    /// members left
    MembersRemoved {
        /// how many
        members: u32,
        /// who and why
        by: Act,
    },
    /// T-0 became another moment; phases that had not begun moved with it
    StartMoved {
        /// which
        start: Timestamp,
        /// who and why
        by: Act,
    },
    /// it follows a newer version
    VersionAdopted {
        /// its phases
        timeline: Timeline,
        /// who and why
        by: Act,
    },
    /// no phase begins from here on
    Paused {
        /// who and why
        by: Act,
    },
    /// it goes on
    Resumed {
        /// who and why
        by: Act,
    },
    /// it was stopped
    CancelRequested {
        /// who and why
        by: Act,
    },
    /// something must be done to every member
    SweepBegun {
        /// what
        sweep: SweepKind,
    },
    /// it is done up to this member
    SweepAdvanced {
        /// who
        through: MemberId,
    },
    /// it is done
    SweepEnded,
    /// it is over
    Ended {
        /// how
        status: BatchStatus,
    },
}

impl BatchEntry {
    /// The word it is stored and shown under.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Detected => "detected",
            Self::InitDispatched { .. } => "init_dispatched",
            Self::InitSucceeded => "init_succeeded",
            Self::InitFailed => "init_failed",
            Self::Activated => "activated",
            Self::Advanced { .. } => "advanced",
            Self::PhaseDispatched { .. } => "phase_dispatched",
            Self::PhaseEnded { .. } => "phase_ended",
            Self::MembersJoined { .. } => "members_joined",
            Self::MembersRemoved { .. } => "members_removed",
            Self::StartMoved { .. } => "start_moved",
            Self::VersionAdopted { .. } => "version_adopted",
            Self::Paused { .. } => "paused",
            Self::Resumed { .. } => "resumed",
            Self::CancelRequested { .. } => "cancel_requested",
            Self::SweepBegun { .. } => "sweep_begun",
            Self::SweepAdvanced { .. } => "sweep_advanced",
            Self::SweepEnded => "sweep_ended",
            Self::Ended { .. } => "ended",
        }
    }

    /// Somebody may want to read it: how far a sweep has come is of interest only until it is done.
    #[must_use]
    pub fn is_of_interest(&self) -> bool {
        !matches!(self, Self::SweepBegun { .. } | Self::SweepAdvanced { .. } | Self::SweepEnded)
    }
}

/// What one decision wrote: its entries, in order, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchRecord {
    /// the batch's version after it
    pub version: u64,
    /// when it was decided
    pub at: Timestamp,
    /// what happened; without sweeps
    pub entries: Vec<BatchEntry>,
}
