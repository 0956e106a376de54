//! The envelope of a command, version 1: its fields, types and lengths.

use serde_json::{Map, Value};
use stepwell_core::lane::Mode;

use crate::fields::{Field, Fields, Tree};
use crate::name::Shape;
use crate::payload;
use crate::problem::{Report, quoted};
use crate::rejection::{self, Rejection};
use crate::text::{plain, url};
use crate::trace::is_traceparent;
use crate::workflow::REQUEST_TYPE;

/// The ways in which senders write the one version there is; the number 1 is another.
pub const SUPPORTED_SCHEMA_VERSIONS: [&str; 3] = ["1", "1.0", "v1"];

/// Whose names tenants have.
pub(super) const TENANT_ID: Shape = Shape {
    chars_max: 128,
    begins: is_tenant_character,
    follows: is_tenant_character,
    rule: "use letters, digits, '.', '_', ':' and '-'",
};

const REFERENCE_CHARS_MAX: usize = 2_048;
const URL_CHARS_MAX: usize = 2_048;
const CALLBACK_URLS_MAX: usize = 5;

fn is_tenant_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-')
}

/// A command as its sender wrote it, once its fields are known to be sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// whose job it is
    pub tenant_id: String,
    /// which protocol
    pub request_type: String,
    /// what to work on
    pub input_ref: String,
    /// where to put what comes of it
    pub output_ref: String,
    /// what the steps are given
    pub payload: Map<String, Value>,
    /// how the tenant's jobs are spread over the lanes
    pub mode: Mode,
    /// makes a repetition of the request recognizable
    pub idempotency_key: Option<String>,
    /// the document it is about
    pub doc_id: Option<String>,
    /// who is told that the job has ended
    pub callback_urls: Vec<String>,
    /// ties it to what its requester knows
    pub correlation_id: Option<String>,
    /// W3C trace context
    pub traceparent: Option<String>,
}

/// Reads the envelope of a command (D-013 to D-015).
///
/// # Errors
///
/// Every problem of its fields at once.
pub fn envelope(body: &[u8]) -> Result<Envelope, Rejection> {
    let mut value = rejection::parse(body)?;
    let report = Report::new();
    let read = Field::root(&value, &report).fields().and_then(fields);
    let read = report.finish(read).map_err(|problems| {
        Rejection::invalid(problems).about(value.get("correlation_id").and_then(Value::as_str))
    })?;
    // The payload is moved, not copied: it is the largest part by far.
    let payload = match value.get_mut("payload").map(Value::take) {
        Some(Value::Object(payload)) => payload,
        Some(_) | None => Map::new(),
    };
    Ok(Envelope { payload, ..read })
}

fn fields(mut fields: Fields<'_, Value>) -> Option<Envelope> {
    let tenant_id = fields.required("tenant_id").and_then(|field| TENANT_ID.read(&field));
    let request_type = fields.required("request_type").and_then(|field| REQUEST_TYPE.read(&field));
    let input_ref = fields.required("input_ref").and_then(|field| reference(&field));
    let output_ref = fields.required("output_ref").and_then(|field| reference(&field));
    if let Some(payload) = fields.required("payload") {
        payload::check(&payload, "the payload");
    }
    if let Some(version) = fields.required("schema_version") {
        check_schema_version(&version);
    }
    let mode = fields.optional("mode").and_then(|field| field.word(&MODES)).unwrap_or_default();
    let doc_id = match mode {
        Mode::Default => fields.optional("doc_id"),
        // Its routing key cannot be computed without one (D-015).
        Mode::Burst => fields.required("doc_id"),
    };
    let doc_id = doc_id.and_then(|field| plain(&field, 256));
    let idempotency_key = fields.optional("idempotency_key").and_then(|field| plain(&field, 255));
    let callback_urls = fields.optional("callback_urls").map(|field| urls(&field));
    let correlation_id = fields.optional("correlation_id").and_then(|field| plain(&field, 128));
    let traceparent = fields.optional("traceparent").and_then(|field| traceparent(&field));
    fields.finish();
    Some(Envelope {
        tenant_id: tenant_id?.to_owned(),
        request_type: request_type?.to_owned(),
        input_ref: input_ref?.to_owned(),
        output_ref: output_ref?.to_owned(),
        payload: Map::new(),
        mode,
        idempotency_key,
        doc_id,
        callback_urls: callback_urls.unwrap_or_default(),
        correlation_id,
        traceparent,
    })
}

const MODES: [(&str, Mode); 2] = [("DEFAULT", Mode::Default), ("BURST", Mode::Burst)];

/// The length only: whether it is a reference is judged after the payload (D-016).
fn reference<'n>(field: &Field<'n, Value>) -> Option<&'n str> {
    field.text_within(1..=REFERENCE_CHARS_MAX)
}

fn check_schema_version(field: &Field<'_, Value>) {
    let given = field.node();
    let supported = match given {
        Value::String(text) => SUPPORTED_SCHEMA_VERSIONS.contains(&text.as_str()),
        Value::Number(number) => number.as_u64() == Some(1),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            field.text();
            return;
        }
    };
    if !supported {
        let shown = given.as_str().map_or_else(|| given.to_string(), quoted);
        let problem = field
            .problem("unsupported_schema_version", format!("version {shown} is not supported"))
            .help("use \"1\"");
        field.report(problem);
    }
}

/// Every place a sender may put a URL: the values of an object, or the items of a list.
///
/// The keys of an object are the sender's own names; they change nothing.
fn urls(field: &Field<'_, Value>) -> Vec<String> {
    let found: Vec<_> = match field.node() {
        Value::Array(_) => field.items().unwrap_or_default(),
        Value::Object(_) => field.entries().into_iter().flatten().map(|(_, url)| url).collect(),
        other => {
            let message = format!("this must be a list or an object of URLs, not {}", other.kind());
            field.report(field.problem("wrong_type", message));
            return Vec::new();
        }
    };
    if found.len() > CALLBACK_URLS_MAX {
        let message = format!("there are {} callback URLs", found.len());
        field.report(field.problem("out_of_range", message).help("give at most 5"));
        return Vec::new();
    }
    let mut urls: Vec<String> = Vec::new();
    for url in found.iter().filter_map(|field| url(field, URL_CHARS_MAX)) {
        if !urls.iter().any(|known| known == url) {
            urls.push(url.to_owned());
        }
    }
    urls
}

/// The W3C form: version, trace id, parent id and flags in lower-case hexadecimal.
fn traceparent(field: &Field<'_, Value>) -> Option<String> {
    let text = field.text()?;
    if is_traceparent(text) {
        return Some(text.to_owned());
    }
    let problem = field
        .problem("bad_traceparent", "this is not a W3C traceparent")
        .help("write 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, or leave it out");
    field.report(problem);
    None
}
