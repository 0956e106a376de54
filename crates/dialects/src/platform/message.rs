//! The order that waits in the queue: what was submitted, by whom, and when.
//!
//! It is not the job: it has no job id, because the job is made by whoever takes the order (B-031).

use serde::Serialize;
use serde_json::{Map, Value};

use super::queue::Delivery;
use super::request;
use crate::fields::{Field, Fields};
use crate::moment::{self, Moment};
use crate::problem::{Problems, Report, quoted};
use crate::rejection;
use crate::text::plain;

/// What brokers take as the id of a message, in characters.
pub const MESSAGE_ID_CHARS_MAX: usize = 128;

/// A message of the queue `dag-jobs` (B-030). Every field is always written, `null` without a value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobQueueMessage {
    /// the name of the workflow
    pub workflow_id: String,
    /// what the job is given
    pub input_params: Map<String, Value>,
    /// ties it to what its requester knows
    pub correlation_id: Option<String>,
    /// the person or system that submitted it
    pub submitted_by: Option<String>,
    /// who is told that the job has ended
    pub callback_url: Option<String>,
    /// makes a repetition recognizable, whichever message it comes in
    pub idempotency_key: Option<String>,
    /// 0 to 10, higher is more urgent
    pub priority: u8,
    /// when it was submitted
    pub submitted_at: Moment,
    /// makes a repeated delivery recognizable (B-034)
    pub message_id: String,
}

impl JobQueueMessage {
    /// The message as it travels.
    ///
    /// # Panics
    ///
    /// Never: texts, numbers and JSON can always be written.
    #[must_use]
    pub fn to_body(&self) -> String {
        serde_json::to_string(self).expect("texts, numbers and JSON can be written as JSON")
    }
}

/// Reads a message. What it does not say is taken from its delivery.
///
/// A field that nobody knows passes: senders may be newer than we are.
///
/// # Errors
///
/// Every problem of its fields at once.
pub fn read(body: &str, delivery: &Delivery<'_>) -> Result<JobQueueMessage, Problems> {
    let mut value = rejection::parse(body.as_bytes()).map_err(|rejection| rejection.problems)?;
    let report = Report::new();
    let read = Field::root(&value, &report).fields().and_then(|mut known| {
        let message = fields(&mut known, delivery);
        known.ignore_unknown();
        message
    });
    let message = report.finish(read)?;
    Ok(JobQueueMessage { input_params: request::take_input(&mut value), ..message })
}

fn fields(fields: &mut Fields<'_, Value>, delivery: &Delivery<'_>) -> Option<JobQueueMessage> {
    let request = request::fields(fields);
    let submitted_by = request::text(fields, "submitted_by");
    let submitted_at = fields.optional("submitted_at").and_then(|field| submitted_at(&field));
    let message_id = request::given(fields, "message_id")
        .and_then(|field| plain(&field, MESSAGE_ID_CHARS_MAX))
        .unwrap_or_else(|| delivery.message_id.to_owned());
    let submitted_at = submitted_at.unwrap_or(Moment(delivery.received_at));
    Some(request?.into_message(message_id, submitted_by, submitted_at.0))
}

fn submitted_at(field: &Field<'_, Value>) -> Option<Moment> {
    let text = field.text()?;
    let moment = moment::parse(text);
    if moment.is_none() {
        let problem = field
            .problem("bad_moment", format!("{} is not a moment", quoted(text)))
            .help("write UTC as 2026-02-03T12:00:00Z");
        field.report(problem);
    }
    moment
}
