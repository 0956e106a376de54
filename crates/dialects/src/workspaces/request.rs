//! What a client asks for: one job.

use serde_json::{Map, Value};
use stepwell_core::credit::Credits;
use stepwell_core::trigger::TriggerKind;

use super::policy::ATTEMPTS_MAX;
use crate::amount;
use crate::fields::{Field, Fields, Tree};
use crate::name::Shape;
use crate::payload::{self, PAYLOAD_BYTES_MAX};
use crate::problem::{Problem, Report};
use crate::rejection::{self, BODY_BYTES_MAX, Rejection};
use crate::text::plain;

/// Ids of the wire are at most this long, in characters.
pub const ID_CHARS_MAX: usize = 128;

/// An idempotency key is at most this long, in characters.
pub const KEY_CHARS_MAX: usize = 255;

/// The most urgent priority.
pub const PRIORITY_MAX: u8 = 10;

/// Neither urgent nor idle.
pub const PRIORITY_DEFAULT: u8 = 5;

const WORKFLOW_ID_CHARS_MAX: usize = 64;
const REFERENCE_CHARS_MAX: usize = 2_048;
const REFERENCES_MAX: usize = 100;

/// Names of references; templates find them under `_references`.
const REFERENCE_NAME: Shape = Shape {
    chars_max: 64,
    begins: |c| c.is_ascii_alphanumeric(),
    follows: |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
    rule: "use letters, digits, '_' and '-', and begin with a letter or a digit",
};

/// A request for a job, once its fields are known to be sound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobRequest {
    /// whose job it is to be, for routes whose path does not say it
    pub workspace_id: Option<String>,
    /// the name of the workflow
    pub workflow_id: String,
    /// the user that it is for
    pub user_id: String,
    /// what made it
    pub trigger_type: TriggerKind,
    /// makes a repetition recognizable
    pub idempotency_key: Option<String>,
    /// attempts in all, in place of the workflow's
    pub max_attempts: Option<u32>,
    /// what it will probably cost, in place of the workflow's
    pub credits_estimate: Option<Credits>,
    /// what the steps are given
    pub input: Map<String, Value>,
    /// where large data lies, by name (C-016)
    pub references: Map<String, Value>,
    /// ties it to the trace of its requester
    pub trace_id: Option<String>,
    /// 0 to 10, higher is more urgent
    pub priority: Option<u8>,
}

/// Reads a request for a job. `header_key` is what its header `Idempotency-Key` says.
///
/// # Errors
///
/// Every problem of its fields at once. A field that nobody knows is one: it may be a misspelled one.
pub fn read(body: &[u8], header_key: Option<&str>) -> Result<JobRequest, Rejection> {
    if body.len() > BODY_BYTES_MAX {
        return Err(Rejection::malformed(too_large("the body", body.len())));
    }
    let mut value = rejection::parse(body)?;
    let report = Report::new();
    let request = Field::root(&value, &report).fields().and_then(|mut known| {
        let request = fields(&mut known, header_key);
        known.finish();
        request
    });
    let request = report.finish(request).map_err(Rejection::invalid)?;
    // The input is moved, not copied: it is the largest part by far.
    let input = match value.get_mut("input").map(Value::take) {
        Some(Value::Object(input)) => input,
        Some(_) | None => Map::new(),
    };
    Ok(JobRequest { input, ..request })
}

fn too_large(what: &str, bytes: usize) -> Problem {
    let allowed = PAYLOAD_BYTES_MAX / 1024;
    Problem::new("too_large", format!("{what} has {bytes} bytes")).help(format!(
        "an input may have {allowed} KiB; keep large data in object storage and send a reference to it"
    ))
}

fn fields(fields: &mut Fields<'_, Value>, header_key: Option<&str>) -> Option<JobRequest> {
    let workspace_id =
        fields.optional("workspace_id").and_then(|field| plain(&field, ID_CHARS_MAX));
    let workflow_id =
        fields.required("workflow_id").and_then(|field| plain(&field, WORKFLOW_ID_CHARS_MAX));
    let user_id = fields.required("user_id").and_then(|field| plain(&field, ID_CHARS_MAX));
    let trigger_type =
        fields.optional("trigger_type").and_then(|field| field.word(&TriggerKind::WORDS));
    let idempotency_key = key(fields, header_key);
    let max_attempts = fields.optional_integer("max_attempts", 1..=ATTEMPTS_MAX);
    let credits_estimate =
        fields.optional("credits_estimate").and_then(|field| amount::read_positive(&field));
    if let Some(input) = fields.optional("input") {
        check_input(&input);
    }
    let references = fields.optional("references").map(|field| references(&field));
    let trace_id = fields.optional("trace_id").and_then(|field| plain(&field, ID_CHARS_MAX));
    let priority = fields.optional_integer("priority", 0..=PRIORITY_MAX);
    Some(JobRequest {
        workspace_id,
        workflow_id: workflow_id?,
        user_id: user_id?,
        trigger_type: trigger_type.unwrap_or_default(),
        idempotency_key,
        max_attempts,
        credits_estimate,
        input: Map::new(),
        references: references.unwrap_or_default(),
        trace_id,
        priority,
    })
}

/// The key of the body or of the header. Both may be given, if they say the same.
fn key(fields: &mut Fields<'_, Value>, header_key: Option<&str>) -> Option<String> {
    let field = fields.optional("idempotency_key");
    let key = field.as_ref().and_then(|field| plain(field, KEY_CHARS_MAX));
    if let (Some(field), Some(key), Some(header)) = (&field, &key, header_key)
        && key != header
    {
        let problem = field
            .problem("conflicting_fields", "the header Idempotency-Key says something else")
            .help("send one of them, or the same in both");
        field.report(problem);
    }
    key.or_else(|| header_key.map(str::to_owned))
}

fn check_input(field: &Field<'_, Value>) {
    if field.entries().is_none() {
        return;
    }
    let bytes = payload::size(field.node());
    if bytes > PAYLOAD_BYTES_MAX {
        field.report(too_large("the input", bytes).at(field.path()));
    }
}

/// The references by name. Where they may lead is judged with the workflow.
pub(super) fn references<T: Tree>(field: &Field<'_, T>) -> Map<String, Value> {
    let entries = field.entries().unwrap_or_default();
    if entries.len() > REFERENCES_MAX {
        let message = format!("there are {} references", entries.len());
        field.report(field.problem("out_of_range", message).help("give at most 100"));
        return Map::new();
    }
    let mut references = Map::new();
    for (name, reference) in entries {
        if name.chars().count() > REFERENCE_NAME.chars_max || !REFERENCE_NAME.holds(name) {
            let message = "this cannot be the name of a reference";
            reference.report(reference.problem("bad_name", message).help(REFERENCE_NAME.rule));
        }
        if let Some(text) = reference.text_within(1..=REFERENCE_CHARS_MAX) {
            references.insert(name.to_owned(), text.into());
        }
    }
    references
}
