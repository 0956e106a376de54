//! Attempts that one worker keeps, a second time: what the terms of a run say over its workflow.

use stepwell_core::definition::FailureMode;
use stepwell_core::entry::OperationKind;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::step::StepError;
use stepwell_core::terms::{Keeping, Terms};
use stepwell_core::time::Timestamp;

use super::{Model, Stage, Verdict};
use crate::oracle::rules::{LIVE_LEASE_COUNTS, NEVER_EARLY, TIMED_OUT_WAS_LIVE};

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

    /// Whoever has the attempt may keep it for another while, and no longer.
    pub(super) fn extended(
        &mut self,
        step: StepIndex,
        expires_at: Timestamp,
        at: Timestamp,
    ) -> Verdict {
        let (lease, _) = self.lease_of(step)?;
        let until = self.keeping().map(|keeping| at.after(keeping.lease));
        NEVER_EARLY.check(until == Some(expires_at), || {
            format!("the lease of step {} holds until {expires_at}, not {until:?}", step.0)
        })?;
        LIVE_LEASE_COUNTS.check(self.model(step).acked, || {
            format!("step {} is kept, and nobody has taken it", step.0)
        })?;
        self.set(step, Stage::Leased { lease, until: expires_at });
        Ok(())
    }

    /// The attempt ended because nobody took it, or whoever had taken it was silent; `None` if that is
    /// not what is said.
    pub(super) fn ended_by_silence(
        &self,
        step: StepIndex,
        error: &StepError,
        is_due: bool,
    ) -> Option<Verdict> {
        let taken = match error.code.as_str() {
            "lease_expired" => true,
            "unclaimed" => false,
            _ => return None,
        };
        let sound = is_due && self.keeping().is_some() && self.model(step).acked == taken;
        Some(
            TIMED_OUT_WAS_LIVE.check(sound, || {
                format!("step {} ended with {}, due: {is_due}", step.0, error.code)
            }),
        )
    }
}
