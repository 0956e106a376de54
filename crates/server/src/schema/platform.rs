//! Jobs of the platform dialect, and the instances that own them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::job::{Items, StepError};

/// A job to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "workflow_id": "raster_ingest",
    "input_params": {"container_name": "bronze", "blob_name": "data/file.tif"},
    "correlation_id": "ddh-req-12345",
    "idempotency_key": "ddh-12345",
    "priority": 0,
}))]
pub(crate) struct JobSubmitRequest {
    /// the name of the workflow
    #[schema(min_length = 1, max_length = 64)]
    workflow_id: String,
    /// what the job is given, at most 256 KiB; `{}` if not given
    input_params: Option<BTreeMap<String, Value>>,
    /// ties the job to what its requester knows
    #[schema(max_length = 64)]
    correlation_id: Option<String>,
    /// who is told that the job has ended
    #[schema(max_length = 512)]
    callback_url: Option<String>,
    /// higher is more urgent; 0 if not given
    #[schema(minimum = 0, maximum = 10)]
    priority: Option<u8>,
    /// makes a repetition recognizable: at most one job is made under a key
    #[schema(max_length = 64)]
    idempotency_key: Option<String>,
}

/// An order that waits in the queue.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "message_id": "0b8f3a56-7d43-4ab0-9a0a-6c0f4c1f4c11",
    "workflow_id": "raster_ingest",
    "submitted_at": "2026-02-03T12:00:00.000Z",
    "status": "queued",
}))]
pub(crate) struct JobSubmitResponse {
    /// the id of the order; not that of the job, which does not exist yet
    message_id: String,
    /// the name of the workflow
    workflow_id: String,
    /// when it was submitted
    #[schema(format = DateTime)]
    submitted_at: String,
    /// always `queued`
    status: String,
}

/// Which jobs to find: exactly one of the two.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PlatformJobFilter {
    /// jobs with this correlation id
    #[param(required = false, max_length = 64)]
    correlation_id: Option<String>,
    /// the job that was made under this key
    #[param(required = false, max_length = 64)]
    idempotency_key: Option<String>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// the `next_cursor` of the page before
    #[param(required = false)]
    cursor: Option<String>,
}

/// Where a job stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlatformJobStatus {
    /// no attempt was recorded yet
    Pending,
    /// at least one attempt was recorded, and the job has not ended
    Running,
    /// every node ended well
    Completed,
    /// a node failed for good
    Failed,
    /// it was stopped
    Cancelled,
}

/// Where a node stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeStatus {
    /// something must happen first
    Pending,
    /// it may go, or will be tried again
    Ready,
    /// an attempt is with the bus or a worker
    Dispatched,
    /// a worker has taken the attempt
    Running,
    /// it ended well
    Completed,
    /// it failed for good
    Failed,
    /// it was passed over
    Skipped,
    /// it was stopped
    Cancelled,
}

/// A job in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlatformJobSummary {
    /// its id
    job_id: uuid::Uuid,
    /// the workflow it follows
    workflow_id: String,
    /// where it stands
    status: PlatformJobStatus,
    /// when an instance took the order
    #[schema(format = DateTime)]
    created_at: String,
    /// ties it to what its requester knows
    correlation_id: Option<String>,
    /// grows with every change
    version: u64,
    /// the version of the workflow
    workflow_version: u32,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// why it failed
    error: Option<StepError>,
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlatformJobPage {
    /// newest first
    items: Vec<PlatformJobSummary>,
    /// the `cursor` of the next page; null if this was the last
    next_cursor: Option<String>,
}

/// A job with its nodes.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlatformJob {
    /// its id
    job_id: uuid::Uuid,
    /// the workflow it follows
    workflow_id: String,
    /// where it stands
    status: PlatformJobStatus,
    /// what it was given
    input_params: BTreeMap<String, Value>,
    /// the instance that may decide for it; null if nobody does now
    owner_id: Option<String>,
    /// the last sign of life of that instance
    #[schema(format = DateTime)]
    owner_heartbeat_at: Option<String>,
    /// when an instance took the order
    #[schema(format = DateTime)]
    created_at: String,
    /// who submitted it
    submitted_by: Option<String>,
    /// ties it to what its requester knows
    correlation_id: Option<String>,
    /// grows with every change; also the `ETag`
    version: u64,
    /// the version of the workflow
    workflow_version: u32,
    /// 0 to 10, higher is more urgent
    priority: u8,
    /// makes a repetition recognizable
    idempotency_key: Option<String>,
    /// the order it was made from
    message_id: Option<String>,
    /// when that was submitted
    #[schema(format = DateTime)]
    submitted_at: Option<String>,
    /// who is told of its end
    callback_url: Option<String>,
    /// nothing new is dispatched until it is resumed
    paused: bool,
    /// somebody has asked to stop it
    cancelling: bool,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// the first recorded attempt
    #[schema(format = DateTime)]
    started_at: Option<String>,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// why it failed
    error: Option<StepError>,
    /// the ended job whose finished nodes it took over
    resumes: Option<uuid::Uuid>,
    /// every node, in the order of the workflow
    nodes: Vec<Node>,
}

/// A node of a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct Node {
    /// its id
    node_id: String,
    /// where it stands
    status: NodeStatus,
    /// the kind of work
    task_type: String,
    /// where its work waits for workers
    pool: String,
    /// the nodes that must have ended before
    depends_on: Vec<String>,
    /// the newest attempt; 0 before the first
    attempt: u32,
    /// what it waits for, if it has not ended
    waiting_for: Option<String>,
    /// when it moves by itself at the latest
    #[schema(format = DateTime)]
    wake_at: Option<String>,
    /// when the newest attempt was dispatched
    #[schema(format = DateTime)]
    dispatched_at: Option<String>,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// why it was passed over: `dependency`, `operator`, `condition` or `other_item`
    skip_reason: Option<String>,
    /// why the newest attempt, or the node, did not succeed
    error: Option<StepError>,
    /// how far its items have come, if it is done once for each item of a list
    #[schema(required = false)]
    items: Option<Items>,
    /// what its worker returned; with items, the list of what was returned for each
    result: Option<Value>,
}

/// What was applied to the store.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({"store": "postgres", "applied": []}))]
pub(crate) struct Migrated {
    /// `memory`, `sqlite` or `postgres`
    store: String,
    /// the names of the migrations; none if there was nothing to do
    applied: Vec<String>,
}

/// Instances.
#[derive(Serialize, ToSchema)]
pub(crate) struct InstanceList {
    /// oldest first
    items: Vec<Instance>,
}

/// An instance that shares the work.
#[derive(Serialize, ToSchema)]
pub(crate) struct Instance {
    /// its id, new with every start
    owner_id: String,
    /// `alive`, `stopped` or `dead`
    state: String,
    /// it lives, and was heard of recently enough
    healthy: bool,
    /// when it started
    #[schema(format = DateTime)]
    started_at: String,
    /// its last sign of life
    #[schema(format = DateTime)]
    heartbeat_at: String,
    /// how long ago that was
    silent_seconds: f64,
    /// jobs that it owns and that have not ended
    jobs_owned: u64,
    /// what it said of itself with its last sign of life, as `GET /api/v1/stats`
    stats: Value,
}

/// What an instance says of itself.
#[derive(Serialize, ToSchema)]
#[schema(example = json!({
    "running": true,
    "owner_id": "019b8d3c-0000-7000-8000-000000000001",
    "started_at": "2026-02-03T12:00:00.000Z",
    "uptime_seconds": 3600.5,
    "poll_interval": 1.0,
    "cycles": 812,
    "jobs_claimed": 40,
    "jobs_reclaimed": 3,
    "tasks_dispatched": 220,
    "results_processed": 431,
    "errors": 0,
    "fenced_writes": 0,
    "last_heartbeat_at": "2026-02-03T13:00:00.000Z",
    "last_orphan_scan_at": "2026-02-03T12:59:30.000Z",
}))]
pub(crate) struct Stats {
    /// it takes work in and decides
    running: bool,
    /// its id, new with every start
    owner_id: String,
    /// when it started
    #[schema(format = DateTime)]
    started_at: String,
    /// how long ago that was
    uptime_seconds: f64,
    /// the longest time between two looks at what is due, in seconds; wake-ups come sooner by themselves
    poll_interval: f64,
    /// groups of decisions that were committed
    cycles: u64,
    /// jobs that it took from the queue
    jobs_claimed: u64,
    /// jobs that it took over from others
    jobs_reclaimed: u64,
    /// directives that went to workers
    tasks_dispatched: u64,
    /// acks and results that were decided
    results_processed: u64,
    /// commits, signs of life and scans that failed
    errors: u64,
    /// writes that the store refused because others had taken over
    fenced_writes: u64,
    /// when it last gave a sign of life; null in a store of its own
    #[schema(format = DateTime)]
    last_heartbeat_at: Option<String>,
    /// when it last looked for jobs that nobody owns; null in a store of its own
    #[schema(format = DateTime)]
    last_orphan_scan_at: Option<String>,
}
