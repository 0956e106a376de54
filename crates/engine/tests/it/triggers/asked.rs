//! What people ask of triggers.

use serde_json::{Map, json};
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::workspaces::{trigger, view};
use stepwell_engine::{EngineError, TriggerError};
use stepwell_store::FiringOutcome;

use super::world::{Place, at, schedule, tenant};
use crate::world::sqlite;

const NOON: &str = "2026-02-03T12:00:00Z";

fn button() -> serde_json::Value {
    json!({"name": "button", "kind": "manual", "workflow_id": "report", "input": {"size": 1, "color": "red"}})
}

// C-007, C-036: by hand, once for each key.
#[tokio::test]
async fn a_trigger_fired_by_hand_makes_one_job_for_each_key() {
    let dir = tempfile::tempdir().expect("a place");
    let place = Place::on(sqlite(&dir), NOON).await;
    place.put(button()).await;
    let engine = &place.world.engine;
    let fire = async |key, input: serde_json::Value| {
        let serde_json::Value::Object(input) = input else { panic!("an object") };
        engine.fire(&tenant(), "button", key, input).await
    };
    let first = fire(Some("k"), json!({"size": 2})).await.expect("fired");
    let run = place.run_of(&first.firing).await;
    assert_eq!((&run.header.input["size"], &run.header.input["color"]), (&json!(2), &json!("red")));
    let job = serde_json::to_value(view::job(&run, None)).expect("a view");
    assert_eq!(job["trigger_type"], "manual");
    let again = fire(Some("k"), json!({"size": 2})).await.expect("answered again");
    assert_eq!((again.firing.run, again.repeated), (first.firing.run, true));
    let reused = fire(Some("k"), json!({"size": 3})).await.expect_err("another request");
    assert!(matches!(reused, TriggerError::Engine(EngineError::KeyReused { .. })), "{reused}");
    let fresh = fire(None, json!({})).await.expect("fired");
    assert!(!fresh.repeated);
    assert_eq!(place.runs().await.len(), 2);
}

#[tokio::test]
async fn a_schedule_may_be_fired_by_hand_and_goes_on_as_before() {
    let place = Place::new(NOON).await;
    place.put(schedule("0 13 * * *", "UTC", json!({"overlap": "allow"}))).await;
    place.world.engine.fire(&tenant(), "nightly", None, Map::new()).await.expect("fired");
    place.until_looked("nightly").await;
    assert_eq!(place.trigger("nightly").await.next_at, Some(at("2026-02-03T13:00:00Z")));
    place.next("nightly").await;
    let lines = place.lines("nightly").await;
    assert_eq!(lines, ["2026-02-03T12:00 started", "2026-02-03T13:00 started"]);
}

#[tokio::test]
async fn what_is_switched_off_or_fires_otherwise_is_not_fired_by_hand() {
    let place = Place::new(NOON).await;
    let engine = &place.world.engine;
    place.put(button()).await;
    engine.switch_trigger(&tenant(), "button", false, "tester").await.expect("switched");
    let fired = engine.fire(&tenant(), "button", None, Map::new()).await;
    assert!(matches!(fired, Err(TriggerError::Disabled(_))), "{fired:?}");
    place.put(json!({"name": "hook", "kind": "webhook", "workflow_id": "report"})).await;
    let fired = engine.fire(&tenant(), "hook", None, Map::new()).await;
    assert!(matches!(fired, Err(TriggerError::NotByHand(TriggerKind::Webhook))), "{fired:?}");
    let fired = engine.fire(&tenant(), "nobody", None, Map::new()).await;
    assert!(matches!(fired, Err(TriggerError::NotFound(_))), "{fired:?}");
}

#[tokio::test]
async fn a_trigger_of_a_workflow_that_is_not_there_is_refused() {
    let place = Place::new(NOON).await;
    let mut document = button();
    document["workflow_id"] = json!("nothing");
    let refused = place.try_put(document).await;
    assert!(matches!(refused, Err(TriggerError::WorkflowNotFound(_))), "{refused:?}");
}

#[tokio::test]
async fn a_change_that_rests_on_an_old_version_is_refused() {
    let place = Place::new(NOON).await;
    let put = async |seen| {
        let document = trigger::of_json(&button()).expect("sound");
        place.world.engine.put_trigger(&tenant(), &document, seen, "tester").await
    };
    assert!(put(Some(0)).await.expect("made").created);
    assert_eq!(put(Some(1)).await.expect("changed").trigger.version, 2);
    let refused = put(Some(1)).await;
    assert!(matches!(refused, Err(TriggerError::Changed { version: 2, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_deleted_trigger_fires_no_more_and_its_jobs_go_on() {
    let place = Place::new(NOON).await;
    place.put(schedule("0 * * * *", "UTC", json!({}))).await;
    place.next("nightly").await;
    let engine = &place.world.engine;
    engine.delete_trigger(&tenant(), "nightly").await.expect("deleted");
    let again = engine.delete_trigger(&tenant(), "nightly").await;
    assert!(matches!(again, Err(TriggerError::NotFound(_))), "{again:?}");
    place.move_to(at("2026-02-03T18:00:00Z"));
    super::world::settle().await;
    let runs = place.runs().await;
    assert_eq!(runs.len(), 1);
    assert!(!place.world.run(runs[0]).await.status.is_terminal());
}

// Issue 6: next firings are shown by a preview.
#[tokio::test]
async fn a_preview_shows_what_comes_and_makes_nothing() {
    let place = Place::new("2026-03-28T12:00:00Z").await;
    let engine = &place.world.engine;
    let preview =
        engine.preview_schedule("30 2 * * *", "Europe/Berlin", None, 2).expect("a schedule");
    let shown: Vec<_> = preview.iter().map(|next| (next.at, next.local.as_str())).collect();
    assert_eq!(
        shown,
        [
            (at("2026-03-29T01:00:00Z"), "2026-03-29T03:00:00+02:00"),
            (at("2026-03-30T00:30:00Z"), "2026-03-30T02:30:00+02:00"),
        ]
    );
    let wrong =
        engine.preview_schedule("61 2 * * *", "Europe/Berlin", None, 2).expect_err("no minute");
    assert!(wrong.to_string().contains("minute, at character 1"), "{wrong}");
    assert!(place.runs().await.is_empty());
}

#[tokio::test]
async fn firings_are_counted_by_what_became_of_them() {
    let place = Place::new(NOON).await;
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": "skip"}))).await;
    place.next("nightly").await;
    place.next("nightly").await;
    place.until_outcomes("nightly", FiringOutcome::Skipped, 1).await;
    let mut registry = prometheus_client::registry::Registry::default();
    place.world.engine.metrics().register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("encodes");
    for line in [
        "stepwell_trigger_firings_total{outcome=\"started\"} 1",
        "stepwell_trigger_firings_total{outcome=\"skipped\"} 1",
        "stepwell_trigger_lag_seconds_count 1",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}
