//! Bodies of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A command: which protocol, for whom, on what.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    /// whose job it is
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._:-]+$", example = "acme")]
    tenant_id: String,
    /// which protocol
    #[schema(min_length = 1, max_length = 128, example = "document.ingest")]
    request_type: String,
    /// what to work on
    #[schema(min_length = 1, max_length = 2048, example = "blob://in/1.pdf")]
    input_ref: String,
    /// where to put what comes of it
    #[schema(min_length = 1, max_length = 2048, example = "blob://out/1")]
    output_ref: String,
    /// what the steps are given, at most 256 KiB
    payload: BTreeMap<String, Value>,
    /// `"1"`
    #[schema(example = "1")]
    schema_version: SchemaVersion,
    /// how the lane is chosen
    mode: Option<Mode>,
    /// makes a repetition of the request recognizable
    #[schema(min_length = 1, max_length = 255)]
    idempotency_key: Option<String>,
    /// the document it is about; required with mode `BURST`
    #[schema(min_length = 1, max_length = 256)]
    doc_id: Option<String>,
    /// who is told that the job has ended: at most five URLs
    callback_urls: Option<CallbackTargets>,
    /// ties the job to what its requester knows
    #[schema(min_length = 1, max_length = 128)]
    correlation_id: Option<String>,
    /// W3C trace context
    traceparent: Option<String>,
}

/// The version of the envelope.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum SchemaVersion {
    /// `"1"`, `"1.0"` or `"v1"`
    Text(String),
    /// `1`
    Number(u8),
}

/// How the lane of a job is chosen.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Mode {
    /// all jobs of a tenant share one lane
    Default,
    /// each document of a tenant has its own
    Burst,
}

/// URLs, in a list or under names of the sender's own.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum CallbackTargets {
    /// in a list
    List(Vec<String>),
    /// under names
    Named(BTreeMap<String, String>),
}

/// How and why to cancel.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CancelRequest {
    /// in the caller's words
    #[schema(max_length = 500)]
    reason: Option<String>,
    /// `drain` or `immediate`; the workflow's own way if not given
    mode: Option<CancelMode>,
}

/// How a job is stopped.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CancelMode {
    /// what is under way may end
    Drain,
    /// at once; what workers still report is recorded and ignored
    Immediate,
}

/// Why.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReasonRequest {
    /// in the caller's words
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// The result of a step that is taken as done.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CompleteRequest {
    /// as a worker would have returned it
    result: Option<Value>,
    /// in the caller's words
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// Says that an attempt was taken. Every field comes from the directive.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AckBody {
    /// the job
    #[serde(rename = "jobId")]
    job_id: uuid::Uuid,
    /// the step
    #[serde(rename = "stepId")]
    step_id: String,
    /// whose it is
    tenant_id: String,
    /// which try
    #[schema(minimum = 1)]
    attempt_no: u32,
    /// the lease of the try
    lease_id: uuid::Uuid,
    /// ties it to what the requester knows
    correlation_id: Option<String>,
}

/// Says what came of an attempt.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ResultBody {
    /// the job
    #[serde(rename = "jobId")]
    job_id: uuid::Uuid,
    /// the step
    #[serde(rename = "stepId")]
    step_id: String,
    /// whose it is
    tenant_id: String,
    /// which try
    #[schema(minimum = 1)]
    attempt_no: u32,
    /// the lease of the try
    lease_id: uuid::Uuid,
    /// how it ended
    status: ResultStatus,
    /// what it returned, at most 256 KiB
    result: Option<Value>,
    /// why it did not succeed: a text, or `{code, message}`
    error: Option<Value>,
    /// what the step has cost, if its job counts credits
    #[schema(minimum = 0)]
    credits_spent: Option<f64>,
    /// the least rest before another try, in seconds; with `FAILED_RETRYABLE`
    retry_after: Option<f64>,
    /// ties it to what the requester knows
    correlation_id: Option<String>,
}

/// How an attempt ended.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum ResultStatus {
    /// done
    Succeeded,
    /// not done, and another try would not help
    FailedFinal,
    /// not done; another try may help
    FailedRetryable,
    /// accepted, but not finished: ask again
    Incomplete,
}

/// Acks of several attempts.
#[derive(Deserialize, ToSchema)]
pub(crate) struct AckBatch {
    /// each is judged by itself
    #[schema(min_items = 1, max_items = 256)]
    acks: Vec<AckBody>,
}

/// Results of several attempts.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ResultBatch {
    /// each is judged by itself
    #[schema(min_items = 1, max_items = 256)]
    results: Vec<ResultBody>,
}

/// What a worker asks for.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LeaseRequest {
    /// at most this many; 1 if not given
    #[schema(minimum = 1, maximum = 256)]
    max: Option<u32>,
    /// how long to wait for the first; not at all if not given
    #[schema(maximum = 30)]
    wait_seconds: Option<u32>,
    /// how long each is kept from other workers; 60 if not given
    #[schema(minimum = 1, maximum = 3600)]
    visibility_seconds: Option<u32>,
    /// only directives of these lanes; of all lanes if not given
    lanes: Option<Vec<u8>>,
}

/// Which directives to keep longer.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ExtendRequest {
    /// the `delivery` of each
    #[schema(min_items = 1, max_items = 256)]
    deliveries: Vec<String>,
    /// from now on; 60 if not given
    #[schema(minimum = 1, maximum = 3600)]
    visibility_seconds: Option<u32>,
}

/// Which directives to give back.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NackRequest {
    /// each with its own delay
    #[schema(min_items = 1, max_items = 256)]
    deliveries: Vec<NackItem>,
}

/// A directive to give back.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NackItem {
    /// as the lease named it
    delivery: String,
    /// how long until it is handed out again; at once if not given
    #[schema(maximum = 3600)]
    delay_seconds: Option<u32>,
}

/// What a new token shall be.
#[derive(Deserialize, ToSchema)]
pub(crate) struct NewToken {
    /// for people
    #[schema(min_length = 1, max_length = 64)]
    name: String,
    /// what it may do
    role: RoleWord,
    /// whose things it may see; everybody's if not given
    #[schema(min_length = 1, max_length = 128)]
    tenant: Option<String>,
    /// 90 if not given
    #[schema(minimum = 1, maximum = 3650)]
    expires_in_days: Option<u32>,
}

/// What a token may do.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleWord {
    /// everything
    Admin,
    /// every job, dead letters, overrides
    Operator,
    /// commands and their jobs
    Client,
    /// reads
    Viewer,
    /// leases and reports
    Worker,
}
