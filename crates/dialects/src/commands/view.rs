//! Jobs and steps as the read routes show them (D-025, D-026).
//!
//! The fields of the contract come first; what follows them goes beyond it. Views borrow from the run.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use stepwell_core::entry::Record;
use stepwell_core::id::{LeaseId, RunId, StepIndex};
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use super::attempts::{self, AttemptView};
use super::{context, status};
use crate::items::{ItemsView, items};
use crate::moment::Moment;

/// A job with its steps.
#[derive(Clone, Debug, Serialize)]
pub struct JobView<'a> {
    /// its id
    pub job_id: RunId,
    /// whom it belongs to
    pub tenant_id: &'a str,
    /// the protocol it follows
    pub protocol_id: &'a str,
    /// where it stands
    pub status: &'static str,
    /// the step that people would call the current one
    pub current_step_id: Option<&'a str>,
    /// when it was asked for
    pub created_at: Moment,
    /// the version of the protocol
    pub protocol_version: u32,
    /// what it was asked for as
    pub request_type: Option<&'a str>,
    /// how its lane was chosen
    pub mode: Option<&'a str>,
    /// ties it to what its requester knows
    pub correlation_id: Option<&'a str>,
    /// decisions so far; grows with every change
    pub version: u64,
    /// nothing new is dispatched until it is resumed
    pub paused: bool,
    /// when it last changed
    pub updated_at: Moment,
    /// the first recorded attempt
    pub started_at: Option<Moment>,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// why it failed
    pub error: Option<&'a StepError>,
    /// the ended job whose finished steps it took over
    pub resumes: Option<RunId>,
    /// every step, in the order of the protocol; items are counted with their step
    pub steps: Vec<StepView<'a>>,
}

/// A step.
#[derive(Clone, Debug, Serialize)]
pub struct StepView<'a> {
    /// its job
    pub job_id: RunId,
    /// its id; for an item of a step, with its number: `resize[3]`
    pub step_id: Cow<'a, str>,
    /// the kind of work
    pub step_type: &'a str,
    /// where it stands
    pub status: &'static str,
    /// the newest attempt; 0 before the first
    pub attempt_no: u32,
    /// the lease of the newest attempt, as far as it is known
    pub lease_id: Option<LeaseId>,
    /// the road its directives take
    pub lane: Option<u8>,
    /// what chose the lane
    pub routing_key_used: Option<&'a str>,
    /// where the job keeps what its steps hand on
    pub workspace_ref: Option<&'a str>,
    /// the platform service that does the work
    pub service: &'a str,
    /// what it waits for, if it has not ended
    pub waiting_for: Option<&'static str>,
    /// when it moves by itself at the latest
    pub wake_at: Option<Moment>,
    /// when the newest attempt was dispatched
    pub dispatched_at: Option<Moment>,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// why the newest attempt, or the step, did not succeed
    pub error: Option<&'a StepError>,
    /// the job that undoes it
    pub compensation_job_id: Option<RunId>,
    /// how far its items have come, if it is done once for each item of a list
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemsView>,
    /// what its worker returned; only where attempts are shown
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Cow<'a, Value>>,
    /// every attempt, oldest first; only where the history was at hand
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Vec<AttemptView<'a>>>,
}

/// A job in a list, put together by whoever has the row: the kernel's values in, the wire's words out.
#[derive(Clone, Debug, Serialize)]
pub struct JobSummary<'a> {
    /// its id
    pub job_id: RunId,
    /// whom it belongs to
    pub tenant_id: &'a str,
    /// the protocol it follows
    pub protocol_id: &'a str,
    /// where it stands
    #[serde(serialize_with = "job_word")]
    pub status: RunStatus,
    /// the step that people would call the current one
    pub current_step_id: Option<&'a str>,
    /// when it was asked for
    pub created_at: Moment,
    /// the version of the protocol
    pub protocol_version: u32,
    /// ties it to what its requester knows
    pub correlation_id: Option<&'a str>,
    /// nothing new is dispatched until it is resumed
    pub paused: bool,
    /// when it last changed
    pub updated_at: Moment,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// why it failed
    pub error: Option<&'a StepError>,
}

/// Shows a job with its steps.
#[must_use]
pub fn job(run: &Run) -> JobView<'_> {
    let header = &*run.header;
    JobView {
        job_id: header.id,
        tenant_id: header.tenant.as_str(),
        protocol_id: &header.workflow.name,
        status: status::job(run.status),
        current_step_id: run.current_step().map(|step| run.spec(step).id.as_str()),
        created_at: Moment(header.created_at),
        protocol_version: header.workflow.version,
        request_type: context::request_type(header),
        mode: context::mode(header),
        correlation_id: header.correlation_id.as_deref(),
        version: run.version,
        paused: run.paused,
        updated_at: Moment(run.updated_at),
        started_at: moment(run.started_at),
        completed_at: moment(run.ended_at),
        error: run.error.as_deref(),
        resumes: header.resumes,
        steps: run.own_steps().map(|(index, _)| step(run, index)).collect(),
    }
}

/// Shows the steps of a job with their attempts, from the run and its history. The items of a step
/// follow it.
#[must_use]
pub fn steps<'a>(run: &'a Run, history: &'a [Record]) -> Vec<StepView<'a>> {
    let mut attempts = attempts::fold(run.steps.len(), history);
    run.in_order()
        .map(|(index, _)| {
            let attempts = std::mem::take(&mut attempts[index.position()]);
            let newest = attempts.last().map(|attempt| attempt.lease_id);
            let view = step(run, index);
            StepView {
                lease_id: view.lease_id.or(newest),
                result: run.result(index),
                attempts: Some(attempts),
                ..view
            }
        })
        .collect()
}

fn step(run: &Run, index: StepIndex) -> StepView<'_> {
    let header = &*run.header;
    let spec = run.spec(index);
    let state = &run.steps[index.position()];
    StepView {
        job_id: header.id,
        step_id: run.step_id(index),
        step_type: state.kind.as_deref().unwrap_or(&spec.kind),
        status: status::step(state.status),
        attempt_no: state.attempt,
        lease_id: state.lease.map(|lease| lease.id),
        lane: header.routing.as_ref().map(|routing| routing.lane.number()),
        routing_key_used: header.routing.as_ref().map(|routing| routing.key.as_str()),
        workspace_ref: context::workspace_ref(header),
        service: &spec.pool,
        waiting_for: run.waiting_for(index),
        wake_at: moment(state.wake_at),
        dispatched_at: moment(state.dispatched_at),
        completed_at: moment(state.ended_at),
        error: state.error.as_deref(),
        compensation_job_id: state.compensation,
        items: items(run, index),
        result: None,
        attempts: None,
    }
}

fn moment(at: Option<Timestamp>) -> Option<Moment> {
    at.map(Moment)
}

fn job_word<S: serde::Serializer>(status: &RunStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status::job(*status))
}
