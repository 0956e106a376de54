//! Schedules on simulated time.

use serde_json::json;
use stepwell_dialects::workspaces::view;
use stepwell_store::FiringOutcome;

use super::world::{Place, at, schedule, settle, tenant};
use crate::world::sqlite;

async fn fires_like(zone: &str, cron: &str, from: &str, count: usize, expected: &[&str]) {
    let place = Place::new(from).await;
    place.put(schedule(cron, zone, json!({"overlap": "allow"}))).await;
    for _ in 0..count {
        place.next("nightly").await;
    }
    let expected: Vec<String> = expected.iter().map(|line| format!("{line} started")).collect();
    assert_eq!(place.lines("nightly").await, expected);
    assert_eq!(place.runs().await.len(), count);
}

// Issue 6: schedule across both daylight-saving changes. The clock goes from 02:00 to 03:00, 01:00 UTC.
#[tokio::test]
async fn a_nightly_job_runs_once_in_the_night_that_has_no_half_past_two() {
    let expected = ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"];
    fires_like("Europe/Berlin", "30 2 * * *", "2026-03-27T12:00:00Z", 3, &expected).await;
}

// Issue 6: the clock goes from 03:00 back to 02:00, 01:00 UTC.
#[tokio::test]
async fn a_nightly_job_runs_once_in_the_night_that_has_two_of_them() {
    let expected = ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"];
    fires_like("Europe/Berlin", "30 2 * * *", "2026-10-23T12:00:00Z", 3, &expected).await;
}

// Issue 6
#[tokio::test]
async fn an_hourly_job_runs_every_hour_whatever_the_clock_shows() {
    let expected = ["2026-11-01T04:00", "2026-11-01T05:00", "2026-11-01T06:00", "2026-11-01T07:00"];
    fires_like("America/New_York", "0 * * * *", "2026-11-01T03:30:00Z", 4, &expected).await;
}

// Issue 6: leap day.
#[tokio::test]
async fn a_job_of_the_leap_day_waits_for_years() {
    let place = Place::new("2026-02-03T12:00:00Z").await;
    place.put(schedule("0 0 29 2 *", "UTC", json!({"overlap": "allow"}))).await;
    for year in ["2028", "2032"] {
        place.next("nightly").await;
        // What was noted of the one before is forgotten by then.
        let lines = place.lines("nightly").await;
        assert_eq!(lines.last().map(String::as_str), Some(&*format!("{year}-02-29T00:00 started")));
    }
}

// C-007: a job says what made it; C-036: it is made under the key of its firing.
#[tokio::test]
async fn a_scheduled_job_says_what_made_it_and_when_it_was_meant() {
    let dir = tempfile::tempdir().expect("a place");
    let place = Place::on(sqlite(&dir), "2026-02-03T12:00:00Z").await;
    let mut document = schedule("*/10 * * * * *", "UTC", json!({}));
    document["input"] = json!({"of": "{{_scheduled_for}}", "by": "{{_trigger}}"});
    document["max_attempts"] = json!(3);
    place.put(document).await;
    place.next("nightly").await;
    let firing = place.firings("nightly").await.remove(0);
    assert_eq!(firing.key, "2026-02-03T12:00:10.000Z");
    assert_eq!((firing.at, firing.scheduled_for), (at(&firing.key), Some(at(&firing.key))));
    let run = place.run_of(&firing).await;
    let job = serde_json::to_value(view::job(&run, None)).expect("a view");
    assert_eq!(job["trigger_type"], "schedule");
    assert_eq!(job["workspace_id"], "acme");
    assert_eq!(job["user_id"], "trigger:nightly");
    assert_eq!(job["max_attempts"], 3);
    assert_eq!(job["idempotency_key"], "trigger:nightly:2026-02-03T12:00:10.000Z");
    assert_eq!(run.header.actor, "trigger:nightly");
    assert_eq!(run.header.input["of"], "2026-02-03T12:00:10.000Z");
    assert_eq!(run.header.input["by"], "nightly");
}

#[tokio::test]
async fn nothing_fires_before_its_time_or_while_it_is_switched_off() {
    let place = Place::new("2026-02-03T12:00:00Z").await;
    place.put(schedule("0 13 * * *", "UTC", json!({}))).await;
    place.move_to(at("2026-02-03T12:59:59.999Z"));
    settle().await;
    assert!(place.firings("nightly").await.is_empty());
    let engine = &place.world.engine;
    let off =
        engine.switch_trigger(&tenant(), "nightly", false, "tester").await.expect("it is off");
    assert_eq!((off.enabled, off.next_at), (false, None));
    place.move_to(at("2026-02-04T12:00:00Z"));
    settle().await;
    assert!(place.firings("nightly").await.is_empty());
    let on = engine.switch_trigger(&tenant(), "nightly", true, "tester").await.expect("it is on");
    assert_eq!(on.next_at, Some(at("2026-02-04T13:00:00Z")), "what it missed is not caught up");
}

#[tokio::test]
async fn a_changed_schedule_fires_at_its_new_times_only() {
    let place = Place::new("2026-02-03T12:00:00Z").await;
    place.put(schedule("0 13 * * *", "UTC", json!({}))).await;
    place.put(schedule("0 14 * * *", "UTC", json!({}))).await;
    assert_eq!(place.trigger("nightly").await.version, 2);
    place.next("nightly").await;
    assert_eq!(place.lines("nightly").await, ["2026-02-03T14:00 started"]);
}

// Issue 6: errors are noted on the firing and on the trigger.
#[tokio::test]
async fn a_firing_that_can_make_no_job_says_why() {
    let place = Place::new("2026-02-03T12:00:00Z").await;
    let strict = "
name: strict
input_schema: {type: object, required: [document]}
steps:
  - {id: make, type: MAKE, pool: workers}
";
    place.world.publish(strict).await;
    let mut document = schedule("0 * * * *", "UTC", json!({}));
    document["workflow_id"] = json!("strict");
    place.put(document.clone()).await;
    place.next("nightly").await;
    let firing = place.firings("nightly").await.remove(0);
    assert_eq!((firing.outcome, firing.run), (FiringOutcome::Failed, None));
    let reason = firing.reason.expect("it says why");
    assert!(reason.contains("document"), "{reason}");
    assert_eq!(place.trigger("nightly").await.last_error, Some(reason));
    document["input"] = json!({"document": "d-1"});
    place.put(document).await;
    place.next("nightly").await;
    let lines = place.lines("nightly").await;
    assert_eq!(lines, ["2026-02-03T13:00 failed", "2026-02-03T14:00 started"]);
    assert_eq!(place.trigger("nightly").await.last_error, None, "it is well again");
}
