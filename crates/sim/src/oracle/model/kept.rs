//! Attempts that one worker keeps, a second time: what the terms of a run say over its workflow.

use stepwell_core::definition::FailureMode;
use stepwell_core::entry::OperationKind;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_core::terms::{Keeping, Terms};
use stepwell_core::time::Timestamp;

use super::{Model, Stage, Verdict};
use crate::oracle::rules::{
    LADDER_HOLDS, LIVE_LEASE_COUNTS, NEVER_EARLY, TIME_OF_STEP_HOLDS, TIMED_OUT_WAS_LIVE,
};

impl Model {
    fn terms(&self) -> Option<&Terms> {
        self.header.terms.as_deref()
    }

    pub(super) fn keeping(&self) -> Option<Keeping> {
        self.terms().and_then(|terms| terms.keeping)
    }

    pub(super) fn run_retry(&self) -> Option<&RetryPolicy> {
        let granted = self.terms().and_then(|terms| terms.run_retry.as_ref());
        granted.or(self.header.workflow.run_retry.as_ref())
    }

    /// Every failure of a step that is kept is a failure of the attempt of the whole run.
    pub(super) fn tries_max(&self, step: StepIndex) -> u32 {
        if self.keeping().is_some() { 1 } else { self.spec(step).retry.attempts_max }
    }

    /// Whoever retries a step of a job begins its next attempt before its time.
    pub(super) fn is_retried_by_person(&self) -> bool {
        let retried = self.operated.is_some_and(|(_, what)| what == OperationKind::Retry);
        retried && self.keeping().is_some()
    }

    /// A step that fails for good takes the rest with it.
    pub(super) fn cancels_rest(&self) -> bool {
        self.header.workflow.failure == FailureMode::CancelRest || self.keeping().is_some()
    }

    /// A worker has taken the step. Where it keeps it, its time begins, and with the first step of an
    /// attempt the attempt.
    pub(super) fn taken(&mut self, step: StepIndex, at: Timestamp) -> Verdict {
        self.lease_of(step)?;
        let spec = self.spec(step);
        let is_limited = self.keeping().is_some() && spec.timeout_given;
        let deadline = is_limited.then(|| at.after(spec.timeout));
        let model = self.model_mut(step);
        (model.acked, model.deadline) = (true, deadline);
        self.begun += u32::from(std::mem::take(&mut self.queued));
        Ok(())
    }

    /// Whoever keeps the step loses it when its time is over, at the latest.
    pub(super) fn time_holds(&self, step: StepIndex) -> Verdict {
        let model = self.model(step);
        let Stage::Leased { until, .. } = model.stage else { return Ok(()) };
        // A question of a poll has times of its own.
        let deadline = model.deadline.filter(|_| model.polling_since.is_none());
        TIME_OF_STEP_HOLDS.check(deadline.is_none_or(|deadline| until <= deadline), || {
            format!("step {} is kept until {until}, and may be until {deadline:?}", step.0)
        })
    }

    /// Where a worker keeps its attempts, a step times out when its time is over; elsewhere every end of
    /// a lease is that.
    pub(super) fn is_out_of_time(&self, step: StepIndex, until: Timestamp) -> bool {
        self.keeping().is_none() || self.model(step).deadline == Some(until)
    }

    /// The attempts that a run shows are those that a worker has begun.
    pub(crate) fn attempts_are_begun(&self, run: &Run) -> Verdict {
        let shown = run.attempts_begun();
        LADDER_HOLDS.check(self.keeping().is_none() || shown == self.begun, || {
            format!("{shown} attempts are shown of {}, and {} were begun", run.id(), self.begun)
        })
    }

    /// Whoever has the attempt may keep it for another while, and no longer.
    pub(super) fn extended(
        &mut self,
        step: StepIndex,
        expires_at: Timestamp,
        at: Timestamp,
    ) -> Verdict {
        let (lease, _) = self.lease_of(step)?;
        self.set(step, Stage::Leased { lease, until: expires_at });
        self.time_holds(step)?;
        let until = self.keeping().map(|keeping| at.after(keeping.lease));
        let until = until.into_iter().chain(self.model(step).deadline).min();
        NEVER_EARLY.check(until == Some(expires_at), || {
            format!("the lease of step {} holds until {expires_at}, not {until:?}", step.0)
        })?;
        LIVE_LEASE_COUNTS.check(self.model(step).acked, || {
            format!("step {} is kept, and nobody has taken it", step.0)
        })
    }

    /// The attempt ended because nobody took it, or whoever had taken it was silent; `None` if that is
    /// not what is said.
    pub(super) fn ended_by_silence(
        &self,
        step: StepIndex,
        error: &StepError,
        until: Timestamp,
        at: Timestamp,
    ) -> Option<Verdict> {
        let taken = match error.code.as_str() {
            "lease_expired" => true,
            "unclaimed" => false,
            _ => return None,
        };
        let is_theirs = self.keeping().is_some() && self.model(step).acked == taken;
        let sound = is_theirs && until <= at && !self.is_out_of_time(step, until);
        Some(TIMED_OUT_WAS_LIVE.check(sound, || {
            format!("step {} ended with {} at {at}, due {until}", step.0, error.code)
        }))
    }
}
