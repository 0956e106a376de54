//! Work that was given up, and what becomes of it.

use serde::{Deserialize, Serialize};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

/// Work that is given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDeadLetter {
    /// `run_failed`, `webhook_undelivered`, …
    pub reason: String,
    /// the step that failed
    pub step: Option<String>,
    /// the last error
    pub error: StepError,
    /// the first one, if there was another before the last
    pub first_error: Option<StepError>,
    /// when
    pub at: Timestamp,
}

/// Work that was given up, inspectable and replayable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// its number
    pub id: i64,
    /// the run it belongs to; `None`: it is an order that never became one
    pub run: Option<RunId>,
    /// the order, as it came
    pub message: Option<String>,
    /// whose it is
    pub tenant: Tenant,
    /// how the work was asked for
    pub dialect: Option<Dialect>,
    /// the workflow of the run
    pub workflow: String,
    /// what was given up
    pub letter: NewDeadLetter,
    /// what became of it
    pub settlement: Option<Settlement>,
}

/// What became of a dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settlement {
    /// when
    pub at: Timestamp,
    /// by whom
    pub actor: String,
    /// the run that took the work up again; `None`: discarded
    pub replayed_as: Option<RunId>,
    /// in their words
    pub reason: String,
}

/// Which dead letters to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// of this tenant only
    pub tenant: Option<Tenant>,
    /// of this dialect only
    pub dialect: Option<Dialect>,
    /// of this workflow only
    pub workflow: Option<String>,
    /// given up for this reason only: `run_failed`, `webhook_undelivered`, …
    pub reason: Option<String>,
    /// whose last error has this code only
    pub error_code: Option<String>,
    /// given up at or after
    pub from: Option<Timestamp>,
    /// given up before
    pub until: Option<Timestamp>,
    /// of this run only
    pub run: Option<RunId>,
    /// this one only
    pub id: Option<i64>,
    /// settled ones too
    pub with_settled: bool,
    /// older than this one
    pub before: Option<i64>,
    /// at most this many; 0 means the store's own limit of 1,000
    pub limit: usize,
}

impl DeadLetterFilter {
    /// The limit that was asked for, or the store's own.
    pub(crate) fn limit_or_own(&self) -> usize {
        if self.limit == 0 { 1_000 } else { self.limit }
    }
}
