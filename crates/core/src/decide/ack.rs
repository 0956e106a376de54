//! News of an attempt under way: a worker took it, the bus confirmed it, the bus refused it.

use super::attempt::Failure;
use super::draft::Draft;
use crate::command::{Fence, StepRef};
use crate::entry::Entry;
use crate::id::{LeaseId, StepIndex};
use crate::refusal::Refusal;
use crate::step::{LeaseStage, StepError, StepStatus};

/// An ack says that a worker has the directive. It does not extend the attempt's time, except
/// where one worker keeps the attempt: its time begins here.
pub(super) fn ack(draft: &mut Draft<'_, '_>, step: &StepRef, fence: Fence) -> Result<(), Refusal> {
    let step = draft.find(step)?;
    draft.must_hold_lease(step, fence)?;
    // A second ack, or one for a question of a poll, tells nothing new.
    if draft.step(step).status == StepStatus::Dispatched {
        draft.take(step);
    }
    Ok(())
}

/// A worker may have answered before the bus confirmed; then the confirmation is no news.
pub(super) fn published(
    draft: &mut Draft<'_, '_>,
    step: StepIndex,
    lease: LeaseId,
) -> Result<(), Refusal> {
    draft.must_be_current(step, lease)?;
    if stage(draft, step) == Some(LeaseStage::Recorded) {
        draft.push(Entry::AttemptPublished { step });
    }
    Ok(())
}

/// The attempt never reached a worker: the next one has a new number and lease, and this one does
/// not count to the limit (D-046, X-135). If a worker has taken it all the same, it stands.
pub(super) fn publish_failed(
    draft: &mut Draft<'_, '_>,
    step: StepIndex,
    lease: LeaseId,
    error: &StepError,
) -> Result<(), Refusal> {
    draft.must_be_current(step, lease)?;
    if stage(draft, step) == Some(LeaseStage::Recorded) {
        draft.lose(step, Failure::unpublished(error.clone()));
    }
    Ok(())
}

fn stage(draft: &Draft<'_, '_>, step: StepIndex) -> Option<LeaseStage> {
    draft.step(step).lease.map(|lease| lease.stage)
}
