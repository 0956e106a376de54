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
    for carried in carried {
        let (Carried::Step { step, .. } | Carried::Items { step, .. }) = carried;
        if draft.run.is_item(*step) {
            return Err(Refusal::UnknownStep(step.0.to_string()));
        }
        let step = draft.find(&StepRef::Index(*step))?;
        // A person may have settled it before the start, and what has ended never changes.
        if draft.step(step).status.is_terminal() {
            continue;
        }
        match carried {
            Carried::Step { result, .. } => {
                draft.push(Entry::StepCarried { step, result: Arc::new(result.clone()) });
            }
            Carried::Items { items, results, .. } => carry_items(draft, step, items, results),
        }
    }
    draft.advance();
    Ok(())
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
    let known = draft.run.header.specs().iter().any(|spec| spec.gate.as_deref() == Some(gate));
    if !known {
        return Err(Refusal::UnknownGate(gate.to_owned()));
    }
    if draft.run.gates_open.contains(gate) {
        return Ok(());
    }
    draft.push(Entry::GateOpened { gate: gate.to_owned() });
    draft.advance();
    Ok(())
}
