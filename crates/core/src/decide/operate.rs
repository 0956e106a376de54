//! A person overrides a step that has not ended: tries it again, passes it over, takes it as done.

use super::draft::Draft;
use crate::command::{Act, Operation, StepRef};
use crate::entry::{Entry, OperationKind};
use crate::refusal::Refusal;
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
    let kind = match operation {
        Operation::Retry => OperationKind::Retry,
        Operation::Skip => OperationKind::Skip,
        Operation::MarkSucceeded { .. } => OperationKind::MarkSucceeded,
    };
    draft.withdraw(step);
    draft.push(Entry::StepOperated { step, operation: kind, by: by.clone() });
    match operation {
        Operation::Retry => draft.dispatch(step),
        Operation::Skip => draft.push(Entry::StepSkipped { step, reason: SkipReason::Operator }),
        Operation::MarkSucceeded { result } => draft.succeed(step, result),
    }
    draft.advance();
    Ok(())
}
