//! The members of a batch, counted again from their runs.

use stepwell_core::batch::{Batch, MemberTally, PhaseTally};
use stepwell_core::id::MemberId;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::{SkipReason, Step, StepStatus};

use super::{BatchSeen, Oracle};
use crate::oracle::rules::{COUNTERS_ADD_UP, PHASE_OVER, Violation};

impl Oracle {
    /// After the runs of a commit were read: counters are what a recount says, and what is over is.
    pub(in crate::oracle) fn batch_adds_up(&self, seen: &BatchSeen) -> Result<(), Violation> {
        let batch = &seen.batch;
        let members: Vec<MemberId> = seen.members.iter().map(|member| member.id).collect();
        let tally = members.iter().filter_map(|member| self.runs_of(*member).last());
        let tally = tally.fold(MemberTally::default(), |sum, run| sum.plus(of_run(run)));
        COUNTERS_ADD_UP.check(batch.tally == tally, || {
            format!("batch {} has {:?}, counted are {tally:?}", batch.id(), batch.tally)
        })?;
        let joined = i64::try_from(members.len()).unwrap_or(i64::MAX);
        let left = seen.members.iter().filter(|member| member.removed_at.is_some()).count();
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        COUNTERS_ADD_UP.check((batch.joined, batch.removed) == (joined, left), || {
            let (of_joined, of_removed) = (batch.joined, batch.removed);
            format!("{of_joined} joined and {of_removed} left, counted are {joined} and {left}")
        })?;
        self.phases_add_up(batch, &members)
    }

    fn phases_add_up(&self, batch: &Batch, members: &[MemberId]) -> Result<(), Violation> {
        for phase in &batch.phases {
            let mut counted = PhaseTally::default();
            for member in members {
                // A phase that a newer run does not have keeps what it came to in the one before.
                let runs = self.runs_of(*member);
                let own = runs.filter_map(|run| of_phase(run, &phase.gate)).last();
                counted = counted.plus(own.unwrap_or_default());
            }
            COUNTERS_ADD_UP.check(phase.tally == counted, || {
                let (gate, tally) = (&phase.gate, phase.tally);
                format!("{gate} of batch {} has {tally:?}, counted are {counted:?}", batch.id())
            })?;
            let watched = self.batches.of.get(&batch.id());
            let is_new = watched.is_some_and(|it| it.newly_over.contains(&phase.id));
            PHASE_OVER.check(!is_new || counted.open == 0, || {
                let (gate, open) = (&phase.gate, counted.open);
                format!("{gate} is {} while {open} are in it", phase.status.word())
            })?;
        }
        Ok(())
    }

    /// The runs that took a member through its phases, oldest first.
    pub(super) fn runs_of(&self, member: MemberId) -> impl Iterator<Item = &Run> {
        let runs = self.batches.runs.get(&member).into_iter().flatten();
        runs.filter_map(|run| self.run(*run))
    }
}

fn of_run(run: &Run) -> MemberTally {
    let is = |status: RunStatus| i64::from(run.status == status);
    MemberTally {
        open: i64::from(!run.status.is_terminal()),
        succeeded: is(RunStatus::Succeeded),
        failed: is(RunStatus::Failed),
        cancelled: is(RunStatus::Cancelled),
    }
}

/// Where a run stands with a phase; `None` if it is not on its way.
fn of_phase(run: &Run, gate: &str) -> Option<PhaseTally> {
    let specs = run.header.specs().iter().zip(run.steps.iter());
    let of_gate = specs.filter(|(spec, _)| spec.gate.as_deref() == Some(gate));
    let steps: Vec<&Step> = of_gate.map(|(_, step)| step).collect();
    if steps.is_empty() {
        return None;
    }
    let any = |wanted: &dyn Fn(&Step) -> bool| steps.iter().any(|step| wanted(step));
    let skipped = |step: &Step, reason| step.skip == Some(reason);
    let open = any(&|step| !step.status.is_terminal());
    let failed = any(&|step| matches!(step.status, StepStatus::Failed | StepStatus::TimedOut));
    let stopped =
        any(&|step| step.status == StepStatus::Cancelled || skipped(step, SkipReason::Dependency));
    let passed_over = any(&|step| skipped(step, SkipReason::Superseded));
    let place = [open, failed, stopped, passed_over].iter().position(|holds| *holds);
    let is = |wanted: usize| i64::from(place == Some(wanted));
    let ended = steps.iter().filter(|step| step.status.is_terminal()).count();
    Some(PhaseTally {
        open: is(0),
        failed: is(1),
        cancelled: is(2),
        skipped: is(3),
        succeeded: i64::from(place.is_none()),
        steps_ended: i64::try_from(ended).unwrap_or(i64::MAX),
    })
}
