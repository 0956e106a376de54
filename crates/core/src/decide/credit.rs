//! What a run sets aside, spends and gives back. The account itself is the store's: it is moved in the
//! same transaction, or the decision does not stand.

use super::draft::Draft;
use crate::credit::{CreditState, Credits, Restore};
use crate::entry::Entry;

impl Draft<'_, '_> {
    /// Sets the estimate aside, if credits are taken from an account at all.
    pub(super) fn reserve(&mut self) {
        let Some(terms) = self.run.credit_terms() else { return };
        if terms.charged && terms.estimate > Credits::ZERO {
            self.push(Entry::CreditsMoved { movement: CreditState::reserve(terms.estimate) });
        }
    }

    /// Books what the worker spent, whatever came of the attempt: the work was done.
    pub(super) fn spend(&mut self, amount: Credits) {
        if amount > Credits::ZERO
            && let Some(credits) = self.run.credits
        {
            self.push(Entry::CreditsMoved { movement: credits.spend(amount) });
        }
    }

    /// The run ends with this entry: what was set aside and not spent comes back, and what was spent
    /// too, if that was agreed.
    pub(super) fn settle_credits(&mut self, end: &Entry) {
        let (Some(terms), Some(credits)) = (self.run.credit_terms(), self.run.credits) else {
            return;
        };
        let is_cancelled = *end == Entry::RunCancelled;
        let is_failed = matches!(end, Entry::RunFailed { .. });
        let comes_back = match terms.restore {
            Restore::Never => false,
            Restore::Failed => is_failed,
            Restore::Unfinished => is_failed || is_cancelled,
        };
        let restored = if comes_back { credits.restore() } else { None };
        for movement in credits.release().into_iter().chain(restored) {
            self.push(Entry::CreditsMoved { movement });
        }
    }
}
