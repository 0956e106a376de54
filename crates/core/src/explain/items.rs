//! How far the items of a step have come, in words.

use crate::expansion::Expansion;
use crate::id::StepIndex;
use crate::run::Run;
use crate::step::StepStatus;
use crate::time::Timestamp;

/// A person looks at a few items; the counts speak for the rest.
const ITEMS_SHOWN_MAX: usize = 10;

/// The step, and those of its items that a person would want to see: first what is neither with a
/// worker nor waiting for its turn, then what is with a worker.
pub(super) fn worth_telling(run: &Run, step: StepIndex) -> Vec<StepIndex> {
    let items = || run.expansion(step).into_iter().flat_map(Expansion::items);
    let status = |item: &StepIndex| run.steps[item.position()].status;
    let looks_stuck = |item: &StepIndex| {
        matches!(status(item), StepStatus::RetryWait | StepStatus::Polling | StepStatus::Ready)
    };
    let is_with_worker =
        |item: &StepIndex| matches!(status(item), StepStatus::Dispatched | StepStatus::Acked);
    let shown = items().filter(looks_stuck).chain(items().filter(is_with_worker));
    std::iter::once(step).chain(shown.take(ITEMS_SHOWN_MAX)).collect()
}

/// "3 of 20 items have ended, 5 are under way, 12 wait for their turn".
pub(super) fn progress(run: &Run, step: StepIndex) -> String {
    let Some(items) = run.expansion(step) else { return "has no items".to_owned() };
    let mut text = format!("{} of {} items have ended", items.count - items.open(), items.count);
    let parts = [
        (items.failed, "failed"),
        (items.under_way - items.held, "are under way"),
        (items.held, "wait for the next attempt of the whole run"),
        (items.waiting, "wait for their turn"),
    ];
    for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {what}");
    }
    text
}

/// When the first of its items moves by itself.
pub(super) fn next_moment(run: &Run, step: StepIndex) -> Option<Timestamp> {
    let items = run.expansion(step)?;
    items.positions().filter_map(|position| run.steps[position].wake_at).min()
}
