//! What a client submits (B-061).

use serde_json::{Map, Value};
use stepwell_core::time::Timestamp;

use super::message::JobQueueMessage;
use crate::fields::{Field, Fields};
use crate::moment::Moment;
use crate::payload;
use crate::problem::Report;
use crate::rejection::{self, Rejection};
use crate::text::{plain, url};

/// Names and ids of the wire are at most this long, in characters (B-030, B-033).
pub const TEXT_CHARS_MAX: usize = 64;

/// A callback URL is at most this long, in characters.
pub const URL_CHARS_MAX: usize = 512;

/// The most urgent priority; 0 is the usual one.
pub const PRIORITY_MAX: u8 = 10;

/// A request to submit a job, once its fields are known to be sound.
#[derive(Clone, Debug, PartialEq)]
pub struct JobSubmitRequest {
    /// the name of the workflow
    pub workflow_id: String,
    /// what the job is given
    pub input_params: Map<String, Value>,
    /// ties it to what its requester knows
    pub correlation_id: Option<String>,
    /// who is told that the job has ended
    pub callback_url: Option<String>,
    /// 0 to 10, higher is more urgent
    pub priority: u8,
    /// makes a repetition recognizable
    pub idempotency_key: Option<String>,
}

impl JobSubmitRequest {
    /// The order that asks for the same.
    #[must_use]
    pub fn into_message(
        self,
        message_id: String,
        submitted_by: Option<String>,
        submitted_at: Timestamp,
    ) -> JobQueueMessage {
        JobQueueMessage {
            workflow_id: self.workflow_id,
            input_params: self.input_params,
            correlation_id: self.correlation_id,
            submitted_by,
            callback_url: self.callback_url,
            idempotency_key: self.idempotency_key,
            priority: self.priority,
            submitted_at: Moment(submitted_at),
            message_id,
        }
    }
}

/// Reads a request to submit a job.
///
/// # Errors
///
/// Every problem of its fields at once. A field that nobody knows is one: it may be a misspelled one.
pub fn read(body: &[u8]) -> Result<JobSubmitRequest, Rejection> {
    let mut value = rejection::parse(body)?;
    let report = Report::new();
    let read = Field::root(&value, &report).fields().and_then(|mut known| {
        let request = fields(&mut known);
        known.finish();
        request
    });
    let request = report.finish(read).map_err(|problems| {
        Rejection::invalid(problems).about(value.get("correlation_id").and_then(Value::as_str))
    })?;
    Ok(JobSubmitRequest { input_params: take_input(&mut value), ..request })
}

/// The fields that requests and messages share, all but the input itself.
pub(super) fn fields(fields: &mut Fields<'_, Value>) -> Option<JobSubmitRequest> {
    let workflow_id =
        fields.required("workflow_id").and_then(|field| plain(&field, TEXT_CHARS_MAX));
    if let Some(input) = fields.optional("input_params") {
        payload::check(&input, "input_params");
    }
    let correlation_id = text(fields, "correlation_id");
    let callback_url = given(fields, "callback_url")
        .and_then(|field| url(&field, URL_CHARS_MAX).map(str::to_owned));
    let priority = fields.optional_integer("priority", 0..=PRIORITY_MAX);
    let idempotency_key = text(fields, "idempotency_key");
    Some(JobSubmitRequest {
        workflow_id: workflow_id?,
        input_params: Map::new(),
        correlation_id,
        callback_url,
        priority: priority.unwrap_or(0),
        idempotency_key,
    })
}

/// An optional name or id.
pub(super) fn text(fields: &mut Fields<'_, Value>, key: &'static str) -> Option<String> {
    given(fields, key).and_then(|field| plain(&field, TEXT_CHARS_MAX))
}

/// The field, unless its text is empty: senders of this wire have always meant "none" by it.
pub(super) fn given<'n>(
    fields: &mut Fields<'n, Value>,
    key: &'static str,
) -> Option<Field<'n, Value>> {
    fields.optional(key).filter(|field| field.node() != "")
}

/// The input is moved, not copied: it is the largest part by far.
pub(super) fn take_input(body: &mut Value) -> Map<String, Value> {
    match body.get_mut("input_params").map(Value::take) {
        Some(Value::Object(input)) => input,
        Some(_) | None => Map::new(),
    }
}
