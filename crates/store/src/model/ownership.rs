//! Who may decide a run, when several instances share one store.
//!
//! A run belongs to one instance, or to nobody. Only its owner writes decisions about it; whoever
//! writes a run that belongs to nobody owns it from then on. Inputs are another matter: any instance
//! stores what a worker or a person says, and the owner decides it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use super::Epoch;

/// What the store answers to a sign of life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// the time of the store's own clock; `None` if it has none and the caller's counts
    pub now: Option<Timestamp>,
}

/// Runs that were taken over because nobody living owned them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// at most as many as asked for; as many as asked for means that more may be left
    pub runs: Vec<RunId>,
    /// instances that were declared dead on this occasion, oldest first; whatever they held is free
    pub dead: Vec<Epoch>,
    /// how long until the next owner will have been silent for too long, if it stays silent
    pub next_in: Option<Interval>,
}

/// An engine instance, as everybody can see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// the right to write that it took at its start
    pub epoch: Epoch,
    /// its own id, new with every start
    pub id: String,
    /// when it came, by the store's clock
    pub started_at: Timestamp,
    /// its last sign of life, by the store's clock
    pub heartbeat_at: Timestamp,
    /// how long ago that was
    pub silent_for: Interval,
    /// what became of it
    pub state: InstanceState,
    /// open runs that it owns
    pub owned: u64,
    /// what it said of itself with its last sign of life
    pub stats: Value,
}

/// What became of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// it may write
    Alive,
    /// it said good-bye, and owns nothing
    Stopped,
    /// it was silent for too long: others took its runs, and what it writes is refused
    Dead,
}

/// Something for a run that another instance owns. Stored by whoever received it, decided by the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// drawn by whoever received it
    pub id: Uuid,
    /// for which run
    pub run: RunId,
    /// what is asked, as the engine wrote it
    pub body: String,
    /// who received it and waits for the answer
    pub from: Epoch,
    /// when it was received
    pub at: Timestamp,
}

/// The owner's answer to an input, which is struck off with it.
///
/// Only the owner's word counts: while the run belongs to somebody else the input stays. If the
/// answer rests on a write of its group, it also stays when that write is stale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputAnswer {
    /// which
    pub input: Uuid,
    /// for which run
    pub run: RunId,
    /// the group writes the run, and the answer follows from that
    pub written: bool,
    /// who waits for it
    pub to: Epoch,
    /// as the engine wrote it
    pub body: String,
}

/// A word from another instance. Any of them may be lost; what counts stands in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// inputs wait for runs that this instance owns
    Inputs,
    /// the owner has decided an input that came from this instance
    Answered {
        /// which
        input: Uuid,
        /// its answer
        body: String,
    },
    /// runs were handed over to this instance
    Given,
    /// runs belong to nobody
    Free,
    /// messages were put in a queue of submissions
    Submitted {
        /// its name
        queue: String,
    },
    /// workers wait at an instance for work that it does not have
    Hungry {
        /// where they wait
        epoch: Epoch,
        /// for which work
        pool: String,
        /// how long they will
        for_ms: u64,
    },
    /// a workflow has a new version, or what was agreed with tenants or subscribers has changed
    Published,
    /// words may have been missed: look at everything
    LookAgain,
}
