//! Jobs as the read routes show them: the record of the contract, field for field, and what goes
//! beyond it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::credit::{CreditTerms, Credits};
use stepwell_core::id::StepIndex;
use stepwell_core::run::{Header, Run, RunStatus};
use stepwell_core::step::{SkipReason, StepStatus};
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;

use super::envelope::{attempts_max, idempotency_key};
use super::job_id::JobId;
use super::{context, redact, status};
use crate::amount::Amount;
use crate::items::{ItemsView, items};
use crate::moment::Moment;

/// A job. Every field is always written, null without a value.
#[derive(Clone, Debug, Serialize)]
pub struct JobView<'a> {
    /// its id, the same in events (C-017)
    pub job_id: JobId,
    /// whose it is
    pub workspace_id: &'a str,
    /// the user that it is for
    pub user_id: &'a str,
    /// the workflow it follows
    pub workflow_id: &'a str,
    /// what made it
    pub trigger_type: TriggerKind,
    /// where it stands
    pub status: &'static str,
    /// attempts that a worker has begun (C-009, X-117)
    pub attempts: u32,
    /// attempts in all
    pub max_attempts: u32,
    /// the place of the next step, counted from 0
    pub step_cursor: usize,
    /// how many steps there are, fixed when it was made (C-010)
    pub steps_total: usize,
    /// what it will probably cost
    pub credits_estimate: Amount,
    /// set aside for it and not spent yet
    pub credits_reserved: Amount,
    /// spent so far
    pub credits_spent: Amount,
    /// makes a repetition recognizable
    pub idempotency_key: String,
    /// why the latest attempt failed, as a word
    pub last_error_code: Option<String>,
    /// the same for people, without personal data (C-013)
    pub last_error_message: Option<String>,
    /// when it was asked for
    pub created_at: Moment,
    /// when it last changed (C-015)
    pub updated_at: Moment,
    /// when a worker first took it
    pub started_at: Option<Moment>,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// when it is deleted, in seconds since 1970 (C-005)
    pub ttl_at: Option<i64>,
    /// when the next attempt begins, if one waits for its time
    pub next_attempt_at: Option<Moment>,
    /// what goes beyond the record of the contract
    #[serde(flatten)]
    pub more: JobMore<'a>,
}

/// What goes beyond the record of the contract.
#[derive(Clone, Debug, Serialize)]
pub struct JobMore<'a> {
    /// the version of the workflow
    pub workflow_version: u32,
    /// decisions so far; grows with every change
    pub version: u64,
    /// 0 to 10, higher is more urgent
    pub priority: u8,
    /// the trace of the job
    pub trace_id: &'a str,
    /// where large data lies, by name (C-016)
    pub references: Option<&'a Map<String, Value>>,
    /// nothing new is dispatched until it is resumed
    pub paused: bool,
    /// the ended job whose finished steps it took over
    pub resumes: Option<JobId>,
    /// every step, in the order of the workflow; items are counted with their step
    pub steps: Vec<StepView<'a>>,
}

/// A step of a job.
#[derive(Clone, Debug, Serialize)]
pub struct StepView<'a> {
    /// its place, counted from 0
    pub step_index: u16,
    /// its id
    pub step_id: &'a str,
    /// where it stands
    pub status: &'static str,
    /// the kind of work
    pub step_type: &'a str,
    /// where its work waits for workers
    pub pool: &'a str,
    /// the newest attempt; 0 before the first
    pub attempt_no: u32,
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
    /// why the newest attempt did not succeed, as a word
    pub last_error_code: Option<String>,
    /// the same for people, without personal data
    pub last_error_message: Option<String>,
    /// how far its items have come, if it is done once for each item of a list
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemsView>,
    /// what its worker returned; with items, the list of what was returned for each
    pub result: Option<Cow<'a, Value>>,
}

/// A job in a list (C-004), put together by whoever has the row: the kernel's values in, the wire's
/// words out.
#[derive(Clone, Debug, Serialize)]
pub struct JobSummary<'a> {
    /// its id
    pub job_id: JobId,
    /// whose it is
    pub workspace_id: &'a str,
    /// where it stands
    #[serde(serialize_with = "job_word")]
    pub status: RunStatus,
    /// the workflow it follows
    pub workflow_id: &'a str,
    /// what made it
    pub trigger_type: TriggerKind,
    /// what it will probably cost
    pub credits_estimate: Amount,
    /// spent so far
    pub credits_spent: Amount,
    /// attempts that a worker has begun
    pub attempts: u32,
    /// why the latest attempt failed, as a word
    pub last_error_code: Option<String>,
    /// when it was asked for
    pub created_at: Moment,
    /// when it last changed
    pub updated_at: Moment,
    /// when it ended
    pub completed_at: Option<Moment>,
}

/// Shows a job. `expires_at` is when retention deletes it: known once it has ended (C-042).
#[must_use]
pub fn job(run: &Run, expires_at: Option<Timestamp>) -> JobView<'_> {
    let header = &*run.header;
    let credits = run.credits.unwrap_or_default();
    let error = run.error.as_deref().map(redact::error);
    JobView {
        job_id: JobId::of(header.id),
        workspace_id: header.tenant.as_str(),
        user_id: context::user_id(header),
        workflow_id: &header.workflow.name,
        trigger_type: context::trigger_type(header),
        status: status::job(run.status),
        attempts: run.attempts_begun(),
        max_attempts: attempts_max(header),
        step_cursor: step_cursor(run),
        steps_total: header.specs().len(),
        credits_estimate: Amount(credits_estimate(header)),
        credits_reserved: Amount(credits.reserved),
        credits_spent: Amount(credits.spent),
        idempotency_key: idempotency_key(header),
        last_error_code: error.as_ref().map(|error| error.code.clone()),
        last_error_message: error.map(|error| error.message),
        created_at: Moment(header.created_at),
        updated_at: Moment(run.updated_at),
        started_at: moment(run.started_at),
        completed_at: moment(run.ended_at),
        ttl_at: expires_at.filter(|_| run.status.is_terminal()).map(|at| at.as_millis() / 1_000),
        next_attempt_at: moment(run.retry_at),
        more: more(run),
    }
}

fn more(run: &Run) -> JobMore<'_> {
    let header = &*run.header;
    JobMore {
        workflow_version: header.workflow.version,
        version: run.version,
        priority: header.priority,
        trace_id: context::trace_id(header),
        references: context::references(header),
        paused: run.paused,
        resumes: header.resumes.map(JobId::of),
        steps: run.own_steps().map(|(index, _)| step(run, index)).collect(),
    }
}

fn step(run: &Run, index: StepIndex) -> StepView<'_> {
    let spec = run.spec(index);
    let state = &run.steps[index.position()];
    let error = state.error.as_deref().map(redact::error);
    StepView {
        step_index: index.0,
        step_id: &spec.id,
        status: status::step(state.status),
        step_type: state.kind.as_deref().unwrap_or(&spec.kind),
        pool: &spec.pool,
        attempt_no: state.attempt,
        waiting_for: run.waiting_for(index),
        wake_at: moment(state.wake_at),
        dispatched_at: moment(state.dispatched_at),
        completed_at: moment(state.ended_at),
        skip_reason: state.skip,
        last_error_code: error.as_ref().map(|error| error.code.clone()),
        last_error_message: error.map(|error| error.message),
        items: items(run, index),
        result: run.result(index),
    }
}

/// A run as it stands in a list.
#[must_use]
pub fn summary(run: &Run) -> JobSummary<'_> {
    let header = &*run.header;
    JobSummary {
        job_id: JobId::of(header.id),
        workspace_id: header.tenant.as_str(),
        status: run.status,
        workflow_id: &header.workflow.name,
        trigger_type: context::trigger_type(header),
        credits_estimate: Amount(credits_estimate(header)),
        credits_spent: Amount(run.credits.unwrap_or_default().spent),
        attempts: run.attempts_begun(),
        last_error_code: run.error.as_deref().map(|error| redact::code(&error.code)),
        created_at: Moment(header.created_at),
        updated_at: Moment(run.updated_at),
        completed_at: moment(run.ended_at),
    }
}

/// What made a job, as its header keeps it.
#[must_use]
pub fn trigger_type(header: &Header) -> TriggerKind {
    context::trigger_type(header)
}

/// What the job will probably cost.
#[must_use]
pub fn credits_estimate(header: &Header) -> Credits {
    let terms = header.terms.as_ref().and_then(|terms| terms.credits);
    terms.map_or(Credits::ZERO, |CreditTerms { estimate, .. }| estimate)
}

/// The place of the first step that is still to be done; of a job that is completed, the number of
/// its steps (C-010, C-039).
#[must_use]
pub fn step_cursor(run: &Run) -> usize {
    let total = run.header.specs().len();
    run.own_steps().position(|(index, _)| !is_passed(run, index)).unwrap_or(total)
}

fn is_passed(run: &Run, index: StepIndex) -> bool {
    let state = &run.steps[index.position()];
    match state.status {
        StepStatus::Succeeded => true,
        StepStatus::Skipped => state.skip.is_some_and(SkipReason::lets_pass),
        StepStatus::Failed | StepStatus::TimedOut => run.spec(index).continue_on_failure,
        StepStatus::Waiting
        | StepStatus::Ready
        | StepStatus::Expanded
        | StepStatus::Dispatched
        | StepStatus::Acked
        | StepStatus::Polling
        | StepStatus::RetryWait
        | StepStatus::Cancelled => false,
    }
}

fn moment(at: Option<Timestamp>) -> Option<Moment> {
    at.map(Moment)
}

fn job_word<S: serde::Serializer>(status: &RunStatus, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(status::job(*status))
}
