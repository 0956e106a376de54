//! What holds after every decision. Checked in production too: a decision that breaks a rule is not
//! committed.

use std::collections::BTreeSet;

use crate::run::{Run, RunStatus};
use crate::step::{Step, StepStatus};

/// A rule that a run breaks, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule} (step {step:?})")]
pub struct Breach {
    /// the rule
    pub rule: &'static str,
    /// the position of the step that breaks it, if one does
    pub step: Option<usize>,
}

/// Checks one run.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(run: &Run) -> Result<(), Breach> {
    for (position, step) in run.steps.iter().enumerate() {
        let limit = run.header.specs()[position].retry.attempts_max;
        check_step(step, limit).map_err(|rule| Breach { rule, step: Some(position) })?;
    }
    check_run(run).map_err(|rule| Breach { rule, step: None })
}

/// Checks one run against the state it came from.
///
/// # Errors
/// The first rule that the change breaks.
pub fn check_change(before: &Run, after: &Run) -> Result<(), Breach> {
    check(after)?;
    if before.status.is_terminal() && before.status != after.status {
        return Err(Breach { rule: "a run that has ended never changes", step: None });
    }
    for (position, (old, new)) in before.steps.iter().zip(&after.steps).enumerate() {
        let rule = if old.status.is_terminal() && old.status != new.status {
            "a step that has ended never changes"
        } else if new.attempt < old.attempt {
            "attempts are never counted back"
        } else if before.cancel.is_some() && new.attempt > old.attempt {
            "a run that is being stopped starts no attempt"
        } else {
            continue;
        };
        return Err(Breach { rule, step: Some(position) });
    }
    Ok(())
}

fn check_step(step: &Step, attempts_max: u32) -> Result<(), &'static str> {
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

fn check_run(run: &Run) -> Result<(), &'static str> {
    let open = run.steps.iter().any(|step| !step.status.is_terminal());
    if run.status.is_terminal() && open {
        return Err("a run ends only when all its steps have");
    }
    if !run.status.is_terminal() && run.status != RunStatus::Created && !open {
        return Err("a run whose steps have all ended has ended");
    }
    if run.status.is_terminal() != run.ended_at.is_some() {
        return Err("a run has an end exactly when it has ended");
    }
    if (run.status == RunStatus::RetryWait) != run.retry_at.is_some() {
        return Err("a run waits for its next attempt exactly when it has a time for it");
    }
    let leases: Vec<_> = run.steps.iter().filter_map(|step| step.lease.map(|l| l.id)).collect();
    if leases.iter().collect::<BTreeSet<_>>().len() != leases.len() {
        return Err("no two steps share a lease");
    }
    Ok(())
}
