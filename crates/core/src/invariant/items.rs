//! The rules of steps that are done once for each item of a list.

use super::{Breach, of_run};
use crate::expansion::Expansion;
use crate::id::StepIndex;
use crate::run::Run;
use crate::step::{SkipReason, Step, StepStatus};

/// A rule of one step or item.
pub(super) fn are_where_they_belong(
    run: &Run,
    index: StepIndex,
    step: &Step,
) -> Result<(), &'static str> {
    if run.is_item(index) {
        return if step.status == StepStatus::Expanded {
            Err("an item has no items of its own")
        } else {
            Ok(())
        };
    }
    if step.status == StepStatus::Expanded && run.expansion(index).is_none() {
        return Err("a step that is expanded has its items");
    }
    if step.skip == Some(SkipReason::OtherItem) {
        return Err("only an item is passed over because of another item");
    }
    if step.attempt > 0 && run.expansion(index).is_some() {
        return Err("a step with items is never dispatched itself");
    }
    Ok(())
}

/// The rules of every expanded step, from its counts alone.
pub(super) fn agree_with_their_steps(run: &Run) -> Result<(), Breach> {
    let mut end = run.header.specs().len();
    for items in &run.expansions {
        let breach = |rule| Breach { rule, step: Some(items.step.position()) };
        if usize::from(items.first) != end {
            return Err(breach("the items of a step follow those of the step expanded before it"));
        }
        end = items.positions().end;
        agrees(run, items).map_err(breach)?;
    }
    if end != run.steps.len() {
        return Err(of_run("every position of a run is a step of its workflow or an item"));
    }
    Ok(())
}

fn agrees(run: &Run, items: &Expansion) -> Result<(), &'static str> {
    let spec = run.spec(items.step);
    let expanded = run.steps[items.step.position()].status == StepStatus::Expanded;
    if expanded != (items.open() > 0) {
        return Err("a step with items ends exactly when all of them have");
    }
    let parallel_max = spec.for_each.as_ref().and_then(|for_each| for_each.parallel_max);
    if parallel_max.is_some_and(|max| items.under_way > max) {
        return Err("no more items are under way than may be");
    }
    let lost = items.failed > 0 && !spec.continue_on_failure;
    if lost && items.waiting > 0 {
        return Err("after an item has failed for good no other waits for its turn");
    }
    Ok(())
}

/// Every count is what counting gives.
pub(super) fn are_counted(run: &Run) -> Result<(), Breach> {
    for items in &run.expansions {
        if Expansion::counted(items.step, items.first, items.count, &run.steps) != *items {
            let rule = "the items of a step are counted as they stand";
            return Err(Breach { rule, step: Some(items.step.position()) });
        }
    }
    Ok(())
}
