//! Members of batches, their steps, and what people do to many of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::job::StepError;
use super::view::Fault;

/// The member in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct MemberPath {
    /// the number of the batch
    batch: i64,
    /// the number of the member
    member: i64,
}

/// Which members to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct MemberQuery {
    /// one or more of the words of `status`, repeated or separated by commas
    #[param(required = false)]
    status: Option<String>,
    /// with this key; may be repeated
    #[param(required = false)]
    key: Option<String>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// so many are passed over
    #[param(required = false)]
    offset: Option<u32>,
}

/// Where a member stands.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemberStatus {
    /// it neither left nor failed
    Active,
    /// it left
    Removed,
    /// its run failed
    Failed,
}

/// A member of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct Member {
    /// its number
    id: i64,
    /// its batch
    batch_id: i64,
    /// what identifies it
    member_key: String,
    /// where it stands
    status: MemberStatus,
    /// its newest run
    run_id: uuid::Uuid,
    /// where that stands, in the kernel's words
    run_status: String,
    /// the step that people would call current
    current_step: Option<String>,
    /// what its source says of it; null if retention has deleted it
    data: Option<BTreeMap<String, Value>>,
    /// what its workers have returned for later steps
    worker_data: Option<BTreeMap<String, Value>>,
    /// when it joined
    #[schema(format = DateTime)]
    added_at: String,
    /// when it was sent to catch up; null if it was there before anything began
    #[schema(format = DateTime)]
    add_dispatched_at: Option<String>,
    /// when it left
    #[schema(format = DateTime)]
    removed_at: Option<String>,
    /// who removed it
    removed_by: Option<String>,
    /// when what its leaving asks for was begun
    #[schema(format = DateTime)]
    remove_dispatched_at: Option<String>,
    /// when it failed
    #[schema(format = DateTime)]
    failed_at: Option<String>,
    /// why it failed
    error: Option<StepError>,
}

/// A page of members.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemberPage {
    /// by number
    items: Vec<Member>,
    /// all that match
    total: u64,
    /// at most so many on a page
    limit: u64,
    /// so many were passed over
    offset: u64,
}

/// Members that joined.
#[derive(Serialize, ToSchema)]
pub(crate) struct AddedMembers {
    /// in the order of the list
    added: Vec<AddedMember>,
    /// what is accepted and was perhaps meant otherwise
    warnings: Vec<Fault>,
}

/// A member that joined.
#[derive(Serialize, ToSchema)]
pub(crate) struct AddedMember {
    /// its number
    id: i64,
    /// what identifies it
    member_key: String,
}

/// Which steps to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StepQuery {
    /// of this member
    #[param(required = false)]
    member_id: Option<i64>,
    /// of this phase
    #[param(required = false)]
    phase: Option<String>,
    /// one or more of the words of `status`, repeated or separated by commas
    #[param(required = false)]
    status: Option<String>,
    /// only those that prepare the batch, or only the others
    #[param(required = false)]
    init: Option<bool>,
    /// the `next` of the page before
    #[param(required = false)]
    after: Option<i64>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Where a step stands.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchStepStatus {
    /// something must happen first, or its next attempt waits until `retry_after`
    Pending,
    /// a job is with the bus or a worker
    Dispatched,
    /// the worker answered "not finished yet"; it is asked again
    Polling,
    /// it ended well
    Succeeded,
    /// it failed for good
    Failed,
    /// it took too long
    PollTimeout,
    /// it was stopped or passed over
    Cancelled,
}

/// A step of a member, or one that prepares the batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchStep {
    /// its number on every wire, the `StepExecutionId`
    id: i64,
    /// whether it is done once for the batch
    is_init: bool,
    /// the phase; null for init
    phase_execution_id: Option<i64>,
    /// what that is called
    phase_name: Option<String>,
    /// the member; null for init
    batch_member_id: Option<i64>,
    /// who that is
    member_key: Option<String>,
    /// the version of the runbook that it belongs to
    runbook_version: u32,
    /// as in the document
    step_name: String,
    /// its place in the phase, or in init, counted from 0
    step_index: u32,
    /// who does it
    worker_id: String,
    /// what they do; with placeholders until it was first dispatched
    function_name: String,
    /// what they are given; null until it was first dispatched
    params: Option<Value>,
    /// where it stands
    status: BatchStepStatus,
    /// the newest job; null while there is none
    job_id: Option<String>,
    /// what the worker returned
    result: Option<Value>,
    /// why the newest attempt, or the step, did not succeed
    error_message: Option<String>,
    /// the same as a stable word
    error_code: Option<String>,
    /// when the newest job was dispatched
    #[schema(format = DateTime)]
    dispatched_at: Option<String>,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// whether an unfinished result is asked for again
    is_poll_step: bool,
    /// from one answer to the next question
    poll_interval_sec: Option<u64>,
    /// from the first unfinished answer to giving up
    poll_timeout_sec: Option<u64>,
    /// the first unfinished answer
    #[schema(format = DateTime)]
    poll_started_at: Option<String>,
    /// the newest question, or the first unfinished answer
    #[schema(format = DateTime)]
    last_polled_at: Option<String>,
    /// questions asked so far
    poll_count: u32,
    /// the rollback to run when it fails for good
    on_failure: Option<String>,
    /// what became of that
    compensation: Compensation,
    /// attempts beside the first
    retry_count: u32,
    /// how many there may be
    max_retries: u32,
    /// from a failure to the next attempt
    retry_interval_sec: u64,
    /// when the next attempt begins
    #[schema(format = DateTime)]
    retry_after: Option<String>,
    /// why it was passed over, if it was
    skip_reason: Option<String>,
}

/// What became of a rollback.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Compensation {
    /// there is none
    None,
    /// it was begun
    Sent,
    /// it ended well
    Succeeded,
    /// it did not
    Failed,
}

/// A page of steps.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchStepPage {
    /// init first, then member by member
    items: Vec<BatchStep>,
    /// the `after` of the next page; null if this was the last
    next: Option<i64>,
}

/// What is to be done to whom.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "operation": "retry",
    "filter": {"phase": "cutover", "step_status": ["failed", "poll_timeout"]},
    "reason": "the tenant had no licenses left",
    "dry_run": true,
}))]
pub(crate) struct OperateRequest {
    /// what is done
    operation: BatchOperation,
    /// to whom
    filter: OperateFilter,
    /// in the caller's words
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    /// what `mark_done` takes as the result, at most 256 KiB
    result: Option<Value>,
    /// only say what would be done; false if not given
    dry_run: Option<bool>,
    /// at most so many items
    #[schema(minimum = 1, maximum = 100_000)]
    limit: Option<u32>,
}

/// What is done to each item.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchOperation {
    /// try again what failed or waits
    Retry,
    /// pass a step over
    Skip,
    /// take a step as done
    MarkDone,
    /// run the rollback that a step names
    Rollback,
    /// stop a member
    Cancel,
    /// take a member out of the batch
    Remove,
}

/// Which members or steps are meant. What is not given does not restrict.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperateFilter {
    /// these members
    members: Option<Vec<i64>>,
    /// members with these keys
    keys: Option<Vec<String>>,
    /// members in one of these
    member_status: Option<Vec<MemberStatus>>,
    /// steps of this phase
    phase: Option<String>,
    /// steps of this name
    step: Option<String>,
    /// steps in one of these
    step_status: Option<Vec<BatchStepStatus>>,
}

/// What became of each item.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperateResults {
    /// how many items the filter found
    matched: u64,
    /// one for each
    results: Vec<OperateResult>,
}

/// What became of an item.
#[derive(Serialize, ToSchema)]
pub(crate) struct OperateResult {
    /// which member
    member_id: i64,
    /// who that is
    member_key: String,
    /// which step, if one is meant
    #[schema(required = false)]
    step_id: Option<i64>,
    /// `done`, `would` or `refused`
    outcome: String,
    /// why it was refused, as a stable word
    #[schema(required = false)]
    code: Option<String>,
    /// why it was refused, and what to do
    #[schema(required = false)]
    message: Option<String>,
}
