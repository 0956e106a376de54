//! Jobs and nodes as the read routes show them.
//!
//! The columns of the table `dag_jobs` come first (B-022); what follows them goes beyond it. Views
//! borrow from the run.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::{SkipReason, StepError};
use stepwell_core::time::Timestamp;

use super::{context, status};
use crate::items::{ItemsView, items};
use crate::moment::Moment;

/// The instance that may decide for a job.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// its id
    pub id: &'a str,
    /// its last sign of life
    pub heartbeat_at: Timestamp,
}

/// A job with its nodes.
#[derive(Clone, Debug, Serialize)]
pub struct JobView<'a> {
    /// its id
    pub job_id: RunId,
    /// the workflow it follows
    pub workflow_id: &'a str,
    /// where it stands
    pub status: &'static str,
    /// what it was given
    pub input_params: &'a Map<String, Value>,
    /// the instance that may decide for it; null if nobody does now
    pub owner_id: Option<&'a str>,
    /// the last sign of life of that instance
    pub owner_heartbeat_at: Option<Moment>,
    /// when an instance took the order
    pub created_at: Moment,
    /// who submitted it
    pub submitted_by: Option<&'a str>,
    /// ties it to what its requester knows
    pub correlation_id: Option<&'a str>,
    /// decisions so far; grows with every change
    pub version: u64,
    /// the version of the workflow
    pub workflow_version: u32,
    /// 0 to 10, higher is more urgent
    pub priority: u8,
    /// makes a repetition recognizable
    pub idempotency_key: Option<&'a str>,
    /// the order it was made from
    pub message_id: Option<&'a str>,
    /// when that was submitted
    pub submitted_at: Option<&'a str>,
    /// who is told of its end
    pub callback_url: Option<&'a str>,
    /// nothing new is dispatched until it is resumed
    pub paused: bool,
    /// somebody has asked to stop it
    pub cancelling: bool,
    /// when it last changed
    pub updated_at: Moment,
    /// the first recorded attempt
    pub started_at: Option<Moment>,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// why it failed
    pub error: Option<&'a StepError>,
    /// the ended job whose finished nodes it took over
    pub resumes: Option<RunId>,
    /// every node, in the order of the workflow; items are counted with their node
    pub nodes: Vec<NodeView<'a>>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeView<'a> {
    /// its id
    pub node_id: &'a str,
    /// where it stands
    pub status: &'static str,
    /// the kind of work
    pub task_type: &'a str,
    /// where its work waits for workers
    pub pool: &'a str,
    /// the nodes that must have ended before
    pub depends_on: Vec<&'a str>,
    /// the newest attempt; 0 before the first
    pub attempt: u32,
    /// what it waits for, if it has not ended
    pub waiting_for: Option<&'static str>,
    /// when it moves by itself at the latest
    pub wake_at: Option<Moment>,
    /// when the newest attempt was dispatched
    pub dispatched_at: Option<Moment>,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// why it was passed over
    pub skip_reason: Option<SkipReason>,
    /// why the newest attempt, or the node, did not succeed
    pub error: Option<&'a StepError>,
    /// how far its items have come, if it is done once for each item of a list
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemsView>,
    /// what its worker returned; with items, the list of what was returned for each
    pub result: Option<Cow<'a, Value>>,
}

/// A job in a list, put together by whoever has the row: the kernel's values in, the wire's words out.
#[derive(Clone, Debug, Serialize)]
pub struct JobSummary<'a> {
    /// its id
    pub job_id: RunId,
    /// the workflow it follows
    pub workflow_id: &'a str,
    /// where it stands
    #[serde(serialize_with = "job_word")]
    pub status: RunStatus,
    /// when an instance took the order
    pub created_at: Moment,
    /// ties it to what its requester knows
    pub correlation_id: Option<&'a str>,
    /// decisions so far
    pub version: u64,
    /// the version of the workflow
    pub workflow_version: u32,
    /// when it last changed
    pub updated_at: Moment,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// why it failed
    pub error: Option<&'a StepError>,
}

/// Shows a job with its nodes.
#[must_use]
pub fn job<'a>(run: &'a Run, owner: Option<Owner<'a>>) -> JobView<'a> {
    let header = &*run.header;
    JobView {
        job_id: header.id,
        workflow_id: &header.workflow.name,
        status: status::job(run.status),
        input_params: &header.input,
        owner_id: owner.map(|owner| owner.id),
        owner_heartbeat_at: owner.map(|owner| Moment(owner.heartbeat_at)),
        created_at: Moment(header.created_at),
        submitted_by: context::submitted_by(header),
        correlation_id: header.correlation_id.as_deref(),
        version: run.version,
        workflow_version: header.workflow.version,
        priority: header.priority,
        idempotency_key: context::idempotency_key(header),
        message_id: context::message_id(header),
        submitted_at: context::submitted_at(header),
        callback_url: context::callback_url(header),
        paused: run.paused,
        cancelling: run.status == RunStatus::Cancelling,
        updated_at: Moment(run.updated_at),
        started_at: moment(run.started_at),
        completed_at: moment(run.ended_at),
        error: run.error.as_deref(),
        resumes: header.resumes,
        nodes: run.own_steps().map(|(index, _)| node(run, index)).collect(),
    }
}

fn node(run: &Run, index: StepIndex) -> NodeView<'_> {
    let spec = run.spec(index);
    let state = &run.steps[index.position()];
    NodeView {
        node_id: &spec.id,
        status: status::node(state.status),
        task_type: state.kind.as_deref().unwrap_or(&spec.kind),
        pool: &spec.pool,
        depends_on: spec.after.iter().map(|before| run.spec(*before).id.as_str()).collect(),
        attempt: state.attempt,
        waiting_for: run.waiting_for(index),
        wake_at: moment(state.wake_at),
        dispatched_at: moment(state.dispatched_at),
        completed_at: moment(state.ended_at),
        skip_reason: state.skip,
        error: state.error.as_deref(),
        items: items(run, index),
        result: run.result(index),
    }
}

fn moment(at: Option<Timestamp>) -> Option<Moment> {
    at.map(Moment)
}

fn job_word<S: serde::Serializer>(status: &RunStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status::job(*status))
}
