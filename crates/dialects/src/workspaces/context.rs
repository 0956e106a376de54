//! What only this dialect knows of a run, kept in its header for messages and views.

use serde_json::{Map, Value};
use stepwell_core::run::Header;
use stepwell_core::trigger::TriggerKind;

const USER_ID: &str = "user_id";
const TRIGGER_TYPE: &str = "trigger_type";
const IDEMPOTENCY_KEY: &str = "idempotency_key";
const TRACE_ID: &str = "trace_id";
const REFERENCES: &str = "references";

/// What is kept of a request, beside what the kernel itself understands.
pub(super) struct Context {
    pub(super) user_id: String,
    pub(super) trigger_type: TriggerKind,
    pub(super) idempotency_key: Option<String>,
    pub(super) trace_id: String,
    pub(super) references: Map<String, Value>,
}

impl Context {
    /// As the header keeps it. The references named `input` and `output` are also kept under the names
    /// that directives of every dialect have for them.
    pub(super) fn into_map(self) -> Map<String, Value> {
        let reference = |name: &str| self.references.get(name).cloned().unwrap_or_default();
        let fields = [
            ("input_ref", reference("input")),
            ("output_ref", reference("output")),
            (USER_ID, self.user_id.into()),
            (TRIGGER_TYPE, self.trigger_type.word().into()),
            (IDEMPOTENCY_KEY, self.idempotency_key.into()),
            (TRACE_ID, self.trace_id.into()),
            (REFERENCES, self.references.into()),
        ];
        let fields = fields.into_iter().filter(|(_, value): &(_, Value)| !value.is_null());
        fields.map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

fn text<'h>(header: &'h Header, key: &str) -> Option<&'h str> {
    header.context.get(key).and_then(Value::as_str)
}

pub(super) fn user_id(header: &Header) -> &str {
    text(header, USER_ID).unwrap_or_default()
}

pub(super) fn trigger_type(header: &Header) -> TriggerKind {
    text(header, TRIGGER_TYPE).and_then(TriggerKind::of_word).unwrap_or_default()
}

pub(super) fn idempotency_key(header: &Header) -> Option<&str> {
    text(header, IDEMPOTENCY_KEY)
}

pub(super) fn trace_id(header: &Header) -> &str {
    text(header, TRACE_ID).unwrap_or_default()
}

pub(super) fn references(header: &Header) -> Option<&Map<String, Value>> {
    header.context.get(REFERENCES).and_then(Value::as_object)
}
