//! What the requester of a job is told when it ends.

use expect_test::expect;
use serde_json::Value;
use stepwell_core::command::{Act, Command};
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::notice::notices;
use stepwell_dialects::platform::JobQueueMessage;

use super::{accepted, message};
use crate::world::World;

fn fail(world: &mut World) {
    let error = StepError::new("no_space", "the disk is full");
    world.report("fetch", Outcome::Failed { error, retryable: false, retry_after: None });
}

#[test]
fn the_callback_url_is_told_of_the_end() {
    // X-100
    let mut world = World::start(accepted(message()));
    assert_eq!(notices(&world.run), [], "nothing has ended");
    world.wait_secs(5);
    fail(&mut world);
    let [notice] = notices(&world.run).try_into().unwrap();
    assert_eq!(notice.url, "https://ddh.example/done");
    expect![[r#"
        {
          "data": {
            "correlation_id": "ddh-req-12345",
            "error": {
              "code": "no_space",
              "message": "the disk is full"
            },
            "idempotency_key": "ddh-12345",
            "job_id": "019b8d3c-0000-7000-8000-000000000001",
            "message_id": "m-1",
            "status": "failed",
            "workflow_id": "raster_ingest"
          },
          "datacontenttype": "application/json",
          "id": "019b8d3c-0000-7000-8000-000000000001:2",
          "source": "stepwell",
          "specversion": "1.0",
          "subject": "019b8d3c-0000-7000-8000-000000000001",
          "time": "2026-01-05T08:00:06.000Z",
          "type": "stepwell.job.completed.v1"
        }"#]]
    .assert_eq(&format!("{:#}", notice.body));
}

#[test]
fn the_end_is_told_in_the_words_of_the_dialect() {
    // X-100, X-111
    let mut world = World::start(accepted(message()));
    world.tell(&Command::Cancel { mode: None, by: Act::new("operator", "") });
    assert_eq!(notices(&world.run), [], "it is being cancelled");
    world.report("fetch", Outcome::Succeeded { result: Value::Null });
    assert_eq!(notices(&world.run)[0].body["data"]["status"], "cancelled");
    let mut world = World::start(accepted(message()));
    for step in ["fetch", "tile", "stats", "publish"] {
        world.report(step, Outcome::Succeeded { result: Value::Null });
    }
    assert_eq!(notices(&world.run)[0].body["data"]["status"], "completed");
}

#[test]
fn nobody_is_told_who_did_not_ask() {
    let silent = JobQueueMessage { callback_url: None, ..message() };
    let mut world = World::start(accepted(silent));
    fail(&mut world);
    assert_eq!(notices(&world.run), []);
}
