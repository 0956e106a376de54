//! What others are told of jobs.

use std::collections::BTreeSet;

use expect_test::{Expect, expect, expect_file};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_core::command::{Act, Command};
use stepwell_core::definition::CancelMode;
use stepwell_core::entry::Entry;
use stepwell_core::evolve::replay;
use stepwell_core::id::Tenant;
use stepwell_core::run::{Dialect, Run};
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::event::{self, DeadLetter, Event, KINDS, dead_letter_created, events};
use stepwell_dialects::workspaces::view;

use super::{done, failed, job, pretty, report};
use crate::world::{World, accepted, run_id, start};

/// Every event of a run, decision by decision, as the engine would tell them.
fn told(world: &World) -> Vec<Event> {
    let mut run = Run::new(world.run.header.clone());
    let mut told = Vec::new();
    for record in &world.history {
        let before = run.clone();
        replay(&mut run, record);
        told.extend(events(&before, &record.entries, &run));
    }
    told
}

fn kinds(world: &World) -> Vec<&'static str> {
    told(world).iter().map(|event| event.kind).collect()
}

fn cancel(world: &mut World) {
    let by = Act::new("portal", "");
    world.tell(&Command::Cancel { mode: Some(CancelMode::Immediate), by });
}

/// One failure on the way, then success.
fn second_time_lucky() -> World {
    let mut world = job(&json!({}));
    world.wait_secs(2);
    world.ack("listen");
    world.wait_secs(3);
    report(&mut world, "listen", done(), "1.5");
    report(&mut world, "write", failed("no paper, ask ada@example.org", true), "0.25");
    world.wait_secs(60);
    world.tell(&Command::Wake);
    world.wait_secs(1);
    world.ack("write");
    report(&mut world, "write", done(), "0.25");
    world
}

#[track_caller]
fn check(event: &Event, expected: &Expect) {
    expected.assert_eq(&format!("{:#}\n", event.body));
}

#[test]
fn a_job_tells_its_whole_life() {
    assert_eq!(
        kinds(&second_time_lucky()),
        [
            "workflow_run_queued",
            "workflow_run_started",
            "workflow_run_step_completed",
            "workflow_run_attempt_failed",
            "workflow_run_queued",
            "workflow_run_started",
            "workflow_run_step_completed",
            "workflow_run_completed",
        ]
    );
}

#[test]
fn every_kind_is_a_cloud_event() {
    // C-017, C-031: the same job id everywhere, and the name that analytics know.
    let told = told(&second_time_lucky());
    let bodies: Vec<&Value> = told.iter().map(|event| &event.body).collect();
    expect_file!["golden/events.json"].assert_eq(&format!("{}\n", pretty(&bodies)));
}

#[test]
fn a_job_that_is_dead_or_canceled_tells_that_it_did_not_succeed() {
    // C-031, X-128
    let mut dead = job(&json!({"max_attempts": 1}));
    dead.ack("listen");
    report(&mut dead, "listen", failed("noise", true), "1");
    let end = told(&dead).pop().unwrap();
    check(
        &end,
        &expect![[r#"
        {
          "data": {
            "attempts": 1,
            "credits": {
              "estimate": 2.75,
              "reserved": 0,
              "spent": 1
            },
            "durations_ms": {
              "queued": 0,
              "running": 0,
              "total": 0
            },
            "error_code": "transcription_failed",
            "error_message": "noise",
            "job_id": "019b8d3c-0000-4000-8000-000000000001",
            "max_attempts": 1,
            "outcome": "dead",
            "status": "dead",
            "steps_done": 0,
            "steps_total": 2,
            "success": false,
            "trigger_type": "manual",
            "workflow_id": "transcribe",
            "workflow_version": 0,
            "workspace_id": "atelier"
          },
          "datacontenttype": "application/json",
          "id": "019b8d3c-0000-4000-8000-000000000001:3:workflow_run_completed",
          "source": "stepwell",
          "specversion": "1.0",
          "subject": "019b8d3c-0000-4000-8000-000000000001",
          "time": "2026-01-05T08:00:00.000Z",
          "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-8000000000000001-01",
          "type": "workflow_run_completed"
        }
    "#]],
    );
    let mut canceled = job(&json!({}));
    cancel(&mut canceled);
    let end = told(&canceled).pop().unwrap();
    let data = &end.body["data"];
    assert_eq!((&data["success"], &data["outcome"]), (&json!(false), &json!("canceled")));
    assert_eq!(data["attempts"], 0);
}

#[test]
fn an_event_is_the_same_however_often_it_is_told_and_no_two_are_alike() {
    let world = second_time_lucky();
    let (once, again) = (told(&world), told(&world));
    assert_eq!(once, again);
    let ids: BTreeSet<&str> = once.iter().map(|event| event.body["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), once.len());
    assert!(once.iter().all(|event| KINDS.contains(&event.kind)));
}

#[test]
fn a_run_that_had_ended_tells_no_second_end() {
    // C-031: whatever order entries come in.
    let mut world = job(&json!({}));
    cancel(&mut world);
    assert_eq!(events(&world.run, &[Entry::RunCancelled], &world.run), []);
    let before = job(&json!({})).run;
    let both = [Entry::RunSucceeded, Entry::RunCancelled];
    assert_eq!(events(&before, &both, &world.run).len(), 1);
}

#[test]
fn no_event_holds_what_could_be_personal() {
    // C-013: neither input nor results, users, keys nor errors as workers wrote them.
    let mut world = job(&json!({"user_id": "ada@example.org", "input": {"language": "ladino"}}));
    world.ack("listen");
    report(&mut world, "listen", done(), "0");
    report(&mut world, "write", failed("ada@example.org is unknown", true), "0");
    let all = Value::from_iter(told(&world).into_iter().map(|event| event.body)).to_string();
    for personal in ["ada@", "example.org", "ladino", "812", "upload-42", "42.wav"] {
        assert!(!all.contains(personal), "{personal} in {all}");
    }
}

#[test]
fn other_dialects_tell_the_same_in_their_own_words() {
    let mut world = World::start(accepted(&json!({}), crate::world::TWO_STEPS));
    for step in ["ocr", "file"] {
        world.report(step, Outcome::Succeeded { result: json!({"text": "t-1"}) });
    }
    let told = told(&world);
    let kinds: Vec<&str> = told.iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            event::QUEUED,
            event::STARTED,
            event::STEP_COMPLETED,
            event::STEP_COMPLETED,
            event::COMPLETED
        ]
    );
    let data = &told[4].body["data"];
    assert_eq!((&data["outcome"], &data["tenant_id"]), (&json!("SUCCEEDED"), &json!("contoso")));
    assert_eq!(data["job_id"], json!(run_id(1)));
}

#[test]
fn a_dead_letter_and_a_low_account_are_told_too() {
    let letter = DeadLetter {
        key: "dl-7",
        tenant: &Tenant::new("atelier"),
        dialect: Dialect::Workspaces,
        run: Some(run_id(1)),
        reason: "attempts_used_up",
        error: &StepError::new("NoPaper", "call 0170 1234567"),
        at: start(),
    };
    check(
        &dead_letter_created(&letter),
        &expect![[r#"
        {
          "data": {
            "dialect": "workspaces",
            "error_code": "no_paper",
            "error_message": "call [number]",
            "job_id": "019b8d3c-0000-4000-8000-000000000001",
            "reason": "attempts_used_up",
            "tenant_id": "atelier"
          },
          "datacontenttype": "application/json",
          "id": "dl-7:dead_letter.created",
          "source": "stepwell",
          "specversion": "1.0",
          "subject": "019b8d3c-0000-4000-8000-000000000001",
          "time": "2026-01-05T08:00:00.000Z",
          "type": "stepwell.dead_letter.created"
        }
    "#]],
    );
}

/// What may happen to a job.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Ack,
    Done,
    Failed(bool),
    Wait,
    Cancel,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        3 => Just(Happening::Ack),
        3 => Just(Happening::Done),
        1 => any::<bool>().prop_map(Happening::Failed),
        2 => Just(Happening::Wait),
        1 => Just(Happening::Cancel),
    ]
}

fn happen(world: &mut World, happening: Happening) {
    let step = ["listen", "write"].into_iter().find(|step| {
        let index = world.run.step_named(step).unwrap();
        world.run.steps[index.position()].lease.is_some()
    });
    match (happening, step) {
        (Happening::Ack, Some(step)) => world.ack(step),
        (Happening::Done, Some(step)) => report(world, step, done(), "0.5"),
        (Happening::Failed(retryable), Some(step)) => {
            report(world, step, failed("noise", retryable), "0");
        }
        (Happening::Wait, _) => {
            world.wait_secs(1_000);
            world.tell(&Command::Wake);
        }
        (Happening::Cancel, _) => cancel(world),
        (Happening::Ack | Happening::Done | Happening::Failed(_), None) => {}
    }
}

proptest! {
    #[test]
    fn a_job_tells_exactly_one_end_and_only_when_it_has_ended(
        happenings in prop::collection::vec(happening(), 0..30),
    ) {
        // C-031, X-128: exactly one for each job that has ended.
        let mut world = job(&json!({"max_attempts": 3}));
        for happening in happenings {
            if world.run.status.is_terminal() {
                break;
            }
            happen(&mut world, happening);
        }
        let told = told(&world);
        let ends: Vec<&Event> = told.iter().filter(|it| it.kind == event::COMPLETED).collect();
        prop_assert_eq!(ends.len(), usize::from(world.run.status.is_terminal()));
        let ids: BTreeSet<&str> = told.iter().map(|it| it.body["id"].as_str().unwrap()).collect();
        prop_assert_eq!(ids.len(), told.len(), "no two have one id");
        if let Some(end) = ends.first() {
            let record = json!(view::job(&world.run, None));
            prop_assert_eq!(&end.body["data"]["outcome"], &record["status"]);
            prop_assert_eq!(&end.body["data"]["attempts"], &record["attempts"]);
            prop_assert_eq!(&end.body["data"]["job_id"], &record["job_id"]);
            prop_assert_eq!(end.kind, told.last().unwrap().kind, "the end is the last");
        }
    }
}
