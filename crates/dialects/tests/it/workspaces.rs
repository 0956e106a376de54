//! The workspaces dialect: jobs with attempts, credits and triggers.

mod accept;
mod directive;
mod envelope;
mod event;
mod hostile;
mod pages;
mod redact;
mod request;
mod status;
mod trigger;
mod trigger_refused;
mod view;

use serde_json::{Value, json};
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::id::Tenant;
use stepwell_core::run::Header;
use stepwell_core::step::{Outcome, StepError};
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::commands::{ReferencePolicy, Rejection};
use stepwell_dialects::workflow::Checks;
use stepwell_dialects::workspaces::{self, Accept, Defaults, JobRequest, Key, request::read};

use crate::world::{World, run_id, start, workflow};

/// Two steps of one kind of worker, with what they cost.
const TRANSCRIBE: &str = "
name: transcribe
input_schema:
  type: object
  required: [language]
  properties: {language: {type: string}, speakers: {type: integer, minimum: 1}}
steps:
  - {id: listen, type: LISTEN, pool: media, credits: 2.5, params: {from: \"{{_references.audio}}\", by: \"{{_user_id}}\"}}
  - {id: write, type: WRITE, pool: media, credits: 0.25}
";

/// A request with nothing wrong; `changes` replaces fields, and null removes them.
fn body(changes: &Value) -> Vec<u8> {
    let mut body = json!({
        "workflow_id": "transcribe",
        "user_id": "user-7",
        "idempotency_key": "upload-42",
        "input": {"language": "en"},
        "references": {"audio": "s3://media/42.wav"},
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    });
    let fields = body.as_object_mut().unwrap();
    for (key, value) in changes.as_object().unwrap() {
        if value.is_null() {
            fields.remove(key);
        } else {
            fields.insert(key.clone(), value.clone());
        }
    }
    body.to_string().into_bytes()
}

/// The request of [`body`].
#[track_caller]
fn request(changes: &Value) -> JobRequest {
    read(&body(changes), None).unwrap()
}

/// What becomes of a request in the workspace `atelier`, with credits that are charged.
fn accept(request: JobRequest, document: &str) -> Result<(Header, Option<Key>), Rejection> {
    let workflow = workflow(document);
    let checks = Checks::compile(&workflow).unwrap();
    let defaults = Defaults { charged: true, ..Defaults::default() };
    let at = Accept {
        run: run_id(1),
        workspace: &Tenant::new("atelier"),
        actor: "portal".to_owned(),
        now: start(),
        traceparent: None,
        references: &ReferencePolicy::default(),
        defaults: &defaults,
    };
    workspaces::accept(request, &workflow, &checks, at)
}

/// The header of a job that was accepted.
#[track_caller]
fn accepted(changes: &Value) -> Header {
    accept(request(changes), TRANSCRIBE).unwrap().0
}

/// A job whose message waits for a worker.
fn job(changes: &Value) -> World {
    World::start(accepted(changes))
}

fn done() -> Outcome {
    Outcome::Succeeded { result: json!({"words": 812}) }
}

fn failed(message: &str, retryable: bool) -> Outcome {
    let error = StepError::new("TranscriptionFailed", message);
    Outcome::Failed { error, retryable, retry_after: None }
}

/// The worker of a step answers, and says what it has spent.
#[track_caller]
fn report(world: &mut World, step: &str, outcome: Outcome, spent: &str) {
    let index = world.run.step_named(step).unwrap();
    let lease = world.run.steps[index.position()].lease.unwrap();
    let fence = Fence { attempt: lease.attempt, lease: lease.id };
    let spent: Credits = spent.parse().unwrap();
    world.tell(&Command::Report { step: StepRef::Id(step.to_owned()), fence, outcome, spent });
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn what_made_a_job_is_one_of_four_words() {
    // C-007: anything else is refused.
    for (word, kind) in TriggerKind::WORDS {
        assert_eq!((kind.word(), TriggerKind::of_word(word)), (word, Some(kind)));
        assert_eq!(json!(kind), word);
        assert_eq!(request(&json!({"trigger_type": word})).trigger_type, kind);
    }
    for word in ["cron", "Manual", ""] {
        assert!(read(&body(&json!({"trigger_type": word})), None).is_err(), "{word}");
    }
}
