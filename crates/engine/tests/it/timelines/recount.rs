//! Counters, counted again from the runs themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepwell_core::batch::{Batch, MemberTally, PhaseTally};
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::{SkipReason, Step, StepStatus};
use stepwell_store::Member;

/// Compares the counters of a batch with a recount over its members and all their ways.
pub(crate) fn compare(batch: &Batch, members: &[(&Member, &[Arc<Run>])]) -> Result<(), String> {
    let mut whole = MemberTally::default();
    let mut phases: BTreeMap<&str, PhaseTally> = BTreeMap::new();
    for (member, ways) in members {
        count_member(&mut whole, member.run_status);
        // Of a phase that several runs have, the newest says where the member stands.
        let mut steps: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
        for way in *ways {
            let mut of_way: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
            for (index, step) in way.own_steps() {
                let gate = way.spec(index).gate.as_deref().unwrap_or_default();
                of_way.entry(gate).or_default().push(step);
            }
            steps.extend(of_way);
        }
        for (gate, steps) in steps {
            count_phase(phases.entry(gate).or_default(), &steps);
        }
    }
    if batch.tally != whole {
        return Err(format!("members are {whole:?}, and were counted as {:?}", batch.tally));
    }
    for phase in &batch.phases {
        let counted = phases.get(phase.gate.as_str()).copied().unwrap_or_default();
        if phase.tally != counted {
            return Err(format!("{} is {counted:?}, and was counted as {phase:?}", phase.gate));
        }
    }
    let removed = members.iter().filter(|(member, _)| member.removed_at.is_some()).count();
    if (batch.joined, batch.removed) != (members.len() as i64, removed as i64) {
        return Err(format!("{} joined and {removed} left: {batch:?}", members.len()));
    }
    Ok(())
}

fn count_member(tally: &mut MemberTally, status: RunStatus) {
    match status {
        RunStatus::Succeeded => tally.succeeded += 1,
        RunStatus::Failed => tally.failed += 1,
        RunStatus::Cancelled => tally.cancelled += 1,
        _ => tally.open += 1,
    }
}

fn count_phase(tally: &mut PhaseTally, steps: &[&Step]) {
    let any = |is_so: &dyn Fn(&Step) -> bool| steps.iter().any(|step| is_so(step));
    let passed_by = |step: &Step, reason| step.skip == Some(reason);
    if any(&|step| !step.status.is_terminal()) {
        tally.open += 1;
    } else if any(&|step| matches!(step.status, StepStatus::Failed | StepStatus::TimedOut)) {
        tally.failed += 1;
    } else if any(&|step| step.status == StepStatus::Cancelled)
        || any(&|step| passed_by(step, SkipReason::Dependency))
    {
        tally.cancelled += 1;
    } else if any(&|step| passed_by(step, SkipReason::Superseded)) {
        tally.skipped += 1;
    } else {
        tally.succeeded += 1;
    }
    let ended = steps.iter().filter(|step| step.status.is_terminal());
    tally.steps_ended += i64::try_from(ended.count()).expect("few steps");
}
