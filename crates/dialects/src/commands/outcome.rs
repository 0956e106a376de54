//! What workers call back: an ack, and a result.
//!
//! Unknown fields pass: workers were here before us and may send more than we ask for.

use serde_json::Value;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::duration::Interval;
use stepwell_core::id::{LeaseId, RunId, Tenant};
use stepwell_core::step::{Outcome, StepError};

use crate::amount;
use crate::fields::{Field, Fields};
use crate::payload::{self, PAYLOAD_BYTES_MAX};
use crate::problem::{Report, quoted};
use crate::rejection::Rejection;
use crate::workspaces::job_id::run_of;

/// A longer message of a worker is cut: it is for people, and histories keep it for ever.
const MESSAGE_CHARS_MAX: usize = 1_024;
const CODE_CHARS_MAX: usize = 128;
/// An id has at most 64 characters; an item's is followed by its number, as in `resize[9999]`.
const STEP_ID_CHARS_MAX: usize = 70;

/// No worker asks for a longer rest than ten years; the kernel allows far less.
const RETRY_AFTER_SECONDS_MAX: f64 = 315_360_000.0;

/// The job that a callback is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRef {
    /// the run
    pub run: RunId,
    /// whom the caller says it belongs to; the run has the last word
    pub tenant: Tenant,
}

/// How a worker says that an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Succeeded,
    FailedFinal,
    FailedRetryable,
    Incomplete,
}

const STATUSES: [(&str, Status); 4] = [
    ("SUCCEEDED", Status::Succeeded),
    ("FAILED_FINAL", Status::FailedFinal),
    ("FAILED_RETRYABLE", Status::FailedRetryable),
    ("INCOMPLETE", Status::Incomplete),
];

/// Reads the body of an ack (D-035).
///
/// # Errors
///
/// Every field that is missing or wrong; the callback changes nothing (D-037).
pub fn ack(body: &Value) -> Result<(JobRef, Command), Rejection> {
    read(body, |mut fields| {
        let attempt = attempt(&mut fields);
        fields.ignore_unknown();
        let (job, step, fence) = attempt?;
        Some((job, Command::Ack { step, fence }))
    })
}

/// Reads the body of a result (D-036, X-137).
///
/// # Errors
///
/// Every field that is missing or wrong; the callback changes nothing (D-037).
pub fn result(body: &Value) -> Result<(JobRef, Command), Rejection> {
    read(body, |mut fields| {
        let attempt = attempt(&mut fields);
        let outcome = outcome(&mut fields);
        let spent = fields.optional("credits_spent").and_then(|it| amount::read_positive(&it));
        fields.ignore_unknown();
        let (job, step, fence) = attempt?;
        let spent = spent.unwrap_or(Credits::ZERO);
        Some((job, Command::Report { step, fence, outcome: outcome?, spent }))
    })
}

/// Reads several acks; each has an answer of its own.
#[must_use]
pub fn acks(bodies: &[Value]) -> Vec<Result<(JobRef, Command), Rejection>> {
    bodies.iter().map(ack).collect()
}

/// Reads several results; each has an answer of its own.
#[must_use]
pub fn results(bodies: &[Value]) -> Vec<Result<(JobRef, Command), Rejection>> {
    bodies.iter().map(result).collect()
}

pub(crate) fn read<R>(
    body: &Value,
    read: impl FnOnce(Fields<'_, Value>) -> Option<R>,
) -> Result<R, Rejection> {
    let report = Report::new();
    let read = Field::root(body, &report).fields().and_then(read);
    report.finish(read).map_err(|problems| {
        Rejection::invalid(problems).about(body.get("correlation_id").and_then(Value::as_str))
    })
}

pub(crate) fn attempt(fields: &mut Fields<'_, Value>) -> Option<(JobRef, StepRef, Fence)> {
    let run = fields.required("jobId").and_then(|field| id::<RunId>(&field));
    let step = fields.required("stepId").and_then(|field| field.text_within(1..=STEP_ID_CHARS_MAX));
    let tenant =
        fields.required("tenant_id").and_then(|field| super::envelope::TENANT_ID.read(&field));
    let attempt = fields.required("attempt_no").and_then(|field| field.integer(1..=u32::MAX));
    let lease = fields.required("lease_id").and_then(|field| id::<LeaseId>(&field));
    // A job of a workspace is named by an id in a form of its own.
    let job = JobRef { run: run_of(run?), tenant: Tenant::new(tenant?) };
    let fence = Fence { attempt: attempt?, lease: lease? };
    Some((job, StepRef::Id(step?.to_owned()), fence))
}

fn id<I: std::str::FromStr>(field: &Field<'_, Value>) -> Option<I> {
    let text = field.text()?;
    let id = text.parse().ok();
    if id.is_none() {
        let problem = field
            .problem("bad_id", format!("{} is not an id", quoted(text)))
            .help("send back what the directive said");
        field.report(problem);
    }
    id
}

fn outcome(fields: &mut Fields<'_, Value>) -> Option<Outcome> {
    let status = fields.required("status").and_then(|field| field.word(&STATUSES));
    let result = returned(fields);
    let error = fields.optional("error").and_then(error);
    let retry_after = fields
        .optional("retry_after")
        .and_then(|field| field.number(0.0..=RETRY_AFTER_SECONDS_MAX))
        .map(interval);
    let error =
        || error.unwrap_or_else(|| StepError::new("worker_failed", "the worker gave no reason"));
    Some(match status? {
        // A worker that only knows SUCCEEDED says in the result that there is more to come.
        Status::Succeeded if is_incomplete(&result) => Outcome::Incomplete,
        Status::Succeeded => Outcome::Succeeded { result },
        Status::Incomplete => Outcome::Incomplete,
        Status::FailedFinal => {
            Outcome::Failed { error: error(), retryable: false, retry_after: None }
        }
        Status::FailedRetryable => Outcome::Failed { error: error(), retryable: true, retry_after },
    })
}

/// What the worker returned, under either of the names that workers use.
fn returned(fields: &mut Fields<'_, Value>) -> Value {
    let result = fields.optional("result");
    let output = fields.optional("output");
    if let (Some(_), Some(output)) = (&result, &output) {
        let problem = output
            .problem("conflicting_fields", "result and output are two names of one field")
            .help("send one of them");
        output.report(problem);
    }
    let Some(field) = result.or(output) else { return Value::Null };
    let bytes = payload::size(field.node());
    if bytes > PAYLOAD_BYTES_MAX {
        let problem = field
            .problem("too_large", format!("the result has {bytes} bytes"))
            .help("256 KiB are allowed; keep large data in the workspace and return a reference");
        field.report(problem);
        return Value::Null;
    }
    field.json()
}

fn is_incomplete(result: &Value) -> bool {
    result.get("complete") == Some(&Value::Bool(false))
}

fn error(field: Field<'_, Value>) -> Option<StepError> {
    if let Value::String(message) = field.node() {
        return Some(StepError::new("worker_failed", clip(message, MESSAGE_CHARS_MAX)));
    }
    let mut fields = field.fields()?;
    let code = fields.optional_str("code").filter(|code| !code.is_empty());
    let message = fields.optional_str("message");
    fields.ignore_unknown();
    let code = clip(code.unwrap_or("worker_failed"), CODE_CHARS_MAX);
    let message = clip(message.unwrap_or("the worker gave no reason"), MESSAGE_CHARS_MAX);
    Some(StepError { code, message })
}

fn clip(text: &str, chars_max: usize) -> String {
    text.chars().take(chars_max).collect()
}

fn interval(seconds: f64) -> Interval {
    std::time::Duration::try_from_secs_f64(seconds).map_or(Interval::ZERO, |duration| {
        Interval::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    })
}
