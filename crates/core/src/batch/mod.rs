//! A batch of members on a timeline: what it is, what may happen to it, and what that means.
//!
//! A member is a run whose phases are gates, so a batch decides only what is true of all of them:
//! when a phase begins, when it is over, what a new version means, when the batch has ended. Read
//! [`state`], then [`command`], [`decide`] and [`entry`]. What the members do is known from
//! [`tally`]: counters that move in the same transaction as the step that moved them. What must be
//! done to every member is a [`state::Sweep`]: a row that remembers how far it has come, so that it
//! goes on after a crash where it stood.

mod catch_up;
pub mod command;
pub mod decide;
pub mod entry;
mod evolve;
pub mod state;
pub mod tally;

pub use catch_up::CatchUp;
pub use command::{BatchCommand, BatchRefusal};
pub use decide::{BatchDecision, BatchEffect, decide_batch};
pub use entry::{BatchEntry, BatchRecord};
pub use evolve::evolve_batch;
pub use state::{
    Batch, BatchHeader, BatchMode, BatchStatus, Init, Overdue, Phase, PhaseStatus, Sweep,
    SweepKind, Timeline, TimelinePhase,
};
pub use tally::{MemberTally, PhaseTally, Tally};
