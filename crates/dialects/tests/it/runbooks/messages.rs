//! The messages of the runbooks dialect: jobs out, results in, events both ways.

mod directive;
mod event;
mod job_id;
mod outcome;
mod pages;
mod refused;

use serde_json::{Value, json};
use stepwell_dialects::runbooks::StepExecutionId;

/// The execution that the samples of the contract are about.
fn execution() -> StepExecutionId {
    StepExecutionId::try_from(123).unwrap()
}

/// A result as the contract shows it.
fn result() -> Value {
    json!({
        "JobId": "step-123-attempt-1",
        "Status": "Success",
        "ResultType": "Object",
        "Result": {"complete": true, "data": {"UserId": "abc-123"}},
        "Error": null,
        "DurationMs": 1234,
        "Timestamp": "2025-03-15T10:30:00Z",
        "CorrelationData": {
            "StepExecutionId": 123,
            "IsInitStep": false,
            "RunbookName": "contoso-mailbox-migration",
            "RunbookVersion": 1,
        },
    })
}

/// The sample with one field changed; `null` takes it away.
fn with(mut message: Value, pointer: &str, value: Value) -> Value {
    let (object, key) = pointer.rsplit_once('/').unwrap();
    message.pointer_mut(object).unwrap()[key] = value;
    message
}

/// The same message with every key in other capitals, as far down as the contract knows the keys.
fn recased(message: &Value, change: fn(&str) -> String) -> Value {
    let Value::Object(fields) = message else { return message.clone() };
    let inner = |key: &str, value: &Value| match key {
        "Error" | "CorrelationData" => recased(value, change),
        _ => value.clone(),
    };
    fields.iter().map(|(key, value)| (change(key), inner(key, value))).collect()
}

/// `BatchId` becomes `batchId`.
fn camel(key: &str) -> String {
    let (first, rest) = key.split_at(1);
    first.to_lowercase() + rest
}
