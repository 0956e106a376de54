//! Jobs and nodes as readers see them.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::{Act, Command};
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::platform::view::{self, Owner};

use super::{accepted, message};
use crate::world::{World, start};

fn shown(world: &World) -> Value {
    let owner = Owner { id: "instance-1", heartbeat_at: start() };
    serde_json::to_value(view::job(&world.run, Some(owner))).unwrap()
}

fn nodes(world: &World) -> Vec<String> {
    let job = shown(world);
    let nodes = job["nodes"].as_array().unwrap().iter();
    nodes.map(|node| format!("{} {}", node["node_id"], node["status"]).replace('"', "")).collect()
}

#[test]
fn a_job_is_shown_with_the_columns_of_its_table_first() {
    // B-022, B-023, X-113
    let world = World::start(accepted(message()));
    let text = serde_json::to_string(&view::job(&world.run, None)).unwrap();
    let columns = [
        "job_id",
        "workflow_id",
        "status",
        "input_params",
        "owner_id",
        "owner_heartbeat_at",
        "created_at",
        "submitted_by",
        "correlation_id",
        "version",
        "workflow_version",
    ];
    let places = columns.map(|column| text.find(&format!("\"{column}\":")).unwrap());
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn a_job_is_shown_whole() {
    let mut world = World::start(accepted(message()));
    world.ack("fetch");
    let mut job = shown(&world);
    let node = job["nodes"][0].take();
    job["nodes"] = json!(["…"]);
    expect![[r#"
        {
          "callback_url": "https://ddh.example/done",
          "cancelling": false,
          "completed_at": null,
          "correlation_id": "ddh-req-12345",
          "created_at": "2026-01-05T08:00:01.000Z",
          "error": null,
          "idempotency_key": "ddh-12345",
          "input_params": {
            "blob_name": "data/file.tif"
          },
          "job_id": "019b8d3c-0000-7000-8000-000000000001",
          "message_id": "m-1",
          "nodes": [
            "…"
          ],
          "owner_heartbeat_at": "2026-01-05T08:00:00.000Z",
          "owner_id": "instance-1",
          "paused": false,
          "priority": 3,
          "resumes": null,
          "started_at": "2026-01-05T08:00:01.000Z",
          "status": "running",
          "submitted_at": "2026-01-05T08:00:00.000Z",
          "submitted_by": "ddh-gateway",
          "updated_at": "2026-01-05T08:00:01.000Z",
          "version": 2,
          "workflow_id": "raster_ingest",
          "workflow_version": 0
        }
        {
          "attempt": 1,
          "completed_at": null,
          "depends_on": [],
          "dispatched_at": "2026-01-05T08:00:01.000Z",
          "error": null,
          "node_id": "fetch",
          "pool": "io",
          "result": null,
          "skip_reason": null,
          "status": "running",
          "task_type": "FETCH",
          "waiting_for": "worker",
          "wake_at": "2026-01-05T08:15:01.000Z"
        }"#]]
    .assert_eq(&format!("{job:#}\n{node:#}"));
}

#[test]
fn nodes_are_shown_as_they_move_along_the_graph() {
    // B-021, X-111
    let mut world = World::start(accepted(message()));
    assert_eq!(shown(&world)["status"], "running");
    assert_eq!(
        nodes(&world),
        ["fetch dispatched", "tile pending", "stats pending", "publish pending"]
    );
    world.ack("fetch");
    assert_eq!(nodes(&world)[0], "fetch running");
    world.report("fetch", Outcome::Succeeded { result: json!({"size": 7}) });
    assert_eq!(
        nodes(&world),
        ["fetch completed", "tile dispatched", "stats dispatched", "publish pending"]
    );
    assert_eq!(shown(&world)["nodes"][0]["result"], json!({"size": 7}));
    assert_eq!(shown(&world)["nodes"][3]["depends_on"], json!(["tile", "stats"]));
    let error = StepError::new("no_space", "the disk is full");
    world.report("tile", Outcome::Failed { error, retryable: false, retry_after: None });
    assert_eq!(
        nodes(&world),
        ["fetch completed", "tile failed", "stats dispatched", "publish skipped"]
    );
    assert_eq!(shown(&world)["status"], "running", "a branch is under way");
    world.report("stats", Outcome::Succeeded { result: Value::Null });
    let job = shown(&world);
    assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("no_space")));
    assert_eq!(job["nodes"][3]["skip_reason"], "dependency");
}

#[test]
fn a_job_that_is_being_cancelled_is_still_running() {
    // B-025, X-111, X-114: what is under way may end.
    let mut world = World::start(accepted(message()));
    world.tell(&Command::Cancel { mode: None, by: Act::new("operator", "") });
    let job = shown(&world);
    assert_eq!((&job["status"], &job["cancelling"]), (&json!("running"), &json!(true)));
    world.report("fetch", Outcome::Succeeded { result: Value::Null });
    let job = shown(&world);
    assert_eq!((&job["status"], &job["cancelling"]), (&json!("cancelled"), &json!(false)));
    assert_eq!(nodes(&world)[3], "publish cancelled");
}
