//! The message that starts an attempt, version 1 (C-025).
//!
//! It is thin: the job's record holds the full state, and whatever the two say differently, the record
//! is right (C-026, X-118). Every attempt has one message of its own.

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use stepwell_core::run::{Header, Run, RunStatus};
use stepwell_core::trigger::TriggerKind;

use super::context;
use super::job_id::JobId;
use super::policy::ATTEMPTS_DEFAULT;
use super::request::{ID_CHARS_MAX, KEY_CHARS_MAX};
use crate::fields::{Field, Fields};
use crate::problem::{Problems, Report, quoted};
use crate::rejection;
use crate::text::plain;

/// The only version there is.
pub const VERSION: u32 = 1;

/// The version of the message is not known.
pub const VERSION_UNKNOWN: &str = "VersionUnknown";
/// The message is not what it must be.
pub const MESSAGE_INVALID: &str = "MessageInvalid";
/// There is no such job.
pub const JOB_NOT_FOUND: &str = "JobNotFound";
/// The job belongs to another workspace.
pub const WORKSPACE_MISMATCH: &str = "WorkspaceMismatch";

/// Every reason for which a message is given up.
pub const REASONS: [&str; 4] =
    [VERSION_UNKNOWN, MESSAGE_INVALID, JOB_NOT_FOUND, WORKSPACE_MISMATCH];

/// The message that starts an attempt. Every field is always written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// the version of the message
    pub v: u32,
    /// the job
    pub job_id: JobId,
    /// whose it is
    pub workspace_id: String,
    /// what made it
    pub trigger_type: TriggerKind,
    /// the attempt that it starts, counted from 1
    pub attempt: u32,
    /// attempts in all
    pub max_attempts: u32,
    /// the trace of the job
    pub trace_id: String,
    /// makes a repetition recognizable; the job's id if it was asked for without one
    pub idempotency_key: String,
}

/// The message of a run's attempt under way, or of the next one.
#[must_use]
pub fn message(run: &Run) -> Message {
    let header = &*run.header;
    Message {
        v: VERSION,
        job_id: JobId::of(header.id),
        workspace_id: header.tenant.as_str().to_owned(),
        trigger_type: context::trigger_type(header),
        attempt: run.attempt,
        max_attempts: attempts_max(header),
        trace_id: context::trace_id(header).to_owned(),
        idempotency_key: idempotency_key(header),
    }
}

/// Attempts of the job in all.
pub(super) fn attempts_max(header: &Header) -> u32 {
    let granted = header.terms.as_ref().and_then(|terms| terms.run_retry.as_ref());
    let retry = granted.or(header.workflow.run_retry.as_ref());
    retry.map_or(ATTEMPTS_DEFAULT, |retry| retry.attempts_max)
}

/// A job without a key is the only one of its kind, and its id says so.
pub(super) fn idempotency_key(header: &Header) -> String {
    let given = context::idempotency_key(header).map(str::to_owned);
    given.unwrap_or_else(|| JobId::of(header.id).to_string())
}

/// A message that nobody can follow: it is given up, and no job is touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poison {
    /// one of [`REASONS`]
    pub reason: &'static str,
    /// what happened, in a sentence
    pub description: String,
}

impl Poison {
    fn invalid(problems: &Problems) -> Self {
        let sentence = problems.to_string().replace('\n', "; ");
        Self { reason: MESSAGE_INVALID, description: sentence }
    }
}

impl fmt::Display for Poison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.description)
    }
}

impl std::error::Error for Poison {}

/// What whoever receives a message does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// its attempt waits for a worker: begin
    Wanted,
    /// the job has ended: acknowledge it and do nothing (C-022, C-037)
    Ended,
    /// a later attempt has a message of its own, or a worker has this one: acknowledge it
    Superseded,
}

impl Message {
    /// The message as it travels.
    ///
    /// # Panics
    ///
    /// Never: texts and numbers can always be written.
    #[must_use]
    pub fn to_body(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written as JSON")
    }

    /// Holds the message against the record that it names; `None` if there is none.
    ///
    /// # Errors
    ///
    /// When there is no such job, or it belongs to another workspace.
    pub fn judge(&self, record: Option<&Run>) -> Result<Standing, Poison> {
        let Some(run) = record else {
            let description = format!("job {} does not exist", self.job_id);
            return Err(Poison { reason: JOB_NOT_FOUND, description });
        };
        if run.header.tenant.as_str() != self.workspace_id {
            let named = quoted(&self.workspace_id);
            let description = format!("job {} does not belong to workspace {named}", self.job_id);
            return Err(Poison { reason: WORKSPACE_MISMATCH, description });
        }
        if run.status.is_terminal() {
            return Ok(Standing::Ended);
        }
        let waits = run.status == RunStatus::Ready && run.attempt == self.attempt;
        Ok(if waits { Standing::Wanted } else { Standing::Superseded })
    }
}

/// Reads a message. A field that nobody knows passes: later versions only add (C-026).
///
/// # Errors
///
/// When it cannot be read, its version is not known, or a field is not what it must be.
pub fn read(body: &[u8]) -> Result<Message, Poison> {
    let parsed = rejection::parse(body);
    let value = parsed.map_err(|rejection| Poison::invalid(&rejection.problems))?;
    check_version(&value)?;
    let report = Report::new();
    let message = Field::root(&value, &report).fields().and_then(|mut known| {
        known.optional("v");
        let message = fields(&mut known);
        known.ignore_unknown();
        message
    });
    report.finish(message).map_err(|problems| Poison::invalid(&problems))
}

/// Another version may mean something else by every other field, so none of them is looked at.
fn check_version(value: &Value) -> Result<(), Poison> {
    let given = value.get("v").unwrap_or(&Value::Null);
    if given.as_u64() == Some(u64::from(VERSION)) {
        return Ok(());
    }
    let description = match given {
        Value::Null => "the message does not say its version; \"v\": 1 is known".to_owned(),
        Value::String(text) => format!("version {} is not known; the number 1 is", quoted(text)),
        other => format!("version {} is not known; 1 is", quoted(&other.to_string())),
    };
    Err(Poison { reason: VERSION_UNKNOWN, description })
}

fn fields(fields: &mut Fields<'_, Value>) -> Option<Message> {
    let job_id = fields.required("job_id").and_then(|field| job_id(&field));
    let workspace_id =
        fields.required("workspace_id").and_then(|field| plain(&field, ID_CHARS_MAX));
    let trigger_type =
        fields.required("trigger_type").and_then(|field| field.word(&TriggerKind::WORDS));
    let attempt = fields.required("attempt").and_then(|field| field.integer(1..=u32::MAX));
    let max_attempts =
        fields.required("max_attempts").and_then(|field| field.integer(1..=u32::MAX));
    let trace_id = fields.required("trace_id").and_then(|field| plain(&field, ID_CHARS_MAX));
    let idempotency_key =
        fields.required("idempotency_key").and_then(|field| plain(&field, KEY_CHARS_MAX));
    Some(Message {
        v: VERSION,
        job_id: job_id?,
        workspace_id: workspace_id?,
        trigger_type: trigger_type?,
        attempt: attempt?,
        max_attempts: max_attempts?,
        trace_id: trace_id?,
        idempotency_key: idempotency_key?,
    })
}

fn job_id(field: &Field<'_, Value>) -> Option<JobId> {
    let text = field.text()?;
    let id = text.parse().ok();
    if id.is_none() {
        field.report(field.problem("bad_id", format!("{} is not an id", quoted(text))));
    }
    id
}
