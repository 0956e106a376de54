//! One worker does all steps of an attempt: it takes the message, gives signs of life, and goes on with
//! the next step when it reports one.
//!
//! An attempt has one message. From the moment a worker has taken it nothing of the attempt is with the
//! bus any more; what fails it is a report, or silence.

use super::attempt::Failure;
use super::draft::Draft;
use crate::command::{Fence, StepRef};
use crate::duration::Interval;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::id::{LeaseId, StepIndex};
use crate::refusal::Refusal;
use crate::step::{StepError, StepStatus};
use crate::terms::Keeping;
use crate::time::Timestamp;

/// A sign of life that comes sooner than this part of the lease after the last one is not written down.
const UNWRITTEN_PART: u64 = 4;

/// A worker that has just reported a step, and can go on with another one.
pub(super) struct FreeWorker {
    lease: LeaseId,
    pool: String,
}

/// A sign of life: whoever has the attempt may keep it longer. Elsewhere it changes nothing.
pub(super) fn extend(
    draft: &mut Draft<'_, '_>,
    step: &StepRef,
    fence: Fence,
) -> Result<(), Refusal> {
    let step = draft.find(step)?;
    draft.must_hold_lease(step, fence)?;
    let Some(keeping) = draft.run.keeping() else { return Ok(()) };
    match draft.step(step).status {
        StepStatus::Dispatched => draft.take(step),
        StepStatus::Acked => {
            let lease = keeping.lease.as_millis();
            let soon = draft.now.after(Interval::from_millis(lease - lease / UNWRITTEN_PART));
            let could_hold = draft.could_hold_until(step, keeping);
            let holds_until = draft.step(step).lease.map(|lease| lease.expires_at);
            if holds_until.is_none_or(|until| until < soon && until < could_hold) {
                draft.keep(step, keeping);
            }
        }
        // A question of a poll has times of its own.
        StepStatus::Polling
        | StepStatus::Waiting
        | StepStatus::Ready
        | StepStatus::Expanded
        | StepStatus::RetryWait
        | StepStatus::Succeeded
        | StepStatus::Failed
        | StepStatus::TimedOut
        | StepStatus::Cancelled
        | StepStatus::Skipped => {}
    }
    Ok(())
}

impl Draft<'_, '_> {
    /// A worker has taken the attempt. If it keeps it, the bus has nothing left to do with it.
    pub(super) fn take(&mut self, step: StepIndex) {
        let directive = self.step(step).directive(step);
        self.push(Entry::StepAcked { step });
        if let Some(keeping) = self.run.keeping() {
            self.keep(step, keeping);
            directive.into_iter().for_each(|it| self.follow_with(Effect::Withdraw(it)));
        }
    }

    /// A worker that reports has taken the attempt, whether it said so before or not.
    pub(super) fn take_unless_taken(&mut self, step: StepIndex) {
        if self.run.keeping().is_some() && self.step(step).status == StepStatus::Dispatched {
            self.take(step);
        }
    }

    /// Whoever has the step may keep it for another while.
    fn keep(&mut self, step: StepIndex, keeping: Keeping) {
        let expires_at = self.could_hold_until(step, keeping);
        self.push(Entry::LeaseExtended { step, expires_at });
    }

    /// Until when a sign of life now lets whoever has the step keep it: never beyond the time that the
    /// step may take.
    fn could_hold_until(&self, step: StepIndex, keeping: Keeping) -> Timestamp {
        let until = self.now.after(keeping.lease);
        let deadline = self.step(step).lease.and_then(|lease| lease.deadline);
        deadline.map_or(until, |deadline| deadline.min(until))
    }

    /// A worker has the step, and no message of it is with the bus.
    pub(super) fn is_kept(&self, step: StepIndex) -> bool {
        self.run.is_kept(step)
    }

    /// Whoever reported this step can go on with another one of the same pool.
    pub(super) fn set_free(&mut self, step: StepIndex, lease: LeaseId) {
        if self.run.keeping().is_some() {
            let pool = self.spec(step).pool.clone();
            self.free = Some(FreeWorker { lease, pool });
        }
    }

    /// The lease under which the worker that has just reported goes on with this step, and until when it
    /// holds; `None` if the step needs a message. A worker goes on with one step only: other branches
    /// are for others.
    pub(super) fn goes_on(
        &mut self,
        step: StepIndex,
        attempt: u32,
    ) -> Option<(LeaseId, Timestamp)> {
        let keeping = self.run.keeping()?;
        let pool = &self.run.spec(step).pool;
        let worker = self.free.take_if(|worker| worker.pool == *pool)?;
        let kept_max = self.run.spec(step).kept_max().unwrap_or(keeping.lease);
        let expires_at = self.now.after(kept_max.min(keeping.lease));
        Some((worker.lease.for_next(step, attempt), expires_at))
    }

    /// Nobody has taken the message, or whoever had the step has been silent for too long, or has used
    /// up the time that the step may take.
    pub(super) fn why_not_kept(&self, step: StepIndex, keeping: Keeping) -> Failure {
        if !self.is_kept(step) {
            // Nobody has tried anything, so no attempt is used up: the run stays queued.
            let waited = format!("no worker took it within {}", keeping.unclaimed);
            return Failure::unpublished(StepError::new("unclaimed", waited));
        }
        // Silence that began well before the deadline is silence, however late somebody looks.
        if self.step(step).lease.is_some_and(|lease| lease.deadline == Some(lease.expires_at)) {
            return self.took_too_long(step, "of the moment a worker took it");
        }
        let silence = format!("the worker gave no sign of life for {}", keeping.lease);
        Failure::timed_out(StepError::new("lease_expired", silence), true)
    }
}
