//! Batches: members on a timeline, kept moving.
//!
//! A batch is decided like a run (`core::batch`), but by compare-and-set: it changes seldom, and any
//! instance may change it. What its members do goes through the engine's one door as for every run;
//! this module adds what concerns all of them:
//!
//! - `write`: load → decide → commit, again if somebody was faster;
//! - `keeper`: begins what is due, ends what is over, carries sweeps to every member;
//! - `members`: who joins, who leaves, and the runs that follow;
//! - `publish`: versions of runbooks, and batches under way that follow a newer one;
//! - `scheduler` and `pass`: ask the sources, and make batches of their rows;
//! - `order` and `retake`: what a person does to many members at once, and to those who failed;
//! - `numbers`: results that come by number.

mod api;
mod error;
mod keeper;
mod members;
mod numbers;
mod order;
mod pass;
mod preview;
mod publish;
mod retake;
mod scheduler;
mod sources;
mod sweep;
mod write;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use stepwell_core::id::BatchId;
use stepwell_core::run::Run;
use tokio::sync::{Notify, broadcast};

pub use error::BatchError;
pub use numbers::NumberedReport;
pub use order::{BatchOperation, BatchOrder, BatchOrderResult, OrderFilter, OrderOutcome};
pub use preview::{Preview, PreviewGroup};
pub use publish::Published;
pub use sources::Sources;

pub(crate) use keeper::keeper;
pub(crate) use scheduler::scheduler;

/// What the tasks around batches share.
pub(crate) struct Batches {
    /// batches in which something happened
    touched: Mutex<BTreeSet<BatchId>>,
    /// something was touched
    wake: Notify,
    /// the unsettled batches are to be looked up again
    look: Notify,
    /// sources are to be asked now
    pub(crate) tick: Notify,
    /// batches as they change
    pub(crate) changes: broadcast::Sender<BatchId>,
}

impl Default for Batches {
    fn default() -> Self {
        Self {
            touched: Mutex::default(),
            wake: Notify::new(),
            look: Notify::new(),
            tick: Notify::new(),
            changes: broadcast::Sender::new(1024),
        }
    }
}

impl Batches {
    /// Something happened in a batch: it is looked at soon.
    pub(crate) fn touch(&self, batch: BatchId) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        if touched.insert(batch) {
            drop(touched);
            self.wake.notify_one();
            // Nobody listening is no fault.
            let _ = self.changes.send(batch);
        }
    }

    /// Something was committed for runs: their batches are looked at soon.
    pub(crate) fn moved<'a>(&self, runs: impl Iterator<Item = &'a Run>) {
        let mut last = None;
        for batch in runs.filter_map(|run| run.header.membership).map(|it| it.batch) {
            // A group mostly concerns one batch.
            if last != Some(batch) {
                self.touch(batch);
                last = Some(batch);
            }
        }
    }

    /// Every unsettled batch is looked at soon: others may have left some.
    pub(crate) fn look_at_all(&self) {
        self.look.notify_one();
    }

    fn take_touched(&self) -> BTreeSet<BatchId> {
        std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
