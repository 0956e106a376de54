//! The format of runbook documents as JSON Schema, for editors that complete and check while typing.
//!
//! It says which fields there are, of which type, and what they are for. What it cannot say (names
//! that must exist, placeholders, the order of phases) is for [`super::read`] alone. Unknown keys
//! pass, as they do there.

use serde_json::{Value, json};

/// A name without quotes that looks like a number is still a name.
const SCALAR: [&str; 3] = ["string", "number", "boolean"];

/// JSON Schema 2020-12 of a runbook document.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stepwell runbook",
        "description": "A timeline of phases for a batch of members.",
        "type": "object",
        "required": ["name", "data_source", "phases"],
        "properties": document(),
        "$defs": {
            "data_source": data_source(),
            "multi_valued_column": multi_valued_column(),
            "phase": phase(),
            "step": step(&with_rollback(any_step())),
            "undoing_step": undoing_step(),
            "retry": retry(),
            "poll": poll(),
            "line": line(),
            "duration": {
                "description": "A whole number and one of s, m, h or d: 30s, 15m, 7d.",
                "type": "string",
                "pattern": "^[0-9]+[smhd]$",
            },
            "wait": {
                "description": "A duration of at least a second.",
                "type": "string",
                "pattern": "^0*[1-9][0-9]*[smhd]$",
            },
            "environment_variable": {
                "description": "The name of an environment variable, never its value.",
                "type": "string",
                "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,127}$",
            },
        },
    })
}

fn document() -> Value {
    json!({
        "name": described("Unique; versions are counted by the server.", &definition("line")),
        "description": described("For people.", &json!({ "type": "string", "maxLength": 4096 })),
        "data_source": described("Where the members come from.", &definition("data_source")),
        "retry": described("For steps without a retry of their own.", &definition("retry")),
        "init": described(
            "Once for each batch, one after another, before any phase.",
            &list("step", 0, 1000),
        ),
        "phases": described("The timeline.", &list("phase", 1, 100)),
        "on_member_removed": described(
            "For a member that left its batch.",
            &list("undoing_step", 0, 1000),
        ),
        "rollbacks": described(
            "Sequences that undo what a failed step left behind.",
            &json!({
                "type": "object",
                "maxProperties": 100,
                "propertyNames": definition("line"),
                "additionalProperties": list("undoing_step", 1, 1000),
            }),
        ),
    })
}

fn data_source() -> Value {
    let is = |words: &[&str]| json!({ "properties": { "type": { "enum": words } } });
    let lacks = |keys: &[&str]| {
        let each = keys.iter().map(|key| json!({ "required": [key] }));
        json!({ "not": { "anyOf": each.collect::<Vec<_>>() } })
    };
    let when = |words: &[&str], then: Value| json!({ "if": is(words), "then": then });
    json!({
        "type": "object",
        "required": ["type", "connection", "primary_key"],
        "oneOf": [{ "required": ["batch_time_column"] }, { "required": ["batch_time"] }],
        "allOf": [
            when(&["dataverse", "databricks", "postgres", "sqlite"], json!({ "required": ["query"] })),
            when(&["databricks"], json!({ "required": ["warehouse_id"] })),
            when(&["dataverse", "postgres", "sqlite", "http"], lacks(&["warehouse_id"])),
            when(&["dataverse", "databricks", "postgres", "sqlite"], lacks(&["rows"])),
            when(&["csv"], lacks(&["query", "rows", "warehouse_id"])),
        ],
        "properties": data_source_fields(),
    })
}

fn data_source_fields() -> Value {
    let text = |chars_max: u32| json!({ "type": "string", "minLength": 1, "maxLength": chars_max });
    json!({
        "type": described(
            "The system that is asked.",
            &json!({ "enum": ["dataverse", "databricks", "postgres", "sqlite", "csv", "http"] }),
        ),
        "connection": described(
            "The environment variable that holds the connection string, URL or path.",
            &definition("environment_variable"),
        ),
        "warehouse_id": described(
            "databricks: the environment variable that holds the id of the warehouse.",
            &definition("environment_variable"),
        ),
        "query": described(
            "SQL; for http, what follows the URL of the connection.",
            &text(65_536),
        ),
        "rows": described("http: the dotted path of the list of rows in the answer.", &text(256)),
        "primary_key": described("The column that identifies a member.", &definition("line")),
        "batch_time_column": described(
            "Members with the same moment in this column are a batch; the moment is its T-0.",
            &definition("line"),
        ),
        "batch_time": described(
            "Whoever is new joins a batch that starts now.",
            &json!({ "const": "immediate" }),
        ),
        "multi_valued_columns": described(
            "Columns that hold several values.",
            &list("multi_valued_column", 0, 1000),
        ),
        "columns": described(
            "Every column the source returns; placeholders are then held against the list.",
            &json!({
                "type": "array", "maxItems": 1000, "uniqueItems": true, "items": definition("line"),
            }),
        ),
    })
}

fn multi_valued_column() -> Value {
    json!({
        "type": "object",
        "required": ["name", "format"],
        "properties": {
            "name": described("The column.", &definition("line")),
            "format": described(
                "How its values are told apart.",
                &json!({ "enum": ["semicolon_delimited", "comma_delimited", "json_array"] }),
            ),
        },
    })
}

fn phase() -> Value {
    json!({
        "type": "object",
        "required": ["name", "offset", "steps"],
        "properties": {
            "name": described("Unique in the runbook.", &definition("line")),
            "offset": described(
                "When it is due: T-5d, T-4h, T-30m, T-0, or after the start T+2h.",
                &json!({ "type": "string", "pattern": "^T(-0|[-+][0-9]+[dhms])$" }),
            ),
            "steps": described("One after another, for each member.", &list("step", 1, 1000)),
        },
    })
}

fn step(properties: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["name", "worker_id", "function"],
        "properties": properties,
    })
}

fn undoing_step() -> Value {
    let mut undoing = step(&any_step());
    undoing["not"] = json!({ "required": ["on_failure"] });
    undoing
}

fn with_rollback(mut properties: Value) -> Value {
    properties["on_failure"] =
        described("The rollback to run when it fails for good.", &definition("line"));
    properties
}

fn any_step() -> Value {
    json!({
        "name": described("For people.", &definition("line")),
        "worker_id": described(
            "The pool of workers.",
            &json!({ "type": SCALAR, "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" }),
        ),
        "function": described(
            "What the worker calls; may hold {{placeholders}}.",
            &json!({ "type": SCALAR, "minLength": 1, "maxLength": 256 }),
        ),
        "params": described(
            "What the function is given; texts may hold {{placeholders}}.",
            &json!({ "type": "object" }),
        ),
        "output_params": described(
            "Variable: where it stands in the result.",
            &json!({
                "type": "object",
                "maxProperties": 100,
                "propertyNames": { "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,127}$" },
                "additionalProperties": { "type": SCALAR, "minLength": 1, "maxLength": 256 },
            }),
        ),
        "poll": described("How an unfinished result is asked for again.", &definition("poll")),
        "retry": described(
            "Replaces the retry of the document as a whole.",
            &definition("retry"),
        ),
        "timeout": described("How long an attempt may take; 7d if not given.", &definition("wait")),
    })
}

fn retry() -> Value {
    json!({
        "type": "object",
        "properties": {
            "max_retries": described(
                "Beside the first attempt; 0 means none.",
                &json!({ "type": "integer", "minimum": 0, "maximum": 999, "default": 0 }),
            ),
            "interval": described("From a failure to the next attempt.", &definition("duration")),
        },
    })
}

fn poll() -> Value {
    json!({
        "type": "object",
        "required": ["interval", "timeout"],
        "properties": {
            "interval": described("From one answer to the next question.", &definition("wait")),
            "timeout": described(
                "From the first unfinished answer to giving up.",
                &definition("wait"),
            ),
        },
    })
}

/// A name for people: one line, without blanks around it.
///
/// Control characters are spelled out: some editors do not know `\p{Cc}`.
fn line() -> Value {
    let control = "\\u0000-\\u001f\\u007f-\\u009f";
    let pattern = format!("^[^\\s{control}]([^{control}]*[^\\s{control}])?$");
    json!({ "type": SCALAR, "maxLength": 128, "pattern": pattern })
}

fn list(items: &str, least: u32, most: u32) -> Value {
    json!({ "type": "array", "minItems": least, "maxItems": most, "items": definition(items) })
}

fn definition(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn described(text: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["description"] = text.into();
    schema
}
