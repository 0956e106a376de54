//! Letting go of messages whose runs go to another engine.

use std::collections::BTreeSet;

use super::state::State;
use crate::bus::{MessageId, Position};

impl State {
    /// Takes the oldest runs out of memory that have something ready in a pool and nothing in the
    /// hands of a receiver.
    ///
    /// One pass over what is in memory, which the windows bound; it is asked for rarely.
    pub(super) fn release_runs(&mut self, pool: &str, max: usize) -> Vec<u128> {
        let Some(pool) = self.pools.get(pool) else { return Vec::new() };
        let mut ready: Vec<&Position> = pool.ready().collect();
        ready.sort_unstable();
        let held = self.entries.iter().filter(|(_, entry)| entry.is_in_flight());
        let held: BTreeSet<u128> = held.map(|(id, _)| id.run).collect();
        let mut released = BTreeSet::new();
        for position in ready {
            if released.len() == max {
                break;
            }
            if !held.contains(&position.id.run) {
                released.insert(position.id.run);
            }
        }
        self.forget(|id| released.contains(&id.run));
        released.into_iter().collect()
    }

    /// Forgets the messages that are meant, wherever they stand.
    pub(super) fn forget(&mut self, is_meant: impl Fn(&MessageId) -> bool) {
        let mut meant: Vec<MessageId> =
            self.entries.keys().filter(|id| is_meant(id)).copied().collect();
        // A simulated world must be able to repeat itself.
        meant.sort_unstable();
        self.withdraw(&meant);
    }
}
