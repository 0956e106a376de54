//! What metrics and health are told.

use stepwell_core::time::Timestamp;

/// Figures for metrics and health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// runs that have not ended
    pub runs_open: u64,
    /// dead letters that nobody has settled
    pub dead_letters: u64,
    /// the same, by reason
    pub dead_letters_by_reason: Vec<DeadLetterDepth>,
    /// messages to the outside that wait
    pub outbox: u64,
}

/// How many dead letters of one reason nobody has settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetterDepth {
    /// `run_failed`, `webhook_undelivered`, …
    pub reason: String,
    /// how many
    pub count: u64,
    /// when the oldest of them was given up
    pub oldest_at: Timestamp,
}
