//! A small world for the tests: ids that count up, a clock that stands, runs that are really decided.

use std::sync::Arc;

use serde_json::{Value, json};
use stepwell_core::command::{Carried, Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::decide::{At, decide};
use stepwell_core::definition::Workflow;
use stepwell_core::effect::Effect;
use stepwell_core::entry::Record;
use stepwell_core::id::{LeaseId, RunId};
use stepwell_core::run::{Header, Run};
use stepwell_core::step::Outcome;
use stepwell_core::time::Timestamp;
use stepwell_dialects::commands::{self, Accept, Envelope, ReferencePolicy, Rejection};
use stepwell_dialects::workflow::{self, Checks};

/// 2026-01-05T08:00:00Z
const START_MS: i64 = 1_767_600_000_000;

/// A run with its history, driven by the real decisions.
pub(crate) struct World {
    pub(crate) run: Run,
    pub(crate) history: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
    now_ms: i64,
    ids: u32,
}

impl World {
    /// A started run of the header.
    pub(crate) fn start(header: Header) -> Self {
        Self::start_with(header, Vec::new())
    }

    /// The same, with steps that an earlier run has finished.
    pub(crate) fn start_with(header: Header, carried: Vec<Carried>) -> Self {
        let now_ms = header.created_at.as_millis();
        let run = Run::new(Arc::new(header));
        let mut world = Self { run, history: Vec::new(), effects: Vec::new(), now_ms, ids: 0 };
        world.tell(&Command::Start { carried });
        world
    }

    /// Lets some time pass.
    pub(crate) fn wait_secs(&mut self, secs: i64) {
        self.now_ms += secs * 1_000;
    }

    /// Decides a command and keeps what was decided.
    #[track_caller]
    pub(crate) fn tell(&mut self, command: &Command) {
        let now = Timestamp::from_millis(self.now_ms);
        let ids = &mut self.ids;
        let mut fresh = || {
            *ids += 1;
            lease(*ids).0
        };
        let decision = decide(&self.run, command, &mut At { now, fresh: &mut fresh }).unwrap();
        self.run = decision.run;
        self.effects.extend(decision.effects);
        let version = self.run.version;
        self.history.push(Record { version, at: now, entries: decision.entries });
    }

    /// The worker of a step takes its attempt.
    #[track_caller]
    pub(crate) fn ack(&mut self, step: &str) {
        let (step, fence) = self.attempt(step);
        self.tell(&Command::Ack { step, fence });
    }

    /// The worker of a step answers.
    #[track_caller]
    pub(crate) fn report(&mut self, step: &str, outcome: Outcome) {
        let (step, fence) = self.attempt(step);
        self.tell(&Command::Report { step, fence, outcome, spent: Credits::ZERO });
    }

    fn attempt(&self, step: &str) -> (StepRef, Fence) {
        let index = self.run.step_named(step).unwrap();
        let lease = self.run.steps[index.position()].lease.unwrap();
        (StepRef::Id(step.to_owned()), Fence { attempt: lease.attempt, lease: lease.id })
    }
}

/// The lease that is drawn as the number `number`.
pub(crate) fn lease(number: u32) -> LeaseId {
    format!("00000000-0000-4000-8000-{number:012}").parse().unwrap()
}

/// A run's id.
pub(crate) fn run_id(number: u32) -> RunId {
    format!("019b8d3c-0000-7000-8000-{number:012}").parse().unwrap()
}

/// When the world begins.
pub(crate) fn start() -> Timestamp {
    Timestamp::from_millis(START_MS)
}

/// A workflow that must be sound.
#[track_caller]
pub(crate) fn workflow(text: &str) -> Arc<Workflow> {
    match workflow::read(text.as_bytes()) {
        Ok(workflow) => Arc::new(workflow),
        Err(problems) => panic!("{}", problems.in_file("workflow.yaml")),
    }
}

/// An envelope with nothing wrong; `changes` replaces fields, and null removes them.
pub(crate) fn body(changes: &Value) -> Vec<u8> {
    let mut body = json!({
        "tenant_id": "contoso",
        "request_type": "document.ingest",
        "input_ref": "https://store.example/in/1.pdf",
        "output_ref": "https://store.example/out/1.json",
        "payload": {"language": "en"},
        "schema_version": "1",
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

/// The envelope of [`body`].
#[track_caller]
pub(crate) fn envelope(changes: &Value) -> Envelope {
    commands::envelope(&body(changes)).unwrap()
}

/// What becomes of the envelope of [`body`] under a protocol and a policy.
pub(crate) fn accept(
    changes: &Value,
    protocol: &Arc<Workflow>,
    references: &ReferencePolicy,
) -> Result<Header, Rejection> {
    let checks = Checks::compile(protocol).unwrap();
    let at = Accept { run: run_id(1), actor: "intake".to_owned(), now: start(), references };
    commands::accept(envelope(changes), protocol, &checks, at)
}

/// The header of a job that was accepted.
#[track_caller]
pub(crate) fn accepted(changes: &Value, protocol: &str) -> Header {
    accept(changes, &workflow(protocol), &ReferencePolicy::default()).unwrap()
}

/// Everything that is wrong with a request, as people read it.
pub(crate) fn refusal(rejection: &Rejection) -> String {
    format!("{} {}\n{}", rejection.kind.status(), rejection.kind.code(), rejection.problems)
}

/// A protocol of two steps, one after the other.
pub(crate) const TWO_STEPS: &str = "
name: intake
request_type: document.ingest
steps:
  - {id: ocr, type: OCR, service: ocr-service, outputs: {text_ref: text}}
  - {id: file, type: SIS, service: sis-service, params: {text: \"{{text_ref}}\", to: \"{{_output_ref}}\"}}
";
