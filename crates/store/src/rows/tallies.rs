//! By how much a group moves the counters of batches: one sum for each, however many runs moved.

use std::collections::BTreeMap;

use stepwell_core::batch::Tally;
use stepwell_core::id::BatchId;

use super::{CreateRows, ItemRows};

/// What is to be added to the counters of each batch, once the items of a group are written.
#[derive(Debug, Default)]
pub(crate) struct Tallies(BTreeMap<BatchId, Tally>);

impl Tallies {
    fn add(&mut self, tally: Option<&Tally>) {
        let Some(tally) = tally else { return };
        match self.0.get_mut(&tally.batch) {
            Some(sum) => sum.add(tally),
            None => drop(self.0.insert(tally.batch, tally.clone())),
        }
    }

    /// Adds what an item moves. Only for one that was done: a stale one has moved nothing.
    pub(crate) fn add_item(&mut self, item: &ItemRows) {
        match item {
            ItemRows::Create(create) => self.add_rows(create),
            ItemRows::Advance(advance) => {
                self.add(advance.tally.as_ref());
                advance.children.iter().for_each(|child| self.add_rows(child));
            }
            ItemRows::Batch(batch) => batch.creates().for_each(|create| self.add_rows(create)),
            ItemRows::Reschedule { .. } | ItemRows::Audit(_) | ItemRows::Forward(_) => {}
        }
    }

    fn add_rows(&mut self, create: &CreateRows) {
        self.add(create.tally.as_ref());
        create.children.iter().for_each(|child| self.add_rows(child));
    }

    /// The sums, by batch.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Tally> {
        self.0.values()
    }
}
