//! Messages of the runbooks dialect, as they travel over HTTP.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// How many jobs a worker wants.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReceiveRequest {
    /// at most this many; 1 if not given
    #[schema(minimum = 1, maximum = 256)]
    max: Option<u32>,
    /// how long to wait for the first; 0 if not given
    #[schema(minimum = 0, maximum = 30)]
    wait_sec: Option<u32>,
    /// how long each is kept from others; 60 if not given
    #[schema(minimum = 1, maximum = 3600)]
    lock_sec: Option<u32>,
}

/// Jobs in the hands of a worker.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerJobs {
    /// perhaps none
    messages: Vec<WorkerJob>,
}

/// A job in the hands of a worker.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerJob {
    /// the message itself
    body: WorkerJobMessage,
    /// its application properties: `WorkerId`
    properties: BTreeMap<String, String>,
    /// renews the lock
    lock_token: String,
    /// how often it was handed out, this time included
    delivery_count: u32,
    /// from here on others may get it
    #[schema(format = DateTime)]
    locked_until: String,
}

/// The message that gives a worker a job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WorkerJobMessage {
    /// what is to be done, and which try of it this is
    job_id: String,
    /// the batch it belongs to
    batch_id: i64,
    /// who shall do it
    worker_id: String,
    /// what it is called in the worker's words
    function_name: String,
    /// what the function is given
    parameters: BTreeMap<String, Value>,
    /// what the worker sends back unchanged
    correlation_data: CorrelationData,
}

/// What ties a result to its step.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct CorrelationData {
    /// the step; of a rollback, the step that failed
    step_execution_id: i64,
    /// whether it is done once for the batch
    is_init_step: bool,
    /// the runbook
    runbook_name: String,
    /// its version
    runbook_version: u32,
}

/// Locks to be kept longer.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewRequest {
    /// 1 to 256 of them
    lock_tokens: Vec<String>,
    /// for so long from now; 60 if not given
    #[schema(minimum = 1, maximum = 3600)]
    lock_sec: Option<u32>,
}

/// What became of locks.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerLocks {
    /// in the order of the request
    locks: Vec<WorkerLock>,
}

/// What became of a lock.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerLock {
    /// as the job named it
    lock_token: String,
    /// `ok`, or `lost` if the job is no longer the worker's
    status: String,
}

/// One result, or 1 to 256 of them.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum WorkerResults {
    /// one
    One(Box<WorkerResultMessage>),
    /// a list
    Many(Vec<WorkerResultMessage>),
}

/// What a worker says of a job. Fields are read in any capitals.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WorkerResultMessage {
    /// that of the job
    job_id: String,
    /// `Success`; anything else is a failure
    status: String,
    /// `Object` or `Boolean`
    result_type: Option<String>,
    /// what came of it, at most 256 KiB; `complete: false` means: ask again
    result: Option<Value>,
    /// null on success
    error: Option<WorkerError>,
    /// how long it took
    duration_ms: Option<f64>,
    /// when it ended
    #[schema(format = DateTime)]
    timestamp: Option<String>,
    /// that of the job, unchanged
    correlation_data: CorrelationData,
}

/// Why a job failed.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct WorkerError {
    /// a sentence
    message: Option<String>,
    /// a stable word
    r#type: Option<String>,
    /// whether a service asked for less haste
    is_throttled: Option<bool>,
    /// how often the worker itself tried
    attempts: Option<u32>,
}

/// What became of results.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerResultAnswers {
    /// in the order of the results
    results: Vec<WorkerResultAnswer>,
}

/// What became of a result.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkerResultAnswer {
    /// as the result named it
    #[serde(rename = "JobId")]
    job_id: String,
    /// `accepted`, `ignored` or `unknown`
    outcome: String,
    /// why it had no effect
    #[schema(required = false)]
    detail: Option<String>,
}

/// An event; its fields depend on its type, docs/dialects/runbooks-messages.md has them.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(value_type = BTreeMap<String, Value>)]
pub(crate) struct OrchestratorEvent(BTreeMap<String, Value>);

/// What became of an event.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventOutcome {
    /// `accepted`, `ignored` or `unknown`
    outcome: String,
    /// why it had no effect
    #[schema(required = false)]
    detail: Option<String>,
}

/// Which events to read.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EmittedQuery {
    /// the `next` of the page before
    #[param(required = false)]
    after: Option<String>,
    /// at most this many; 100 if not given
    #[param(required = false, minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A page of events of our own scheduler.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmittedPage {
    /// oldest first
    items: Vec<EmittedEvent>,
    /// the `after` of the next page, now or later; null before the first event
    next: Option<String>,
}

/// An event of our own scheduler.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmittedEvent {
    /// its place
    id: String,
    /// its application properties: `MessageType`
    properties: BTreeMap<String, String>,
    /// the message itself
    body: OrchestratorEvent,
}
