//! What must hold for every history, whatever happened to the server while it was written.

use std::collections::BTreeSet;

use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::{LeaseId, StepIndex};
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_worker::{Attempt, Status};

use super::journal::{Book, mark_in};
use super::workers::SAID_SO;

/// Failures that no worker reports: the kernel's own.
const OWN_FAILURES: [&str; 3] = ["attempt_timed_out", "poll_timed_out", "job_undelivered"];

/// One history on its way through the checks.
pub(crate) struct History<'a> {
    run: &'a Run,
    book: &'a Book,
    steps: Vec<Progress>,
    ended: bool,
    /// marks of the reports that counted
    applied: BTreeSet<String>,
    /// leases that an answer has settled
    settled: BTreeSet<String>,
}

/// How far a step has come.
#[derive(Clone, Default)]
struct Progress {
    attempt: u32,
    lease: Option<LeaseId>,
    /// an attempt is under way
    open: bool,
    polled: bool,
    ended: bool,
}

/// Walks through a history and holds every entry against what was before it and against what the
/// workers have sent. `leases` are those of all histories.
pub(crate) fn check(run: &Run, records: &[Record], book: &Book, leases: &mut BTreeSet<LeaseId>) {
    let mut history = History {
        run,
        book,
        steps: vec![Progress::default(); run.steps.len()],
        ended: false,
        applied: BTreeSet::new(),
        settled: BTreeSet::new(),
    };
    let mut before = (0, run.header.created_at);
    for record in records {
        assert_eq!(record.version, before.0 + 1, "no decision is missing in {}", run.id());
        assert!(record.at >= before.1, "time went back in {}: {record:?}", run.id());
        before = (record.version, record.at);
        for entry in &record.entries {
            history.take(entry, leases);
        }
    }
    assert!(history.ended, "{} has not ended", run.id());
    history.holds_what_counted();
}

impl History<'_> {
    fn take(&mut self, entry: &Entry, leases: &mut BTreeSet<LeaseId>) {
        let job = self.run.id();
        assert!(!self.ended, "{job} went on after its end: {entry:?}");
        match entry {
            Entry::RunStarted => {}
            Entry::CancelRequested { .. } => {
                assert!(self.book.cancels.contains_key(&job.to_string()), "nobody cancelled {job}");
            }
            Entry::StepDispatched { step, attempt, lease, .. } => {
                assert!(leases.insert(*lease), "{job}: the lease {lease} was used before");
                self.dispatched(*step, *attempt, *lease);
            }
            Entry::PollDispatched { step, lease, .. } => {
                assert!(leases.insert(*lease), "{job}: the lease {lease} was used before");
                self.under_way(*step, entry).lease = Some(*lease);
            }
            Entry::StepAcked { step } => {
                self.under_way(*step, entry);
                assert!(
                    self.book.acks.contains(&self.attempt(*step)),
                    "{job}: nobody sent {entry:?}"
                );
            }
            Entry::StepPolling { step, .. } => self.polling(*step, entry),
            Entry::AttemptFailed { step, error, .. } => self.failed(*step, error, entry),
            Entry::StepFailed { step, error } | Entry::StepTimedOut { step, error } => {
                self.failed(*step, error, entry);
                self.end(*step, entry);
            }
            Entry::StepSucceeded { step, result, .. } => {
                let mark = mark_in(result).unwrap_or_else(|| panic!("{job}: no mark: {entry:?}"));
                self.reported(*step, mark, &[Status::Succeeded], entry);
                self.end(*step, entry);
            }
            Entry::StepCancelled { step } | Entry::StepSkipped { step, .. } => {
                if self.steps[step.position()].open {
                    self.settle(*step, entry);
                }
                self.end(*step, entry);
            }
            Entry::RunSucceeded | Entry::RunFailed { .. } | Entry::RunCancelled => {
                self.ended = true
            }
            Entry::StepCarried { .. }
            | Entry::StepReadied { .. }
            | Entry::StepExpanded { .. }
            | Entry::StepGathered { .. }
            | Entry::AttemptPublished { .. }
            | Entry::LeaseExtended { .. }
            | Entry::CreditsMoved { .. }
            | Entry::PollHeld { .. }
            | Entry::StepHeld { .. }
            | Entry::CompensationStarted { .. }
            | Entry::OutputsCarried { .. }
            | Entry::InputRefreshed { .. }
            | Entry::WorkflowAdopted { .. }
            | Entry::GateOpened { .. }
            | Entry::RunPaused { .. }
            | Entry::RunResumed { .. }
            | Entry::StepOperated { .. }
            | Entry::RunRetryScheduled { .. }
            | Entry::RunRetried { .. } => panic!("{job}: nobody asked for {entry:?}"),
        }
    }

    /// A new attempt: the next number, after the last one has ended.
    fn dispatched(&mut self, step: StepIndex, attempt: u32, lease: LeaseId) {
        let job = self.run.id();
        let progress = &mut self.steps[step.position()];
        assert!(!progress.ended && !progress.open, "{job}: {step:?} has an attempt or has ended");
        assert_eq!(attempt, progress.attempt + 1, "{job}: attempts of {step:?} without a gap");
        *progress = Progress { attempt, lease: Some(lease), open: true, ..Progress::default() };
    }

    fn polling(&mut self, step: StepIndex, entry: &Entry) {
        let attempt = self.attempt(step);
        let is_first = !std::mem::replace(&mut self.under_way(step, entry).polled, true);
        self.settled.insert(attempt.lease_id.clone());
        // A later one may also mean that a question was lost, and is asked again.
        if is_first {
            let sent = self.book.reports.get(&attempt);
            let sent = sent.is_some_and(|marks| marks.values().any(|it| *it == Status::Incomplete));
            assert!(sent, "{}: nobody sent {entry:?}", self.run.id());
        }
    }

    fn failed(&mut self, step: StepIndex, error: &StepError, entry: &Entry) {
        if error.code == SAID_SO {
            let failures = [Status::FailedRetryable, Status::FailedFinal];
            self.reported(step, &error.message, &failures, entry);
        } else {
            assert!(OWN_FAILURES.contains(&error.code.as_str()), "{}: {entry:?}", self.run.id());
            self.settle(step, entry);
        }
    }

    /// An outcome that some worker must have sent, for this attempt and under this lease.
    fn reported(&mut self, step: StepIndex, mark: &str, statuses: &[Status], entry: &Entry) {
        let attempt = self.attempt(step);
        let sent = self.book.reports.get(&attempt).and_then(|marks| marks.get(mark));
        let job = self.run.id();
        assert!(sent.is_some_and(|it| statuses.contains(it)), "{job}: nobody sent {entry:?}");
        self.applied.insert(mark.to_owned());
        self.settle(step, entry);
    }

    /// Ends the attempt under way: whoever comes second finds none.
    fn settle(&mut self, step: StepIndex, entry: &Entry) {
        let attempt = self.attempt(step);
        self.under_way(step, entry).open = false;
        self.settled.insert(attempt.lease_id);
    }

    fn end(&mut self, step: StepIndex, entry: &Entry) {
        let progress = &mut self.steps[step.position()];
        assert!(!progress.ended, "{}: the step had ended: {entry:?}", self.run.id());
        progress.ended = true;
    }

    fn under_way(&mut self, step: StepIndex, entry: &Entry) -> &mut Progress {
        let progress = &mut self.steps[step.position()];
        assert!(progress.open, "{}: no attempt is under way for {entry:?}", self.run.id());
        progress
    }

    /// The attempt under way as workers name it.
    fn attempt(&self, step: StepIndex) -> Attempt {
        let progress = &self.steps[step.position()];
        Attempt {
            job_id: self.run.id().to_string(),
            step_id: self.run.step_id(step).into_owned(),
            tenant_id: self.run.header.tenant.as_str().to_owned(),
            attempt_no: progress.attempt,
            lease_id: progress.lease.map(|lease| lease.to_string()).unwrap_or_default(),
        }
    }

    /// A worker that was told "it counted" must find it here.
    fn holds_what_counted(&self) {
        let job = self.run.id().to_string();
        for (mark, attempt) in self.book.counted.iter().filter(|(_, it)| it.job_id == job) {
            let is_unfinished = self.book.reports[attempt][mark] == Status::Incomplete;
            let found = if is_unfinished {
                self.settled.contains(&attempt.lease_id)
            } else {
                self.applied.contains(mark)
            };
            assert!(found, "{job}: {mark} counted, and is not in the history");
        }
    }
}
