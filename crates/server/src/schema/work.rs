//! What workers are answered.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::view::Problem;

/// What a worker is told about its report.
#[derive(Serialize, ToSchema)]
pub(crate) struct Told {
    /// whether it had an effect
    applied: bool,
    /// why it had none
    #[schema(required = false)]
    reason: Option<String>,
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
