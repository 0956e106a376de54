//! What the outside has said and heard: the oracle. Nothing in it comes from the server's own data.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use stepwell_worker::{Answer, Attempt, Report, Status};

/// What all clients and workers write into.
#[derive(Default)]
pub(crate) struct Journal(Mutex<Book>);

/// What they have written.
#[derive(Default)]
pub(crate) struct Book {
    /// the job that was answered for each key
    pub(crate) accepted: BTreeMap<String, String>,
    /// how each job had ended when somebody first saw it ended
    pub(crate) ended: BTreeMap<String, String>,
    /// jobs that somebody asked to cancel, and whether the server said yes
    pub(crate) cancels: BTreeMap<String, bool>,
    /// acks that were sent
    pub(crate) acks: HashSet<Attempt>,
    /// reports that were sent, by their marks
    pub(crate) reports: HashMap<Attempt, BTreeMap<String, Status>>,
    /// reports of which the server said that they counted
    pub(crate) counted: BTreeMap<String, Attempt>,
    /// reports that were held back
    pub(crate) late: Vec<Report>,
    pub(crate) tally: Tally,
    delivered: HashSet<Attempt>,
}

/// How much happened: a storm in which too little did proves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commands_repeated: u32,
    pub(crate) reports: u32,
    pub(crate) stale: u32,
    pub(crate) redelivered: u32,
    pub(crate) silent: u32,
}

impl Journal {
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        // A panic while it was held has failed the test already; the others may finish.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command was answered with 202. The same key must have the same job, every time.
    pub(crate) fn accepted(&self, key: &str, job: &str) {
        let mut book = self.book();
        let first = book.accepted.entry(key.to_owned()).or_insert_with(|| job.to_owned());
        assert_eq!(first, job, "two jobs were answered for the key {key}");
    }

    /// A job was seen; what has ended stays as it ended.
    pub(crate) fn seen(&self, job: &str, status: &str) {
        let mut book = self.book();
        if let Some(ended) = book.ended.get(job) {
            assert_eq!(ended, status, "the job {job} had ended and changed");
        } else if ["SUCCEEDED", "FAILED_FINAL", "CANCELLED"].contains(&status) {
            book.ended.insert(job.to_owned(), status.to_owned());
        }
    }

    /// A directive was handed out.
    pub(crate) fn delivered(&self, attempt: &Attempt) {
        let mut book = self.book();
        if !book.delivered.insert(attempt.clone()) {
            book.tally.redelivered += 1;
        }
    }

    /// A report is about to be sent. Noted first: it may count although no answer comes back.
    pub(crate) fn sent(&self, report: &Report) {
        let mut book = self.book();
        book.tally.reports += 1;
        let marks = book.reports.entry(report.attempt.clone()).or_default();
        marks.insert(mark(report).to_owned(), report.status);
    }

    /// The server has answered a report. The same report never counts twice.
    pub(crate) fn answered(&self, report: &Report, answer: &Answer) {
        assert_eq!(answer.problem, None, "{report:?}");
        let mut book = self.book();
        if !answer.applied {
            book.tally.stale += 1;
            return;
        }
        let counted = book.counted.insert(mark(report).to_owned(), report.attempt.clone());
        assert_eq!(counted, None, "a report counted twice: {report:?}");
    }

    /// Takes the reports that were held back for an earlier attempt of the same step, or under
    /// another lease of the same attempt.
    pub(crate) fn take_outdated(&self, newer: &Attempt) -> Vec<Report> {
        let is_outdated = |report: &mut Report| {
            let held = &report.attempt;
            let is_same_step = held.job_id == newer.job_id && held.step_id == newer.step_id;
            is_same_step && held.lease_id != newer.lease_id && held.attempt_no <= newer.attempt_no
        };
        self.book().late.extract_if(.., is_outdated).collect()
    }
}

/// What makes a report recognizable in the history: in its result, or in its error.
fn mark(report: &Report) -> &str {
    let in_result = report.result.as_ref().and_then(|result| mark_in(result));
    let in_error = || report.error.as_ref().map(|error| error.message.as_str());
    in_result.or_else(in_error).expect("every report carries a mark")
}

/// The mark in a result.
pub(crate) fn mark_in(result: &Value) -> Option<&str> {
    result.get("mark")?.as_str()
}
