//! What one firing of a trigger asks for.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use stepwell_core::template::{self, Scope, TemplateError};
use stepwell_core::time::Timestamp;

use super::super::request::{JobRequest, KEY_CHARS_MAX};
use super::Trigger;
use crate::payload::{PAYLOAD_BYTES_MAX, size};
use crate::problem::{Problem, Problems, key_path};

/// One firing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Firing {
    /// what makes it the same firing, however often it is made
    pub key: String,
    /// what the templates may name beside what every firing provides: `_scheduled_for`, or `_body` and
    /// `_headers`, or `_file`
    pub variables: Map<String, Value>,
    /// goes over what the document says: fields of the input that whoever fires it by hand gives
    pub input: Map<String, Value>,
}

impl Trigger {
    /// The request of one firing at this moment.
    ///
    /// # Errors
    ///
    /// A template that names something the firing does not have, or an input that is no object or too
    /// large.
    pub fn request(&self, firing: Firing, now: Timestamp) -> Result<JobRequest, Problems> {
        let mut variables = firing.variables;
        for (name, value) in [
            ("_trigger", self.name.clone()),
            ("_key", firing.key.clone()),
            ("_fired_at", now.to_string()),
        ] {
            variables.insert(name.to_owned(), value.into());
        }
        let nothing = Map::new();
        let scope = Scope { special: &variables, outputs: &nothing, input: &nothing };
        let resolve = |field, template: &Value| {
            template::resolve(template, &scope).map_err(|error| unresolved(field, &error))
        };
        let mut input = object(resolve("input", &self.input)?)?;
        input.extend(firing.input);
        check_size(&input)?;
        let mut references = Map::new();
        for (name, template) in &self.references {
            references.insert(name.clone(), text(resolve("references", template)?).into());
        }
        Ok(JobRequest {
            workspace_id: None,
            workflow_id: self.workflow_id.clone(),
            user_id: self.user_id.clone().unwrap_or_else(|| format!("trigger:{}", self.name)),
            trigger_type: self.kind.trigger_type(),
            idempotency_key: Some(self.idempotency_key(&firing.key)),
            max_attempts: self.max_attempts,
            credits_estimate: self.credits_estimate,
            input,
            references,
            trace_id: None,
            priority: self.priority,
        })
    }

    /// The key under which a firing makes its job once, whatever crashes.
    #[must_use]
    pub fn idempotency_key(&self, firing: &str) -> String {
        let key = format!("trigger:{}:{firing}", self.name);
        if key.chars().count() <= KEY_CHARS_MAX {
            return key;
        }
        // A long path is as good as its hash, and fits.
        let hash: [u8; 32] = Sha256::digest(firing).into();
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("trigger:{}:sha256:{hash}", self.name)
    }
}

fn unresolved(field: &str, error: &TemplateError) -> Problem {
    Problem::new("unresolved", error.to_string())
        .at(field)
        .help("what fired the trigger does not have it; change the template, or the sender")
}

fn object(value: Value) -> Result<Map<String, Value>, Problem> {
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(Problem::new("wrong_type", "what fired the trigger is not an object")
            .at("input")
            .help("name its place in the document, such as input: {message: \"{{_body}}\"}")),
    }
}

fn check_size(input: &Map<String, Value>) -> Result<(), Problem> {
    // Each part is within bounds, but the sum of what was resolved and what was given may not be.
    let bytes: usize = input.values().map(size).sum();
    if bytes <= PAYLOAD_BYTES_MAX {
        return Ok(());
    }
    let problem = Problem::new("too_large", format!("the input has {bytes} bytes"));
    Err(problem
        .at(key_path("", "input"))
        .help("keep large data in object storage and pass a reference"))
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
