//! What a worker says of a job.
//!
//! What decides is read strictly: which job it was, and what came of it. What only describes
//! (`DurationMs`, `Timestamp`, …) is read if it can be: no finished work is thrown away over it.

use serde_json::Value;
use stepwell_core::step::{Outcome, StepError};

use super::event::{StepCheck, step_check};
use super::job_id::{Job, JobId};
use super::message::{Rejection, StepExecutionId, recase};
use crate::fields::{Field, Fields};
use crate::moment::{self, Moment};
use crate::payload::{self, PAYLOAD_BYTES_MAX};
use crate::problem::{Report, quoted};
use crate::rejection;

/// A longer message of a worker is cut: it is for people, and histories keep it for ever.
const MESSAGE_CHARS_MAX: usize = 1_024;
const TYPE_CHARS_MAX: usize = 128;
const JOB_ID_CHARS_MAX: usize = 128;

/// The one status that is not a failure.
const SUCCESS: &str = "Success";

/// A message of the topic `worker-results`.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerResult {
    /// which directive it answers; whether that one is still current is for whoever knows the step:
    /// see [`crate::runbooks::job_id::fence_of`]
    pub job_id: JobId,
    /// the step, by which its run is found; of a rollback, the step that failed
    pub execution: StepExecutionId,
    /// whether the step is done once for the batch, and not for a member
    pub is_init_step: bool,
    /// what came of it
    pub outcome: Outcome,
    /// what else the worker tells
    pub remarks: Remarks,
}

/// What a worker tells beside the outcome. Nothing is decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// `Object` or `Boolean`
    pub result_type: Option<String>,
    /// how long it took
    pub duration_ms: Option<u64>,
    /// when it ended, by the worker's clock
    pub ended_at: Option<Moment>,
    /// whether it failed because a service asked for less haste
    pub is_throttled: bool,
    /// how often the worker itself tried before it gave up
    pub attempts: Option<u32>,
}

/// Reads the result of a job.
///
/// # Errors
///
/// [`Rejection::UnknownJobId`] if it answers nothing that was ever asked, or else every field that is
/// missing or wrong.
pub fn read(body: &[u8]) -> Result<WorkerResult, Rejection> {
    let mut value = rejection::parse(body).map_err(|rejection| rejection.problems)?;
    let report = Report::new();
    recase_all(&mut value, &report);
    if let Some(text) = value.get("JobId").and_then(Value::as_str)
        && text.parse::<JobId>().is_err()
    {
        let job_id = text.chars().take(JOB_ID_CHARS_MAX).collect();
        return Err(Rejection::UnknownJobId { job_id });
    }
    let read = Field::root(&value, &report).fields().and_then(|mut fields| {
        let read = result(&mut fields);
        fields.ignore_unknown();
        read
    });
    let read = report.finish(read)?;
    // Only now: what a worker returned may be large, and is moved instead of copied.
    let returned = value.get_mut("Result").map_or(Value::Null, Value::take);
    let Answer { job_id, step, failure, remarks } = read;
    let outcome = match failure {
        Some(error) => Outcome::Failed { error, retryable: true, retry_after: None },
        None if is_incomplete(&returned) => Outcome::Incomplete,
        None => Outcome::Succeeded { result: returned },
    };
    Ok(WorkerResult {
        job_id,
        execution: step.step_execution_id,
        is_init_step: step.is_init_step || matches!(job_id.job, Job::Init(_)),
        outcome,
        remarks,
    })
}

/// All of a result but what was returned.
struct Answer {
    job_id: JobId,
    step: StepCheck,
    failure: Option<StepError>,
    remarks: Remarks,
}

fn recase_all(value: &mut Value, report: &Report) {
    const FIELDS: [&str; 8] = [
        "JobId",
        "Status",
        "ResultType",
        "Result",
        "Error",
        "DurationMs",
        "Timestamp",
        "CorrelationData",
    ];
    const INNER: [(&str, &[&str]); 2] = [
        ("Error", &["Message", "Type", "IsThrottled", "Attempts"]),
        ("CorrelationData", &["StepExecutionId", "IsInitStep"]),
    ];
    recase(value, "", &FIELDS, report);
    for (name, fields) in INNER {
        if let Some(inner) = value.get_mut(name) {
            recase(inner, name, fields, report);
        }
    }
}

fn result(fields: &mut Fields<'_, Value>) -> Option<Answer> {
    let job_id = fields.required("JobId");
    let job_id = job_id.and_then(|field| Some((field.text()?.parse().ok()?, field)));
    let status = fields.required_str("Status");
    let mut remarks = Remarks {
        result_type: described(fields, "ResultType", |value| clip(value.as_str()?, TYPE_CHARS_MAX)),
        duration_ms: described(fields, "DurationMs", milliseconds),
        ended_at: described(fields, "Timestamp", |value| moment::parse(value.as_str()?)),
        ..Remarks::default()
    };
    let error = fields.optional("Error");
    let failure = match status {
        Some(status) if status.eq_ignore_ascii_case(SUCCESS) => None,
        Some(_) | None => Some(failure(error, &mut remarks)),
    };
    check_size(fields);
    let step = fields.required("CorrelationData").and_then(Field::fields).and_then(|mut fields| {
        let step = step_check(&mut fields);
        fields.ignore_unknown();
        step
    });
    let (job_id, field) = job_id?;
    let step = step?;
    check_same(&field, job_id, step);
    status?;
    Some(Answer { job_id, step, failure, remarks })
}

/// A worker sends back its step under two names; if they differ, neither can be trusted.
fn check_same(field: &Field<'_, Value>, job_id: JobId, step: StepCheck) {
    let named = job_id.job.execution();
    let differs = named.is_some_and(|id| id != step.step_execution_id);
    let is_no_init = matches!(job_id.job, Job::Step(_)) && step.is_init_step;
    if differs || is_no_init {
        let job_id = quoted(&job_id.to_string());
        let message = format!("{job_id} is not the job that CorrelationData is about");
        let problem = field
            .problem("conflicting_fields", message)
            .help("send back JobId and CorrelationData of one job, both unchanged");
        field.report(problem);
    }
}

fn check_size(fields: &mut Fields<'_, Value>) {
    let Some(field) = fields.optional("Result") else { return };
    let bytes = payload::size(field.node());
    if bytes > PAYLOAD_BYTES_MAX {
        let problem = field
            .problem("too_large", format!("the result has {bytes} bytes"))
            .help("256 KiB are allowed; keep large data elsewhere and return a reference");
        field.report(problem);
    }
}

/// Whether the worker has only begun. A result without the field is finished.
///
/// Its capitals make no difference: unfinished work must never pass for finished.
fn is_incomplete(result: &Value) -> bool {
    let Value::Object(fields) = result else { return false };
    fields.iter().any(|(key, value)| key.eq_ignore_ascii_case("complete") && *value == false)
}

/// Why a job failed. A text in place of the object is its message.
fn failure(error: Option<Field<'_, Value>>, remarks: &mut Remarks) -> StepError {
    let Some(error) = error else { return step_error(None, None) };
    if let Value::String(message) = error.node() {
        return step_error(None, Some(message));
    }
    let Some(mut fields) = error.fields() else { return step_error(None, None) };
    let message = fields.optional_str("Message");
    let kind = described(&mut fields, "Type", |value| clip(value.as_str()?, TYPE_CHARS_MAX));
    remarks.is_throttled = described(&mut fields, "IsThrottled", Value::as_bool).unwrap_or(false);
    remarks.attempts = described(&mut fields, "Attempts", |value| value.as_u64()?.try_into().ok());
    fields.ignore_unknown();
    step_error(kind, message)
}

fn step_error(kind: Option<String>, message: Option<&str>) -> StepError {
    let message = message.and_then(|message| clip(message, MESSAGE_CHARS_MAX));
    StepError {
        code: kind.unwrap_or_else(|| "worker_failed".to_owned()),
        message: message.unwrap_or_else(|| "the worker gave no reason".to_owned()),
    }
}

/// A field that only describes: nothing if it is not there, or is not what it should be.
fn described<V>(
    fields: &mut Fields<'_, Value>,
    key: &'static str,
    read: impl FnOnce(&Value) -> Option<V>,
) -> Option<V> {
    fields.optional(key).and_then(|field| read(field.node()))
}

/// Workers measure in fractions of a millisecond too.
fn milliseconds(value: &Value) -> Option<u64> {
    let whole = || std::time::Duration::try_from_secs_f64(value.as_f64()? / 1e3).ok();
    value.as_u64().or_else(|| u64::try_from(whole()?.as_millis()).ok())
}

/// The beginning of a text; nothing of an empty one.
fn clip(text: &str, chars_max: usize) -> Option<String> {
    (!text.is_empty()).then(|| text.chars().take(chars_max).collect())
}
