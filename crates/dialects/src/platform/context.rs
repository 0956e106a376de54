//! What only this dialect knows of a run, kept in its header for messages and views.

use serde_json::{Map, Value};
use stepwell_core::run::Header;

const MESSAGE_ID: &str = "message_id";
const IDEMPOTENCY_KEY: &str = "idempotency_key";
const CALLBACK_URL: &str = "callback_url";
const SUBMITTED_BY: &str = "submitted_by";
const SUBMITTED_AT: &str = "submitted_at";

/// What is kept of an order, beside what the kernel itself understands.
pub(super) struct Context {
    pub(super) message_id: String,
    pub(super) idempotency_key: Option<String>,
    pub(super) callback_url: Option<String>,
    pub(super) submitted_by: Option<String>,
    pub(super) submitted_at: String,
}

impl Context {
    /// As the header keeps it.
    pub(super) fn into_map(self) -> Map<String, Value> {
        let fields = [
            (MESSAGE_ID, self.message_id.into()),
            (IDEMPOTENCY_KEY, self.idempotency_key.into()),
            (CALLBACK_URL, self.callback_url.into()),
            (SUBMITTED_BY, self.submitted_by.into()),
            (SUBMITTED_AT, self.submitted_at.into()),
        ];
        fields.into_iter().map(|(key, value): (_, Value)| (key.to_owned(), value)).collect()
    }
}

fn text<'h>(header: &'h Header, key: &str) -> Option<&'h str> {
    header.context.get(key).and_then(Value::as_str)
}

pub(super) fn message_id(header: &Header) -> Option<&str> {
    text(header, MESSAGE_ID)
}

pub(super) fn idempotency_key(header: &Header) -> Option<&str> {
    text(header, IDEMPOTENCY_KEY)
}

pub(super) fn callback_url(header: &Header) -> Option<&str> {
    text(header, CALLBACK_URL)
}

pub(super) fn submitted_by(header: &Header) -> Option<&str> {
    text(header, SUBMITTED_BY)
}

pub(super) fn submitted_at(header: &Header) -> Option<&str> {
    text(header, SUBMITTED_AT)
}
