//! What holds after every decision. Checked in production too: a decision that breaks a rule is not
//! committed.

mod items;

use std::collections::BTreeSet;

use crate::credit::Credits;
use crate::id::StepIndex;
use crate::run::{Run, RunStatus};
use crate::step::{Lease, Step, StepStatus};

/// A rule that a run breaks, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} (step {step:?})")]
pub struct Breach {
    /// the rule
    pub rule: &'static str,
    /// the position of the step that breaks it, if one does
    pub step: Option<usize>,
}

/// Checks one run, all of it.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(run: &Run) -> Result<(), Breach> {
    for (index, step) in run.indexed() {
        check_step(run, index, step)?;
    }
    no_lease_is_shared(run.steps.iter())?;
    items::are_counted(run)?;
    check_run(run)
}

/// Checks one run against the state it came from. What did not change was checked when it did.
///
/// # Errors
/// The first rule that the change breaks.
pub fn check_change(before: &Run, after: &Run) -> Result<(), Breach> {
    if before.status.is_terminal() && before.status != after.status {
        return Err(of_run("a run that has ended never changes"));
    }
    for (position, old, new) in after.steps.changed_since(&before.steps) {
        if let Some(old) = old {
            check_step_change(before, old, new)
                .map_err(|rule| Breach { rule, step: Some(position) })?;
        }
        check_step(after, StepIndex::at(position), new)?;
    }
    no_lease_is_shared(after.steps.changed_since(&before.steps).map(|(_, _, step)| step))?;
    check_run(after)
}

fn of_run(rule: &'static str) -> Breach {
    Breach { rule, step: None }
}

fn check_step_change(before: &Run, old: &Step, new: &Step) -> Result<(), &'static str> {
    if old.status.is_terminal() && old.status != new.status {
        return Err("a step that has ended never changes");
    }
    if new.attempt < old.attempt {
        return Err("attempts are never counted back");
    }
    if before.cancel.is_some() && new.attempt > old.attempt {
        return Err("a run that is being stopped starts no attempt");
    }
    Ok(())
}

fn check_step(run: &Run, index: StepIndex, step: &Step) -> Result<(), Breach> {
    let at = |rule| Breach { rule, step: Some(index.position()) };
    check_attempts(step, run.spec(index).retry.attempts_max).map_err(at)?;
    if run.status == RunStatus::Ready && run.is_kept(index) {
        return Err(at("a run whose attempt a worker has taken is under way"));
    }
    items::are_where_they_belong(run, index, step).map_err(at)
}

fn check_attempts(step: &Step, attempts_max: u32) -> Result<(), &'static str> {
    let leased =
        matches!(step.status, StepStatus::Dispatched | StepStatus::Acked | StepStatus::Polling);
    if step.lease.is_some() && !leased {
        return Err("only an attempt under way has a lease");
    }
    if matches!(step.status, StepStatus::Dispatched | StepStatus::Acked) && step.lease.is_none() {
        return Err("an attempt under way has a lease");
    }
    if step.lease.is_some_and(|lease| lease.attempt != step.attempt) {
        return Err("the lease belongs to the newest attempt");
    }
    let beyond = |lease: &Lease| lease.deadline.is_some_and(|deadline| deadline < lease.expires_at);
    if step.lease.as_ref().is_some_and(beyond) {
        return Err("no lease holds beyond its deadline");
    }
    if step.not_before.is_some() && !step.is_held() {
        return Err("only a step that is held asks for a rest of the whole run");
    }
    if step.tries > attempts_max.max(1) {
        return Err("no step is tried more often than it may");
    }
    if step.status.is_terminal() && step.wake_at.is_some() {
        return Err("a step that has ended waits for nothing");
    }
    if leased && step.wake_at.is_none() {
        return Err("whatever is under way has a moment at which it is given up");
    }
    if step.status.is_terminal() != step.ended_at.is_some() {
        return Err("a step has an end exactly when it has ended");
    }
    Ok(())
}

fn no_lease_is_shared<'s>(steps: impl Iterator<Item = &'s Step>) -> Result<(), Breach> {
    let mut seen = BTreeSet::new();
    let mut leases = steps.filter_map(|step| step.lease);
    if leases.any(|lease| !seen.insert(lease.id)) {
        return Err(of_run("no two steps share a lease"));
    }
    Ok(())
}

/// Items need not be asked whether they have ended: their step, which ends after them, is.
fn check_run(run: &Run) -> Result<(), Breach> {
    if run.steps.len() < run.header.specs().len() {
        return Err(of_run("a run has every step of the workflow that it follows"));
    }
    let open = run.own_steps().any(|(_, step)| !step.status.is_terminal());
    if run.status.is_terminal() && open {
        return Err(of_run("a run ends only when all its steps have"));
    }
    if !run.status.is_terminal() && run.status != RunStatus::Created && !open {
        return Err(of_run("a run whose steps have all ended has ended"));
    }
    if run.status.is_terminal() != run.ended_at.is_some() {
        return Err(of_run("a run has an end exactly when it has ended"));
    }
    if (run.status == RunStatus::RetryWait) != run.retry_at.is_some() {
        return Err(of_run("a run waits for its next attempt exactly when it has a time for it"));
    }
    check_credits(run)?;
    items::agree_with_their_steps(run)
}

fn check_credits(run: &Run) -> Result<(), Breach> {
    let begun = run.started_at.is_some() || run.status.is_terminal();
    if begun && run.cancel.is_none() && run.credits.is_some() != run.credit_terms().is_some() {
        return Err(of_run("a run counts credits exactly when it has terms for them"));
    }
    let Some(credits) = run.credits else { return Ok(()) };
    if credits.reserved < Credits::ZERO || credits.spent < Credits::ZERO {
        return Err(of_run("no run sets aside or spends less than nothing"));
    }
    if run.status.is_terminal() && credits.reserved != Credits::ZERO {
        return Err(of_run("a run that has ended has nothing set aside"));
    }
    Ok(())
}
