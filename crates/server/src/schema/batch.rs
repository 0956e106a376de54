//! Batches and their phases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::view::Fault;

/// The batch in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct BatchPath {
    /// the number of the batch
    batch: i64,
}

/// Which batches to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct BatchQuery {
    /// of this runbook, any version
    #[param(required = false)]
    runbook: Option<String>,
    /// one or more of the words of `status`, repeated or separated by commas
    #[param(required = false)]
    status: Option<String>,
    /// only those that a person made, or only the others
    #[param(required = false)]
    manual: Option<bool>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// so many are passed over
    #[param(required = false)]
    offset: Option<u32>,
}

/// The runbook of a batch to be made.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunbookQuery {
    /// the runbook; needed unless a form names it
    #[param(required = false)]
    runbook: Option<String>,
}

/// T-0 of a batch that is planned.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct StartQuery {
    /// T-0; without it the plan has no times
    #[param(required = false, format = DateTime)]
    batch_start_time: Option<String>,
}

/// A form with a list of members.
#[derive(Deserialize, ToSchema)]
pub(crate) struct MembersForm {
    /// the runbook; not for members of a batch that exists
    #[schema(required = false)]
    runbook: Option<String>,
    /// a CSV file of at most 200 MB: a line of column names, then a line for each member
    #[schema(format = Binary)]
    file: String,
}

/// Where a batch stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchStatus {
    /// it exists; nothing was begun
    Detected,
    /// it is being prepared
    InitDispatched,
    /// phases may run
    Active,
    /// it is over, and a phase was completed
    Completed,
    /// it is over, and none was
    Failed,
    /// a person stopped it
    Cancelled,
}

/// Where a phase stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PhaseStatus {
    /// its time has not come
    Pending,
    /// it has begun
    Dispatched,
    /// over, and at least one member did all of it
    Completed,
    /// over, and no member did all of it
    Failed,
    /// passed over
    Skipped,
    /// replaced by a phase of a newer version
    Superseded,
}

/// How a batch came to be.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchMode {
    /// its members have the same moment in a column
    Scheduled,
    /// whoever was new when the source was asked
    Immediate,
    /// a person made it, and moves it on
    Manual,
}

/// A batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct Batch {
    /// its number
    id: i64,
    /// the runbook it follows
    runbook_name: String,
    /// the version it follows
    runbook_version: u32,
    /// the number of that version
    runbook_id: Option<i64>,
    /// T-0; null if a person moves it on
    #[schema(format = DateTime)]
    batch_start_time: Option<String>,
    /// where it stands
    status: BatchStatus,
    /// when it was found or made
    #[schema(format = DateTime)]
    detected_at: String,
    /// when its preparation was last begun
    #[schema(format = DateTime)]
    init_dispatched_at: Option<String>,
    /// whether a person made it, and moves it on
    is_manual: bool,
    /// how it came to be
    mode: BatchMode,
    /// who made it
    created_by: String,
    /// the phase it was last moved on to
    current_phase: Option<String>,
    /// whether nothing begins in it
    paused: bool,
    /// grows with every decision
    version: u64,
    /// when it ended
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// where its members stand
    members: MemberCounts,
    /// of every version it has followed, oldest version first
    phases: Vec<Phase>,
    /// what begins next by itself
    next_due: Option<NextDue>,
    /// what is being done to every member: `opening_phase`, `moving_start`, `adopting_version`,
    /// `pausing`, `resuming`, `cancelling`
    work_in_progress: Vec<String>,
    /// what whoever made it should look at; only in the answer to making it
    #[schema(required = false)]
    warnings: Option<Vec<Fault>>,
}

/// A batch that was made.
pub(crate) type MadeBatch = Batch;

/// Where the members of a batch stand.
#[derive(Serialize, ToSchema)]
pub(crate) struct MemberCounts {
    /// who ever joined
    total: i64,
    /// who neither left nor failed
    active: i64,
    /// whose run failed
    failed: i64,
    /// who left
    removed: i64,
    /// whose run has not ended
    open: i64,
    /// whose run ended well
    succeeded: i64,
    /// whose run was stopped
    cancelled: i64,
}

/// What begins next by itself.
#[derive(Serialize, ToSchema)]
pub(crate) struct NextDue {
    /// which phase
    phase: String,
    /// when
    #[schema(format = DateTime)]
    due_at: String,
}

/// A phase of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct Phase {
    /// its number
    id: i64,
    /// of which batch
    batch_id: i64,
    /// as in the document
    phase_name: String,
    /// the version it belongs to
    runbook_version: u32,
    /// where it stands on the timeline
    #[schema(example = "T-4h")]
    offset: String,
    /// the same in minutes before T-0; negative after it
    offset_minutes: i32,
    /// when it begins; null if a person says so
    #[schema(format = DateTime)]
    due_at: Option<String>,
    /// where it stands
    status: PhaseStatus,
    /// when it began
    #[schema(format = DateTime)]
    dispatched_at: Option<String>,
    /// when it was over
    #[schema(format = DateTime)]
    completed_at: Option<String>,
    /// how many steps it has for each member
    steps_per_member: u32,
    /// where the members stand with it
    members: PhaseCounts,
    /// steps that have ended, over all members
    steps_ended: i64,
    /// steps that there are, over all members
    steps_total: i64,
}

/// Where the members of a batch stand with a phase.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhaseCounts {
    /// some step has not ended
    open: i64,
    /// every step ended well
    succeeded: i64,
    /// a step failed for good
    failed: i64,
    /// a step was stopped
    cancelled: i64,
    /// the phase was passed over
    skipped: i64,
}

/// A page of batches.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchPage {
    /// newest first
    items: Vec<Batch>,
    /// all that match
    total: u64,
    /// at most so many on a page
    limit: u64,
    /// so many were passed over
    offset: u64,
}

/// The phases of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhaseList {
    /// oldest version first; within one, in the order they are due
    items: Vec<Phase>,
}

/// Another T-0.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MoveRequest {
    /// when
    #[schema(format = DateTime)]
    batch_start_time: String,
    /// in the caller's words
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// Which part of a history to read.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventQuery {
    /// events after this one
    #[param(required = false)]
    after: Option<i64>,
    /// at most this many; 100 if not given
    #[param(required = false, minimum = 1, maximum = 1000)]
    limit: Option<u32>,
}

/// A part of the history of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchEventPage {
    /// oldest first
    items: Vec<BatchEvent>,
    /// the `after` of the next page; null if this was the last
    next: Option<i64>,
}

/// What one decision on a batch wrote.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchEvent {
    /// its place among the histories of all batches
    id: i64,
    /// of which batch
    batch_id: i64,
    /// the batch's version after it
    version: u64,
    /// when
    #[schema(format = DateTime)]
    at: String,
    /// what happened, in order; each has an `event`, and what somebody did an `actor` and a `reason`
    entries: Vec<BTreeMap<String, Value>>,
}

/// Why a batch is where it is.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchExplanation {
    /// the batch in one sentence
    summary: String,
    /// what it waits for, the nearest first
    waits: Vec<BatchWait>,
}

/// One thing that a batch waits for.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchWait {
    /// `work`, `resume`, `advance`, `init`, `members`, `time` or `catch_up`
    waiting_for: String,
    /// the phase it concerns
    #[schema(required = false)]
    phase: Option<String>,
    /// the same as a sentence
    reason: String,
    /// when it moves by itself at the latest
    #[schema(required = false, format = DateTime)]
    until: Option<String>,
    /// what a person can do
    #[schema(required = false)]
    advice: Option<String>,
}

/// What a batch will do, or has done.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchPlan {
    /// the batch; null if it does not exist yet
    batch_id: Option<i64>,
    /// the runbook
    runbook_name: String,
    /// its version
    runbook_version: u32,
    /// T-0; null if a person moves it on
    #[schema(format = DateTime)]
    batch_start_time: Option<String>,
    /// when this was worked out
    #[schema(format = DateTime)]
    generated_at: String,
    /// done once, before any phase
    init: Vec<PlannedStep>,
    /// in the order they are due
    phases: Vec<PlannedPhase>,
    /// all together
    totals: PlanTotals,
    /// steps that could not be dispatched as the data of some members are
    problems: Vec<UnresolvedStep>,
    /// what is accepted and was perhaps meant otherwise; only for a list of members
    #[schema(required = false)]
    warnings: Option<Vec<Fault>>,
}

/// What a batch of a list of members would do.
pub(crate) type NewBatchPlan = BatchPlan;

/// What a phase will do.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlannedPhase {
    /// its name
    name: String,
    /// where it stands on the timeline
    offset: String,
    /// when it begins
    #[schema(format = DateTime)]
    due_at: Option<String>,
    /// where it stands
    status: PhaseStatus,
    /// for how many members
    members: i64,
    /// in order
    steps: Vec<PlannedStep>,
    /// jobs, if nothing fails
    dispatches: i64,
}

/// What a step will do.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlannedStep {
    /// its name
    name: String,
    /// who does it
    worker_id: String,
    /// what they do
    function: String,
    /// how often it is tried again
    retry: Option<PlannedRetry>,
    /// how an unfinished result is asked for again
    poll: Option<PlannedPoll>,
    /// what is done if it fails for good
    on_failure: Option<String>,
    /// jobs, if nothing fails
    dispatches: i64,
}

/// How often a step is tried again.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlannedRetry {
    /// beside the first attempt
    max_retries: u32,
    /// from a failure to the next attempt
    interval_sec: u64,
}

/// How an unfinished result is asked for again.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlannedPoll {
    /// from one answer to the next question
    interval_sec: u64,
    /// from the first unfinished answer to giving up
    timeout_sec: u64,
}

/// All together.
#[derive(Serialize, ToSchema)]
pub(crate) struct PlanTotals {
    /// members
    members: i64,
    /// steps of one member, and of init
    steps: u64,
    /// jobs, if nothing fails
    dispatches: i64,
}

/// A step that could not be dispatched for some members.
#[derive(Serialize, ToSchema)]
pub(crate) struct UnresolvedStep {
    /// its phase
    phase: String,
    /// the step
    step: String,
    /// why
    message: String,
    /// for how many members
    members: u64,
    /// the first of them
    first_member: String,
}
