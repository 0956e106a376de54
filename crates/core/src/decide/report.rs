//! A worker answered, or the bus gave the directive up.

use std::sync::Arc;

use serde_json::Value;

use super::attempt::Failure;
use super::draft::Draft;
use crate::command::{Fence, StepRef};
use crate::credit::Credits;
use crate::entry::Entry;
use crate::id::{LeaseId, StepIndex};
use crate::refusal::Refusal;
use crate::step::{Outcome, StepError, StepStatus};

pub(super) fn report(
    draft: &mut Draft<'_, '_>,
    step: &StepRef,
    fence: Fence,
    outcome: &Outcome,
    spent: Credits,
) -> Result<(), Refusal> {
    let step = draft.find(step)?;
    draft.must_hold_lease(step, fence)?;
    draft.take_unless_taken(step);
    draft.spend(spent);
    draft.withdraw(step);
    match outcome {
        Outcome::Succeeded { result } => {
            draft.set_free(step, fence.lease);
            draft.succeed(step, result);
        }
        Outcome::Incomplete => incomplete(draft, step),
        Outcome::Failed { error, retryable, retry_after } => {
            draft.set_free(step, fence.lease);
            draft.end_attempt(step, Failure::reported(error.clone(), *retryable, *retry_after));
        }
    }
    draft.advance();
    Ok(())
}

/// The bus could not bring the directive to a worker that settled it: the attempt failed, and
/// another may help. Where one worker keeps the attempt the run is lost: its message
/// stands among the dead ones, and the record must say the same.
pub(super) fn undelivered(
    draft: &mut Draft<'_, '_>,
    step: StepIndex,
    lease: LeaseId,
    error: &StepError,
) -> Result<(), Refusal> {
    draft.must_be_current(step, lease)?;
    let retryable = draft.run.keeping().is_none();
    draft.lose(step, Failure::reported(error.clone(), retryable, None));
    Ok(())
}

fn incomplete(draft: &mut Draft<'_, '_>, step: StepIndex) {
    let Some(poll) = draft.spec(step).poll else {
        // Taking it as success would go on over unfinished work.
        let error = StepError::new(
            "poll_not_configured",
            "the worker answered that the work is not complete, but the step has no poll",
        );
        draft.end_attempt(step, Failure::reported(error, false, None));
        return;
    };
    if draft.run.cancel.is_some() {
        // Asking again would be new work, and a run that is being stopped starts none.
        draft.push(Entry::StepCancelled { step });
        return;
    }
    let started_at = draft.step(step).poll.map_or(draft.now, |state| state.started_at);
    let give_up_at = started_at.after(poll.timeout);
    if draft.now >= give_up_at {
        draft.time_out_poll(step);
        return;
    }
    let next_at = draft.now.after(poll.interval).min(give_up_at);
    draft.push(Entry::StepPolling { step, next_at });
}

impl Draft<'_, '_> {
    /// The directive was lost on its way. A lost question of a poll is only asked again later:
    /// ending the attempt would do the work itself a second time.
    pub(super) fn lose(&mut self, step: StepIndex, failure: Failure) {
        if self.step(step).status == StepStatus::Polling {
            incomplete(self, step);
        } else {
            self.end_attempt(step, failure);
        }
        self.advance();
    }

    /// Ends a step well, and says which of its outputs the result did not hold.
    pub(super) fn succeed(&mut self, step: StepIndex, result: &Value) {
        let unset = self.unset(step, Some(result));
        self.push(Entry::StepSucceeded { step, result: Arc::new(result.clone()), unset });
    }

    /// The outputs of a step that its result, or the results of its items, do not hold.
    pub(super) fn unset(&self, step: StepIndex, result: Option<&Value>) -> Vec<String> {
        let outputs = self.run.outputs_of(step, result);
        outputs.filter(|(_, value)| value.is_none()).map(|(name, _)| name.to_owned()).collect()
    }
}
