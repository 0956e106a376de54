//! A batch as it stands.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::tally::{MemberTally, PhaseTally};
use crate::id::{BatchId, MemberId, PhaseId, RunId, Tenant};
use crate::time::Timestamp;

const MILLIS_PER_MINUTE: i64 = 60_000;

/// Where a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// it exists with its members and phases; nothing was begun
    Detected,
    /// it is being prepared
    InitDispatched,
    /// phases may run
    Active,
    /// it is over, and a phase was completed
    Completed,
    /// it is over, and none was
    Failed,
    /// a person stopped it
    Cancelled,
}

/// Where a phase of a batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseStatus {
    /// its time has not come
    Pending,
    /// its gate is open, or being opened, for every member
    Dispatched,
    /// over, and at least one member did all of it
    Completed,
    /// over, and no member did all of it
    Failed,
    /// passed over: nobody was left for it, it was overdue, or the batch was stopped
    Skipped,
    /// replaced by a phase of a newer version
    Superseded,
}

/// How a batch came to be, which says who may change its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchMode {
    /// its members have the same moment in a column
    Scheduled,
    /// whoever was new when the source was asked
    Immediate,
    /// a person made it, and moves it from phase to phase
    Manual,
}

macro_rules! words {
    ($name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every one, in the order of a life.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word stored and shown.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }

            /// What a stored word means.
            #[must_use]
            pub fn of_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.word() == word)
            }
        }
    };
}

words!(BatchStatus {
    Detected => "detected",
    InitDispatched => "init_dispatched",
    Active => "active",
    Completed => "completed",
    Failed => "failed",
    Cancelled => "cancelled",
});

words!(PhaseStatus {
    Pending => "pending",
    Dispatched => "dispatched",
    Completed => "completed",
    Failed => "failed",
    Skipped => "skipped",
    Superseded => "superseded",
});

words!(BatchMode {
    Scheduled => "scheduled",
    Immediate => "immediate",
    Manual => "manual",
});

impl BatchStatus {
    /// Nothing changes it any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Detected | Self::InitDispatched | Self::Active => false,
        }
    }
}

impl PhaseStatus {
    /// Nothing changes it any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Skipped | Self::Superseded => true,
            Self::Pending | Self::Dispatched => false,
        }
    }
}

/// What is true of a batch from its first moment on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchHeader {
    /// its number
    pub id: BatchId,
    /// whom it belongs to
    pub tenant: Tenant,
    /// the runbook it follows
    pub runbook: String,
    /// how it came to be
    pub mode: BatchMode,
    /// the moment under which its source knows it: T-0 as it was detected. It stays when T-0 is moved,
    /// so that the source's rows still find their batch
    pub slot: Option<Timestamp>,
    /// who made it
    pub actor: String,
    /// when
    pub created_at: Timestamp,
}

/// A batch of members on a timeline: the whole state that decisions are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// what never changes
    pub header: Arc<BatchHeader>,
    /// decisions so far
    pub version: u64,
    /// where it stands
    pub status: BatchStatus,
    /// no phase begins, and its members' runs are paused
    pub paused: bool,
    /// the version of the runbook that it follows
    pub runbook_version: u32,
    /// T-0; `None`: a person moves it on
    pub start: Option<Timestamp>,
    /// when a person first moved it on, which is what a manual batch shows as its start
    pub advanced_at: Option<Timestamp>,
    /// how far its preparation has come
    pub init: Init,
    /// when its preparation was last begun
    pub init_dispatched_at: Option<Timestamp>,
    /// of every version it has followed, oldest version first; within one, in the order they are due
    pub phases: Vec<Phase>,
    /// what must still be done to every member, in this order
    pub sweeps: VecDeque<Sweep>,
    /// the phase it was last moved on to
    pub current_phase: Option<String>,
    /// members that ever joined
    pub joined: i64,
    /// members that left
    pub removed: i64,
    /// where the members stand; moved by their own commits
    pub tally: MemberTally,
    /// when it last changed
    pub updated_at: Timestamp,
    /// when it ended
    pub ended_at: Option<Timestamp>,
}

/// How far the preparation of a batch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "run")]
pub enum Init {
    /// there is none
    Absent,
    /// it has not begun
    Pending,
    /// this run is at it
    Dispatched(RunId),
    /// this run did it
    Succeeded(RunId),
    /// this run failed at it
    Failed(RunId),
}

/// One phase of a batch, under one version of its runbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// its number
    pub id: PhaseId,
    /// as in the document
    pub name: String,
    /// the version it belongs to
    pub version: u32,
    /// the gate of its steps in the members' runs
    pub gate: String,
    /// minutes before T-0; negative after it
    pub offset_minutes: i32,
    /// how many steps it has for each member
    pub steps: u16,
    /// when it begins; `None`: when a person says so
    pub due_at: Option<Timestamp>,
    /// where it stands
    pub status: PhaseStatus,
    /// when it began
    pub dispatched_at: Option<Timestamp>,
    /// when it was over
    pub completed_at: Option<Timestamp>,
    /// where the members stand with it; moved by their own commits
    pub tally: PhaseTally,
}

/// Something that must be done to every member of a batch. Doing it twice changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// what
    pub kind: SweepKind,
    /// it is done for every member up to this one
    pub after: MemberId,
}

/// What must be done to every member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepKind {
    /// open a gate
    Open {
        /// of which phase
        gate: String,
    },
    /// T-0 has become known or was moved: tell the runs
    Refresh,
    /// follow a newer version of the runbook
    Adopt {
        /// which
        version: u32,
        /// gates of earlier versions that will not open any more, or close again
        superseded: Vec<String>,
        /// gates of the new version that are passed over
        skipped: Vec<String>,
    },
    /// dispatch nothing new
    Pause,
    /// go on
    Resume,
    /// stop
    Cancel,
}

/// The phases of one version of a runbook, as a batch is given them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// which version
    pub version: u32,
    /// it has steps that prepare a batch
    pub has_init: bool,
    /// in the order they are due
    pub phases: Vec<TimelinePhase>,
}

/// A phase as a batch is given it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelinePhase {
    /// a number that is nobody else's
    pub id: PhaseId,
    /// as in the document
    pub name: String,
    /// the gate of its steps in the members' runs
    pub gate: String,
    /// minutes before T-0; negative after it
    pub offset_minutes: i32,
    /// how many steps it has for each member
    pub steps: u16,
}

/// What becomes of phases of a newer version that are past due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overdue {
    /// they are done again
    Rerun,
    /// they are passed over
    Ignore,
}

impl Batch {
    /// A batch before its first decision.
    #[must_use]
    pub fn new(header: Arc<BatchHeader>, timeline: &Timeline, start: Option<Timestamp>) -> Self {
        let created_at = header.created_at;
        let init = if timeline.has_init { Init::Pending } else { Init::Absent };
        Self {
            header,
            version: 0,
            status: BatchStatus::Detected,
            paused: false,
            runbook_version: timeline.version,
            start,
            advanced_at: None,
            init,
            init_dispatched_at: None,
            phases: timeline.phases(start).collect(),
            sweeps: VecDeque::new(),
            current_phase: None,
            joined: 0,
            removed: 0,
            tally: MemberTally::default(),
            updated_at: created_at,
            ended_at: None,
        }
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> BatchId {
        self.header.id
    }

    /// The phases of the version that it follows now.
    pub fn current_phases(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(|phase| phase.version == self.runbook_version)
    }

    /// What templates are told as the batch's start: T-0, or when a person first moved it on.
    #[must_use]
    pub fn start_shown(&self) -> Option<Timestamp> {
        self.start.or(self.advanced_at)
    }

    /// When something must happen even if nobody calls.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        if !self.sweeps.is_empty() {
            return Some(self.updated_at);
        }
        if self.status != BatchStatus::Active || self.paused {
            return None;
        }
        let waits = |phase: &&Phase| phase.status == PhaseStatus::Pending;
        self.current_phases().filter(waits).filter_map(|phase| phase.due_at).min()
    }

    /// Nothing is left to be done, not even for what was under way when it ended.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        let under_way = |phase: &Phase| phase.status == PhaseStatus::Dispatched;
        self.status.is_terminal() && self.sweeps.is_empty() && !self.phases.iter().any(under_way)
    }

    /// Members that neither left nor failed.
    #[must_use]
    pub fn active_members(&self) -> i64 {
        self.joined - self.removed - self.tally.failed
    }
}

impl Timeline {
    /// The phases as they stand in a batch with this T-0.
    pub fn phases(&self, start: Option<Timestamp>) -> impl Iterator<Item = Phase> {
        let version = self.version;
        self.phases.iter().map(move |phase| Phase {
            id: phase.id,
            name: phase.name.clone(),
            version,
            gate: phase.gate.clone(),
            offset_minutes: phase.offset_minutes,
            steps: phase.steps,
            due_at: start.map(|start| due_at(start, phase.offset_minutes)),
            status: PhaseStatus::Pending,
            dispatched_at: None,
            completed_at: None,
            tally: PhaseTally::default(),
        })
    }
}

/// When a phase so many minutes before T-0 is due.
#[must_use]
pub fn due_at(start: Timestamp, offset_minutes: i32) -> Timestamp {
    Timestamp::from_millis(start.as_millis() - i64::from(offset_minutes) * MILLIS_PER_MINUTE)
}
