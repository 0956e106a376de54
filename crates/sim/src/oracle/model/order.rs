//! Whose turn it is, and how a run ends: what the graph says about the steps.

use stepwell_core::id::StepIndex;
use stepwell_core::run::RunStatus;

use super::{Model, Stage, Verdict};
use crate::oracle::rules::OUTCOME_AS_MODELED;

impl Model {
    /// Its gate is open, and everything before it lets it pass.
    pub(super) fn may_start(&self, step: StepIndex) -> bool {
        let spec = self.spec(step);
        spec.gate.as_ref().is_none_or(|gate| self.gates.contains(gate)) && self.before_passes(step)
    }

    /// Everything before the step lets it pass. Whoever was settled without ever having been tried
    /// stands in nobody's way, but what stands before it still does.
    fn before_passes(&self, step: StepIndex) -> bool {
        self.spec(step).after.iter().all(|before| {
            let untried = self.model(*before).attempt == 0;
            self.lets_pass(*before)
                && (!(untried && self.is_settled(*before)) || self.before_passes(*before))
        })
    }

    pub(super) fn never_starts(&self, step: StepIndex) -> bool {
        self.spec(step).after.iter().any(|before| {
            let untried = self.model(*before).attempt == 0;
            (self.stage(*before).has_ended() && !self.lets_pass(*before))
                || (untried && self.is_settled(*before) && self.never_starts(*before))
        })
    }

    fn is_settled(&self, step: StepIndex) -> bool {
        matches!(self.stage(step), Stage::Succeeded | Stage::Skipped { lets_pass: true })
    }

    fn lets_pass(&self, step: StepIndex) -> bool {
        let failed_mildly =
            self.stage(step) == Stage::Failed && self.spec(step).continue_on_failure;
        self.is_settled(step) || failed_mildly
    }

    pub(super) fn end(&mut self, status: RunStatus) -> Verdict {
        let expected = if self.cancelled {
            RunStatus::Cancelled
        } else if self.indices().any(|step| self.fails_the_run(step)) {
            RunStatus::Failed
        } else {
            RunStatus::Succeeded
        };
        OUTCOME_AS_MODELED.check(status == expected, || {
            format!("the run ended as {}, not as {}", status.word(), expected.word())
        })?;
        self.ended = Some(status);
        Ok(())
    }

    pub(super) fn ended_exactly_when_all_steps_have(&self) -> Verdict {
        if !self.started && !self.cancelled {
            // A person may settle every step of a run before it begins.
            return Ok(());
        }
        let over = self.steps.iter().all(|step| step.stage.has_ended());
        OUTCOME_AS_MODELED.check(over == self.ended.is_some(), || {
            format!("the run is {:?} while its steps are {:?}", self.ended, self.stages())
        })
    }

    /// A failed item fails its step, and that the run; unless a person took the step over.
    fn fails_the_run(&self, step: StepIndex) -> bool {
        let matters = !self.is_item(step) && !self.spec(step).continue_on_failure;
        matters && self.stage(step) == Stage::Failed
    }
}
