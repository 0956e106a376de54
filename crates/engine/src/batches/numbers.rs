//! Results that come by number: the job names the step and the attempt, and the row knows the lease.

use std::sync::Arc;

use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::id::{LeaseId, RunId, StepIndex};
use stepwell_core::run::{BatchRole, Parent, Run};
use stepwell_dialects::runbooks::job_id::{Job, JobId, fence_of};
use stepwell_dialects::runbooks::message::StepExecutionId;
use stepwell_dialects::runbooks::outcome::WorkerResult;

use uuid::Uuid;

use super::error::BatchError;
use crate::error::EngineError;
use crate::intake::{Ask, Intake};
use crate::shared::Shared;

/// What became of a result that came by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NumberedReport {
    /// it counts
    Accepted,
    /// the job it names is not the one under way; it changes nothing
    Ignored(String),
    /// nothing has this number
    Unknown,
}

/// A step that a job names, in the run that it belongs to.
struct Named {
    run: Arc<Run>,
    step: StepIndex,
}

/// Reports what a worker said of a job.
pub(super) async fn report(
    shared: &Shared,
    intake: &Intake,
    result: &WorkerResult,
) -> Result<NumberedReport, BatchError> {
    let job = &result.job_id;
    let Some(Named { run, step }) = find(shared, job, result.execution).await? else {
        return Ok(NumberedReport::Unknown);
    };
    let (attempt, poll) = fence_of(job);
    let state = run.steps.get(step.position());
    let Some(state) = state else { return Ok(NumberedReport::Unknown) };
    let asked = state.poll.map_or(0, |poll| poll.count);
    let lease = state.lease.filter(|lease| lease.attempt == attempt && asked == poll);
    // Without a lease it is asked all the same: the run says no, and the report is kept for audit.
    let fence = Fence { attempt, lease: lease.map_or(LeaseId(Uuid::nil()), |lease| lease.id) };
    let outcome = result.outcome.clone();
    let command =
        Command::Report { step: StepRef::Index(step), fence, outcome, spent: Credits::ZERO };
    let mut answers = intake.ask(vec![Ask::command(run.id(), command)]).await?;
    match answers.pop() {
        Some(Ok(_)) => Ok(NumberedReport::Accepted),
        Some(Err(EngineError::Refused(refusal))) if refusal.is_stale() => {
            Ok(NumberedReport::Ignored(refusal.to_string()))
        }
        Some(Err(error)) => Err(error.into()),
        None => Err(EngineError::Stopped.into()),
    }
}

async fn find(
    shared: &Shared,
    job: &JobId,
    execution: StepExecutionId,
) -> Result<Option<Named>, BatchError> {
    match job.job {
        Job::Step(id) | Job::Init(id) => {
            let (number, step) = id.parts();
            let Some(found) = shared.store.numbered_run(number).await? else { return Ok(None) };
            let is_init = found.role == BatchRole::Init;
            if is_init != matches!(job.job, Job::Init(_)) {
                return Ok(None);
            }
            named(shared, found.run, step).await
        }
        Job::Rollback { step, number } => {
            let (run, failed) = step.parts();
            let Some(found) = shared.store.numbered_run(run).await? else { return Ok(None) };
            let Some(named_run) = named(shared, found.run, failed).await? else { return Ok(None) };
            let state = named_run.run.steps.get(failed.position());
            let undoing = match state.and_then(|step| step.compensation) {
                Some(undoing) => Some(undoing),
                // A person may have begun it.
                None => ordered_rollback(shared, named_run.run.id(), failed).await?,
            };
            let Some(undoing) = undoing else { return Ok(None) };
            listed(shared, undoing, number).await
        }
        Job::Removal { member, .. } => {
            // Only the correlation data say which run it is.
            let (number, step) = execution.parts();
            let found = shared.store.numbered_run(number).await?;
            match found.filter(|run| run.member == Some(member)) {
                Some(found) if found.role == BatchRole::Removal => {
                    named(shared, found.run, step).await
                }
                Some(_) | None => Ok(None),
            }
        }
    }
}

/// The rollback of a step that a person has begun.
async fn ordered_rollback(
    shared: &Shared,
    run: RunId,
    step: StepIndex,
) -> Result<Option<RunId>, BatchError> {
    let undoing = shared.store.compensations(run).await?;
    let of_step = |parent: &Parent| parent.step == step;
    let mut found = undoing.iter().filter(|it| it.parent.as_ref().is_some_and(of_step));
    Ok(found.next_back().map(|run| run.id))
}

/// The step at a place of a list, counted from 1.
async fn listed(shared: &Shared, run: RunId, number: u32) -> Result<Option<Named>, BatchError> {
    let position = number.checked_sub(1).and_then(|position| u16::try_from(position).ok());
    let Some(position) = position else { return Ok(None) };
    named(shared, run, StepIndex(position)).await
}

async fn named(shared: &Shared, run: RunId, step: StepIndex) -> Result<Option<Named>, BatchError> {
    let found = shared.owned_runs(vec![run]).await?.remove(&run);
    Ok(found.map(|found| Named { run: found.run, step }))
}
