//! Jobs as the read routes show them.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A job that was asked for.
#[derive(Serialize, ToSchema)]
pub(crate) struct Accepted {
    /// the job
    #[serde(rename = "jobId")]
    job_id: uuid::Uuid,
    /// where it stands; null if retention has deleted it
    status: Option<JobStatus>,
    /// false if the same request had made it before
    created: bool,
    /// the ended job whose finished steps it took over
    #[schema(required = false)]
    resumes: Option<uuid::Uuid>,
    /// where to go from here
    links: Links,
}

/// Where to go from here.
#[derive(Serialize, ToSchema)]
pub(crate) struct Links {
    /// the job
    #[serde(rename = "self")]
    job: String,
    /// its steps
    steps: String,
    /// its live events
    events: String,
    /// why it waits
    explain: String,
    /// to cancel it
    cancel: String,
}

/// Where a job stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum JobStatus {
    /// no attempt was recorded yet
    Queued,
    /// at least one attempt was recorded
    InProgress,
    /// nothing new starts
    Cancelling,
    /// every step ended well
    Succeeded,
    /// a step failed for good
    FailedFinal,
    /// it was stopped
    Cancelled,
}

/// Where a step stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum StepStatus {
    /// something must happen first
    Pending,
    /// an attempt is with the bus or a worker
    Initiated,
    /// a worker has taken the attempt
    Processing,
    /// it ended well
    Succeeded,
    /// it failed for good
    FailedFinal,
    /// it was stopped or passed over
    Cancelled,
}

/// Why something did not succeed.
#[derive(Serialize, ToSchema)]
pub(crate) struct StepError {
    /// a stable word
    code: String,
    /// a sentence
    message: String,
}

/// A job in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobSummary {
    /// its id
    job_id: uuid::Uuid,
    /// whom it belongs to
    tenant_id: String,
    /// the protocol it follows
    protocol_id: String,
    /// where it stands
    status: JobStatus,
    /// the step that people would call the current one
    current_step_id: Option<String>,
    /// when it was asked for
    #[schema(format = DateTime)]
    created_at: String,
    /// the version of the protocol
    protocol_version: u32,
    /// ties it to what its requester knows
    correlation_id: Option<String>,
    /// nothing new is dispatched until it is resumed
    paused: bool,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// why it failed
    error: Option<StepError>,
}

/// A job with its steps.
#[derive(Serialize, ToSchema)]
pub(crate) struct Job {
    /// its id
    job_id: uuid::Uuid,
    /// whom it belongs to
    tenant_id: String,
    /// the protocol it follows
    protocol_id: String,
    /// where it stands
    status: JobStatus,
    /// the step that people would call the current one
    current_step_id: Option<String>,
    /// when it was asked for
    #[schema(format = DateTime)]
    created_at: String,
    /// the version of the protocol
    protocol_version: u32,
    /// ties it to what its requester knows
    correlation_id: Option<String>,
    /// nothing new is dispatched until it is resumed
    paused: bool,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// why it failed
    error: Option<StepError>,
    /// what it was asked for as
    request_type: Option<String>,
    /// how its lane was chosen
    mode: Option<String>,
    /// grows with every change; also the `ETag`
    version: u64,
    /// the first recorded attempt
    #[schema(format = DateTime)]
    started_at: Option<String>,
    /// the ended job whose finished steps it took over
    resumes: Option<uuid::Uuid>,
    /// every step, in the order of the protocol
    steps: Vec<Step>,
}

/// A step of a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct Step {
    /// its job
    job_id: uuid::Uuid,
    /// its id; of an item of it with its number, as in `pack[3]`
    step_id: String,
    /// the kind of work
    step_type: String,
    /// where it stands
    status: StepStatus,
    /// the newest attempt; 0 before the first
    attempt_no: u32,
    /// the lease of the newest attempt, as far as it is known
    lease_id: Option<uuid::Uuid>,
    /// the road its directives take, 0 to 15
    lane: Option<u8>,
    /// what chose the lane
    routing_key_used: Option<String>,
    /// where the job keeps what its steps hand on
    workspace_ref: Option<String>,
    /// the platform service that does the work
    service: String,
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
    /// why the newest attempt, or the step, did not succeed
    error: Option<StepError>,
    /// the job that undoes it
    compensation_job_id: Option<uuid::Uuid>,
    /// how far its items have come, if it is done once for each item of a list
    #[schema(required = false)]
    items: Option<Items>,
    /// what its worker returned; only in the list of steps
    #[schema(required = false)]
    result: Option<Value>,
    /// every attempt, oldest first; only in the list of steps
    #[schema(required = false)]
    attempts: Option<Vec<Attempt>>,
}

/// How far the items of a step have come.
#[derive(Serialize, ToSchema)]
pub(crate) struct Items {
    /// how many there are
    count: u16,
    /// how many have ended, well or not
    ended: u16,
    /// how many failed for good
    failed: u16,
    /// how many have begun and have not ended
    under_way: u16,
    /// how many wait for their turn
    waiting: u16,
}

/// One try of a step.
#[derive(Serialize, ToSchema)]
pub(crate) struct Attempt {
    /// counted from 1, never counted back
    attempt_no: u32,
    /// its lease
    lease_id: uuid::Uuid,
    /// how far it came; `FAILED_RETRYABLE` if another one followed
    status: String,
    /// when it was recorded
    #[schema(format = DateTime)]
    dispatched_at: String,
    /// when a worker took it
    #[schema(format = DateTime)]
    acked_at: Option<String>,
    /// when it ended
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    /// why it did not succeed
    error: Option<StepError>,
    /// how often an unfinished result was asked for again
    polls: u32,
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobPage {
    /// newest first
    items: Vec<JobSummary>,
    /// the `cursor` of the next page; null if this was the last
    next_cursor: Option<String>,
}

/// The steps of a job.
#[derive(Serialize, ToSchema)]
pub(crate) struct StepList {
    /// in the order of the protocol
    items: Vec<Step>,
    /// always null: all steps are on one page
    next_cursor: Option<String>,
}

/// A page of a history.
#[derive(Serialize, ToSchema)]
pub(crate) struct HistoryPage {
    /// oldest first
    items: Vec<Record>,
    /// the `after` of the next page; null if this was the last
    next_after: Option<u64>,
}

/// What one decision wrote.
#[derive(Serialize, ToSchema)]
pub(crate) struct Record {
    /// the version of the job after it
    version: u64,
    /// when it was decided
    #[schema(format = DateTime)]
    at: String,
    /// what happened, in order; `entry` names the kind
    entries: Vec<Entry>,
}

/// One fact.
#[derive(Serialize, ToSchema)]
pub(crate) struct Entry {
    /// what happened, such as `step_dispatched`
    entry: String,
    /// the step it is about
    #[schema(required = false)]
    step_id: Option<String>,
}

/// Why a job is where it is.
#[derive(Serialize, ToSchema)]
pub(crate) struct Explanation {
    /// in one sentence
    summary: String,
    /// what each step that has not ended waits for
    waits: Vec<Wait>,
}

/// What one step waits for.
#[derive(Serialize, ToSchema)]
pub(crate) struct Wait {
    /// its id
    step: String,
    /// where it stands, in the kernel's words
    status: String,
    /// a word: `start`, `steps`, `gate`, `resume`, `worker`, `poll`, `poll_answer`, `retry`, `run_retry`
    waiting_for: String,
    /// the same as a sentence
    reason: String,
    /// when it moves by itself at the latest
    #[schema(required = false)]
    until: Option<String>,
    /// what a person can do
    #[schema(required = false)]
    advice: Option<String>,
}

/// Reports without effect.
#[derive(Serialize, ToSchema)]
pub(crate) struct StaleReportList {
    /// oldest first
    items: Vec<StaleReport>,
    /// always null: all reports are on one page
    next_cursor: Option<String>,
}

/// A report that came too late or from the wrong attempt.
#[derive(Serialize, ToSchema)]
pub(crate) struct StaleReport {
    /// about which step, as the caller named it
    step_id: String,
    /// `ack` or `result`
    kind: String,
    /// the attempt it named
    attempt_no: u32,
    /// the lease it named
    lease_id: uuid::Uuid,
    /// why it had no effect
    reason: String,
    /// when it came
    #[schema(format = DateTime)]
    at: String,
}
