//! Values of Databricks: all are text, and the column says what they are.

use serde_json::Value;

use crate::source::value;

/// A value as JSON.
pub(super) fn of(type_name: &str, text: Option<String>) -> Value {
    let Some(text) = text else { return Value::Null };
    match type_name {
        "BOOLEAN" => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::from(text),
        },
        "BYTE" | "SHORT" | "INT" | "LONG" | "DECIMAL" => value::decimal(&text),
        "FLOAT" | "DOUBLE" => match text.parse() {
            Ok(number) => value::float(number),
            Err(_) => Value::from(text),
        },
        "TIMESTAMP" | "TIMESTAMP_NTZ" => value::moment(&text),
        // Text of JSON; some nested values make it none, and then the text is still of use.
        "ARRAY" | "MAP" | "STRUCT" | "VARIANT" => {
            serde_json::from_str(&text).unwrap_or(Value::from(text))
        }
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_the_type_of_its_column() {
        for (type_name, text, expected) in [
            ("BOOLEAN", "true", json!(true)),
            ("INT", "-7", json!(-7)),
            ("LONG", "9007199254740993", json!(9_007_199_254_740_993_i64)),
            ("DECIMAL", "12.50", json!(12.5)),
            ("DECIMAL", "12345678901234567890.12", json!("12345678901234567890.12")),
            ("DOUBLE", "1.5E10", json!(1.5e10)),
            ("DOUBLE", "NaN", json!("NaN")),
            ("DATE", "2026-03-15", json!("2026-03-15")),
            ("TIMESTAMP", "2026-03-15T09:00:00.000+01:00", json!("2026-03-15T08:00:00Z")),
            ("TIMESTAMP_NTZ", "2026-03-15T08:00:00.000", json!("2026-03-15T08:00:00Z")),
            ("ARRAY", "[\"a\",\"b\"]", json!(["a", "b"])),
            ("ARRAY", "[2026-03-15]", json!("[2026-03-15]")),
            ("STRING", "7", json!("7")),
        ] {
            assert_eq!(of(type_name, Some(text.to_owned())), expected, "{type_name} {text}");
        }
        assert_eq!(of("STRING", None), Value::Null);
    }
}
