//! What workers are answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::body::AckBody;
use super::view::Problem;
use super::workspace_job::TriggerWord;

/// What a worker is told about its report.
#[derive(Serialize, ToSchema)]
pub(crate) struct Told {
    /// whether it had an effect
    applied: bool,
    /// why it had none
    #[schema(required = false)]
    reason: Option<String>,
    /// what the worker goes on with: it has it already
    #[schema(required = false)]
    next: Option<NextDirective>,
}

/// One answer for each report of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answers {
    /// in the order of the reports
    answers: Vec<Answer>,
}

/// The answer to one report of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct Answer {
    /// whether it had an effect
    applied: bool,
    /// why it had none
    #[schema(required = false)]
    reason: Option<String>,
    /// what the worker goes on with: it has it already
    #[schema(required = false)]
    next: Option<NextDirective>,
    /// what is wrong with the report, if it could not be judged
    #[schema(required = false)]
    problem: Option<Problem>,
}

/// Directives in the hands of a worker.
#[derive(Serialize, ToSchema)]
pub(crate) struct Leased {
    /// perhaps none
    directives: Vec<LeasedDirective>,
}

/// A directive in the hands of a worker.
#[derive(Serialize, ToSchema)]
pub(crate) struct LeasedDirective {
    /// extends it or gives it back
    delivery: String,
    /// from here on others may get it
    #[schema(format = DateTime)]
    locked_until: String,
    /// how often it was handed out, this time included
    deliveries: u32,
    /// what to do
    directive: Directive,
}

/// What a worker goes on with. It has it already, and keeps it with signs of life.
#[derive(Serialize, ToSchema)]
pub(crate) struct NextDirective {
    /// when the attempt has failed, unless the worker gives a sign of life before
    #[schema(format = DateTime)]
    locked_until: String,
    /// what to do
    directive: Directive,
}

/// The message that starts an attempt of a workspace's job, version 1.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct JobMessage {
    /// 1
    v: u32,
    /// the job
    job_id: uuid::Uuid,
    /// whose it is
    workspace_id: String,
    /// what made it
    trigger_type: TriggerWord,
    /// the attempt that it starts, counted from 1
    #[schema(minimum = 1)]
    attempt: u32,
    /// attempts in all
    #[schema(minimum = 1)]
    max_attempts: u32,
    /// the trace of the job
    trace_id: String,
    /// makes a repetition recognizable
    idempotency_key: String,
}

/// What a worker does with a message.
#[derive(Serialize, ToSchema)]
pub(crate) struct MessageVerdict {
    /// `run`: begin with `next`; `acknowledge`: delete the message and do nothing
    action: String,
    /// why nothing is to be done
    #[schema(required = false)]
    reason: Option<String>,
    /// the first step of the attempt
    #[schema(required = false)]
    next: Option<NextDirective>,
}

/// Signs of life of attempts.
#[derive(Deserialize, ToSchema)]
pub(crate) struct HeartbeatBatch {
    /// each is judged by itself; every field comes from the directive
    #[schema(min_items = 1, max_items = 256)]
    heartbeats: Vec<AckBody>,
}

/// What became of signs of life.
#[derive(Serialize, ToSchema)]
pub(crate) struct Heartbeats {
    /// in the order of the request
    heartbeats: Vec<Heartbeat>,
}

/// What became of a sign of life.
#[derive(Serialize, ToSchema)]
pub(crate) struct Heartbeat {
    /// as the sign named it
    #[serde(rename = "jobId")]
    job_id: Value,
    /// as the sign named it
    #[serde(rename = "stepId")]
    step_id: Value,
    /// `ok`, `lost` if the worker should stop, or `unknown` if it could not be judged now
    status: String,
    /// when the attempt has failed, unless there is another sign of life before
    #[schema(required = false, format = DateTime)]
    locked_until: Option<String>,
    /// why it is not `ok`
    #[schema(required = false)]
    reason: Option<String>,
}

/// What to do.
#[derive(Serialize, ToSchema)]
pub(crate) struct Directive {
    /// the job
    #[serde(rename = "jobId")]
    job_id: uuid::Uuid,
    /// whose it is
    tenant_id: String,
    /// the step
    #[serde(rename = "stepId")]
    step_id: String,
    /// the protocol it belongs to
    protocol_id: String,
    /// the kind of work
    step_type: String,
    /// which try
    attempt_no: u32,
    /// what makes an answer count
    lease_id: uuid::Uuid,
    /// what to work on
    input_ref: Option<String>,
    /// where the job keeps what its steps hand on
    workspace_ref: Option<String>,
    /// where to put what comes of it
    output_ref: Option<String>,
    /// what the step is given
    payload: Value,
    /// where to answer
    callback_urls: CallbackUrls,
    /// ties it to what the requester knows
    correlation_id: Option<String>,
    /// W3C trace context
    traceparent: Option<String>,
    /// the platform service that does the work
    service: String,
    /// when the attempt is given up
    #[schema(format = DateTime)]
    timeout_at: String,
    /// which question of a poll this is, counted from 1
    #[schema(required = false)]
    poll: Option<u32>,
    /// of a workspace's job: the message that started the attempt
    #[schema(required = false)]
    message: Option<JobMessage>,
    /// of a workspace's job: the place of the step, counted from 0
    #[schema(required = false)]
    step_index: Option<u16>,
    /// of a workspace's job: the same for every repetition of the step
    #[schema(required = false)]
    idempotency_key: Option<String>,
    /// of a workspace's job: where large data lies, by name
    #[schema(required = false)]
    references: Option<BTreeMap<String, String>>,
}

/// Where a worker answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct CallbackUrls {
    /// for "I have it"
    ack: String,
    /// for what came of it
    result: String,
}

/// What became of deliveries.
#[derive(Serialize, ToSchema)]
pub(crate) struct Deliveries {
    /// in the order of the request
    deliveries: Vec<DeliveryStatus>,
}

/// What became of a delivery.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeliveryStatus {
    /// as the lease named it
    delivery: String,
    /// `ok`, or `lost` if it is no longer the worker's
    status: String,
}
