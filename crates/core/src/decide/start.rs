//! A run begins; a gate opens.

use std::sync::Arc;

use serde_json::Value;

use super::draft::Draft;
use crate::command::StepRef;
use crate::entry::Entry;
use crate::id::StepIndex;
use crate::refusal::Refusal;
use crate::run::RunStatus;

pub(super) fn start(
    draft: &mut Draft<'_, '_>,
    carried: &[(StepIndex, Value)],
) -> Result<(), Refusal> {
    draft.must_be_open()?;
    if draft.run.status != RunStatus::Created {
        return Err(Refusal::AlreadyStarted);
    }
    draft.push(Entry::RunStarted);
    for (step, result) in carried {
        let step = draft.find(&StepRef::Index(*step))?;
        // A person may have settled it before the start, and what has ended never changes.
        if !draft.step(step).status.is_terminal() {
            draft.push(Entry::StepCarried { step, result: Arc::new(result.clone()) });
        }
    }
    draft.advance();
    Ok(())
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
