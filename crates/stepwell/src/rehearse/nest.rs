//! Values by dotted paths, as templates and outputs name them.

use serde_json::{Map, Value};

/// Puts a value where a path such as `site.name` looks for it.
pub(super) fn put(object: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        object.insert(path.to_owned(), value);
        return;
    };
    let inner = object.entry(first).or_insert(Value::Null);
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_that_share_a_beginning_share_an_object() {
        let mut object = Map::new();
        for (path, value) in [("a.b", 1), ("a.c.d", 2), ("e", 3)] {
            put(&mut object, path, value.into());
        }
        assert_eq!(Value::Object(object), json!({ "a": { "b": 1, "c": { "d": 2 } }, "e": 3 }));
    }
}
