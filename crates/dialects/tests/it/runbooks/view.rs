//! Batches, phases, members, steps and histories as readers see them.

use std::collections::BTreeMap;

use expect_test::{expect, expect_file};
use serde_json::{Value, json};
use stepwell_core::batch::{BatchCommand, BatchMode};
use stepwell_core::command::Command;
use stepwell_core::effect::Effect;
use stepwell_core::id::{MemberId, StepIndex};
use stepwell_core::run::{Header, Run, RunStatus};
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::runbooks::view::{
    self, Compensations, Known, MemberRow, StepView, job_id, job_message,
};

use super::batch::{BATCH, BatchWorld, at, by, made_at, pretty};
use crate::world::World;

/// The steps of a run, as values.
fn steps(world: &BatchWorld, run: &Run, compensations: &Compensations) -> Vec<Value> {
    let runbooks = BTreeMap::from([(3, &world.runbook)]);
    let known = Known { batch: &world.batch, runbooks: &runbooks, compensations };
    let shown: Vec<StepView<'_>> = view::steps(run, Some("ada@contoso.com"), known).collect();
    shown.iter().map(|step| serde_json::to_value(step).unwrap()).collect()
}

fn opened(world: &BatchWorld) -> World {
    let mut member = world.member(7);
    for phase in ["pre-notification@3", "prepare@3", "cutover@3"] {
        member.tell(&Command::OpenGate { gate: phase.to_owned() });
    }
    member
}

fn done(result: Value) -> Outcome {
    Outcome::Succeeded { result }
}

fn failed() -> Outcome {
    let error = StepError::new("Forbidden", "no license");
    Outcome::Failed { error, retryable: true, retry_after: None }
}

#[test]
fn a_batch_is_shown_with_its_phases_and_counters() {
    // A-207, A-209, X-005, X-014: the columns of the tables, and counters beside them.
    let mut world = BatchWorld::new(BatchMode::Scheduled);
    for number in [7, 8] {
        let member = world.member(number);
        world.count(None, &member.run);
    }
    world.tell(made_at(), &BatchCommand::Check { init: Some(RunStatus::Succeeded) });
    world.tell(at("2026-01-10T08:00:00Z"), &BatchCommand::Check { init: None });
    let shown = view::batch(&world.batch, Some(12));
    expect_file!["golden/batch.json"].assert_eq(&(pretty(&shown) + "\n"));
}

#[test]
fn a_manual_batch_has_no_moment_and_nothing_that_is_due() {
    // A-130, A-131, X-040
    let mut world = BatchWorld::new(BatchMode::Manual);
    world.tell(made_at(), &BatchCommand::Advance { by: by() });
    let shown = serde_json::to_value(view::batch(&world.batch, None)).unwrap();
    assert_eq!(shown["batch_start_time"], Value::Null);
    assert_eq!(shown["next_due"], Value::Null);
    assert_eq!(shown["is_manual"], true);
    assert_eq!(shown["status"], "init_dispatched");
    assert_eq!(shown["phases"][0]["due_at"], Value::Null);
    assert_eq!(shown["work_in_progress"], json!(["moving_start"]));
}

#[test]
fn a_step_that_waits_for_its_turn_has_neither_params_nor_a_job() {
    // A-210, X-034
    let world = BatchWorld::new(BatchMode::Scheduled);
    let shown = steps(&world, &world.member(7).run, &Compensations::new());
    expect![[r#"
        {
          "batch_member_id": 505,
          "compensation": "none",
          "completed_at": null,
          "dispatched_at": null,
          "error_code": null,
          "error_message": null,
          "function_name": "Start-MailboxMove",
          "id": 458754,
          "is_init": false,
          "is_poll_step": true,
          "job_id": null,
          "last_polled_at": null,
          "max_retries": 2,
          "member_key": "ada@contoso.com",
          "on_failure": "undo-mailbox-move",
          "params": null,
          "phase_execution_id": 110,
          "phase_name": "cutover",
          "poll_count": 0,
          "poll_interval_sec": 900,
          "poll_started_at": null,
          "poll_timeout_sec": 86400,
          "result": null,
          "retry_after": null,
          "retry_count": 0,
          "retry_interval_sec": 60,
          "runbook_version": 3,
          "skip_reason": null,
          "status": "pending",
          "step_index": 0,
          "step_name": "start-mailbox-move",
          "worker_id": "worker-02"
        }"#]]
    .assert_eq(&pretty(&shown[2]));
}

#[test]
fn a_step_is_shown_with_the_columns_of_its_table() {
    // A-080, A-210: what was sent, and what came back.
    let world = BatchWorld::new(BatchMode::Scheduled);
    let mut member = opened(&world);
    member.wait_secs(5);
    member.report("pre-notification@3/notify", done(json!({"sent": true})));
    let shown = steps(&world, &member.run, &Compensations::new());
    expect![[r#"
        {
          "batch_member_id": 505,
          "compensation": "none",
          "completed_at": "2026-01-05T08:00:05.000Z",
          "dispatched_at": "2026-01-05T08:00:00.000Z",
          "error_code": null,
          "error_message": null,
          "function_name": "Send-Mail",
          "id": 458752,
          "is_init": false,
          "is_poll_step": false,
          "job_id": "step-458752-attempt-1",
          "last_polled_at": null,
          "max_retries": 3,
          "member_key": "ada@contoso.com",
          "on_failure": null,
          "params": {
            "Email": "ada@contoso.com",
            "Name": "Ada Lovelace"
          },
          "phase_execution_id": 108,
          "phase_name": "pre-notification",
          "poll_count": 0,
          "poll_interval_sec": null,
          "poll_started_at": null,
          "poll_timeout_sec": null,
          "result": {
            "sent": true
          },
          "retry_after": null,
          "retry_count": 0,
          "retry_interval_sec": 30,
          "runbook_version": 3,
          "skip_reason": null,
          "status": "succeeded",
          "step_index": 0,
          "step_name": "notify",
          "worker_id": "worker-01"
        }"#]]
    .assert_eq(&pretty(&shown[0]));
    assert_eq!(shown[1]["function_name"], "New-EntraUser");
}

#[test]
fn a_step_between_two_attempts_is_pending_and_says_until_when() {
    // A-099, X-022: its job is cleared and its count is that of the job to come.
    let world = BatchWorld::new(BatchMode::Scheduled);
    let mut member = opened(&world);
    member.report("pre-notification@3/notify", failed());
    let shown = &steps(&world, &member.run, &Compensations::new())[0];
    assert_eq!(shown["status"], "pending");
    assert_eq!(shown["job_id"], Value::Null);
    assert_eq!(shown["retry_count"], 1);
    assert_eq!(shown["retry_after"], "2026-01-05T08:00:30.000Z");
    assert_eq!(shown["error_code"], "Forbidden");
    member.wait_secs(30);
    member.tell(&Command::Wake);
    let shown = &steps(&world, &member.run, &Compensations::new())[0];
    let id = 7 * 65_536;
    assert_eq!(shown["job_id"], format!("step-{id}-retry-1"));
    assert_eq!((&shown["retry_count"], &shown["retry_after"]), (&json!(1), &Value::Null));
}

/// A member whose last step has been asked once whether it is finished.
fn polling(world: &BatchWorld) -> World {
    let mut member = opened(world);
    member.report("pre-notification@3/notify", done(Value::Null));
    member.report("prepare@3/create-object", done(json!({"UserId": "u-1"})));
    member.report("cutover@3/start-mailbox-move", Outcome::Incomplete);
    member.wait_secs(15 * 60);
    member.tell(&Command::Wake);
    member
}

#[test]
fn a_step_that_is_asked_again_says_since_when_and_how_often() {
    // A-093, A-095, X-031
    let world = BatchWorld::new(BatchMode::Scheduled);
    let member = polling(&world);
    let shown = &steps(&world, &member.run, &Compensations::new())[2];
    assert_eq!(shown["status"], "polling");
    assert_eq!(shown["poll_started_at"], "2026-01-05T08:00:00.000Z");
    assert_eq!(shown["last_polled_at"], "2026-01-05T08:15:00.000Z");
    assert_eq!((&shown["poll_count"], &shown["poll_interval_sec"]), (&json!(1), &json!(900)));
    let id = 7 * 65_536 + 2;
    assert_eq!(shown["job_id"], format!("step-{id}-attempt-1-poll-1"));
}

#[test]
fn a_step_that_failed_for_good_tells_what_became_of_its_undoing() {
    // A-110, X-001: the step keeps its status; the undoing has a word of its own.
    let world = BatchWorld::new(BatchMode::Scheduled);
    let mut member = polling(&world);
    member.wait_secs(24 * 60 * 60);
    member.tell(&Command::Wake);
    let undoing = member.run.steps[2].compensation.unwrap();
    let told = |status: Option<RunStatus>| {
        let known = status.map(|status| (undoing, status)).into_iter().collect();
        let shown = steps(&world, &member.run, &known)[2].clone();
        assert_eq!(shown["status"], "poll_timeout");
        assert_eq!(shown["on_failure"], "undo-mailbox-move");
        shown["compensation"].as_str().unwrap().to_owned()
    };
    assert_eq!(told(Some(RunStatus::Running)), "sent");
    assert_eq!(told(Some(RunStatus::Succeeded)), "succeeded");
    assert_eq!(told(Some(RunStatus::Failed)), "failed");
}

#[test]
fn what_prepares_a_batch_is_listed_with_its_steps() {
    // A-211, X-084
    let world = BatchWorld::new(BatchMode::Scheduled);
    let shown = steps(&world, &world.init(3).run, &Compensations::new());
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0]["is_init"], true);
    assert_eq!(shown[0]["step_name"], "create-batch-group");
    assert_eq!(shown[0]["job_id"], format!("init-{}-attempt-1", 3 * 65_536));
    assert_eq!((&shown[0]["phase_name"], &shown[0]["runbook_version"]), (&Value::Null, &json!(3)));
    assert!(steps(&world, &world.removal(4).run, &Compensations::new()).is_empty());
}

#[test]
fn a_member_is_shown_with_its_data_and_what_its_workers_returned() {
    // A-077, A-208, X-093: with who removed it.
    let world = BatchWorld::new(BatchMode::Scheduled);
    let member = polling(&world);
    let row = MemberRow {
        id: MemberId(505),
        batch: BATCH,
        key: "ada@contoso.com",
        status: "removed",
        run: member.run.id(),
        run_status: member.run.status.word(),
        current_step: Some("cutover@3/start-mailbox-move"),
        added_at: made_at(),
        ended_at: None,
        removed_at: Some(at("2026-01-06T00:00:00Z")),
        removed_by: Some("ada"),
        removal_dispatched_at: None,
    };
    expect![[r#"
        {
          "add_dispatched_at": null,
          "added_at": "2026-01-05T08:00:00.000Z",
          "batch_id": 42,
          "current_step": "cutover/start-mailbox-move",
          "data": {
            "FirstName": "Ada",
            "LastName": "Lovelace",
            "ObjectType": "EntraUser",
            "UserPrincipalName": "ada@contoso.com"
          },
          "error": null,
          "failed_at": null,
          "id": 505,
          "member_key": "ada@contoso.com",
          "remove_dispatched_at": null,
          "removed_at": "2026-01-06T00:00:00.000Z",
          "removed_by": "ada",
          "run_id": "019b8d3c-0000-7000-8000-000000000007",
          "run_status": "running",
          "status": "removed",
          "worker_data": {
            "NewUserId": "u-1"
          }
        }"#]]
    .assert_eq(&pretty(&view::member(row, Some(&member.run), None)));
    let late = view::member(row, None, Some(made_at()));
    assert_eq!(late.add_dispatched_at.map(|it| it.0), Some(made_at()));
    assert_eq!(late.data, None, "what retention has deleted is not made up");
}

#[test]
fn a_history_says_who_did_what_and_why() {
    // A-224, X-093
    let mut world = BatchWorld::new(BatchMode::Scheduled);
    let later = at("2026-01-16T08:00:00Z");
    world.tell(made_at(), &BatchCommand::Move { start: later, by: by() });
    world.tell(made_at(), &BatchCommand::Cancel { by: by() });
    let lines = world.records.iter().zip(1..).flat_map(|(record, id)| {
        let shown = view::record(id, &world.batch, record);
        shown.entries.into_iter().map(move |entry| format!("{id} {}\n", Value::Object(entry)))
    });
    expect![[r#"
        1 {"event":"detected"}
        1 {"event":"init_dispatched","runbook_version":3}
        2 {"actor":"ada","event":"members_joined","members":2,"reason":"the change window"}
        3 {"actor":"ada","batch_start_time":"2026-01-16T08:00:00.000Z","event":"start_moved","reason":"the change window"}
        4 {"actor":"ada","event":"cancel_requested","reason":"the change window"}
        4 {"event":"phase_ended","phase_execution_id":108,"phase_name":"pre-notification","status":"skipped"}
        4 {"event":"phase_ended","phase_execution_id":109,"phase_name":"prepare","status":"skipped"}
        4 {"event":"phase_ended","phase_execution_id":110,"phase_name":"cutover","status":"skipped"}
        4 {"event":"ended","status":"cancelled"}
    "#]].assert_eq(&lines.collect::<String>());
}

#[test]
fn a_job_says_all_that_its_worker_must_know() {
    // A-078, A-079, A-080, A-202
    let world = BatchWorld::new(BatchMode::Scheduled);
    let member = opened(&world);
    let message = job_message(&member.run, StepIndex(0)).unwrap();
    let body: Value = serde_json::from_str(&message.to_body()).unwrap();
    expect![[r#"
        {
          "BatchId": 42,
          "CorrelationData": {
            "IsInitStep": false,
            "RunbookName": "contoso-mailbox-migration",
            "RunbookVersion": 3,
            "StepExecutionId": 458752
          },
          "FunctionName": "Send-Mail",
          "JobId": "step-458752-attempt-1",
          "Parameters": {
            "Email": "ada@contoso.com",
            "Name": "Ada Lovelace"
          },
          "WorkerId": "worker-01"
        }"#]]
    .assert_eq(&pretty(&body));
    assert!(job_message(&member.run, StepIndex(1)).is_none(), "nothing of it is under way");
    assert_eq!(job_id(&member.run, StepIndex(1)), None);
    let init = world.init(3);
    let body = job_message(&init.run, StepIndex(0)).unwrap().to_body();
    assert!(body.contains(r#""JobId":"init-196608-attempt-1""#), "{body}");
    assert!(body.contains(r#""IsInitStep":true"#), "{body}");
}

#[test]
fn a_removal_is_named_by_its_member_and_a_rollback_by_the_step_it_undoes() {
    // X-031, X-033
    let world = BatchWorld::new(BatchMode::Scheduled);
    let removal = world.removal(9);
    assert_eq!(job_id(&removal.run, StepIndex(0)).unwrap().to_string(), "removal-505-1");
    let mut member = polling(&world);
    member.wait_secs(24 * 60 * 60);
    member.tell(&Command::Wake);
    let undoing = member.effects.iter().find_map(|effect| match effect {
        Effect::StartRun(header) => Some(World::start(Header::clone(header))),
        _ => None,
    });
    let undoing = undoing.unwrap();
    let message = job_message(&undoing.run, StepIndex(0)).unwrap();
    let failed = 7 * 65_536 + 2;
    assert_eq!(message.job_id.to_string(), format!("rollback-{failed}-1"));
    assert_eq!(message.correlation_data.step_execution_id.get(), failed);
    assert_eq!(message.correlation_data.runbook_version, 3);
}
