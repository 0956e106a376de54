//! Jobs of a workspace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::job::Items;

/// The job in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct WorkspaceJobPath {
    /// the id of the workspace: the tenant
    workspace_id: String,
    /// the id of the job
    job: uuid::Uuid,
}

/// Which jobs of a workspace to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WorkspaceJobFilter {
    /// one or more of the words of `status`, repeated or separated by commas
    #[param(required = false)]
    status: Option<String>,
    /// jobs of this workflow, any version
    #[param(required = false)]
    workflow_id: Option<String>,
    /// created at or after this moment
    #[param(required = false, format = DateTime)]
    created_from: Option<String>,
    /// created before this moment
    #[param(required = false, format = DateTime)]
    created_until: Option<String>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// the `next_cursor` of the page before
    #[param(required = false)]
    cursor: Option<String>,
}

/// A job to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobRequest {
    /// the workspace, where the address does not say it
    #[schema(min_length = 1, max_length = 128)]
    workspace_id: Option<String>,
    /// the workflow it follows
    #[schema(min_length = 1, max_length = 64, example = "nightly-report")]
    workflow_id: String,
    /// the user it is for
    #[schema(min_length = 1, max_length = 128, example = "user-7")]
    user_id: String,
    /// what makes it; `manual` if not given
    trigger_type: Option<TriggerWord>,
    /// makes a repetition of the request recognizable within the workspace
    #[schema(min_length = 1, max_length = 255)]
    idempotency_key: Option<String>,
    /// attempts in all; the workflow's, or 5, if not given
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<u32>,
    /// what it will probably cost; the workflow's if not given
    #[schema(minimum = 0)]
    credits_estimate: Option<f64>,
    /// what the steps are given, at most 256 KiB
    input: Option<BTreeMap<String, Value>>,
    /// where large data lies, by name
    references: Option<BTreeMap<String, String>>,
    /// ties it to the trace of its requester
    #[schema(min_length = 1, max_length = 128)]
    trace_id: Option<String>,
    /// higher is more urgent; 5 if not given
    #[schema(minimum = 0, maximum = 10)]
    priority: Option<u8>,
}

/// What makes a job.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TriggerWord {
    /// somebody asks
    Manual,
    /// its time has come
    Schedule,
    /// a signed request arrives
    Webhook,
    /// a file appears
    FileDrop,
}

/// Where a job stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkspaceJobStatus {
    /// stored, and without a message yet
    Pending,
    /// the message of its attempt waits for a worker
    Queued,
    /// a worker has it
    Running,
    /// the latest attempt failed, and another one follows
    Failed,
    /// every step is done
    Completed,
    /// given up
    Dead,
    /// stopped
    Canceled,
}

/// A job of a workspace: the record of the contract, and what goes beyond it.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkspaceJob {
    /// its id, the same in events
    job_id: uuid::Uuid,
    /// whose it is
    workspace_id: String,
    /// the user it is for
    user_id: String,
    /// the workflow it follows
    workflow_id: String,
    /// what made it
    trigger_type: TriggerWord,
    /// where it stands
    status: WorkspaceJobStatus,
    /// attempts that a worker has begun
    attempts: u32,
    /// attempts in all
    max_attempts: u32,
    /// the place of the next step, counted from 0
    step_cursor: u32,
    /// how many steps there are, fixed when it was made
    steps_total: u32,
    /// what it will probably cost
    credits_estimate: f64,
    /// set aside for it and not spent yet
    credits_reserved: f64,
    /// spent so far
    credits_spent: f64,
    /// makes a repetition recognizable; the job's id if it was asked for without one
    idempotency_key: String,
    /// why the latest attempt failed, as a word
    last_error_code: Option<String>,
    /// the same for people, short and without personal data
    last_error_message: Option<String>,
    /// when it was asked for
    #[schema(format = DateTime)]
    created_at: String,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// when a worker first took it
    #[schema(format = DateTime)]
    started_at: Option<String>,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// when it is deleted, in seconds since 1970; null while it goes on
    ttl_at: Option<i64>,
    /// when the next attempt begins, if one waits for its time
    #[schema(format = DateTime)]
    next_attempt_at: Option<String>,
    /// the version of the workflow
    workflow_version: u32,
    /// decisions so far; the `ETag`
    version: u64,
    /// higher is more urgent
    priority: u8,
    /// the trace of the job
    trace_id: String,
    /// where large data lies, by name
    references: Option<BTreeMap<String, String>>,
    /// nothing new is dispatched until it is resumed
    paused: bool,
    /// the ended job whose finished steps it took over
    resumes: Option<uuid::Uuid>,
    /// every step, in the order of the workflow
    steps: Vec<WorkspaceStep>,
}

/// A step of a job of a workspace.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkspaceStep {
    /// its place, counted from 0
    step_index: u16,
    /// its id
    step_id: String,
    /// where it stands
    status: String,
    /// the kind of work
    step_type: String,
    /// where its work waits for workers
    pool: String,
    /// the newest attempt; 0 before the first
    attempt_no: u32,
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
    /// why it was passed over
    skip_reason: Option<String>,
    /// why the newest attempt did not succeed, as a word
    last_error_code: Option<String>,
    /// the same for people, without personal data
    last_error_message: Option<String>,
    /// how far its items have come, if it is done once for each item of a list
    #[schema(required = false)]
    items: Option<Items>,
    /// what its worker returned
    result: Option<Value>,
}

/// A job of a workspace in a list.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkspaceJobSummary {
    /// its id
    job_id: uuid::Uuid,
    /// whose it is
    workspace_id: String,
    /// where it stands
    status: WorkspaceJobStatus,
    /// the workflow it follows
    workflow_id: String,
    /// what made it
    trigger_type: TriggerWord,
    /// what it will probably cost
    credits_estimate: f64,
    /// spent so far
    credits_spent: f64,
    /// attempts that a worker has begun
    attempts: u32,
    /// why the latest attempt failed, as a word
    last_error_code: Option<String>,
    /// when it was asked for
    #[schema(format = DateTime)]
    created_at: String,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
}

/// A page of jobs of a workspace.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkspaceJobPage {
    /// newest first
    items: Vec<WorkspaceJobSummary>,
    /// the `cursor` of the next page; null if this was the last
    next_cursor: Option<String>,
}
