//! A step that is done once for each item of a list: which items go next, and what comes of them all.

use super::draft::Draft;
use crate::entry::Entry;
use crate::expansion::Expansion;
use crate::id::StepIndex;
use crate::step::{SkipReason, StepError, StepStatus};

impl Draft<'_, '_> {
    /// Starts the items that may start, and ends the step after the last.
    pub(super) fn go_on_with_items(&mut self, step: StepIndex) {
        while let Some(item) = self.next_item(step) {
            self.dispatch(item);
        }
        if self.items(step).is_some_and(|items| items.failed > 0 && items.waiting > 0)
            && !self.spec(step).continue_on_failure
        {
            // They were not begun, so nothing is lost with them; what is under way may end.
            for item in self.waiting_items(step) {
                self.push(Entry::StepSkipped { step: item, reason: SkipReason::OtherItem });
            }
        }
        self.end_with_items(step);
    }

    /// The next item that may start now.
    ///
    /// An item that has begun keeps its place until it has ended, also while it rests between two
    /// attempts: the limit protects whoever does the work, and a retry is work too.
    fn next_item(&self, step: StepIndex) -> Option<StepIndex> {
        let (items, spec) = (self.items(step)?, self.spec(step));
        let parallel_max = spec.for_each.as_ref().and_then(|for_each| for_each.parallel_max);
        let has_room = parallel_max.is_none_or(|max| items.under_way < max);
        let is_lost = items.failed > 0 && !spec.continue_on_failure;
        let may_start = items.waiting > 0
            && has_room
            && !is_lost
            && !self.run.paused
            && self.run.cancel.is_none();
        may_start.then(|| items.item(items.next))
    }

    /// Ends an expanded step whose items have all ended.
    pub(super) fn end_with_items(&mut self, step: StepIndex) {
        let is_expanded = self.step(step).status == StepStatus::Expanded;
        let Some(items) = self.items(step).filter(|items| is_expanded && items.open() == 0) else {
            return;
        };
        if items.failed > 0 && !self.spec(step).continue_on_failure {
            self.fail_with_items(step);
        } else if items.cancelled > 0 {
            self.push(Entry::StepCancelled { step });
        } else {
            let unset = self.unset(step, None);
            self.push(Entry::StepGathered { step, unset });
        }
    }

    /// Fails the step because of its items.
    pub(super) fn fail_with_items(&mut self, step: StepIndex) {
        let error = self.error_of_items(step);
        self.fail(step, Entry::StepFailed { step, error });
    }

    /// Says how many items failed, and why the first of them did.
    fn error_of_items(&self, step: StepIndex) -> StepError {
        let items = self.items(step);
        let first = items.into_iter().flat_map(Expansion::items).find(|item| {
            matches!(self.step(*item).status, StepStatus::Failed | StepStatus::TimedOut)
        });
        let why = first.and_then(|item| {
            let error = self.step(item).error.as_deref()?;
            Some(format!("; {}: {} ({})", self.run.step_id(item), error.message, error.code))
        });
        let (failed, count) = items.map_or((0, 0), |items| (items.failed, items.count));
        let message = format!("{failed} of {count} items failed{}", why.unwrap_or_default());
        StepError::new("item_failed", message)
    }

    /// The items of a step that have not ended; owned, so that entries can be written while walking.
    pub(super) fn open_items(&self, step: StepIndex) -> Vec<StepIndex> {
        self.items_that(step, |status| !status.is_terminal())
    }

    fn waiting_items(&self, step: StepIndex) -> Vec<StepIndex> {
        self.items_that(step, |status| status == StepStatus::Waiting)
    }

    fn items_that(&self, step: StepIndex, wanted: fn(StepStatus) -> bool) -> Vec<StepIndex> {
        let items = self.items(step).into_iter().flat_map(Expansion::items);
        items.filter(|item| wanted(self.step(*item).status)).collect()
    }

    fn items(&self, step: StepIndex) -> Option<&Expansion> {
        self.run.expansion(step)
    }
}
