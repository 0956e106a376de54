//! JSON Schemas: compiled when a workflow is read, applied to what its runs are given.
//!
//! Nothing is ever fetched: a `$ref` must lead to a place in the same schema. Patterns are matched
//! in time linear in the text, so no payload can make one expensive.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};
use stepwell_core::definition::Workflow;

use super::input::InputList;
use crate::fields::{Field, Tree};
use crate::problem::{Problem, Problems, Report, index_path, key_path, quoted};

/// The only dialect of JSON Schema that documents are written in.
const META_SCHEMA: &str = "https://json-schema.org/draft/2020-12/schema";

/// A payload that is wrong everywhere need not be told so everywhere.
const PROBLEMS_PER_SCHEMA_MAX: usize = 20;

const MESSAGE_CHARS_MAX: usize = 256;
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

/// The compiled schemas of one workflow, and the lists that its steps find in the input.
#[derive(Debug, Default)]
pub struct Checks {
    schemas: Vec<(Owner, Validator)>,
    lists: Vec<InputList>,
}

/// Whose schema it is.
#[derive(Debug)]
enum Owner {
    Workflow,
    Step(String),
}

impl Checks {
    /// Compiles the schemas of a workflow.
    ///
    /// # Errors
    ///
    /// Every schema that is none. A workflow that was [`super::read`] has no such schema.
    pub fn compile(workflow: &Workflow) -> Result<Self, Problems> {
        let report = Report::new();
        let mut schemas = Vec::new();
        let mut add = |owner, schema: &Value, path: &str| match compile(schema) {
            Ok(validator) => schemas.push((owner, validator)),
            Err(faults) => {
                for fault in faults {
                    report.add(Problem::new("bad_schema", fault.message).at(path));
                }
            }
        };
        if let Some(schema) = &workflow.input_schema {
            add(Owner::Workflow, schema, "input_schema");
        }
        for (index, step) in workflow.steps.iter().enumerate() {
            if let Some(schema) = &step.payload_schema {
                let path = key_path(&index_path("steps", index), "payload_schema");
                add(Owner::Step(step.id.clone()), schema, &path);
            }
        }
        report.finish(Some(Self { schemas, lists: InputList::of(workflow) }))
    }

    /// Every problem of what a run is given; none if it fits all schemas and all steps.
    #[must_use]
    pub fn check(&self, payload: &Map<String, Value>) -> Vec<Problem> {
        if self.schemas.is_empty() && self.lists.is_empty() {
            return Vec::new();
        }
        self.check_value(&Value::Object(payload.clone()))
    }

    /// The same for a payload that is still a JSON value, without a copy of it.
    #[must_use]
    pub fn check_value(&self, payload: &Value) -> Vec<Problem> {
        let refusing = self.schemas.iter().filter(|(_, schema)| !schema.is_valid(payload));
        let by_schema = refusing.flat_map(|(owner, schema)| owner.problems(schema, payload));
        let input = payload.as_object();
        let lists = self.lists.iter().filter_map(|list| list.problem(input?));
        by_schema.chain(lists).collect()
    }

    /// The same for a wire that has another name than `payload` for what a run is given.
    #[must_use]
    pub fn check_value_at(&self, payload: &Value, name: &str) -> Vec<Problem> {
        let rename = |problem: Problem| match problem.path.strip_prefix("payload") {
            Some(inner) => {
                let path = format!("{name}{inner}");
                problem.at(path)
            }
            None => problem,
        };
        self.check_value(payload).into_iter().map(rename).collect()
    }
}

impl Owner {
    fn problems(&self, schema: &Validator, payload: &Value) -> Vec<Problem> {
        let help = match self {
            Self::Workflow => "the workflow's input_schema says so".to_owned(),
            Self::Step(id) => format!("the payload_schema of step {} says so", quoted(id)),
        };
        let errors = schema.iter_errors(payload).take(PROBLEMS_PER_SCHEMA_MAX);
        errors
            .map(|error| {
                Problem::new("schema", message(&error))
                    .at(path(payload, &error))
                    .help(help.as_str())
            })
            .collect()
    }
}

/// Reads a schema from a document, with its problems at their places in the text.
pub(super) fn read<T: Tree>(field: &Field<'_, T>) -> Option<Value> {
    let schema = field.json();
    if !schema.is_object() {
        let problem = field.problem("wrong_type", "a JSON Schema must be an object");
        field.report(problem);
        return None;
    }
    for fault in compile(&schema).err().into_iter().flatten() {
        let place = field.nearest(&fault.pointer);
        place.report(place.problem("bad_schema", fault.message));
    }
    Some(schema)
}

/// Why a schema is none.
struct Fault {
    pointer: String,
    message: String,
}

fn compile(schema: &Value) -> Result<Validator, Vec<Fault>> {
    if let Some(other) = schema.get("$schema").filter(|given| *given != META_SCHEMA) {
        let message = format!("{other} is not supported; remove it or write {META_SCHEMA}");
        return Err(vec![Fault { pointer: "/$schema".to_owned(), message }]);
    }
    let faults: Vec<Fault> = jsonschema::draft202012::meta::validator()
        .iter_errors(schema)
        .take(PROBLEMS_PER_SCHEMA_MAX)
        .map(|error| fault(&error))
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_MAX);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .should_validate_formats(true)
        .should_ignore_unknown_formats(false)
        .offline()
        .build(schema)
        .map_err(|error| vec![fault(&error)])
}

/// Says what is wrong with a schema in words that its author can act on.
fn fault(error: &ValidationError<'_>) -> Fault {
    let pointer = error.instance_path().as_str().to_owned();
    let message = message(error);
    let message = match error.kind() {
        ValidationErrorKind::Referencing(_) => {
            let cause = message.split(" and retrieving").next().unwrap_or_default();
            format!("a $ref must lead to a place in the same schema: {cause}")
        }
        ValidationErrorKind::AnyOf { .. } if pointer.ends_with("/type") => {
            "this is not JSON Schema: the types are null, boolean, integer, number, string, array \
             and object"
                .to_owned()
        }
        ValidationErrorKind::Format { format } if format == "regex" => {
            "this is not a pattern that can be matched quickly: it is malformed or too large, or \
             it looks around or back"
                .to_owned()
        }
        _ => {
            let cause = message.split(". Adjust").next().unwrap_or_default();
            format!("this is not JSON Schema: {cause}")
        }
    };
    Fault { pointer, message }
}

/// The error without the value: a payload may hold what must not be repeated in a log.
fn message(error: &ValidationError<'_>) -> String {
    let text = error.masked_with("this value").to_string();
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Where in the payload an error is, as a path that begins with `payload`.
fn path(payload: &Value, error: &ValidationError<'_>) -> String {
    let report = Report::new();
    let field = Field::root(payload, &report).nearest(error.instance_path().as_str());
    let inner = match error.kind() {
        // The error stands at the object; what is meant is the field that is not there.
        ValidationErrorKind::Required { property: Value::String(missing) } => {
            key_path(field.path(), missing)
        }
        _ => field.path().to_owned(),
    };
    match inner.as_str() {
        "" => "payload".to_owned(),
        inner if inner.starts_with('[') => format!("payload{inner}"),
        inner => format!("payload.{inner}"),
    }
}
