//! A run goes over to a longer workflow: the steps so far, and others behind them.

use super::draft::Draft;
use crate::command::Adopted;
use crate::definition::{Part, Workflow};
use crate::entry::Entry;
use crate::refusal::Refusal;
use crate::run::Run;
use crate::step::SkipReason;

/// What has ended stays as it ended, and positions stay what they were; so history, leases and the
/// work under way go on meaning the same steps. Asking again changes nothing.
pub(super) fn adopt(
    draft: &mut Draft<'_, '_>,
    workflow: &Adopted,
    superseded: &[String],
    skipped: &[String],
) -> Result<(), Refusal> {
    draft.must_be_open()?;
    if draft.run.header.workflow.version >= workflow.version {
        return Ok(());
    }
    if draft.run.cancel.is_some() {
        return Err(Refusal::Cancelling);
    }
    let named = || format!("{} version {}", workflow.name, workflow.version);
    let definition = workflow.definition.as_deref();
    let definition = definition.ok_or_else(|| Refusal::DefinitionMissing(named()))?;
    if let Some(why) = obstacle(&draft.run, definition) {
        return Err(Refusal::NotAdoptable { workflow: named(), why: why.to_owned() });
    }
    draft.push(Entry::WorkflowAdopted { workflow: workflow.clone() });
    draft.pass_over(superseded);
    draft.pass_over(skipped);
    draft.advance();
    Ok(())
}

/// Why the run cannot go over to this workflow, if it cannot.
fn obstacle(run: &Run, definition: &Workflow) -> Option<&'static str> {
    let known = run.header.specs();
    if run.header.part != Part::Main {
        return Some("it undoes a step of another run");
    }
    if !run.expansions.is_empty() {
        return Some("its items stand where the new steps would");
    }
    if definition.steps.len() <= known.len() || !definition.steps.starts_with(known) {
        return Some("the steps that it has now are not the first of that workflow");
    }
    None
}

impl Draft<'_, '_> {
    /// Passes over every step behind these gates that has not ended, and takes back what is with a
    /// worker. A gate that the run does not have is not a fault: a member that joined late knows
    /// nothing of the versions before.
    pub(super) fn pass_over(&mut self, gates: &[String]) {
        for step in self.own_steps() {
            let gate = self.spec(step).gate.as_ref();
            let is_meant = gate.is_some_and(|gate| gates.contains(gate));
            if is_meant && !self.step(step).status.is_terminal() {
                self.withdraw(step);
                self.push(Entry::StepSkipped { step, reason: SkipReason::Superseded });
            }
        }
    }
}
