//! When faults have ended: every batch ends, or says for whom it waits.

use stepwell_core::batch::{Batch, BatchMode, BatchStatus, Phase, PhaseStatus};
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::explain::explain;
use stepwell_store::Member;

use super::{Oracle, WatchedBatch};
use crate::oracle::rules::{BATCH_RESTS, DOORS_OPEN, REMOVAL_ONCE, Violation};

impl Oracle {
    /// Batches that could go on, and have not ended.
    #[must_use]
    pub fn batches_under_way(&self) -> Vec<BatchId> {
        let under_way = self.batches.of.values().filter(|it| !rests(&it.seen.batch));
        under_way.map(|watched| watched.seen.batch.id()).collect()
    }

    /// The time that was left has passed.
    pub fn batches_rest(&mut self, now: Timestamp) {
        let verdicts: Vec<Result<(), Violation>> =
            self.batches.of.values().map(|watched| self.at_rest(watched, now)).collect();
        verdicts.into_iter().for_each(|verdict| self.judge(verdict));
    }

    fn at_rest(&self, watched: &WatchedBatch, now: Timestamp) -> Result<(), Violation> {
        let (batch, members) = (&watched.seen.batch, &watched.seen.members);
        let explanation = explain(batch, None, now);
        let named = explanation.waits.iter().any(|wait| wait.advice.is_some());
        let sound = rests(batch) && (batch.is_settled() || named);
        BATCH_RESTS.check(sound, || format!("batch {} does not: {explanation:?}", batch.id()))?;
        BATCH_RESTS.check(!batch.is_settled() || batch.tally.open == 0, || {
            format!("batch {} is over, and {} members are not", batch.id(), batch.tally.open)
        })?;
        for member in members {
            self.removal_followed(member)?;
            self.doors_are_open(batch, member)?;
        }
        Ok(())
    }

    fn removal_followed(&self, member: &Member) -> Result<(), Violation> {
        let runs = self.batches.removals.get(&member.id).map_or(0, Vec::len);
        let wanted = usize::from(member.removed_at.is_some() && self.batches.has_removal);
        let noted = member.removed_at.is_some() == member.removal_dispatched_at.is_some();
        REMOVAL_ONCE.check(noted && runs == wanted && !self.is_still_there(member), || {
            format!("{member:?} has {runs} removal runs, where {wanted} are wanted")
        })
    }

    /// It left, and still goes on.
    fn is_still_there(&self, member: &Member) -> bool {
        let goes_on = self.runs_of(member.id).any(|run| !run.status.is_terminal());
        member.removed_at.is_some() && goes_on
    }

    fn doors_are_open(&self, batch: &Batch, member: &Member) -> Result<(), Violation> {
        let Some(run) = self.runs_of(member.id).last() else { return Ok(()) };
        if run.status.is_terminal() {
            return Ok(());
        }
        let has_begun = |phase: &&Phase| phase.status == PhaseStatus::Dispatched;
        for phase in batch.phases.iter().filter(has_begun) {
            let is_on_way =
                run.header.specs().iter().any(|it| it.gate.as_ref() == Some(&phase.gate));
            DOORS_OPEN.check(!is_on_way || run.gates_open.contains(&phase.gate), || {
                format!("{} is closed for member {}", phase.gate, member.id)
            })?;
        }
        Ok(())
    }
}

/// It is over, or waits for a person.
fn rests(batch: &Batch) -> bool {
    let any = |status: PhaseStatus| batch.current_phases().any(|phase| phase.status == status);
    let waits_for_advance = batch.header.mode == BatchMode::Manual
        && match batch.status {
            BatchStatus::Detected => true,
            BatchStatus::Active => any(PhaseStatus::Pending) && !any(PhaseStatus::Dispatched),
            BatchStatus::InitDispatched
            | BatchStatus::Completed
            | BatchStatus::Failed
            | BatchStatus::Cancelled => false,
        };
    batch.is_settled() || (batch.sweeps.is_empty() && (batch.paused || waits_for_advance))
}
