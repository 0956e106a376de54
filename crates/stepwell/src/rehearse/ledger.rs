//! What the workers of a rehearsal wrote down.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use stepwell_core::id::MemberId;

use super::place::{Place, Section};
use super::script::Verdict;

/// What the workers wrote down.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// in the order in which they ended
    pub(super) jobs: Vec<Job>,
    /// what identifies each member
    pub(super) keys: BTreeMap<MemberId, String>,
}

/// One job that a worker did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) place: Place,
    /// for whom; `None`: for the batch
    pub(super) member: Option<MemberId>,
    /// counted from 1
    pub(super) attempt: u32,
    /// which question of the attempt; 0 is the job that starts it
    pub(super) poll: u32,
    pub(super) begun_ms: i64,
    pub(super) ended_ms: i64,
    pub(super) verdict: Verdict,
}

impl Job {
    /// Whether it belongs to a phase.
    pub(super) fn is_of(&self, phase: usize) -> bool {
        self.place.section == Section::Phase(phase)
    }

    /// Whether it ended its step well.
    pub(super) fn is_done(&self) -> bool {
        self.verdict == Verdict::Done
    }
}

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Effort {
    /// jobs that began an attempt
    pub(super) attempts: usize,
    /// those of them that were not the first
    pub(super) retries: usize,
    /// questions after the first answer
    pub(super) polls: usize,
    /// attempts that failed
    pub(super) failures: usize,
}

impl Effort {
    /// How much these jobs were.
    pub(super) fn of<'j>(jobs: impl IntoIterator<Item = &'j Job>) -> Self {
        let mut effort = Self::default();
        for job in jobs {
            effort.attempts += usize::from(job.poll == 0);
            effort.retries += usize::from(job.poll == 0 && job.attempt > 1);
            effort.polls += usize::from(job.poll > 0);
            effort.failures += usize::from(job.verdict == Verdict::Failed);
        }
        effort
    }
}

/// The ledger while it is written.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<Ledger>);

impl Book {
    /// Writes a job down.
    pub(super) fn write(&self, job: Job, key: &str) {
        // A job is written whole or not at all, so a poisoned lock holds a sound ledger.
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.jobs.push(job);
        if let Some(member) = job.member {
            ledger.keys.entry(member).or_insert_with(|| key.to_owned());
        }
    }

    /// Closes the book.
    pub(super) fn close(&self) -> Ledger {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
