//! A moment may have come. The row decides: whoever wakes a run too early, or twice, changes nothing.

use super::draft::Draft;
use crate::duration::Interval;
use crate::entry::Entry;
use crate::id::{LeaseId, StepIndex};
use crate::step::StepStatus;

/// A question of a poll counts as lost after this many intervals without an answer.
const POLL_LOST_INTERVALS: u64 = 3;

pub(super) fn wake(draft: &mut Draft<'_, '_>) {
    if draft.run.status.is_terminal() {
        return;
    }
    let mut moved = false;
    if draft.run.retry_at.is_some_and(|at| at <= draft.now) {
        draft.begin_next_attempt_of_run();
        moved = true;
    }
    for step in draft.run.steps.due(draft.now) {
        // What one step comes to may have ended another.
        if draft.step(step).wake_at.is_some_and(|at| at <= draft.now) {
            wake_step(draft, step);
            moved = true;
        }
    }
    if moved {
        draft.advance();
    }
}

fn wake_step(draft: &mut Draft<'_, '_>, step: StepIndex) {
    match draft.step(step).status {
        StepStatus::Dispatched | StepStatus::Acked => draft.give_up_attempt(step),
        StepStatus::RetryWait => draft.dispatch(step),
        StepStatus::Polling => draft.poll(step),
        StepStatus::Waiting
        | StepStatus::Ready
        | StepStatus::Expanded
        | StepStatus::Succeeded
        | StepStatus::Failed
        | StepStatus::TimedOut
        | StepStatus::Cancelled
        | StepStatus::Skipped => unreachable!("no step in this status has a moment to wake at"),
    }
}

impl Draft<'_, '_> {
    /// Everything that was held is tried again, in the same run.
    pub(super) fn begin_next_attempt_of_run(&mut self) {
        let attempt = self.run.attempt + 1;
        self.push(Entry::RunRetried { attempt });
        for step in self.steps() {
            if self.step(step).is_held() {
                self.dispatch(step);
            }
        }
    }

    /// Asks a polling step's worker again, unless polling as a whole has taken too long.
    pub(super) fn poll(&mut self, step: StepIndex) {
        let (Some(poll), Some(state)) = (self.spec(step).poll, self.step(step).poll) else {
            return;
        };
        let give_up_at = state.started_at.after(poll.timeout);
        self.withdraw(step);
        if self.now >= give_up_at {
            self.time_out_poll(step);
            return;
        }
        if self.run.cancel.is_some() {
            self.push(Entry::StepCancelled { step });
            return;
        }
        if self.run.paused {
            self.push(Entry::PollHeld { step, wake_at: give_up_at });
            return;
        }
        let lease = LeaseId(self.fresh());
        let patience = Interval::from_millis(poll.interval.as_millis() * POLL_LOST_INTERVALS);
        let wake_at = self.now.after(patience).min(give_up_at);
        self.push(Entry::PollDispatched { step, lease, expires_at: give_up_at, wake_at });
        self.publish(step);
    }
}
