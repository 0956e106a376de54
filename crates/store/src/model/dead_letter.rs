//! Work that was given up, and what becomes of it.

use serde::{Deserialize, Serialize};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use super::Told;

/// Work that is given up, with what others are told of it: one cannot be stored without the other, so no
/// kind of dead letter can forget its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// why
    pub letter: NewDeadLetter,
    /// what others are told, if anybody is
    pub told: Told,
}

/// Whose work it is that is given up: copied into its letter and what is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// the run, or else …
    pub(crate) run: Option<RunId>,
    /// … the message itself
    pub(crate) message: Option<String>,
    pub(crate) tenant: Tenant,
    pub(crate) dialect: Dialect,
    pub(crate) workflow: String,
}

impl Origin {
    /// Tenant and dialect for a row that has no run to say them.
    pub(crate) fn unless_of_run(&self) -> Option<(&Tenant, Dialect)> {
        self.run.is_none().then_some((&self.tenant, self.dialect))
    }
}

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
    /// the run it belongs to; `None`: it is a message that belongs to none, such as an order that never
    /// became one
    pub run: Option<RunId>,
    /// the message, as it was
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
