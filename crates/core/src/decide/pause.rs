//! Nothing new is dispatched until the run is resumed. What is under way may end; asking twice changes nothing.

use super::draft::Draft;
use crate::command::Act;
use crate::entry::Entry;
use crate::refusal::Refusal;
use crate::step::{PollTurn, StepStatus};

pub(super) fn pause(draft: &mut Draft<'_, '_>, by: &Act) -> Result<(), Refusal> {
    draft.must_be_open()?;
    if draft.run.cancel.is_some() {
        return Err(Refusal::Cancelling);
    }
    if !draft.run.paused {
        draft.push(Entry::RunPaused { by: by.clone() });
    }
    Ok(())
}

pub(super) fn resume(draft: &mut Draft<'_, '_>, by: &Act) -> Result<(), Refusal> {
    draft.must_be_open()?;
    if !draft.run.paused {
        return Ok(());
    }
    draft.push(Entry::RunResumed { by: by.clone() });
    for step in draft.steps() {
        let state = draft.step(step);
        let was_due = state.poll.is_some_and(|poll| poll.turn == PollTurn::Held);
        match state.status {
            StepStatus::Ready => draft.dispatch(step),
            StepStatus::Polling if was_due => draft.poll(step),
            StepStatus::Polling
            | StepStatus::Waiting
            | StepStatus::Expanded
            | StepStatus::Dispatched
            | StepStatus::Acked
            | StepStatus::RetryWait
            | StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Cancelled
            | StepStatus::Skipped => {}
        }
    }
    draft.advance();
    Ok(())
}
