//! Hashes that make a repeated request recognizable (X-133).

use serde_json::Value;
use sha2::{Digest, Sha256};
use stepwell_core::id::RunId;
use stepwell_store::KeyHash;

/// The hash of a tenant's idempotency key.
pub(crate) fn of_key(tenant: &str, key: &str) -> KeyHash {
    Sha256::new().chain_update(tenant).chain_update(key).finalize().into()
}

/// The hash under which a run is taken up again: at most once, however often it is asked for.
///
/// It begins with a character that no tenant's name has, so no key of a client can meet it.
pub(crate) fn of_resumption(run: RunId) -> KeyHash {
    Sha256::new().chain_update("\0resumes ").chain_update(run.0.as_bytes()).finalize().into()
}

/// The hash of a JSON value, the same however its author ordered keys and placed blanks.
pub(crate) fn of_json(value: &Value) -> KeyHash {
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

    // X-133: SHA-256 of tenant_id + idempotency_key.
    #[test]
    fn the_hash_of_a_key_is_that_of_tenant_and_key_one_after_the_other() {
        let expected: KeyHash = Sha256::digest("acmeorder-7").into();
        assert_eq!(of_key("acme", "order-7"), expected);
    }

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
