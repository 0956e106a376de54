//! How far the items of a step have come, the same on every wire.

use serde::Serialize;
use stepwell_core::id::StepIndex;
use stepwell_core::run::Run;

/// How far the items of a step have come, if it is done once for each item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ItemsView {
    /// how many there are
    pub count: u16,
    /// how many have ended, well or not
    pub ended: u16,
    /// how many failed for good
    pub failed: u16,
    /// how many have begun and have not ended
    pub under_way: u16,
    /// how many wait for their turn
    pub waiting: u16,
}

/// Counts the items of a step; `None` if it has none.
#[must_use]
pub fn items(run: &Run, step: StepIndex) -> Option<ItemsView> {
    let items = run.expansion(step)?;
    Some(ItemsView {
        count: items.count,
        ended: items.count - items.open(),
        failed: items.failed,
        under_way: items.under_way,
        waiting: items.waiting,
    })
}
