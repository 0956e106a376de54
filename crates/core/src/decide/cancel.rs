//! A run is stopped: at once, or when what is under way has ended.

use super::draft::Draft;
use crate::command::Act;
use crate::definition::CancelMode;
use crate::entry::Entry;
use crate::refusal::Refusal;
use crate::run::RunStatus;
use crate::step::StepStatus;

pub(super) fn cancel(
    draft: &mut Draft<'_, '_>,
    mode: Option<CancelMode>,
    by: &Act,
) -> Result<(), Refusal> {
    draft.must_be_open()?;
    let mode = mode.unwrap_or(draft.run.cancel_mode());
    // A message that no worker has taken is not under way: whoever took it now would begin something new.
    let is_queued = draft.run.keeping().is_some() && draft.run.status == RunStatus::Ready;
    let mode = if is_queued { CancelMode::Immediate } else { mode };
    match (draft.run.cancel, mode) {
        // Asked again, or asked more mildly than before: the first request stands.
        (Some(CancelMode::Drain), CancelMode::Drain) | (Some(CancelMode::Immediate), _) => {
            return Ok(());
        }
        (None, _) | (Some(CancelMode::Drain), CancelMode::Immediate) => {}
    }
    draft.push(Entry::CancelRequested { mode, by: by.clone() });
    match mode {
        CancelMode::Immediate => draft.cancel_rest(),
        CancelMode::Drain => {
            for step in draft.steps() {
                let state = draft.step(step);
                // A step with items ends after them, and some of them may be under way.
                let has_items = state.status == StepStatus::Expanded;
                if !state.status.is_terminal() && !state.is_in_flight() && !has_items {
                    draft.push(Entry::StepCancelled { step });
                }
            }
        }
    }
    draft.advance();
    Ok(())
}
