//! The message to a platform worker.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::Command;
use stepwell_core::id::StepIndex;
use stepwell_core::step::Outcome;
use stepwell_dialects::commands::directive::{CallbackUrls, render};

use crate::world::{TWO_STEPS, World, accepted};

fn urls() -> CallbackUrls {
    CallbackUrls {
        ack: "https://stepwell.example/v1/callbacks/ack?token=a".to_owned(),
        result: "https://stepwell.example/v1/callbacks/result?token=r".to_owned(),
    }
}

fn shown(world: &World, step: usize) -> Value {
    let urls = urls();
    serde_json::to_value(render(&world.run, StepIndex::at(step), &urls).unwrap()).unwrap()
}

#[test]
fn a_directive_is_what_platform_workers_expect() {
    // D-033, X-141: the fields of the contract; its callback URLs are ours, not the client's.
    let world = World::start(accepted(
        &json!({
            "correlation_id": "c-1",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "callback_urls": ["https://client.example/done"],
        }),
        TWO_STEPS,
    ));
    let urls = urls();
    let message = render(&world.run, StepIndex::at(0), &urls).unwrap();
    expect![[r#"
        {
          "jobId": "019b8d3c-0000-7000-8000-000000000001",
          "tenant_id": "contoso",
          "stepId": "ocr",
          "protocol_id": "intake",
          "step_type": "OCR",
          "attempt_no": 1,
          "lease_id": "00000000-0000-4000-8000-000000000001",
          "input_ref": "https://store.example/in/1.pdf",
          "workspace_ref": "workspace/019b8d3c-0000-7000-8000-000000000001",
          "output_ref": "https://store.example/out/1.json",
          "payload": {
            "language": "en"
          },
          "callback_urls": {
            "ack": "https://stepwell.example/v1/callbacks/ack?token=a",
            "result": "https://stepwell.example/v1/callbacks/result?token=r"
          },
          "correlation_id": "c-1",
          "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          "service": "ocr-service",
          "timeout_at": "2026-01-05T08:15:00.000Z"
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&message).unwrap());
}

#[test]
fn every_field_of_the_contract_is_there_even_without_a_value() {
    // D-033: a worker never has to ask whether a field exists.
    let world = World::start(accepted(&json!({}), TWO_STEPS));
    let shown = shown(&world, 0);
    let fields: BTreeSet<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    let contract = [
        "jobId",
        "tenant_id",
        "stepId",
        "protocol_id",
        "step_type",
        "attempt_no",
        "lease_id",
        "input_ref",
        "workspace_ref",
        "output_ref",
        "payload",
        "callback_urls",
        "correlation_id",
        "traceparent",
    ];
    let extensions = ["service", "timeout_at"];
    assert_eq!(fields, contract.into_iter().chain(extensions).collect());
    assert_eq!(shown["correlation_id"], Value::Null);
}

#[test]
fn a_later_step_gets_its_own_params_filled_in() {
    let mut world = World::start(accepted(&json!({}), TWO_STEPS));
    let result = json!({"data": {"text": "workspace/text-1"}});
    world.report("ocr", Outcome::Succeeded { result });
    let shown = shown(&world, 1);
    assert_eq!(
        shown["payload"],
        json!({"text": "workspace/text-1", "to": "https://store.example/out/1.json"})
    );
    assert_eq!((&shown["stepId"], &shown["service"]), (&json!("file"), &json!("sis-service")));
}

#[test]
fn each_attempt_can_be_told_from_every_other() {
    // D-034, X-144: a new try has a new number and a new lease; an ack does not put it off.
    let mut world = World::start(accepted(&json!({}), TWO_STEPS));
    let key = |world: &World| {
        let shown = shown(world, 0);
        ["jobId", "stepId", "attempt_no", "lease_id"].map(|field| shown[field].to_string())
    };
    let first = key(&world);
    world.ack("ocr");
    assert_eq!(key(&world), first, "rendering again is a repetition");
    world.wait_secs(15 * 60);
    world.tell(&Command::Wake);
    let second = key(&world);
    assert_eq!(first[..2], second[..2]);
    assert_eq!((first[2].as_str(), second[2].as_str()), ("1", "2"));
    assert_ne!(first[3], second[3]);
}

#[test]
fn a_question_of_a_poll_says_which_one_it_is() {
    let protocol = "
name: copy
request_type: document.ingest
steps: [{id: copy, type: 'copy.{{language}}', pool: p, poll: {interval: 30s, timeout: 1h}}]
";
    let mut world = World::start(accepted(&json!({}), protocol));
    assert_eq!(shown(&world, 0).get("poll"), None, "it starts work");
    assert_eq!(shown(&world, 0)["step_type"], "copy.en");
    world.report("copy", Outcome::Incomplete);
    assert!(render(&world.run, StepIndex::at(0), &urls()).is_none(), "nothing is under way");
    world.wait_secs(30);
    world.tell(&Command::Wake);
    let question = shown(&world, 0);
    assert_eq!((&question["poll"], &question["attempt_no"]), (&json!(1), &json!(1)));
}
