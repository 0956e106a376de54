//! Hashes that make a repeated request recognizable, however its author wrote it down.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The hash of a JSON value, the same however its author ordered keys and placed blanks.
#[must_use]
pub fn of_json(value: &Value) -> [u8; 32] {
    let mut hash = Sha256::new();
    write(value, &mut hash);
    hash.finalize().into()
}

fn write(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            hash.update("{");
            for (key, value) in fields {
                hash.update(Value::from(key.as_str()).to_string());
                hash.update(":");
                write(value, hash);
                hash.update(",");
            }
            hash.update("}");
        }
        Value::Array(items) => {
            hash.update("[");
            for item in items {
                write(item, hash);
                hash.update(",");
            }
            hash.update("]");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            hash.update(value.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_everything_else_does() {
        let one: Value = serde_json::from_str(r#"{"a":1,"b":[1,2,{"c":null,"d":"x"}]}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b":[1,2,{"d":"x","c":null}],"a":1}"#).unwrap();
        assert_eq!(of_json(&one), of_json(&other));
        for changed in [
            json!({"a": 2, "b": [1, 2, {"c": null, "d": "x"}]}),
            json!({"a": 1, "b": [2, 1, {"c": null, "d": "x"}]}),
            json!({"a": 1, "b": [1, 2, {"d": "x"}]}),
            json!({"a": "1", "b": [1, 2, {"c": null, "d": "x"}]}),
        ] {
            assert_ne!(of_json(&one), of_json(&changed), "{changed}");
        }
    }
}
