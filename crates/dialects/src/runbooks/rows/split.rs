//! Columns that hold several values.

use serde_json::Value;

use crate::runbooks::document::MultiValueFormat;

/// The values of one column as a list; `None` if a JSON array was promised and is not there.
///
/// Nothing is an empty list. What the source already gives as a list stays as it is, and any other
/// value that is not a text is a list of that value alone.
pub(in crate::runbooks) fn split(format: MultiValueFormat, value: Value) -> Option<Value> {
    let list = match value {
        Value::Null => Vec::new(),
        Value::Array(list) => list,
        Value::String(text) => return of_text(format, &text),
        value @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => vec![value],
    };
    Some(Value::Array(list))
}

fn of_text(format: MultiValueFormat, text: &str) -> Option<Value> {
    match format {
        MultiValueFormat::SemicolonDelimited => Some(parts(text, ';')),
        MultiValueFormat::CommaDelimited => Some(parts(text, ',')),
        MultiValueFormat::JsonArray if text.trim().is_empty() => Some(Value::Array(Vec::new())),
        MultiValueFormat::JsonArray => match serde_json::from_str(text).ok()? {
            Value::Null => Some(Value::Array(Vec::new())),
            list @ Value::Array(_) => Some(list),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => None,
        },
    }
}

/// Blanks around a value and empty values are what people type, not what they mean.
fn parts(text: &str, delimiter: char) -> Value {
    let parts = text.split(delimiter).map(str::trim).filter(|part| !part.is_empty());
    Value::Array(parts.map(Value::from).collect())
}
