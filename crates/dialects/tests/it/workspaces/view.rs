//! The record of a job, as the read routes show it.

use expect_test::{expect, expect_file};
use serde_json::{Value, json};
use stepwell_core::command::{Act, Command};
use stepwell_core::definition::CancelMode;
use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::step::StepError;
use stepwell_dialects::workspaces::view::{job as view, step_cursor, summary};

use super::{done, failed, job, pretty, report};
use crate::world::{World, run_id, start};

fn shown(world: &World) -> Value {
    json!(view(&world.run, None))
}

/// Some fields of the record, in one line.
fn fields(world: &World, names: &[&str]) -> String {
    let record = shown(world);
    names.iter().map(|name| record[*name].to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_job_is_shown_with_every_field_of_the_contract() {
    // C-003, C-006, C-007, C-008, C-009, C-010, C-011, C-012, C-013, C-014, C-016, C-017, X-120, X-162
    let mut world = job(&json!({}));
    world.wait_secs(2);
    world.ack("listen");
    world.wait_secs(3);
    report(&mut world, "listen", done(), "1.5");
    world.wait_secs(1);
    report(&mut world, "write", failed("no paper in tray 'B 7'", true), "0.25");
    let shown = format!("{}\n", pretty(&view(&world.run, None)));
    expect_file!["golden/job.json"].assert_eq(&shown);
}

#[test]
fn a_record_says_how_far_it_has_come_at_every_point_of_its_life() {
    // C-009, C-010, C-015, C-018, C-019, C-020, C-021, C-038, C-039, X-116, X-117
    let names =
        ["status", "attempts", "step_cursor", "started_at", "updated_at", "next_attempt_at"];
    let mut world = job(&json!({"max_attempts": 2}));
    let mut lines = vec![fields(&world, &names)];
    let mut note = |world: &mut World| {
        lines.push(fields(world, &names));
        world.wait_secs(1);
    };
    world.wait_secs(5);
    world.ack("listen");
    note(&mut world);
    report(&mut world, "listen", done(), "0");
    note(&mut world);
    report(&mut world, "write", failed("noise", true), "0");
    note(&mut world);
    world.wait_secs(60);
    world.tell(&Command::Wake);
    note(&mut world);
    world.ack("write");
    note(&mut world);
    report(&mut world, "write", done(), "0");
    note(&mut world);
    expect![[r#"
        "queued" 0 0 null "2026-01-05T08:00:00.000Z" null
        "running" 1 0 "2026-01-05T08:00:05.000Z" "2026-01-05T08:00:05.000Z" null
        "running" 1 1 "2026-01-05T08:00:05.000Z" "2026-01-05T08:00:06.000Z" null
        "failed" 1 1 "2026-01-05T08:00:05.000Z" "2026-01-05T08:00:07.000Z" "2026-01-05T08:00:35.587Z"
        "queued" 1 1 "2026-01-05T08:00:05.000Z" "2026-01-05T08:01:08.000Z" null
        "running" 2 1 "2026-01-05T08:00:05.000Z" "2026-01-05T08:01:09.000Z" null
        "completed" 2 2 "2026-01-05T08:00:05.000Z" "2026-01-05T08:01:10.000Z" null
    "#]]
    .assert_eq(&format!("{}\n", lines.join("\n")));
}

#[test]
fn a_job_that_failed_for_good_is_dead_and_one_that_was_stopped_is_canceled() {
    // C-021, C-022, C-023, C-031, X-123
    let names = ["status", "attempts", "step_cursor", "completed_at", "last_error_code"];
    let mut dead = job(&json!({"max_attempts": 1}));
    dead.ack("listen");
    report(&mut dead, "listen", done(), "0");
    report(&mut dead, "write", failed("noise", true), "0");
    assert_eq!(
        fields(&dead, &names),
        r#""dead" 1 1 "2026-01-05T08:00:00.000Z" "transcription_failed""#
    );
    let mut canceled = job(&json!({}));
    canceled.ack("listen");
    report(&mut canceled, "listen", done(), "0");
    let by = Act::new("portal", "");
    canceled.tell(&Command::Cancel { mode: Some(CancelMode::Immediate), by });
    assert_eq!(fields(&canceled, &names), r#""canceled" 1 1 "2026-01-05T08:00:00.000Z" null"#);
    let mut unseen = job(&json!({}));
    let by = Act::new("portal", "");
    unseen.tell(&Command::Cancel { mode: Some(CancelMode::Immediate), by });
    assert_eq!(fields(&unseen, &["attempts", "started_at"]), "0 null", "no worker ever had it");
}

#[test]
fn an_attempt_whose_message_nobody_took_is_not_shown() {
    // C-009, C-021, C-022, X-117, X-119: neither while it waits, nor when the job ends before.
    let queued_again = || {
        let mut world = job(&json!({"max_attempts": 3}));
        report(&mut world, "listen", failed("noise", true), "0");
        world.wait_secs(60);
        world.tell(&Command::Wake);
        world
    };
    let shown = |world: &World| fields(world, &["status", "attempts"]);
    assert_eq!(shown(&queued_again()), r#""queued" 1"#);
    let mut canceled = queued_again();
    canceled.tell(&Command::Cancel { mode: None, by: Act::new("portal", "") });
    assert_eq!(shown(&canceled), r#""canceled" 1"#);
    let mut dead = queued_again();
    let lease = dead.run.steps[0].lease.expect("its message waits").id;
    let error = StepError::new("job_undelivered", "delivered 5 times and never settled");
    dead.tell(&Command::Undelivered { step: StepIndex(0), lease, error });
    assert_eq!(shown(&dead), r#""dead" 1"#);
}

#[test]
fn only_a_job_that_has_ended_says_when_it_is_deleted_and_says_it_in_seconds() {
    // C-005, C-014, C-042, X-162
    let expires_at = start().after(Interval::from_secs(30 * 24 * 60 * 60));
    let mut world = job(&json!({}));
    assert_eq!(json!(view(&world.run, Some(expires_at)))["ttl_at"], Value::Null);
    world.ack("listen");
    report(&mut world, "listen", failed("noise", false), "0");
    assert_eq!(json!(view(&world.run, Some(expires_at)))["ttl_at"], 1_770_192_000);
}

#[test]
fn credits_are_shown_as_they_move() {
    // C-011, X-127
    let names = ["credits_estimate", "credits_reserved", "credits_spent"];
    let mut world = job(&json!({}));
    assert_eq!(fields(&world, &names), "2.75 2.75 0");
    world.ack("listen");
    report(&mut world, "listen", done(), "2.5");
    assert_eq!(fields(&world, &names), "2.75 0.25 2.5");
    report(&mut world, "write", done(), "0.125");
    assert_eq!(fields(&world, &names), "2.75 0 2.625", "what was not spent is given back");
}

#[test]
fn no_error_of_a_job_or_a_step_shows_personal_data() {
    // C-013
    let mut world = job(&json!({}));
    world.ack("listen");
    let told = "no mailbox for ada.lovelace@example.org, call +49 170 1234567 with token=s3cr3t";
    report(&mut world, "listen", failed(told, true), "0");
    let record = shown(&world).to_string();
    for personal in ["ada", "lovelace", "1234567", "s3cr3t", "@"] {
        assert!(!record.contains(personal), "{personal} in {record}");
    }
    assert_eq!(
        shown(&world)["last_error_message"],
        "no mailbox for [email], call [number] with token=[secret]"
    );
}

#[test]
fn a_job_in_a_list_has_what_the_index_projects() {
    // C-004
    let world = job(&json!({"trigger_type": "schedule"}));
    expect![[r#"
        {
          "job_id": "019b8d3c-0000-4000-8000-000000000001",
          "workspace_id": "atelier",
          "status": "queued",
          "workflow_id": "transcribe",
          "trigger_type": "schedule",
          "credits_estimate": 2.75,
          "credits_spent": 0,
          "attempts": 0,
          "last_error_code": null,
          "created_at": "2026-01-05T08:00:00.000Z",
          "updated_at": "2026-01-05T08:00:00.000Z",
          "completed_at": null
        }"#]]
    .assert_eq(&pretty(&summary(&world.run)));
}

#[test]
fn the_cursor_of_a_job_passes_what_was_skipped() {
    // C-010
    let document = "
name: transcribe
steps:
  - {id: a, type: A, pool: p, when: \"{{language}} == 'no'\"}
  - {id: b, type: B, pool: p}
";
    let (header, _) = super::accept(super::request(&json!({})), document).unwrap();
    let world = World::start(header);
    assert_eq!(step_cursor(&world.run), 1);
}

#[test]
fn a_job_that_took_over_another_names_it_as_this_wire_does() {
    // C-003
    let mut header = super::accepted(&json!({}));
    let old: RunId = run_id(9);
    header.resumes = Some(old);
    let world = World::start(header);
    assert_eq!(shown(&world)["resumes"], "019b8d3c-0000-4000-8000-000000000009");
}
