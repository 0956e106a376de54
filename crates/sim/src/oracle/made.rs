//! What workers, people and the bus really did: the only things that may come to count.

use std::collections::BTreeMap;

use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_core::id::LeaseId;
use stepwell_core::step::{Outcome, StepError};

/// What was really done, by the lease it was done for.
#[derive(Debug, Default)]
pub struct Made {
    by_lease: BTreeMap<LeaseId, Vec<Outcome>>,
}

impl Made {
    /// A worker that holds this lease made this outcome.
    pub fn add(&mut self, lease: LeaseId, outcome: Outcome) {
        self.by_lease.entry(lease).or_default().push(outcome);
    }

    pub(super) fn succeeded(&self, lease: LeaseId, result: &Value) -> bool {
        self.of(lease)
            .any(|outcome| matches!(outcome, Outcome::Succeeded { result: made } if made == result))
    }

    pub(super) fn failed(&self, lease: LeaseId, error: &StepError) -> bool {
        self.of(lease)
            .any(|outcome| matches!(outcome, Outcome::Failed { error: made, .. } if made == error))
    }

    /// The rest that whoever failed with this error has asked for.
    pub(super) fn asked(&self, lease: LeaseId, error: &StepError) -> Option<Interval> {
        self.of(lease).find_map(|outcome| match outcome {
            Outcome::Failed { error: made, retry_after, .. } if made == error => *retry_after,
            _ => None,
        })
    }

    pub(super) fn unfinished(&self, lease: LeaseId) -> bool {
        self.of(lease).any(|outcome| *outcome == Outcome::Incomplete)
    }

    fn of(&self, lease: LeaseId) -> impl Iterator<Item = &Outcome> {
        self.by_lease.get(&lease).into_iter().flatten()
    }
}
