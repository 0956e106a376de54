//! The message that starts an attempt.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::{Act, Command};
use stepwell_core::definition::CancelMode;
use stepwell_dialects::workspaces::envelope::{Standing, message, read};
use stepwell_dialects::workspaces::{Message, view};

use super::{failed, job, pretty};
use crate::world::World;

fn parsed(message: &Message) -> Value {
    serde_json::from_str(&message.to_body()).unwrap()
}

#[test]
fn the_message_has_the_fields_of_the_contract_and_no_other() {
    // C-002, C-003, C-025
    let world = job(&json!({"trigger_type": "file_drop"}));
    expect![[r#"
        {
          "v": 1,
          "job_id": "019b8d3c-0000-4000-8000-000000000001",
          "workspace_id": "atelier",
          "trigger_type": "file_drop",
          "attempt": 1,
          "max_attempts": 5,
          "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
          "idempotency_key": "upload-42"
        }"#]]
    .assert_eq(&pretty(&message(&world.run)));
}

#[test]
fn what_the_message_says_is_what_the_record_says() {
    // C-026
    let world = job(&json!({"max_attempts": 7, "idempotency_key": null}));
    let body = parsed(&message(&world.run));
    let record = json!(view::job(&world.run, None));
    for field in
        ["job_id", "workspace_id", "trigger_type", "max_attempts", "trace_id", "idempotency_key"]
    {
        assert_eq!(body[field], record[field], "{field}");
    }
    assert_eq!(body["idempotency_key"], body["job_id"], "a job without a key is its own");
    assert_eq!(body["attempt"], 1);
}

#[test]
fn every_attempt_has_a_message_with_its_own_number() {
    // X-118
    let mut world = job(&json!({}));
    for attempt in 1..=3 {
        let message = message(&world.run);
        assert_eq!(message.attempt, attempt);
        assert_eq!(message.judge(Some(&world.run)), Ok(Standing::Wanted));
        world.ack("listen");
        world.report("listen", failed("noise", true));
        assert_eq!(message.judge(Some(&world.run)), Ok(Standing::Superseded), "it has failed");
        wait_for_the_next_attempt(&mut world);
        assert_eq!(message.judge(Some(&world.run)), Ok(Standing::Superseded), "there is another");
    }
}

fn wait_for_the_next_attempt(world: &mut World) {
    world.wait_secs(3_600);
    world.tell(&Command::Wake);
}

#[test]
fn a_message_of_a_job_that_has_ended_is_acknowledged_and_changes_nothing() {
    // C-022, C-037
    let mut world = job(&json!({}));
    let message = message(&world.run);
    let by = Act::new("portal", "");
    world.tell(&Command::Cancel { mode: Some(CancelMode::Immediate), by });
    assert_eq!(message.judge(Some(&world.run)), Ok(Standing::Ended));
    let mut world = job(&json!({}));
    world.ack("listen");
    world.report("listen", failed("no such file", false));
    assert_eq!(message.judge(Some(&world.run)), Ok(Standing::Ended));
}

#[test]
fn what_was_written_reads_the_same_and_more_fields_pass() {
    // C-025, C-026: attributes are only added.
    let world = job(&json!({}));
    let message = message(&world.run);
    assert_eq!(read(message.to_body().as_bytes()), Ok(message.clone()));
    let mut more = parsed(&message);
    more["priority"] = json!(9);
    assert_eq!(read(more.to_string().as_bytes()), Ok(message));
}

#[test]
fn a_message_that_nobody_can_follow_is_poison() {
    // X-129: unknown version, unknown job, another workspace, bad fields.
    let world = job(&json!({}));
    let message = message(&world.run);
    let changed = |field: &str, value: Value| {
        let mut body = parsed(&message);
        body[field] = value;
        read(body.to_string().as_bytes()).unwrap_err().to_string()
    };
    let mut told = vec![
        changed("v", json!(2)),
        changed("v", json!("1")),
        changed("v", Value::Null),
        changed("job_id", json!("job-1")),
        changed("trigger_type", json!("cron")),
        changed("attempt", json!(0)),
        changed("trace_id", Value::Null),
        read(b"not json").unwrap_err().to_string(),
        message.judge(None).unwrap_err().to_string(),
    ];
    let stranger = Message { workspace_id: "loft".to_owned(), ..message.clone() };
    told.push(stranger.judge(Some(&world.run)).unwrap_err().to_string());
    expect![[r#"
        VersionUnknown: version "2" is not known; 1 is
        VersionUnknown: version "1" is not known; the number 1 is
        VersionUnknown: the message does not say its version; "v": 1 is known
        MessageInvalid: job_id: "job-1" is not an id
        MessageInvalid: trigger_type: "cron" is not possible here; use one of manual, schedule, webhook, file_drop
        MessageInvalid: attempt: 0 is out of range; use 1 to 4294967295
        MessageInvalid: trace_id: this field is required
        MessageInvalid: 1:2: this is not JSON: expected ident
        JobNotFound: job 019b8d3c-0000-4000-8000-000000000001 does not exist
        WorkspaceMismatch: job 019b8d3c-0000-4000-8000-000000000001 does not belong to workspace "loft"
    "#]]
    .assert_eq(&format!("{}\n", told.join("\n")));
}
