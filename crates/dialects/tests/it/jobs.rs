//! Jobs, steps and attempts as the read routes show them; and a job that takes over another.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::{Act, Command, Operation, StepRef};
use stepwell_core::duration::Interval;
use stepwell_core::id::StepIndex;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepError, StepStatus};
use stepwell_dialects::commands::directive::{CallbackUrls, render};
use stepwell_dialects::commands::view::{self, JobSummary};
use stepwell_dialects::moment::Moment;
use stepwell_dialects::notice::notices;
use stepwell_dialects::resume::resume;

use crate::world::{TWO_STEPS, World, accepted, run_id, start};

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

fn succeeded() -> Outcome {
    Outcome::Succeeded { result: json!({"data": {"text": "t-1"}}) }
}

fn failed(retryable: bool) -> Outcome {
    let error = StepError::new("no_paper", "the tray is empty");
    Outcome::Failed { error, retryable, retry_after: None }
}

#[test]
fn a_job_is_shown_with_its_steps() {
    // D-024, D-025, D-026, X-162: the fields of the ledger, and times in UTC with Z.
    let mut world = World::start(accepted(&json!({"correlation_id": "c-1"}), TWO_STEPS));
    world.wait_secs(2);
    world.ack("ocr");
    world.wait_secs(3);
    world.report("ocr", succeeded());
    expect![[r#"
        {
          "job_id": "019b8d3c-0000-7000-8000-000000000001",
          "tenant_id": "contoso",
          "protocol_id": "intake",
          "status": "IN_PROGRESS",
          "current_step_id": "file",
          "created_at": "2026-01-05T08:00:00.000Z",
          "protocol_version": 0,
          "request_type": "document.ingest",
          "mode": "DEFAULT",
          "correlation_id": "c-1",
          "version": 3,
          "paused": false,
          "updated_at": "2026-01-05T08:00:05.000Z",
          "started_at": "2026-01-05T08:00:00.000Z",
          "completed_at": null,
          "error": null,
          "resumes": null,
          "steps": [
            {
              "job_id": "019b8d3c-0000-7000-8000-000000000001",
              "step_id": "ocr",
              "step_type": "OCR",
              "status": "SUCCEEDED",
              "attempt_no": 1,
              "lease_id": null,
              "lane": 15,
              "routing_key_used": "contoso",
              "workspace_ref": "workspace/019b8d3c-0000-7000-8000-000000000001",
              "service": "ocr-service",
              "waiting_for": null,
              "wake_at": null,
              "dispatched_at": "2026-01-05T08:00:00.000Z",
              "completed_at": "2026-01-05T08:00:05.000Z",
              "error": null,
              "compensation_job_id": null
            },
            {
              "job_id": "019b8d3c-0000-7000-8000-000000000001",
              "step_id": "file",
              "step_type": "SIS",
              "status": "INITIATED",
              "attempt_no": 1,
              "lease_id": "00000000-0000-4000-8000-000000000002",
              "lane": 15,
              "routing_key_used": "contoso",
              "workspace_ref": "workspace/019b8d3c-0000-7000-8000-000000000001",
              "service": "sis-service",
              "waiting_for": "worker",
              "wake_at": "2026-01-05T08:15:05.000Z",
              "dispatched_at": "2026-01-05T08:00:05.000Z",
              "completed_at": null,
              "error": null,
              "compensation_job_id": null
            }
          ]
        }"#]]
    .assert_eq(&pretty(&view::job(&world.run)));
}

/// One attempt failed, one was lost, one succeeded.
fn third_time_lucky() -> World {
    let mut world = World::start(accepted(&json!({}), TWO_STEPS));
    world.ack("ocr");
    world.wait_secs(1);
    world.report("ocr", failed(true));
    world.wait_secs(15 * 60);
    world.tell(&Command::Wake);
    world.wait_secs(1);
    world.report("ocr", succeeded());
    world
}

#[test]
fn steps_are_shown_with_every_attempt() {
    // D-026, X-131: one entry a step, its attempts within it, folded from the history.
    let world = third_time_lucky();
    let steps = view::steps(&world.run, &world.history);
    expect![[r#"
        {
          "job_id": "019b8d3c-0000-7000-8000-000000000001",
          "step_id": "ocr",
          "step_type": "OCR",
          "status": "SUCCEEDED",
          "attempt_no": 3,
          "lease_id": "00000000-0000-4000-8000-000000000003",
          "lane": 15,
          "routing_key_used": "contoso",
          "workspace_ref": "workspace/019b8d3c-0000-7000-8000-000000000001",
          "service": "ocr-service",
          "waiting_for": null,
          "wake_at": null,
          "dispatched_at": "2026-01-05T08:15:01.000Z",
          "completed_at": "2026-01-05T08:15:02.000Z",
          "error": null,
          "compensation_job_id": null,
          "result": {
            "data": {
              "text": "t-1"
            }
          },
          "attempts": [
            {
              "attempt_no": 1,
              "lease_id": "00000000-0000-4000-8000-000000000001",
              "status": "FAILED_RETRYABLE",
              "dispatched_at": "2026-01-05T08:00:00.000Z",
              "acked_at": "2026-01-05T08:00:00.000Z",
              "ended_at": "2026-01-05T08:00:01.000Z",
              "error": {
                "code": "no_paper",
                "message": "the tray is empty"
              },
              "polls": 0
            },
            {
              "attempt_no": 2,
              "lease_id": "00000000-0000-4000-8000-000000000002",
              "status": "FAILED_RETRYABLE",
              "dispatched_at": "2026-01-05T08:00:01.000Z",
              "acked_at": null,
              "ended_at": "2026-01-05T08:15:01.000Z",
              "error": {
                "code": "attempt_timed_out",
                "message": "no result within 15m of the dispatch"
              },
              "polls": 0
            },
            {
              "attempt_no": 3,
              "lease_id": "00000000-0000-4000-8000-000000000003",
              "status": "SUCCEEDED",
              "dispatched_at": "2026-01-05T08:15:01.000Z",
              "acked_at": null,
              "ended_at": "2026-01-05T08:15:02.000Z",
              "error": null,
              "polls": 0
            }
          ]
        }"#]]
    .assert_eq(&pretty(&steps[0]));
    assert_eq!(steps[1].attempts.as_ref().map(Vec::len), Some(1));
}

#[test]
fn the_lane_of_a_step_never_changes() {
    // D-024: neither with attempts nor with time.
    let mut world =
        World::start(accepted(&json!({"mode": "BURST", "doc_id": "doc-42"}), TWO_STEPS));
    for _ in 0..2 {
        for step in view::job(&world.run).steps {
            assert_eq!((step.lane, step.routing_key_used), (Some(4), Some("contosodoc-42")));
        }
        world.report("ocr", failed(true));
    }
}

/// The words of the attempts of the first step.
fn words(world: &World) -> Vec<String> {
    let steps = view::steps(&world.run, &world.history);
    let attempts = steps[0].attempts.as_ref().unwrap();
    attempts.iter().map(|attempt| format!("{} {}", attempt.attempt_no, attempt.status)).collect()
}

#[test]
fn an_attempt_ends_as_its_step_does_or_gives_way_to_the_next() {
    let begin = || World::start(accepted(&json!({}), TWO_STEPS));
    let mut world = begin();
    assert_eq!(words(&world), ["1 INITIATED"]);
    world.ack("ocr");
    assert_eq!(words(&world), ["1 PROCESSING"]);
    world.report("ocr", failed(false));
    assert_eq!(words(&world), ["1 FAILED_FINAL"]);

    let mut world = begin();
    for _ in 0..3 {
        world.report("ocr", failed(true));
    }
    assert_eq!(words(&world), ["1 FAILED_RETRYABLE", "2 FAILED_RETRYABLE", "3 FAILED_FINAL"]);
    assert_eq!(world.run.status, RunStatus::Failed);

    let mut world = begin();
    let act = || Act::new("operator", "stuck");
    let step = StepRef::Id("ocr".to_owned());
    let operation = Operation::Retry;
    world.tell(&Command::Operate { step: step.clone(), operation, by: act() });
    assert_eq!(words(&world), ["1 CANCELLED", "2 INITIATED"]);
    let operation = Operation::MarkSucceeded { result: Value::Null };
    world.tell(&Command::Operate { step, operation, by: act() });
    assert_eq!(words(&world), ["1 CANCELLED", "2 CANCELLED"], "a person did it, not the attempt");
}

#[test]
fn a_polling_attempt_shows_how_often_it_was_asked() {
    let protocol = "
name: copy
request_type: document.ingest
steps: [{id: copy, type: C, pool: p, poll: {interval: 30s, timeout: 1h}}]
";
    let mut world = World::start(accepted(&json!({}), protocol));
    world.report("copy", Outcome::Incomplete);
    for _ in 0..2 {
        world.wait_secs(30);
        world.tell(&Command::Wake);
        world.report("copy", Outcome::Incomplete);
    }
    let steps = view::steps(&world.run, &world.history);
    let attempt = &steps[0].attempts.as_ref().unwrap()[0];
    assert_eq!((attempt.status, attempt.polls), ("PROCESSING", 2));
    assert_eq!((steps[0].status, steps[0].waiting_for), ("PROCESSING", Some("poll")));
    assert_eq!(steps[0].lease_id, Some(attempt.lease_id), "the last one, though none is in force");
}

#[test]
fn a_job_in_a_list_speaks_the_same_words() {
    // D-025, X-155, X-162: whoever has the row gives kernel values and gets the wire's.
    let error = StepError::new("no_paper", "the tray is empty");
    let summary = JobSummary {
        job_id: run_id(1),
        tenant_id: "contoso",
        protocol_id: "intake",
        status: RunStatus::Failed,
        current_step_id: Some("ocr"),
        created_at: Moment(start()),
        protocol_version: 3,
        correlation_id: None,
        paused: false,
        updated_at: Moment(start().after(Interval::from_secs(90))),
        completed_at: Some(Moment(start().after(Interval::from_secs(90)))),
        error: Some(&error),
    };
    expect![[r#"
        {
          "job_id": "019b8d3c-0000-7000-8000-000000000001",
          "tenant_id": "contoso",
          "protocol_id": "intake",
          "status": "FAILED_FINAL",
          "current_step_id": "ocr",
          "created_at": "2026-01-05T08:00:00.000Z",
          "protocol_version": 3,
          "correlation_id": null,
          "paused": false,
          "updated_at": "2026-01-05T08:01:30.000Z",
          "completed_at": "2026-01-05T08:01:30.000Z",
          "error": {
            "code": "no_paper",
            "message": "the tray is empty"
          }
        }"#]]
    .assert_eq(&pretty(&summary));
}

/// Every key of every object inside a value.
fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, inner)| [vec![key.clone()], keys(inner)].concat())
            .collect(),
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

#[test]
fn this_wire_says_job_where_the_kernel_says_run() {
    // X-151: each word has its place, and none is found in the other's.
    let urls = ["https://a.example"];
    let mut world = World::start(accepted(&json!({"callback_urls": urls}), TWO_STEPS));
    let callbacks = CallbackUrls { ack: String::new(), result: String::new() };
    let directive = json!(render(&world.run, StepIndex::at(0), &callbacks));
    world.report("ocr", failed(false));
    let views = [
        directive,
        json!(view::job(&world.run)),
        json!(view::steps(&world.run, &world.history)),
        notices(&world.run)[0].body.clone(),
    ];
    for view in &views {
        let keys = keys(view);
        assert!(keys.iter().any(|key| key == "jobId" || key == "job_id"), "{keys:?}");
        assert!(!keys.iter().any(|key| key.contains("run")), "{keys:?}");
    }
    let history = json!(world.history);
    assert!(!keys(&history).iter().any(|key| key.contains("job")), "{history}");
}

#[test]
fn a_failed_job_is_taken_over_with_what_it_had_finished() {
    let mut world = World::start(accepted(&json!({}), TWO_STEPS));
    world.report("ocr", succeeded());
    world.report("file", failed(false));
    let later = start().after(Interval::from_secs(3600));
    let (header, carried) = resume(&world.run, run_id(2), "operator", later);
    assert_eq!((header.id, header.resumes), (run_id(2), Some(run_id(1))));
    assert_eq!((header.actor.as_str(), header.created_at), ("operator", later));
    assert_eq!(header.special["_job_id"], json!(run_id(2)));
    let old = &world.run.header;
    assert_eq!(header.special["_workspace_ref"], old.special["_workspace_ref"]);
    assert_eq!((&header.routing, &header.input), (&old.routing, &old.input));

    let mut next = World::start_with(header, carried);
    assert_eq!(next.run.steps[0].status, StepStatus::Succeeded);
    next.report("file", succeeded());
    assert_eq!(next.run.status, RunStatus::Succeeded);
    assert_eq!(view::job(&next.run).resumes, Some(run_id(1)));
}
