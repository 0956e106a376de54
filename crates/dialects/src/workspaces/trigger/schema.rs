//! The format of trigger documents as JSON Schema, for editors that complete and check while typing.

use serde_json::{Value, json};

/// JSON Schema 2020-12 of a trigger document.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stepwell trigger",
        "description": "What makes jobs of a workspace without being asked each time.",
        "type": "object",
        "required": ["name", "kind", "workflow_id"],
        "additionalProperties": false,
        "properties": document(),
        "oneOf": [
            only("manual", &[]),
            only("schedule", &["schedule"]),
            only("webhook", &[]),
            only("file_drop", &["file_drop"]),
        ],
        "$defs": {
            "duration": {
                "description": "A whole number and one of ms, s, m, h or d: 30s, 15m, 7d.",
                "type": "string",
                "pattern": "^[0-9]+(ms|s|m|h|d)$",
            },
        },
    })
}

/// A kind has the part that is called after it, and no other.
fn only(kind: &str, required: &[&str]) -> Value {
    let others = ["schedule", "webhook", "file_drop"].into_iter().filter(|part| *part != kind);
    let others: Vec<Value> = others.map(|part| json!({ "required": [part] })).collect();
    json!({
        "properties": { "kind": { "const": kind } },
        "required": required,
        "not": { "anyOf": others },
    })
}

fn document() -> Value {
    json!({
        "name": {
            "description": "Unique in its workspace.",
            "type": "string", "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$",
        },
        "description": { "description": "For people.", "type": "string", "maxLength": 4096 },
        "enabled": { "description": "It fires at present.", "type": "boolean", "default": true },
        "kind": {
            "description": "What makes it fire.",
            "enum": ["manual", "schedule", "webhook", "file_drop"],
        },
        "workflow_id": {
            "description": "The workflow of its jobs.",
            "type": "string", "minLength": 1, "maxLength": 64,
        },
        "user_id": {
            "description": "The user of its jobs; the trigger itself if not given.",
            "type": "string", "minLength": 1, "maxLength": 128,
        },
        "input": {
            "description": "What the steps are given; texts may hold {{_trigger}}, {{_key}}, {{_fired_at}} and the variables of the kind.",
            "anyOf": [{ "type": "object" }, { "type": "string", "pattern": "^\\s*\\{\\{[^{}]+\\}\\}\\s*$" }],
        },
        "references": {
            "description": "Where large data lies, by name.",
            "type": "object", "maxProperties": 100, "additionalProperties": { "type": "string", "minLength": 1, "maxLength": 2048 },
        },
        "max_attempts": {
            "description": "Attempts of a job in all.",
            "type": "integer", "minimum": 1, "maximum": 100,
        },
        "credits_estimate": {
            "description": "What a job will probably cost.",
            "type": "number", "minimum": 0,
        },
        "priority": {
            "description": "Higher is more urgent.",
            "type": "integer", "minimum": 0, "maximum": 10,
        },
        "schedule": part(&["cron"], &schedule()),
        "webhook": part(&[], &webhook()),
        "file_drop": part(&["directory"], &file_drop()),
    })
}

fn schedule() -> Value {
    json!({
        "cron": {
            "description": "Five fields, or six with seconds first; @hourly, @daily, @weekly, @monthly, @yearly.",
            "type": "string", "minLength": 1, "maxLength": 256,
        },
        "time_zone": {
            "description": "The place whose clock counts, by its IANA name.",
            "type": "string", "default": "UTC",
        },
        "overlap": {
            "description": "What becomes of a firing while the job of the one before goes on.",
            "enum": ["skip", "queue", "allow"], "default": "skip",
        },
        "catch_up": {
            "description": "Firings that were missed are made up for if they are not older than this.",
            "$ref": "#/$defs/duration", "default": "1h",
        },
        "catch_up_mode": {
            "description": "Which of them.",
            "enum": ["latest", "all"], "default": "latest",
        },
    })
}

fn webhook() -> Value {
    json!({
        "secret_env": {
            "description": "The environment variable that holds the secret; if not given, the server makes one.",
            "type": "string", "pattern": "^[A-Z_][A-Z0-9_]{0,127}$",
        },
        "tolerance": {
            "description": "A request that is older, or newer, is refused.",
            "$ref": "#/$defs/duration", "default": "5m",
        },
    })
}

fn file_drop() -> Value {
    json!({
        "directory": {
            "description": "Where files appear: a whole path that the installation allows.",
            "type": "string", "minLength": 1, "maxLength": 1024,
        },
        "glob": { "description": "Which names.", "type": "string", "default": "*" },
        "settle": {
            "description": "A file counts when it has not changed for so long.",
            "$ref": "#/$defs/duration", "default": "5s",
        },
        "after": {
            "description": "Whether a file that has made its job is moved away, or stays and is remembered.",
            "enum": ["move", "remember"], "default": "move",
        },
        "processed": {
            "description": "Where it is moved to, below the directory.",
            "type": "string", "default": "processed/",
        },
    })
}

fn part(required: &[&str], properties: &Value) -> Value {
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
    })
}
