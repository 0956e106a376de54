//! A run begins; a gate opens.

use std::sync::Arc;

use serde_json::Value;

use super::draft::Draft;
use crate::command::{Carried, StepRef};
use crate::entry::Entry;
use crate::id::StepIndex;
use crate::refusal::Refusal;
use crate::run::RunStatus;

pub(super) fn start(draft: &mut Draft<'_, '_>, carried: &[Carried]) -> Result<(), Refusal> {
    draft.must_be_open()?;
    if draft.run.status != RunStatus::Created {
        return Err(Refusal::AlreadyStarted);
    }
    draft.push(Entry::RunStarted);
    draft.reserve();
    for carried in carried {
        carry(draft, carried)?;
    }
    draft.advance();
    Ok(())
}

fn carry(draft: &mut Draft<'_, '_>, carried: &Carried) -> Result<(), Refusal> {
    match carried {
        Carried::Step { step, result } => {
            if let Some(step) = carried_step(draft, *step)? {
                draft.push(Entry::StepCarried { step, result: Arc::new(result.clone()) });
            }
        }
        Carried::Items { step, items, results } => {
            if let Some(step) = carried_step(draft, *step)? {
                carry_items(draft, step, items, results);
            }
        }
        Carried::Outputs { outputs } if outputs.is_empty() => {}
        Carried::Outputs { outputs } => {
            draft.push(Entry::OutputsCarried { outputs: Arc::new(outputs.clone()) });
        }
        Carried::Open { gate } => {
            must_be_known(draft, gate)?;
            push_opened(draft, gate);
        }
        Carried::Skip { gate } => {
            must_be_known(draft, gate)?;
            draft.pass_over(std::slice::from_ref(gate));
        }
    }
    Ok(())
}

/// The step that something is carried over for; `None` if it has ended: a person may have settled it
/// before the start, and what has ended never changes.
fn carried_step(draft: &Draft<'_, '_>, step: StepIndex) -> Result<Option<StepIndex>, Refusal> {
    if draft.run.is_item(step) {
        return Err(Refusal::UnknownStep(step.0.to_string()));
    }
    let step = draft.find(&StepRef::Index(step))?;
    Ok(Some(step).filter(|step| !draft.step(*step).status.is_terminal()))
}

/// The step keeps the list that it had begun with, so that what was done for an item is done for the
/// same item. The rest begins when the turn of the step has come.
fn carry_items(
    draft: &mut Draft<'_, '_>,
    step: StepIndex,
    items: &Arc<Value>,
    results: &[Option<Arc<Value>>],
) {
    let Ok(first) = draft.place_for(step, items) else {
        // It is done from the start, and fails then if it must.
        return;
    };
    draft.push(Entry::StepExpanded { step, items: Arc::clone(items) });
    for (item, result) in (first..draft.run.steps.len()).zip(results) {
        if let Some(result) = result {
            let (step, result) = (StepIndex::at(item), Arc::clone(result));
            draft.push(Entry::StepCarried { step, result });
        }
    }
}

/// Opening an open gate again changes nothing: the event that opens it may come twice.
pub(super) fn open_gate(draft: &mut Draft<'_, '_>, gate: &str) -> Result<(), Refusal> {
    draft.must_be_open()?;
    must_be_known(draft, gate)?;
    if push_opened(draft, gate) {
        draft.advance();
    }
    Ok(())
}

fn must_be_known(draft: &Draft<'_, '_>, gate: &str) -> Result<(), Refusal> {
    let known = draft.run.header.specs().iter().any(|spec| spec.gate.as_deref() == Some(gate));
    if known { Ok(()) } else { Err(Refusal::UnknownGate(gate.to_owned())) }
}

/// `false` if it was open before.
fn push_opened(draft: &mut Draft<'_, '_>, gate: &str) -> bool {
    let was_closed = !draft.run.gates_open.contains(gate);
    if was_closed {
        draft.push(Entry::GateOpened { gate: gate.to_owned() });
    }
    was_closed
}
