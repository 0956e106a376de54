//! Run × Entry → Run. The only place that assigns a status.
//!
//! Deciding, replaying a history and loading a store's rows must agree; they do, because each of
//! them ends up here or at rows written from here.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::command::Adopted;
use crate::credit::CreditState;
use crate::definition::CancelMode;
use crate::entry::{Entry, OperationKind, Record};
use crate::expansion::{Expansion, Place};
use crate::id::{LeaseId, StepIndex};
use crate::run::{Run, RunStatus};
use crate::step::{
    Lease, LeaseStage, PollState, PollTurn, SkipReason, Step, StepError, StepStatus,
};
use crate::time::Timestamp;

/// Folds one record of the history into the state it was decided from.
pub fn replay(run: &mut Run, record: &Record) {
    for entry in &record.entries {
        evolve(run, entry, record.at);
    }
    run.version = record.version;
}

/// Folds one entry into the run.
pub fn evolve(run: &mut Run, entry: &Entry, at: Timestamp) {
    run.updated_at = at;
    let item = entry.step().and_then(|step| Some((step, run.expansion_number(step)?)));
    let Some((item, expansion)) = item else {
        evolve_run(run, entry, at);
        return;
    };
    // An item is counted where it stands now, so that nobody need count them all.
    let before = Place::of(&run.steps[item.position()]);
    evolve_run(run, entry, at);
    let after = Place::of(&run.steps[item.position()]);
    run.expansions[expansion].follow(before, after, &run.steps);
}

fn evolve_run(run: &mut Run, entry: &Entry, at: Timestamp) {
    match entry {
        Entry::RunStarted => {
            run.status = RunStatus::Ready;
            run.credits = run.credit_terms().map(|_| CreditState::default());
        }
        Entry::OutputsCarried { outputs } => add_outputs(run, outputs),
        Entry::InputRefreshed { input, special } => {
            let header = Arc::make_mut(&mut run.header);
            refresh(&mut header.input, input);
            refresh(&mut header.special, special);
        }
        Entry::WorkflowAdopted { workflow } => adopt(run, workflow),
        Entry::GateOpened { gate } => {
            run.gates_open.insert(gate.clone());
        }
        Entry::RunPaused { .. } => run.paused = true,
        Entry::RunResumed { .. } => run.paused = false,
        Entry::CancelRequested { mode, .. } => begin_to_stop(run, *mode),
        Entry::CreditsMoved { movement } => {
            run.credits = Some(run.credits.unwrap_or_default().after(movement));
        }
        Entry::RunRetryScheduled { retry_at, error } => {
            run.status = RunStatus::RetryWait;
            run.retry_at = Some(*retry_at);
            run.error = Some(Arc::new(error.clone()));
        }
        Entry::RunRetried { attempt } => try_again(run, *attempt),
        Entry::RunSucceeded => end_run(run, RunStatus::Succeeded, None, at),
        Entry::RunFailed { error, .. } => end_run(run, RunStatus::Failed, Some(error), at),
        Entry::RunCancelled => end_run(run, RunStatus::Cancelled, None, at),
        Entry::StepCarried { step, result } | Entry::StepSucceeded { step, result, .. } => {
            succeed(run, *step, result, at);
        }
        Entry::StepGathered { step, .. } => {
            set_outputs(run, *step, None);
            end_step(&mut run.steps[step.position()], StepStatus::Succeeded, at);
        }
        Entry::StepExpanded { step, items } => expand(run, *step, items),
        Entry::StepDispatched { step, .. } => {
            dispatch(&mut run.steps[step.position()], entry, at);
            // Where one worker keeps the attempt, its message waits until a worker has taken it.
            let waits = run.keeping().is_some() && run.status == RunStatus::Ready;
            get_under_way(run, !waits, at);
        }
        Entry::StepAcked { step } => {
            evolve_step(&mut run.steps[step.position()], entry, at);
            begin_time(run, *step, at);
            get_under_way(run, run.keeping().is_some(), at);
        }
        Entry::StepReadied { step }
        | Entry::AttemptPublished { step }
        | Entry::LeaseExtended { step, .. }
        | Entry::StepPolling { step, .. }
        | Entry::PollDispatched { step, .. }
        | Entry::PollHeld { step, .. }
        | Entry::AttemptFailed { step, .. }
        | Entry::StepHeld { step, .. }
        | Entry::StepFailed { step, .. }
        | Entry::StepTimedOut { step, .. }
        | Entry::StepCancelled { step }
        | Entry::StepSkipped { step, .. }
        | Entry::CompensationStarted { step, .. }
        | Entry::StepOperated { step, .. } => {
            evolve_step(&mut run.steps[step.position()], entry, at);
        }
    }
}

fn evolve_step(step: &mut Step, entry: &Entry, at: Timestamp) {
    match entry {
        Entry::StepReadied { .. } => wait_for_resume(step),
        Entry::AttemptPublished { .. } => reach(step, LeaseStage::Published),
        Entry::StepAcked { .. } => {
            step.status = StepStatus::Acked;
            reach(step, LeaseStage::Acked);
        }
        Entry::LeaseExtended { expires_at, .. } => extend(step, *expires_at),
        Entry::StepPolling { next_at, .. } => rest_until_asked(step, *next_at, at),
        Entry::PollDispatched { lease, expires_at, wake_at, .. } => {
            ask_again(step, *lease, *expires_at, *wake_at, at);
        }
        Entry::PollHeld { wake_at, .. } => {
            step.lease = None;
            step.wake_at = Some(*wake_at);
            step.poll = step.poll.map(|poll| PollState { turn: PollTurn::Held, ..poll });
        }
        Entry::AttemptFailed { error, retry_at, counted, .. } => {
            fail_attempt(step, error);
            step.wake_at = Some(*retry_at);
            if !counted {
                step.tries = step.tries.saturating_sub(1);
            }
        }
        Entry::StepHeld { error, not_before, .. } => {
            fail_attempt(step, error);
            step.not_before = *not_before;
        }
        Entry::StepFailed { error, .. } => {
            step.error = Some(Arc::new(error.clone()));
            end_step(step, StepStatus::Failed, at);
        }
        Entry::StepTimedOut { error, .. } => {
            step.error = Some(Arc::new(error.clone()));
            end_step(step, StepStatus::TimedOut, at);
        }
        Entry::StepCancelled { .. } => end_step(step, StepStatus::Cancelled, at),
        Entry::StepSkipped { reason, .. } => skip(step, *reason, at),
        Entry::CompensationStarted { run, .. } => step.compensation = Some(*run),
        Entry::StepOperated { operation: OperationKind::Retry, .. } => start_over(step),
        // What came of these acts follows in entries of its own.
        Entry::StepOperated {
            operation: OperationKind::Skip | OperationKind::MarkSucceeded,
            ..
        } => {}
        Entry::RunStarted
        | Entry::OutputsCarried { .. }
        | Entry::InputRefreshed { .. }
        | Entry::WorkflowAdopted { .. }
        | Entry::GateOpened { .. }
        | Entry::RunPaused { .. }
        | Entry::RunResumed { .. }
        | Entry::CancelRequested { .. }
        | Entry::CreditsMoved { .. }
        | Entry::RunRetryScheduled { .. }
        | Entry::RunRetried { .. }
        | Entry::RunSucceeded
        | Entry::RunFailed { .. }
        | Entry::RunCancelled
        | Entry::StepCarried { .. }
        | Entry::StepSucceeded { .. }
        | Entry::StepGathered { .. }
        | Entry::StepExpanded { .. }
        | Entry::StepDispatched { .. } => unreachable!("folded into the run itself"),
    }
}

/// The time of a step that a worker keeps begins when the worker takes it: what its message waited before
/// is nobody's fault.
fn begin_time(run: &mut Run, step: StepIndex, at: Timestamp) {
    let Some(limit) = run.keeping().and_then(|_| run.spec(step).kept_max()) else { return };
    if let Some(lease) = &mut run.steps[step.position()].lease {
        lease.deadline = Some(at.after(limit));
    }
}

/// Whoever has it may keep it longer.
fn extend(step: &mut Step, expires_at: Timestamp) {
    if let Some(lease) = &mut step.lease {
        lease.expires_at = expires_at;
        step.wake_at = Some(expires_at);
    }
}

fn begin_to_stop(run: &mut Run, mode: CancelMode) {
    take_back_unbegun(run);
    run.status = RunStatus::Cancelling;
    run.cancel = Some(mode);
    run.retry_at = None;
}

/// An attempt that has a number and was begun by nobody is none: where one worker keeps an attempt, its
/// message was still waiting (C-009, X-117).
fn take_back_unbegun(run: &mut Run) {
    if matches!(run.status, RunStatus::Created | RunStatus::Ready) {
        run.attempt = run.attempt.saturating_sub(1);
    }
}

/// If the run has begun: a person may also retry a step that was held for the next attempt of the whole
/// run, or open a gate during the rest.
fn get_under_way(run: &mut Run, has_begun: bool, at: Timestamp) {
    if !has_begun {
        return;
    }
    if matches!(run.status, RunStatus::Ready | RunStatus::RetryWait) {
        run.status = RunStatus::Running;
        run.retry_at = None;
    }
    run.started_at.get_or_insert(at);
}

/// The next attempt of the whole run begins; what was held for it has all its tries again.
fn try_again(run: &mut Run, attempt: u32) {
    run.status = match run.keeping() {
        Some(_) => RunStatus::Ready,
        None => RunStatus::Running,
    };
    run.attempt = attempt;
    run.retry_at = None;
    for position in 0..run.steps.len() {
        if run.steps[position].is_held() {
            run.steps[position].tries = 0;
        }
    }
}

fn refresh(known: &mut Map<String, Value>, fresh: &Option<Arc<Map<String, Value>>>) {
    if let Some(fresh) = fresh {
        known.clone_from(fresh);
    }
}

/// A header that was stored has the longest workflow of its run. When a stored history is folded,
/// the steps are there from the start, and nothing is left to be done.
fn adopt(run: &mut Run, workflow: &Adopted) {
    let Some(definition) = &workflow.definition else { return };
    let (known, wanted) = (run.header.specs().len(), definition.specs(&run.header.part).len());
    if wanted > known {
        Arc::make_mut(&mut run.header).workflow = Arc::clone(definition);
        run.steps.add_waiting(wanted - known);
    }
}

fn expand(run: &mut Run, step: StepIndex, items: &Arc<Value>) {
    let place = |count: usize| u16::try_from(count).expect("a run has at most 65,535 positions");
    let count = items.as_array().map_or(0, Vec::len);
    run.expansions.push(Expansion::new(step, place(run.steps.len()), place(count)));
    run.steps.add_waiting(count);
    let step = &mut run.steps[step.position()];
    step.status = StepStatus::Expanded;
    step.params = Some(Arc::clone(items));
}

fn dispatch(step: &mut Step, entry: &Entry, at: Timestamp) {
    let Entry::StepDispatched { attempt, lease, expires_at, params, kind, .. } = entry else {
        unreachable!("only called for a dispatch");
    };
    step.status = StepStatus::Dispatched;
    step.attempt = *attempt;
    step.tries += 1;
    step.lease = Some(Lease {
        id: *lease,
        attempt: *attempt,
        expires_at: *expires_at,
        deadline: None,
        stage: LeaseStage::Recorded,
    });
    step.wake_at = Some(*expires_at);
    step.not_before = None;
    step.dispatched_at = Some(at);
    step.poll = None;
    if params.is_some() {
        step.params.clone_from(params);
    }
    if kind.is_some() {
        step.kind.clone_from(kind);
    }
}

fn rest_until_asked(step: &mut Step, next_at: Timestamp, at: Timestamp) {
    step.status = StepStatus::Polling;
    step.lease = None;
    step.wake_at = Some(next_at);
    let (started_at, count) = step.poll.map_or((at, 0), |poll| (poll.started_at, poll.count));
    step.poll = Some(PollState { started_at, count, turn: PollTurn::Resting });
}

fn ask_again(
    step: &mut Step,
    lease: LeaseId,
    expires_at: Timestamp,
    wake_at: Timestamp,
    at: Timestamp,
) {
    let (attempt, stage) = (step.attempt, LeaseStage::Recorded);
    step.lease = Some(Lease { id: lease, attempt, expires_at, deadline: None, stage });
    step.wake_at = Some(wake_at);
    step.dispatched_at = Some(at);
    step.poll = step.poll.map(|poll| PollState {
        count: poll.count.saturating_add(1),
        turn: PollTurn::Asked,
        ..poll
    });
}

fn reach(step: &mut Step, stage: LeaseStage) {
    if let Some(lease) = &mut step.lease {
        lease.stage = lease.stage.max(stage);
    }
}

fn wait_for_resume(step: &mut Step) {
    step.status = StepStatus::Ready;
    step.wake_at = None;
    step.not_before = None;
}

fn fail_attempt(step: &mut Step, error: &StepError) {
    leave_attempt(step);
    step.error = Some(Arc::new(error.clone()));
}

/// A person wants another attempt whatever the policy says, so its count begins again.
fn start_over(step: &mut Step) {
    leave_attempt(step);
    step.tries = 0;
}

fn leave_attempt(step: &mut Step) {
    step.status = StepStatus::RetryWait;
    step.lease = None;
    step.poll = None;
    step.wake_at = None;
    step.not_before = None;
}

fn skip(step: &mut Step, reason: SkipReason, at: Timestamp) {
    step.skip = Some(reason);
    end_step(step, StepStatus::Skipped, at);
}

fn succeed(run: &mut Run, step: StepIndex, result: &Arc<Value>, at: Timestamp) {
    set_outputs(run, step, Some(result));
    let step = &mut run.steps[step.position()];
    step.result = Some(Arc::clone(result));
    step.error = None;
    end_step(step, StepStatus::Succeeded, at);
}

fn end_step(step: &mut Step, status: StepStatus, at: Timestamp) {
    step.status = status;
    step.lease = None;
    step.wake_at = None;
    step.not_before = None;
    step.ended_at = Some(at);
}

fn end_run(run: &mut Run, status: RunStatus, error: Option<&StepError>, at: Timestamp) {
    take_back_unbegun(run);
    run.status = status;
    run.retry_at = None;
    run.ended_at = Some(at);
    // An error of an earlier attempt of the whole run is not the error of a run that ended well.
    run.error = error.map(|error| Arc::new(error.clone()));
}

fn add_outputs(run: &mut Run, outputs: &Map<String, Value>) {
    let outputs = outputs.iter().map(|(name, value)| (name.clone(), value.clone()));
    Arc::make_mut(&mut run.outputs).extend(outputs);
}

fn set_outputs(run: &mut Run, step: StepIndex, result: Option<&Value>) {
    let found: Vec<_> = run
        .outputs_of(step, result)
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    if !found.is_empty() {
        Arc::make_mut(&mut run.outputs).extend(found);
    }
}
