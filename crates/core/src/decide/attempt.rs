//! How an attempt begins and how it ends without success.

use std::sync::Arc;

use serde_json::Value;

use super::draft::Draft;
use crate::definition::{FailureMode, Part, TimeoutMode};
use crate::duration::Interval;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::id::{LeaseId, RunId, StepIndex};
use crate::run::{Header, Parent};
use crate::step::{StepError, StepStatus};
use crate::template::{self, TemplateError};
use crate::time::Timestamp;

/// The longest rest a worker may ask for before another attempt.
const RETRY_AFTER_MAX: Interval = Interval::from_secs(24 * 3600);

/// The least rest after the bus refused a directive.
const UNPUBLISHED_REST: Interval = Interval::from_secs(1);

/// An attempt that ended without success.
pub(super) struct Failure {
    error: StepError,
    retryable: bool,
    retry_after: Option<Interval>,
    counted: bool,
    timed_out: bool,
}

impl Failure {
    pub(super) fn reported(
        error: StepError,
        retryable: bool,
        retry_after: Option<Interval>,
    ) -> Self {
        Self { error, retryable, retry_after, counted: true, timed_out: false }
    }

    pub(super) fn unpublished(error: StepError) -> Self {
        Self { error, retryable: true, retry_after: None, counted: false, timed_out: false }
    }

    pub(super) fn timed_out(error: StepError, retryable: bool) -> Self {
        Self { error, retryable, retry_after: None, counted: true, timed_out: true }
    }

    /// The rest that the worker has asked for, as far as it may.
    fn asked(&self) -> Option<Interval> {
        self.retry_after.map(|rest| rest.min(RETRY_AFTER_MAX))
    }
}

impl Draft<'_, '_> {
    /// Records a new attempt and sends it off; if the run is paused, the step waits ready instead.
    pub(super) fn dispatch(&mut self, step: StepIndex) {
        if self.run.paused {
            if self.step(step).status != StepStatus::Ready {
                self.push(Entry::StepReadied { step });
            }
            return;
        }
        if !self.is_to_be_dispatched(step) {
            return;
        }
        let (params, kind) = match self.resolve(step) {
            Ok(resolved) => resolved,
            Err(problem) => {
                // Another attempt would find the same variables missing.
                let error = StepError::new("template_unresolved", problem.to_string());
                self.fail(step, Entry::StepFailed { step, error });
                return;
            }
        };
        let attempt = self.step(step).attempt.saturating_add(1);
        if let Some((lease, expires_at)) = self.goes_on(step, attempt) {
            self.push(Entry::StepDispatched { step, attempt, lease, expires_at, params, kind });
            self.push(Entry::StepAcked { step });
            return;
        }
        let lease = LeaseId(self.fresh());
        let patience = self.run.keeping().map_or(self.spec(step).timeout, |it| it.unclaimed);
        let expires_at = self.now.after(patience);
        self.push(Entry::StepDispatched { step, attempt, lease, expires_at, params, kind });
        self.publish(step);
    }

    /// Fills in the placeholders, once: what was frozen at the first dispatch is used for every
    /// later attempt.
    #[allow(clippy::type_complexity)] // The pair is taken apart at once by the only caller.
    fn resolve(
        &self,
        step: StepIndex,
    ) -> Result<(Option<Arc<Value>>, Option<Arc<str>>), TemplateError> {
        if self.step(step).attempt > 0 {
            return Ok((None, None));
        }
        let spec = self.spec(step);
        let special = self.run.special(step);
        let scope = self.run.scope(&special);
        let params = match (&spec.params, self.run.item(step)) {
            (Some(params), _) => Some(Arc::new(template::resolve(params, &scope)?)),
            // The run's input would not tell the worker which item it has before it.
            (None, Some(item)) => Some(Arc::new(item.value.clone())),
            (None, None) => None,
        };
        let kind = if spec.kind.contains("{{") {
            Some(Arc::from(template::resolve_text(&spec.kind, &scope)?))
        } else {
            None
        };
        Ok((params, kind))
    }

    /// Ends the attempt under way: another one follows, now or later, or the step has failed.
    pub(super) fn end_attempt(&mut self, step: StepIndex, failure: Failure) {
        let may_retry = failure.retryable && self.run.cancel.is_none();
        if may_retry && (self.tries_remain(step) || !failure.counted) {
            let retry_at = self.retry_at(step, &failure);
            let counted = failure.counted;
            self.push(Entry::AttemptFailed { step, error: failure.error, retry_at, counted });
            if retry_at <= self.now {
                self.dispatch(step);
            }
            return;
        }
        if may_retry && self.run_attempts_remain() {
            let not_before = failure.asked().map(|rest| self.now.after(rest));
            self.push(Entry::StepHeld { step, error: failure.error, not_before });
            return;
        }
        let error = failure.error;
        let entry = if failure.timed_out {
            Entry::StepTimedOut { step, error }
        } else {
            Entry::StepFailed { step, error }
        };
        self.fail(step, entry);
    }

    /// When the next attempt comes. Delays follow the tries of this round, so that they begin anew
    /// after a person's retry.
    fn retry_at(&self, step: StepIndex, failure: &Failure) -> Timestamp {
        let tries = self.step(step).tries.max(1);
        let policy = &self.spec(step).retry;
        let by_policy = match self.run.keeping() {
            Some(_) => Interval::ZERO,
            None => policy.delay_after(tries, self.run.id(), u32::from(step.0)),
        };
        let asked = failure.asked().unwrap_or(Interval::ZERO);
        // A bus that refuses everything must not be asked as fast as it can say no.
        let floor = if failure.counted { Interval::ZERO } else { UNPUBLISHED_REST };
        self.now.after(by_policy.max(asked).max(floor))
    }

    /// Where one worker keeps an attempt, every failure of a step is a failure of that attempt.
    fn tries_remain(&self, step: StepIndex) -> bool {
        let is_kept = self.run.keeping().is_some();
        !is_kept && self.step(step).tries < self.spec(step).retry.attempts_max
    }

    pub(super) fn run_attempts_remain(&self) -> bool {
        self.run.run_retry().is_some_and(|policy| self.run.attempt < policy.attempts_max)
    }

    /// The moment has come at which an attempt is given up.
    pub(super) fn give_up_attempt(&mut self, step: StepIndex) {
        let failure = match self.run.keeping() {
            Some(keeping) => self.why_not_kept(step, keeping),
            None => self.took_too_long(step, "of the dispatch"),
        };
        self.withdraw(step);
        self.end_attempt(step, failure);
    }

    /// An attempt took longer than it may, from the moment that is named.
    pub(super) fn took_too_long(&self, step: StepIndex, since: &str) -> Failure {
        let spec = self.spec(step);
        let waited = format!("no result within {} {since}", spec.timeout);
        let again = spec.on_timeout == TimeoutMode::Republish;
        Failure::timed_out(StepError::new("attempt_timed_out", waited), again)
    }

    /// Polling took longer than it may; that is never tried again.
    pub(super) fn time_out_poll(&mut self, step: StepIndex) {
        let waited = self.spec(step).poll.map_or(Interval::ZERO, |poll| poll.timeout);
        let error = StepError::new("poll_timed_out", format!("not complete within {waited}"));
        self.fail(step, Entry::StepTimedOut { step, error });
    }

    /// Hands the directive that was just recorded to the bus.
    pub(super) fn publish(&mut self, step: StepIndex) {
        if let Some(directive) = self.step(step).directive(step) {
            self.follow_with(Effect::Publish(directive));
        }
    }

    /// Takes the directive under way back from the bus, if there is one.
    pub(super) fn withdraw(&mut self, step: StepIndex) {
        let with_bus = !self.is_kept(step);
        if let Some(directive) = self.step(step).directive(step).filter(|_| with_bus) {
            self.follow_with(Effect::Withdraw(directive));
        }
    }

    /// Writes the end of a step that did not succeed, and what its workflow wants to follow.
    pub(super) fn fail(&mut self, step: StepIndex, entry: Entry) {
        self.push(entry);
        // A run whose attempts are kept by one worker is over at once: no other branch goes on for a
        // run that can only fail.
        let cancels_rest = self.run.header.workflow.failure == FailureMode::CancelRest
            || self.run.keeping().is_some();
        let rest_is_lost = cancels_rest && !self.spec(step).continue_on_failure;
        match self.run.item(step).map(|item| item.step) {
            // What follows a failure follows once, for the step that the item belongs to.
            Some(expanded) if rest_is_lost => self.fail_with_items(expanded),
            Some(_) => {}
            None => {
                self.compensate(step);
                if rest_is_lost {
                    self.cancel_rest();
                }
            }
        }
    }

    /// Cancels every step that has not ended, and takes their directives back.
    pub(super) fn cancel_rest(&mut self) {
        for step in self.steps() {
            if !self.step(step).status.is_terminal() {
                self.withdraw(step);
                self.push(Entry::StepCancelled { step });
            }
        }
    }

    /// Starts the run that undoes a failed step. Nothing waits for it: its outcome is its own
    /// . A run that is being stopped undoes nothing.
    fn compensate(&mut self, step: StepIndex) {
        let Some(name) = self.spec(step).on_failure.clone() else { return };
        if self.run.cancel.is_some() {
            return;
        }
        let id = RunId(self.fresh());
        let header = Header {
            id,
            part: Part::Compensation(name),
            parent: Some(Parent { run: self.run.id(), step }),
            resumes: None,
            input: self.run.input_and_outputs(),
            created_at: self.now,
            // What was granted was granted for the work, not for undoing it.
            terms: None,
            ..Header::clone(&self.run.header)
        };
        self.push(Entry::CompensationStarted { step, run: id });
        self.follow_with(Effect::StartRun(Arc::new(header)));
    }
}
