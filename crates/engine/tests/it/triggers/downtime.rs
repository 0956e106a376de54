//! Nobody was there when something was due.

use serde_json::{Value, json};

use super::world::{Place, at, schedule, until};
use crate::world::sqlite;

/// Noon, and after so long somebody is there again; what has become of the firings.
async fn away(cron: &str, more: Value, until_moment: &str) -> (Place, tempfile::TempDir) {
    let dir = tempfile::tempdir().expect("a place");
    let mut place = Place::on(sqlite(&dir), "2026-02-03T12:00:00Z").await;
    place.put(schedule(cron, "UTC", more)).await;
    place.world.engine.crash();
    place.world.store.close().await.expect("the file is let go");
    place.move_to(at(until_moment));
    place.world.restart(sqlite(&dir)).await;
    until(async || {
        let next = place.trigger("nightly").await.next_at;
        next.is_some_and(|next| next > place.world.engine.now()).then_some(())
    })
    .await;
    (place, dir)
}

// Issue 6: downtime of an hour.
#[tokio::test]
async fn after_an_hour_the_latest_firing_is_made_up_for() {
    let (place, _dir) = away("*/20 * * * *", json!({}), "2026-02-03T13:05:00Z").await;
    let lines = place.lines("nightly").await;
    assert_eq!(lines, ["2026-02-03T12:40 skipped", "2026-02-03T13:00 started"]);
    let reason = place.firings("nightly").await.remove(0).reason.expect("it says how many");
    assert!(reason.starts_with("2 firings from 2026-02-03T12:20"), "{reason}");
    assert_eq!(place.trigger("nightly").await.next_at, Some(at("2026-02-03T13:20:00Z")));
}

// Issue 6
#[tokio::test]
async fn after_an_hour_all_firings_are_made_up_for_if_asked() {
    let more = json!({"catch_up_mode": "all", "catch_up": "2h", "overlap": "allow"});
    let (place, _dir) = away("*/20 * * * *", more, "2026-02-03T13:05:00Z").await;
    let expected = ["12:20", "12:40", "13:00"].map(|it| format!("2026-02-03T{it} started"));
    assert_eq!(place.lines("nightly").await, expected);
    assert_eq!(place.runs().await.len(), 3);
}

// Issue 6: downtime of a week.
#[tokio::test]
async fn after_a_week_nothing_older_than_the_window_is_made() {
    let (place, _dir) = away("30 2 * * *", json!({}), "2026-02-10T12:00:00Z").await;
    assert_eq!(place.lines("nightly").await, ["2026-02-10T02:30 skipped"]);
    let reason = place.firings("nightly").await.remove(0).reason.expect("it says how many");
    assert!(reason.starts_with("7 firings"), "{reason}");
    assert!(place.runs().await.is_empty());
}

// Issue 6
#[tokio::test]
async fn after_a_week_of_every_second_it_neither_floods_nor_stalls() {
    let more = json!({"catch_up": "5m", "catch_up_mode": "all", "overlap": "allow"});
    let (place, _dir) = away("* * * * * *", more, "2026-02-10T12:00:00.500Z").await;
    let runs = place.runs().await.len();
    assert_eq!(runs, 300, "those of five minutes, a hundred at a time");
    let firings = place.firings("nightly").await;
    let skipped = firings.iter().find(|firing| firing.run.is_none()).expect("many were skipped");
    assert!(skipped.reason.as_deref().is_some_and(|it| it.starts_with("10000 firings or more")));
}
