//! Holds every answer of every test against the schemas of the API's own document.

use std::sync::OnceLock;

use axum::http::Method;
use serde_json::{Value, json};

use crate::site::{Reply, Site};

/// The document, made stricter: what it does not mention may not be sent.
pub(crate) fn document(site: &Site) -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut document =
            serde_json::to_value(stepwell_server::document(site.api.clone())).unwrap();
        for (name, schema) in document["components"]["schemas"].as_object_mut().unwrap() {
            // The fields of a history's entries depend on what happened.
            if schema.get("properties").is_some() && name != "Entry" {
                schema["additionalProperties"] = json!(false);
            }
        }
        document
    })
}

/// Panics if an answer is not as documented.
#[track_caller]
pub(crate) fn check(site: &Site, method: &Method, path: &str, reply: &Reply) {
    if !reply.header("content-type").contains("json") || reply.text.is_empty() {
        return;
    }
    let document = document(site);
    let method = method.as_str().to_lowercase();
    let paths = document["paths"].as_object().unwrap();
    let matching = paths
        .iter()
        .filter(|(template, item)| matches(template, path) && item.get(&method).is_some());
    // A plain path is a better match than one with parameters.
    let operation = matching.min_by_key(|(template, _)| template.matches('{').count());
    let status = reply.status.as_u16().to_string();
    let schema = match operation {
        Some((_, item)) => {
            let responses = &item[&method]["responses"];
            let response = responses.get(&status).unwrap_or(&responses["default"]);
            let (kind, content) = response["content"].as_object().unwrap().iter().next().unwrap();
            assert_eq!(reply.header("content-type").split(';').next().unwrap(), kind);
            content["schema"].clone()
        }
        None => json!({"$ref": "#/components/schemas/Problem"}),
    };
    let root = json!({"allOf": [schema], "components": document["components"]});
    let validator = jsonschema::draft202012::new(&root).unwrap();
    let body = reply.json();
    let errors: Vec<_> = validator.iter_errors(&body).map(|it| it.to_string()).collect();
    assert!(errors.is_empty(), "{method} {path} {status}: {errors:#?}\n{body:#}");
}

/// Whether a path is one of the template's.
fn matches(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if segment(wanted, given) => {}
            _ => return false,
        }
    }
}

fn segment(wanted: &str, given: &str) -> bool {
    let Some(rest) = wanted.strip_prefix('{') else { return wanted == given };
    let suffix = rest.split_once('}').unwrap().1;
    given.strip_suffix(suffix).is_some_and(|value| !value.is_empty() && !value.contains(':'))
}
