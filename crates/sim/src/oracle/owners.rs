//! Who owns which run, told again from what was seen to change hands.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use stepwell_store::Epoch;

use super::rules::{LIVING_KEEP_THEIRS, OWNER_ALONE_WRITES, Violation};
use super::{Oracle, Probe};

/// Owners and their signs of life, in a world with several instances.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// `None`: nobody
    of: BTreeMap<RunId, Option<u64>>,
    /// the last sign of life that arrived
    beats: BTreeMap<u64, Timestamp>,
    /// declared dead, or gone with a good-bye
    gone: BTreeSet<u64>,
}

impl Oracle {
    /// Several instances share the store of this world.
    pub fn is_shared(&mut self) {
        self.owners = Some(Owners::default());
    }

    /// A sign of life arrived.
    pub fn beat(&mut self, epoch: u64, at: Timestamp) {
        if let Some(owners) = &mut self.owners {
            owners.beats.insert(epoch, at);
        }
    }

    /// An instance took runs over.
    pub fn reclaimed(&mut self, epoch: u64, runs: &[RunId], silence: Interval, at: Timestamp) {
        if !runs.is_empty() {
            self.saw(Probe::TakenOver);
        }
        let Some(owners) = &mut self.owners else { return };
        let mut verdicts = Vec::new();
        for run in runs {
            let before = owners.of.insert(*run, Some(epoch)).flatten();
            let beat = before.and_then(|before| owners.beats.get(&before));
            let lived = beat.is_some_and(|beat| beat.after(silence) >= at);
            verdicts.push(LIVING_KEEP_THEIRS.check(!lived, || {
                format!("{run} was taken from {before:?}, whose last sign of life was {beat:?}")
            }));
        }
        verdicts.into_iter().for_each(|verdict| self.judge(verdict));
    }

    /// Instances were declared dead.
    pub fn buried(&mut self, dead: &[Epoch]) {
        if let Some(owners) = &mut self.owners {
            owners.gone.extend(dead.iter().map(|epoch| epoch.0));
        }
    }

    /// Whether whoever holds a right is an instance that has ended.
    pub(super) fn is_gone(&self, holder: &str) -> bool {
        let epoch = holder.parse().ok();
        let owners = self.owners.as_ref();
        owners.zip(epoch).is_some_and(|(owners, epoch)| owners.gone.contains(&epoch))
    }

    /// Runs were given to another instance.
    pub fn handed_over(&mut self, from: u64, runs: &[RunId], to: u64) {
        if !runs.is_empty() {
            self.saw(Probe::HandedOver);
        }
        let Some(owners) = &mut self.owners else { return };
        let mut verdicts = Vec::new();
        for run in runs {
            let before = owners.of.insert(*run, Some(to)).flatten();
            verdicts.push(OWNER_ALONE_WRITES.check(before == Some(from), || {
                format!("epoch {from} gave {run} away, which belonged to {before:?}")
            }));
        }
        verdicts.into_iter().for_each(|verdict| self.judge(verdict));
    }

    /// An instance said good-bye.
    pub fn retired(&mut self, epoch: u64) {
        let Some(owners) = &mut self.owners else { return };
        owners.beats.remove(&epoch);
        owners.gone.insert(epoch);
        for owner in owners.of.values_mut().filter(|owner| **owner == Some(epoch)) {
            *owner = None;
        }
    }

    /// A run was written under an epoch, and belongs to it from here on.
    pub(super) fn written_by(&mut self, run: RunId, epoch: u64) -> Result<(), Violation> {
        let Some(owners) = &mut self.owners else { return Ok(()) };
        let before = owners.of.insert(run, Some(epoch)).flatten();
        OWNER_ALONE_WRITES.check(before.is_none_or(|before| before == epoch), || {
            format!("epoch {epoch} wrote {run}, which belonged to {before:?}")
        })
    }
}
