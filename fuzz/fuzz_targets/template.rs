//! Data is inert: whatever stands in a variable comes out as it went in, and is never rendered again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};
use stepwell_core::template::{Scope, resolve, variables};

fuzz_target!(|texts: (String, String)| {
    let (template, data) = texts;
    let empty = Map::new();
    let input = Map::from_iter([("data".to_owned(), Value::String(data.clone()))]);
    let scope = Scope { special: &empty, outputs: &empty, input: &input };
    let value = Value::String(template);
    let known = variables(&value);
    if let Ok(resolved) = resolve(&value, &scope) {
        assert!(known.is_ok(), "what can be resolved can be listed");
        let _ = resolved;
    }
    // Beyond the limit on what a template may grow to, a refusal is right.
    if data.len() < 200_000 {
        assert_eq!(resolve(&json!("{{data}}"), &scope).ok(), Some(Value::String(data)));
    }
});
