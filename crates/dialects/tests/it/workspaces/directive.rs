//! What workers of jobs are given, and what they answer.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::Command;
use stepwell_core::credit::Credits;
use stepwell_core::id::StepIndex;
use stepwell_dialects::commands::directive::CallbackUrls;
use stepwell_dialects::commands::outcome;
use stepwell_dialects::resume::resume;
use stepwell_dialects::workspaces::directive::render;
use stepwell_dialects::workspaces::envelope;
use stepwell_dialects::workspaces::outcome::heartbeats;

use super::{done, failed, job, pretty};
use crate::world::{World, refusal, run_id, start};

fn directive(world: &World, step: usize) -> Value {
    let urls = CallbackUrls { ack: "https://a".to_owned(), result: "https://r".to_owned() };
    json!(render(&world.run, StepIndex::at(step), &urls))
}

#[test]
fn a_worker_is_given_the_directive_with_the_message_of_its_attempt() {
    // C-003, C-025, X-126
    let world = job(&json!({}));
    expect![[r#"
        {
          "attempt_no": 1,
          "callback_urls": {
            "ack": "https://a",
            "result": "https://r"
          },
          "correlation_id": null,
          "idempotency_key": "019b8d3c-0000-4000-8000-000000000001:0",
          "input_ref": null,
          "jobId": "019b8d3c-0000-4000-8000-000000000001",
          "lease_id": "00000000-0000-4000-8000-000000000001",
          "message": {
            "attempt": 1,
            "idempotency_key": "upload-42",
            "job_id": "019b8d3c-0000-4000-8000-000000000001",
            "max_attempts": 5,
            "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
            "trigger_type": "manual",
            "v": 1,
            "workspace_id": "atelier"
          },
          "output_ref": null,
          "payload": {
            "by": "user-7",
            "from": "s3://media/42.wav"
          },
          "protocol_id": "transcribe",
          "references": {
            "audio": "s3://media/42.wav"
          },
          "service": "media",
          "stepId": "listen",
          "step_index": 0,
          "step_type": "LISTEN",
          "tenant_id": "atelier",
          "timeout_at": "2026-01-09T08:00:00.000Z",
          "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-8000000000000001-01",
          "workspace_ref": null
        }"#]]
    .assert_eq(&pretty(&directive(&world, 0)));
}

#[test]
fn a_step_has_one_key_whatever_the_attempt() {
    // X-126: job_id:step_index
    let mut world = job(&json!({}));
    let job_id = envelope::message(&world.run).job_id.to_string();
    world.ack("listen");
    let first = directive(&world, 0);
    world.report("listen", failed("noise", true));
    world.wait_secs(3_600);
    world.tell(&Command::Wake);
    world.ack("listen");
    let again = directive(&world, 0);
    assert_ne!(first["lease_id"], again["lease_id"]);
    assert_eq!(first["idempotency_key"], json!(format!("{job_id}:0")));
    assert_eq!(first["idempotency_key"], again["idempotency_key"]);
    world.report("listen", done());
    assert_eq!(directive(&world, 1)["idempotency_key"], json!(format!("{job_id}:1")));
}

#[test]
fn an_answer_names_the_job_in_either_form_and_says_what_it_cost() {
    // C-011, X-156
    let world = job(&json!({}));
    let mut answer = directive(&world, 0);
    answer["status"] = json!("SUCCEEDED");
    for (spent, expected) in [(json!(1.25), Credits(1_250_000)), (Value::Null, Credits::ZERO)] {
        answer["credits_spent"] = spent;
        for job_id in [answer["jobId"].clone(), json!(run_id(1))] {
            answer["jobId"] = job_id;
            let (job, command) = outcome::result(&answer).unwrap();
            assert_eq!(job.run, run_id(1));
            let Command::Report { spent, .. } = command else { panic!("{command:?}") };
            assert_eq!(spent, expected);
        }
    }
    answer["credits_spent"] = json!(-1);
    expect![[r#"
        422 invalid_request
        credits_spent: -1 is less than nothing; write 0 or more"#]]
    .assert_eq(&refusal(&outcome::result(&answer).unwrap_err()));
}

#[test]
fn a_sign_of_life_has_the_fields_of_an_ack() {
    // X-121
    let world = job(&json!({}));
    let directive = directive(&world, 0);
    let read = heartbeats(&[directive, json!({"jobId": "x"})]);
    let (job, command) = read[0].as_ref().unwrap();
    assert_eq!(job.run, run_id(1));
    assert!(matches!(command, Command::Extend { fence, .. } if fence.attempt == 1), "{command:?}");
    assert!(read[1].as_ref().unwrap_err().problems.iter().count() > 1, "all that is wrong");
}

#[test]
fn a_dead_job_is_taken_up_again_by_a_new_job_at_its_cursor() {
    // C-003, C-038
    let mut world = job(&json!({}));
    world.ack("listen");
    world.report("listen", done());
    world.report("write", failed("no paper", false));
    let (header, carried) = resume(&world.run, run_id(2), "operator", start());
    assert_eq!(header.special["_job_id"], json!("019b8d3c-0000-4000-8000-000000000002"));
    let next = World::start_with(header, carried);
    assert_eq!(stepwell_dialects::workspaces::view::step_cursor(&next.run), 1);
    assert_eq!(envelope::message(&next.run).attempt, 1);
}
