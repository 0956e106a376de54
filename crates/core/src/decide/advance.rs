//! After something has ended or opened: start what may start, skip what cannot, end what is over.

use super::draft::Draft;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::id::StepIndex;
use crate::run::RunStatus;
use crate::step::{SkipReason, StepError, StepStatus};

/// What the steps before a step say about it.
enum Readiness {
    /// it may start
    Startable,
    /// something must still happen
    NotYet,
    /// something it needs will never happen
    Never,
}

impl Draft<'_, '_> {
    /// Brings the run as far as it gets without further news.
    pub(super) fn advance(&mut self) {
        if self.run.status == RunStatus::Created || self.run.status.is_terminal() {
            return;
        }
        // A step that fails at its dispatch may let others be skipped, and so on; every round ends
        // at least one step or is the last.
        while self.start_what_may() {}
        self.end_or_rest();
    }

    fn start_what_may(&mut self) -> bool {
        let mut again = false;
        for step in self.own_steps() {
            let goes_on = match self.step(step).status {
                StepStatus::Waiting => Self::dispatch,
                StepStatus::Expanded => Self::go_on_with_items,
                StepStatus::Ready
                | StepStatus::Dispatched
                | StepStatus::Acked
                | StepStatus::Polling
                | StepStatus::RetryWait
                | StepStatus::Succeeded
                | StepStatus::Failed
                | StepStatus::TimedOut
                | StepStatus::Cancelled
                | StepStatus::Skipped => continue,
            };
            match self.readiness(step) {
                Readiness::NotYet => self.end_with_items(step),
                Readiness::Never => self.skip(step),
                // A run that is being stopped has no waiting steps left.
                Readiness::Startable => goes_on(self, step),
            }
            again |= self.step(step).status.is_terminal();
        }
        again
    }

    /// Something that the step needs will never happen. It may have items all the same, taken over
    /// from an earlier run.
    fn skip(&mut self, step: StepIndex) {
        let reason = SkipReason::Dependency;
        for item in self.open_items(step) {
            self.push(Entry::StepSkipped { step: item, reason });
        }
        self.push(Entry::StepSkipped { step, reason });
    }

    fn readiness(&self, step: StepIndex) -> Readiness {
        let spec = self.spec(step);
        let mut readiness = Readiness::Startable;
        for before in self.run.standing_before(step).iter() {
            match self.readiness_after(*before) {
                Readiness::Startable => {}
                Readiness::NotYet => readiness = Readiness::NotYet,
                Readiness::Never => return Readiness::Never,
            }
        }
        let gate_is_open = spec.gate.as_ref().is_none_or(|gate| self.run.gates_open.contains(gate));
        if gate_is_open { readiness } else { Readiness::NotYet }
    }

    fn readiness_after(&self, before: StepIndex) -> Readiness {
        let step = self.step(before);
        match step.status {
            StepStatus::Succeeded => Readiness::Startable,
            StepStatus::Skipped if step.skip.is_some_and(SkipReason::lets_pass) => {
                Readiness::Startable
            }
            StepStatus::Failed | StepStatus::TimedOut if self.spec(before).continue_on_failure => {
                Readiness::Startable
            }
            StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Skipped
            | StepStatus::Cancelled => Readiness::Never,
            StepStatus::Waiting
            | StepStatus::Ready
            | StepStatus::Expanded
            | StepStatus::Dispatched
            | StepStatus::Acked
            | StepStatus::Polling
            | StepStatus::RetryWait => Readiness::NotYet,
        }
    }

    /// Items need not be asked: their step ends after them.
    fn end_or_rest(&mut self) {
        if self.run.own_steps().all(|(_, step)| step.status.is_terminal()) {
            self.end();
        } else {
            self.rest_until_retry();
        }
    }

    fn end(&mut self) {
        let entry = match self.failed_step() {
            _ if self.run.cancel.is_some() => Entry::RunCancelled,
            Some((step, error)) => Entry::RunFailed { step, error },
            None => Entry::RunSucceeded,
        };
        self.settle_credits(&entry);
        self.push(entry);
        self.follow_with(Effect::Ended { status: self.run.status });
    }

    /// The first step whose failure is the run's failure.
    fn failed_step(&self) -> Option<(StepIndex, StepError)> {
        self.run
            .own_steps()
            .filter(|(index, step)| {
                let failed = matches!(step.status, StepStatus::Failed | StepStatus::TimedOut);
                failed && !self.spec(*index).continue_on_failure
            })
            .map(|(index, step)| {
                let error = step.error.as_deref().cloned();
                (index, error.unwrap_or_else(|| StepError::new("failed", "the step failed")))
            })
            .next()
    }

    /// When only held steps, and what waits behind them, are left, the attempt of the whole run is
    /// over; the next one is set.
    fn rest_until_retry(&mut self) {
        if self.run.status != RunStatus::Running || !self.is_idle() {
            return;
        }
        let mut held = self.run.steps.iter().filter(|step| step.is_held()).peekable();
        let Some(first) = held.peek() else { return };
        let error = first.error.as_deref().cloned();
        let Some(policy) = self.run.run_retry() else { return };
        let delay = policy.delay_after(self.run.attempt, self.run.id(), u32::MAX);
        // Whoever failed may have asked for a longer rest than the policy has.
        let asked = held.filter_map(|step| step.not_before).max();
        let by_policy = self.now.after(delay);
        let retry_at = asked.map_or(by_policy, |asked| asked.max(by_policy));
        let error = error.unwrap_or_else(|| StepError::new("failed", "a step failed"));
        self.push(Entry::RunRetryScheduled { retry_at, error });
    }

    /// Nothing is under way: what has not ended is held, or waits behind what is.
    fn is_idle(&self) -> bool {
        self.run.own_steps().all(|(index, step)| match step.status {
            StepStatus::Expanded => {
                self.run.expansion(index).is_none_or(|items| items.under_way == items.held)
            }
            StepStatus::RetryWait => step.is_held(),
            StepStatus::Waiting
            | StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Cancelled
            | StepStatus::Skipped => true,
            StepStatus::Ready
            | StepStatus::Dispatched
            | StepStatus::Acked
            | StepStatus::Polling => false,
        })
    }
}
