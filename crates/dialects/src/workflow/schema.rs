//! The format of workflow documents as JSON Schema, for editors that complete and check while typing.
//!
//! It says which fields there are, of which type, and what they are for. What it cannot say (names
//! that must exist, cycles, placeholders) is for [`super::read`] alone.

use serde_json::{Value, json};

/// JSON Schema 2020-12 of a workflow document.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stepwell workflow",
        "description": "A graph of steps for one run.",
        "type": "object",
        "required": ["name", "steps"],
        "additionalProperties": false,
        "properties": document(),
        "$defs": {
            "step": step(),
            "compensation_step": compensation_step(),
            "retry": retry(),
            "exponential": exponential(),
            "poll": poll(),
            "duration": {
                "description": "A whole number and one of ms, s, m, h or d: 30s, 15m, 7d.",
                "type": "string",
                "pattern": "^[0-9]+(ms|s|m|h|d)$",
            },
            "label": label(),
            "credits": {
                "description": "An amount with at most six digits after the point.",
                "type": "number",
                "minimum": 0,
            },
            "json_schema": {
                "description": "JSON Schema 2020-12; a $ref may only point into the schema itself.",
                "$ref": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
            },
        },
    })
}

fn document() -> Value {
    json!({
        "name": described(
            "Unique; versions are counted by the server.",
            &json!({ "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$" }),
        ),
        "description": described("For people.", &json!({ "type": "string", "maxLength": 4096 })),
        "request_type": described(
            "What POST /v1/commands addresses the workflow by.",
            &json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$" }),
        ),
        "cancel": described(
            "What a cancel means: let the step under way end, or end everything now.",
            &words(&["drain", "immediate"], "drain"),
        ),
        "on_step_failure": described(
            "What becomes of the rest when a step fails for good.",
            &words(&["skip_descendants", "cancel_rest"], "skip_descendants"),
        ),
        "retry": described("For steps without a retry of their own.", &definition("retry")),
        "run_retry": described("Attempts of the whole run.", &definition("retry")),
        "credits": described(
            "What a run will probably cost; if not given, what its steps say together.",
            &definition("credits"),
        ),
        "timeout": described(
            "For steps without a timeout of their own; 15m if not given.",
            &definition("duration"),
        ),
        "input_schema": described("What a run must be given.", &definition("json_schema")),
        "steps": described(
            "Without any `after` they follow one another.",
            &json!({
                "type": "array", "minItems": 1, "maxItems": 1000, "items": definition("step"),
            }),
        ),
        "compensations": described(
            "Sequences that undo what a failed step left behind.",
            &json!({
                "type": "object",
                "maxProperties": 100,
                "propertyNames": definition("label"),
                "additionalProperties": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 1000,
                    "items": definition("compensation_step"),
                },
            }),
        ),
    })
}

fn step() -> Value {
    let mut properties = any_step();
    let graph = json!({
        "payload_schema": described(
            "What the run's payload must look like for this step.",
            &definition("json_schema"),
        ),
        "after": described(
            "Steps that must have ended well before.",
            &json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true }),
        ),
        "depends_on": described(
            "Another name for after.",
            &json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true }),
        ),
        "gate": described("A door that an event must open first.", &definition("label")),
        "on_failure": described("The compensation to run.", &definition("label")),
    });
    if let (Some(properties), Value::Object(graph)) = (properties.as_object_mut(), graph) {
        properties.extend(graph);
    }
    step_of(&properties)
}

fn compensation_step() -> Value {
    step_of(&any_step())
}

fn step_of(properties: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["id", "type"],
        "oneOf": [{ "required": ["pool"] }, { "required": ["service"] }],
        "additionalProperties": false,
        "properties": properties,
    })
}

fn any_step() -> Value {
    json!({
        "id": described("Unique in the workflow.", &definition("label")),
        "type": described(
            "The kind of work, in the worker's words; may hold {{placeholders}}.",
            &json!({ "type": ["string", "number", "boolean"], "minLength": 1, "maxLength": 256 }),
        ),
        "pool": described("Where its directives wait for workers.", &definition("label")),
        "service": described("Another name for pool.", &definition("label")),
        "params": described(
            "What the worker is given; texts may hold {{placeholders}}. Without it, the run's payload.",
            &json!({}),
        ),
        "when": described(
            "Asked once, when the step's turn has come; if it does not hold, the step is passed over. \
             Such as {{approved}}, {{country}} == 'NO', {{size}} > 3 and not {{kind}} in ['a', 'b'].",
            &json!({ "type": ["string", "boolean"], "minLength": 1, "maxLength": 1024 }),
        ),
        "for_each": described(
            "The step is done once for each item of this list: a list, or exactly one {{placeholder}}. \
             Its texts may use {{item}} and {{_item_index}}.",
            &json!({ "anyOf": [
                { "type": "array", "maxItems": 10000 },
                { "type": "string", "pattern": "^\\s*\\{\\{[^{}]+\\}\\}\\s*$" },
            ] }),
        ),
        "max_items": described(
            "A longer list fails the step; only with for_each.",
            &json!({ "type": "integer", "minimum": 1, "maximum": 10000, "default": 1000 }),
        ),
        "max_parallel": described(
            "How many items may be under way at the same time; all if not given. Only with for_each.",
            &json!({ "type": "integer", "minimum": 1, "maximum": 10000 }),
        ),
        "outputs": described(
            "Variable: where it stands in the result; with for_each, the list of what each item's holds.",
            &json!({
                "type": "object",
                "maxProperties": 100,
                "propertyNames": { "pattern": "^[A-Za-z][A-Za-z0-9_-]{0,127}$" },
                "additionalProperties": { "type": ["string", "number"], "minLength": 1, "maxLength": 256 },
            }),
        ),
        "timeout": described("How long an attempt may take.", &definition("duration")),
        "on_timeout": described(
            "What follows an attempt that took longer.",
            &words(&["republish", "fail"], "republish"),
        ),
        "retry": described("Attempts of this step.", &definition("retry")),
        "credits": described("What it will probably cost.", &definition("credits")),
        "poll": described("How an unfinished result is asked for again.", &definition("poll")),
        "continue_on_failure": described(
            "Its failure neither fails the run nor skips what comes after it.",
            &json!({ "type": "boolean", "default": false }),
        ),
    })
}

fn retry() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "max_attempts": described(
                "Attempts in all, the first included.",
                &json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 3 }),
            ),
            "interval": described("The same rest after each attempt.", &definition("duration")),
            "delays": described(
                "One rest after each attempt; the last one repeats.",
                &json!({
                    "type": "array", "minItems": 1, "maxItems": 100, "items": definition("duration"),
                }),
            ),
            "exponential": described("A rest that grows.", &definition("exponential")),
            "jitter": described(
                "How far a rest may be moved either way.",
                &json!({ "type": "string", "pattern": "^(100|[0-9]{1,2})%$" }),
            ),
        },
        "not": {
            "anyOf": [
                { "required": ["interval", "delays"] },
                { "required": ["interval", "exponential"] },
                { "required": ["delays", "exponential"] },
            ],
        },
    })
}

fn exponential() -> Value {
    json!({
        "type": "object",
        "required": ["first"],
        "additionalProperties": false,
        "properties": {
            "first": described("After the first attempt.", &definition("duration")),
            "factor": described(
                "Growth from one rest to the next.",
                &json!({ "type": "integer", "minimum": 1, "maximum": 100, "default": 2 }),
            ),
            "cap": described("Never longer than this; 1h if not given.", &definition("duration")),
        },
    })
}

fn poll() -> Value {
    json!({
        "type": "object",
        "required": ["interval", "timeout"],
        "additionalProperties": false,
        "properties": {
            "interval": described("From one answer to the next question.", &definition("duration")),
            "timeout": described("From the first unfinished answer to giving up.", &definition("duration")),
        },
    })
}

fn label() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" })
}

fn definition(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn words(words: &[&str], default: &str) -> Value {
    json!({ "enum": words, "default": default })
}

fn described(text: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    schema["description"] = text.into();
    schema
}
