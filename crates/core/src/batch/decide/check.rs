//! A moment may have come, or a counter may have moved: begin what is due, end what is over.

use super::Draft;
use crate::batch::entry::BatchEntry;
use crate::batch::state::{Batch, BatchStatus, Init, Phase, PhaseStatus, SweepKind};
use crate::id::PhaseId;
use crate::run::RunStatus;

impl Draft<'_, '_> {
    pub(super) fn check(&mut self, init: Option<RunStatus>) {
        self.settle_init(init);
        self.begin_due();
        // While something is still being done to every member, no counter is final.
        if self.batch.sweeps.is_empty() {
            self.end_finished();
            self.end_batch();
        }
    }

    fn settle_init(&mut self, init: Option<RunStatus>) {
        if self.batch.status != BatchStatus::InitDispatched {
            return;
        }
        let Init::Dispatched(_) = self.batch.init else { return };
        match init {
            Some(RunStatus::Succeeded) => {
                self.push(BatchEntry::InitSucceeded);
                self.push(BatchEntry::Activated);
            }
            Some(RunStatus::Failed | RunStatus::Cancelled) => {
                self.push(BatchEntry::InitFailed);
                self.skip_pending();
                self.sweep(SweepKind::Cancel);
                self.push(BatchEntry::Ended { status: BatchStatus::Failed });
            }
            Some(
                RunStatus::Created
                | RunStatus::Ready
                | RunStatus::Running
                | RunStatus::RetryWait
                | RunStatus::Cancelling,
            )
            | None => {}
        }
    }

    /// Begins the phases whose time has come, in the order they are due.
    fn begin_due(&mut self) {
        if self.batch.status != BatchStatus::Active || self.batch.paused {
            return;
        }
        let is_due = |phase: &&Phase| {
            let due = phase.due_at.is_some_and(|due| due <= self.now);
            phase.status == PhaseStatus::Pending && due
        };
        let due: Vec<(PhaseId, bool)> = self
            .batch
            .current_phases()
            .filter(is_due)
            .map(|phase| (phase.id, phase.tally.open > 0))
            .collect();
        // Members that a sweep has not reached are not counted for the phase yet.
        let all_are_counted = self.batch.sweeps.is_empty();
        for (phase, is_for_somebody) in due {
            if is_for_somebody {
                self.dispatch_phase(phase, None);
            } else if all_are_counted {
                self.end_phase(phase, PhaseStatus::Skipped);
            }
        }
    }

    /// Ends the phases that no member is in any more: completed if one did all of it.
    fn end_finished(&mut self) {
        let is_over =
            |phase: &&Phase| phase.status == PhaseStatus::Dispatched && phase.tally.open == 0;
        let over: Vec<(PhaseId, PhaseStatus)> = self
            .batch
            .phases
            .iter()
            .filter(is_over)
            .map(|phase| {
                let done = phase.tally.succeeded > 0;
                (phase.id, if done { PhaseStatus::Completed } else { PhaseStatus::Failed })
            })
            .collect();
        for (phase, status) in over {
            self.end_phase(phase, status);
        }
    }

    /// Ends the batch when every phase is over and no member is still catching up.
    fn end_batch(&mut self) {
        let is_over = |phase: &Phase| phase.status.is_terminal();
        if self.batch.status == BatchStatus::Active
            && self.batch.phases.iter().all(is_over)
            && self.batch.tally.open == 0
        {
            self.push(BatchEntry::Ended { status: outcome(&self.batch) });
        }
    }
}

/// Failed only if a phase failed and none was completed; what was passed over says nothing.
fn outcome(batch: &Batch) -> BatchStatus {
    let any = |status: PhaseStatus| batch.phases.iter().any(|phase| phase.status == status);
    if any(PhaseStatus::Failed) && !any(PhaseStatus::Completed) {
        BatchStatus::Failed
    } else {
        BatchStatus::Completed
    }
}
