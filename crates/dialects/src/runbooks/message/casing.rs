//! Keys that mean the same whatever their capitals are.

use serde_json::Value;

use crate::problem::{Problem, Report, key_path, quoted};

/// Gives the keys of an object that are `names` but for their capitals the capitals of `names`, so
/// that one reader serves all senders. Other keys, and values that are no object, stay as they are.
///
/// A name that is there twice is reported: no one can tell which of the two is meant.
pub(in crate::runbooks) fn recase(value: &mut Value, path: &str, names: &[&str], report: &Report) {
    let Value::Object(fields) = value else { return };
    for name in names {
        let found = fields.keys().filter(|key| key.eq_ignore_ascii_case(name));
        let mut keys: Vec<String> = found.cloned().collect();
        if keys.len() > 1 {
            report.add(twice(path, name, &keys));
        }
        if let Some(value) = keys.pop().and_then(|key| fields.remove(&key)) {
            fields.insert((*name).to_owned(), value);
        }
    }
}

fn twice(path: &str, name: &str, keys: &[String]) -> Problem {
    // Two are enough to see it; a hostile sender could write one name in thousands of ways.
    let keys: Vec<String> = keys.iter().take(2).map(|key| quoted(key)).collect();
    let message = format!("this field is there more than once: {}", keys.join(", "));
    let help = format!("send {name} once; capitals make no difference");
    Problem::new("duplicate_key", message).at(key_path(path, name)).help(help)
}
