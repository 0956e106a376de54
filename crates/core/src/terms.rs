//! What a run was granted beyond its workflow.

use serde::{Deserialize, Serialize};

use crate::credit::CreditTerms;
use crate::definition::CancelMode;
use crate::duration::Interval;
use crate::effect::Directive;
use crate::id::{LeaseId, StepIndex};
use crate::retry::RetryPolicy;
use crate::run::Run;
use crate::step::StepStatus;

/// What a run was granted beyond its workflow. Never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// attempts of the whole run, in place of the workflow's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_retry: Option<RetryPolicy>,
    /// one worker does all steps of an attempt
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeping: Option<Keeping>,
    /// what it may cost
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<CreditTerms>,
}

/// One worker does all steps of an attempt: one message starts the attempt, and whoever reports a step
/// done is given the next one with the answer, as long as it gives signs of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    /// from one sign of life to the next; after more silence the attempt has failed
    pub lease: Interval,
    /// how long the message that starts an attempt may wait for a worker; then it counts as lost, and a
    /// fresh one takes its place, which is no failure of the run
    pub unclaimed: Interval,
}

impl Run {
    /// One worker does all steps of an attempt, on these terms.
    #[must_use]
    pub fn keeping(&self) -> Option<Keeping> {
        self.header.terms.as_ref().and_then(|terms| terms.keeping)
    }

    /// Attempts of the whole run: as granted, else as its workflow says.
    #[must_use]
    pub fn run_retry(&self) -> Option<&RetryPolicy> {
        let granted = self.header.terms.as_ref().and_then(|terms| terms.run_retry.as_ref());
        granted.or(self.header.workflow.run_retry.as_ref())
    }

    /// How often the whole run may be tried, the first time included.
    #[must_use]
    pub fn attempts_max(&self) -> u32 {
        self.run_retry().map_or(1, |policy| policy.attempts_max)
    }

    /// What it may cost.
    #[must_use]
    pub fn credit_terms(&self) -> Option<CreditTerms> {
        self.header.terms.as_ref().and_then(|terms| terms.credits)
    }

    /// What a cancel means when the caller does not say. A worker that keeps an attempt asks before each
    /// step whether it still has it, so nothing need be waited for.
    #[must_use]
    pub fn cancel_mode(&self) -> CancelMode {
        match self.keeping() {
            Some(_) => CancelMode::Immediate,
            None => self.header.workflow.cancel,
        }
    }

    /// A worker has taken the step and keeps it; no message of it is with the bus.
    #[must_use]
    pub fn is_kept(&self, step: StepIndex) -> bool {
        let state = &self.steps[step.position()];
        self.keeping().is_some() && state.status == StepStatus::Acked
    }

    /// What whoever had this lease goes on with: the step that was given to it with the answer to its
    /// report. Also tells a worker that did not hear the answer.
    #[must_use]
    pub fn continuation(&self, lease: LeaseId) -> Option<Directive> {
        self.keeping()?;
        self.indexed()
            .filter(|(step, _)| self.is_kept(*step))
            .filter_map(|(index, step)| step.directive(index))
            .find(|next| next.lease == lease.for_next(next.step, next.attempt))
    }
}
