//! A person overrides a step or an item that has not ended: tries it again, passes it over, takes it
//! as done.

use super::draft::Draft;
use crate::command::{Act, Operation, StepRef};
use crate::entry::{Entry, OperationKind};
use crate::id::StepIndex;
use crate::refusal::Refusal;
use crate::run::RunStatus;
use crate::step::{SkipReason, StepStatus};

pub(super) fn operate(
    draft: &mut Draft<'_, '_>,
    step: &StepRef,
    operation: &Operation,
    by: &Act,
) -> Result<(), Refusal> {
    let step = draft.find(step)?;
    draft.must_be_open()?;
    let status = draft.step(step).status;
    if status.is_terminal() {
        return Err(Refusal::StepEnded(status));
    }
    if draft.run.cancel.is_some() {
        return Err(Refusal::Cancelling);
    }
    if *operation == Operation::Retry && status == StepStatus::Waiting {
        // It has not been tried yet: what it waits for must happen first.
        return Err(Refusal::NotDispatched(status));
    }
    match operation {
        Operation::Retry if status == StepStatus::Expanded => retry_items(draft, step, by),
        Operation::Retry => retry(draft, step, by),
        Operation::Skip => {
            take_over(draft, step, OperationKind::Skip, by);
            draft.push(Entry::StepSkipped { step, reason: SkipReason::Operator });
        }
        Operation::MarkSucceeded { result } => {
            take_over(draft, step, OperationKind::MarkSucceeded, by);
            draft.succeed(step, result);
        }
    }
    draft.advance();
    Ok(())
}

fn retry(draft: &mut Draft<'_, '_>, step: StepIndex, by: &Act) {
    take_over(draft, step, OperationKind::Retry, by);
    if draft.run.keeping().is_some() && draft.run.status == RunStatus::RetryWait {
        // A message starts an attempt of the whole run; this one begins before its time.
        draft.begin_next_attempt_of_run();
    } else {
        draft.dispatch(step);
    }
}

/// A step with items is not tried itself. Those of its items that rest between two attempts are
/// tried now; those that a worker has are left to the worker.
fn retry_items(draft: &mut Draft<'_, '_>, step: StepIndex, by: &Act) {
    for item in draft.open_items(step) {
        if draft.step(item).status == StepStatus::RetryWait {
            retry(draft, item, by);
        }
    }
}

/// Whatever the step or its items are doing, it no longer counts.
fn take_over(draft: &mut Draft<'_, '_>, step: StepIndex, operation: OperationKind, by: &Act) {
    draft.withdraw(step);
    draft.push(Entry::StepOperated { step, operation, by: by.clone() });
    for item in draft.open_items(step) {
        draft.withdraw(item);
        draft.push(Entry::StepCancelled { step: item });
    }
}
