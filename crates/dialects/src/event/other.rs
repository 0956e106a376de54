//! Events that are not about the life of one run.

use serde_json::{Value, json};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use super::{CloudEvent, DEAD_LETTER_CREATED, Event, type_of};
use crate::workspaces::JobId;
use crate::workspaces::redact;

/// Something that was given up and waits for a person.
#[derive(Clone, Copy, Debug)]
pub struct DeadLetter<'a> {
    /// what makes it the same dead letter however often it is told
    pub key: &'a str,
    /// whose it is
    pub tenant: &'a Tenant,
    /// of which dialect
    pub dialect: Dialect,
    /// the run that it belongs to, if there is one
    pub run: Option<RunId>,
    /// why it was given up
    pub reason: &'a str,
    /// what happened last
    pub error: &'a StepError,
    /// when
    pub at: Timestamp,
}

/// Tells that something was given up.
#[must_use]
pub fn dead_letter_created(letter: &DeadLetter<'_>) -> Event {
    let error = redact::error(letter.error);
    let job = letter.run.map(|run| match letter.dialect {
        Dialect::Workspaces => JobId::of(run).public(),
        Dialect::Runbooks | Dialect::Platform | Dialect::Commands => run,
    });
    let data = json!({
        "tenant_id": letter.tenant.as_str(),
        "dialect": letter.dialect.word(),
        "job_id": job.map(|job| job.to_string()),
        "reason": letter.reason,
        "error_code": error.code,
        "error_message": error.message,
    });
    let id = format!("{}:{DEAD_LETTER_CREATED}", letter.key);
    let subject = job.map_or_else(|| letter.key.to_owned(), |job| job.to_string());
    event(DEAD_LETTER_CREATED, CloudEvent { id, time: letter.at, subject, traceparent: None }, data)
}

/// Why the work was given up that an event tells of; `None` if its body tells of something else.
#[must_use]
pub fn dead_letter_reason(body: &str) -> Option<String> {
    let event: Value = serde_json::from_str(body).ok()?;
    let reason = event["data"]["reason"].as_str()?;
    (event["type"] == type_of(DEAD_LETTER_CREATED)).then(|| reason.to_owned())
}

fn event(kind: &'static str, attributes: CloudEvent<'_>, data: Value) -> Event {
    Event { kind, body: attributes.body(&type_of(kind), data) }
}
