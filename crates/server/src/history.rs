//! The history of a run as callers see it: step ids instead of places, moments as text.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::entry::{Entry, Record};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment::Moment;

/// What one decision wrote.
#[derive(Debug, Serialize)]
pub(crate) struct RecordView {
    version: u64,
    at: Moment,
    entries: Vec<Value>,
}

/// Shows a record of a run.
pub(crate) fn record(run: &Run, record: &Record) -> RecordView {
    let entries = record.entries.iter().map(|it| Value::Object(entry(run, it))).collect();
    RecordView { version: record.version, at: Moment(record.at), entries }
}

/// Shows one fact of a run.
pub(crate) fn entry(run: &Run, entry: &Entry) -> Map<String, Value> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(entry) else { return Map::new() };
    if let Some(step) = entry.step() {
        fields.remove("step");
        fields.insert("step_id".to_owned(), run.step_id(step).into());
    }
    for key in ["expires_at", "next_at", "wake_at", "retry_at"] {
        if let Some(moment) = fields.get_mut(key)
            && let Some(millis) = moment.as_i64()
        {
            *moment = Timestamp::from_millis(millis).to_string().into();
        }
    }
    fields
}
