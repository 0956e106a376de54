//! What metrics and health are told.

use std::cmp::Ordering;

use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;

/// Figures for metrics and health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// runs that have not ended
    pub runs_open: u64,
    /// dead letters that nobody has settled
    pub dead_letters: u64,
    /// the same, by reason and dialect
    pub dead_letters_by_reason: Vec<DeadLetterDepth>,
    /// messages to the outside that wait
    pub outbox: u64,
}

/// How many dead letters of one reason and dialect nobody has settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterDepth {
    /// `run_failed`, `webhook_undelivered`, …
    pub reason: String,
    /// of which dialect; `None`: of a run that was gone before letters said it
    pub dialect: Option<Dialect>,
    /// how many
    pub count: u64,
    /// when the oldest of them was given up
    pub oldest_at: Timestamp,
}

impl DeadLetterDepth {
    /// The order in which they are told: by the words of reason and dialect.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let words = |it: &Self| it.dialect.map(Dialect::word);
        self.reason.cmp(&other.reason).then_with(|| words(self).cmp(&words(other)))
    }
}
