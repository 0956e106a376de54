//! What the requester of a job is told when it ends.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::{Act, Command};
use stepwell_core::effect::Effect;
use stepwell_core::run::{Dialect, Header};
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::notice::notices;

use crate::world::{TWO_STEPS, World, accepted};

fn asked() -> Header {
    let urls = ["https://a.example/done", "https://b.example/done"];
    accepted(&json!({"callback_urls": urls, "correlation_id": "c-1"}), TWO_STEPS)
}

fn fail(world: &mut World) {
    let error = StepError::new("bad_scan", "page 3 is empty");
    world.report("ocr", Outcome::Failed { error, retryable: false, retry_after: None });
}

#[test]
fn every_callback_url_of_the_envelope_is_told_of_the_end() {
    // X-141: the client's webhooks, one CloudEvent each.
    let mut world = World::start(asked());
    assert_eq!(notices(&world.run), [], "nothing has ended");
    world.wait_secs(5);
    fail(&mut world);
    let notices = notices(&world.run);
    let urls: Vec<&str> = notices.iter().map(|notice| notice.url.as_str()).collect();
    assert_eq!(urls, ["https://a.example/done", "https://b.example/done"]);
    assert_eq!(notices[0].body, notices[1].body);
    expect![[r#"
        {
          "data": {
            "correlation_id": "c-1",
            "error": {
              "code": "bad_scan",
              "message": "page 3 is empty"
            },
            "jobId": "019b8d3c-0000-7000-8000-000000000001",
            "output_ref": "https://store.example/out/1.json",
            "protocol_id": "intake",
            "request_type": "document.ingest",
            "status": "FAILED_FINAL",
            "tenant_id": "contoso"
          },
          "datacontenttype": "application/json",
          "id": "019b8d3c-0000-7000-8000-000000000001:2",
          "source": "stepwell",
          "specversion": "1.0",
          "subject": "019b8d3c-0000-7000-8000-000000000001",
          "time": "2026-01-05T08:00:05.000Z",
          "type": "stepwell.job.completed.v1"
        }"#]]
    .assert_eq(&format!("{:#}", notices[0].body));
}

#[test]
fn the_end_is_told_in_the_words_of_the_dialect() {
    // D-054: SUCCEEDED, FAILED_FINAL or CANCELLED.
    let told = |world: &World| notices(&world.run)[0].body["data"]["status"].clone();
    let mut world = World::start(asked());
    world.tell(&Command::Cancel { mode: None, by: Act::new("client", "") });
    assert_eq!(notices(&world.run), [], "it is being cancelled");
    world.report("ocr", Outcome::Succeeded { result: Value::Null });
    assert_eq!(told(&world), "CANCELLED");
    let mut world = World::start(asked());
    for step in ["ocr", "file"] {
        world.report(step, Outcome::Succeeded { result: json!({"text": "t"}) });
    }
    assert_eq!(told(&world), "SUCCEEDED");
}

#[test]
fn nobody_is_told_who_did_not_ask() {
    let mut silent = World::start(accepted(&json!({}), TWO_STEPS));
    fail(&mut silent);
    assert_eq!(notices(&silent.run), []);
    let mut other = World::start(Header { dialect: Dialect::Runbooks, ..asked() });
    fail(&mut other);
    assert_eq!(notices(&other.run), []);
}

#[test]
fn the_end_of_a_compensation_is_not_the_end_of_the_job() {
    let protocol = "
name: intake
request_type: document.ingest
steps: [{id: ocr, type: T, pool: p, on_failure: undo}]
compensations: {undo: [{id: ocr, type: U, pool: p}]}
";
    let mut world =
        World::start(accepted(&json!({"callback_urls": ["https://a.example"]}), protocol));
    fail(&mut world);
    assert_eq!(notices(&world.run).len(), 1);
    let undo = world.effects.iter().find_map(|effect| match effect {
        Effect::StartRun(header) => Some(Header::clone(header)),
        _ => None,
    });
    let mut undo = World::start(undo.unwrap());
    fail(&mut undo);
    assert!(undo.run.status.is_terminal());
    assert_eq!(notices(&undo.run), []);
}
