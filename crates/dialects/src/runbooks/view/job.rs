//! The job that a step asks its worker for: what it is called, and the message itself.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use stepwell_core::definition::Part;
use stepwell_core::id::StepIndex;
use stepwell_core::run::{BatchRole, Run};

use crate::runbooks::compile::{Sequence, of_versioned};
use crate::runbooks::directive::{CorrelationData, WorkerJobMessage};
use crate::runbooks::job_id::{Job, JobId};
use crate::runbooks::message::StepExecutionId;

/// What the newest directive of a step is called; `None` before the first, or if the run belongs to
/// no batch.
#[must_use]
pub fn job_id(run: &Run, step: StepIndex) -> Option<JobId> {
    let state = run.steps.get(step.position()).filter(|state| state.attempt > 0)?;
    let poll = state.poll.map_or(0, |poll| poll.count);
    Some(job(run, step)?.directive(state.attempt, poll))
}

/// The message that gives a worker the directive under way; `None` if there is none, or if the run
/// belongs to no batch.
#[must_use]
pub fn job_message(run: &Run, step: StepIndex) -> Option<WorkerJobMessage<'_>> {
    let membership = run.header.membership?;
    let (spec, state) = (run.spec(step), run.steps.get(step.position())?);
    let directive = state.directive(step)?;
    let origin = Sequence::of_workflow_name(&run.header.workflow.name)?;
    let job = job(run, step)?;
    Some(WorkerJobMessage {
        job_id: job.directive(directive.attempt, directive.poll),
        batch_id: membership.batch,
        worker_id: &spec.pool,
        function_name: state.kind.as_deref().unwrap_or(&spec.kind),
        parameters: state
            .params
            .as_deref()
            .and_then(Value::as_object)
            .unwrap_or_else(|| &NO_PARAMETERS),
        correlation_data: CorrelationData {
            step_execution_id: job
                .execution()
                .unwrap_or_else(|| StepExecutionId::of(membership.number, step)),
            is_init_step: membership.role == BatchRole::Init,
            runbook_name: origin.runbook,
            runbook_version: version(run, step),
        },
    })
}

static NO_PARAMETERS: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// The version of the runbook that a step belongs to. A member that went over to a newer one has the
/// steps of both on its way.
pub(super) fn version(run: &Run, step: StepIndex) -> u32 {
    let named = match &run.header.part {
        Part::Main => run.spec(step).gate.as_deref(),
        Part::Compensation(rollback) => Some(rollback.as_str()),
    };
    let found = named.and_then(of_versioned).map(|(_, version)| version);
    found.unwrap_or(run.header.workflow.version)
}

/// What a step of a batch is, for its worker.
fn job(run: &Run, step: StepIndex) -> Option<Job> {
    let membership = run.header.membership?;
    // A rollback has the number of the run that it undoes, so it names the step that failed.
    if let Some(parent) = &run.header.parent {
        let undone = StepExecutionId::of(membership.number, parent.step);
        return Some(Job::Rollback { step: undone, number: counted(step) });
    }
    let execution = StepExecutionId::of(membership.number, step);
    Some(match membership.role {
        BatchRole::Init => Job::Init(execution),
        BatchRole::Member => Job::Step(execution),
        BatchRole::Removal => Job::Removal { member: membership.member?, number: counted(step) },
    })
}

fn counted(step: StepIndex) -> u32 {
    u32::from(step.0) + 1
}
