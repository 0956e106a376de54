//! A firing comes while the run of the one before goes on.

use std::time::Duration;

use serde_json::json;
use stepwell_connectors::clock::Clock;
use stepwell_core::credit::Credits;
use stepwell_engine::Settings;
use stepwell_store::memory::MemoryStore;
use stepwell_store::{FiringOutcome, Grant, TenantPolicy};

use super::world::{Place, at, schedule, tenant, until};

const NOON: &str = "2026-02-03T12:00:00Z";

#[tokio::test]
async fn with_skip_a_firing_is_passed_over_while_the_run_before_goes_on() {
    let place = Place::new(NOON).await;
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": "skip"}))).await;
    place.next("nightly").await;
    place.next("nightly").await;
    let firings = place.firings("nightly").await;
    let run = firings[0].run.expect("the first has made a run");
    let reason = firings[1].reason.clone().expect("it says why");
    assert_eq!(
        (firings[1].outcome, reason),
        (FiringOutcome::Skipped, format!("run {run} goes on"))
    );
    place.end(run).await;
    place.next("nightly").await;
    let outcomes = ["13:00 started", "14:00 skipped", "15:00 started"];
    assert_eq!(place.lines("nightly").await, outcomes.map(|it| format!("2026-02-03T{it}")));
}

#[tokio::test]
async fn with_allow_runs_go_on_side_by_side() {
    let place = Place::new(NOON).await;
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": "allow"}))).await;
    for _ in 0..3 {
        place.next("nightly").await;
    }
    assert_eq!(place.runs().await.len(), 3);
}

#[tokio::test]
async fn with_queue_firings_wait_for_the_run_before_and_start_in_order() {
    let place = Place::new(NOON).await;
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": "queue"}))).await;
    place.next("nightly").await;
    for hour in ["14", "15"] {
        place.move_to(at(&format!("2026-02-03T{hour}:00:00Z")));
        place.until_outcomes("nightly", FiringOutcome::Queued, usize::from(hour == "15") + 1).await;
        place.until_looked("nightly").await;
    }
    assert_eq!(place.runs().await.len(), 1);
    // The end of the run is the signal: no time passes.
    for started in 1..=2 {
        let firings = place.firings("nightly").await;
        place.end(firings[started - 1].run.expect("it has made a run")).await;
        place.until_outcomes("nightly", FiringOutcome::Started, started + 1).await;
        let next = place.firings("nightly").await.remove(started);
        assert_eq!(next.outcome, FiringOutcome::Started, "in order");
    }
    let lines = place.lines("nightly").await;
    assert_eq!(lines, ["13:00", "14:00", "15:00"].map(|it| format!("2026-02-03T{it} started")));
}

// The row is what wakes: whoever begins anew has heard no signal.
#[tokio::test]
async fn what_is_queued_starts_after_a_restart_too() {
    let mut place = Place::new(NOON).await;
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": "queue"}))).await;
    place.next("nightly").await;
    place.move_to(at("2026-02-03T14:00:00Z"));
    place.until_outcomes("nightly", FiringOutcome::Queued, 1).await;
    place.until_looked("nightly").await;
    let first = place.firings("nightly").await[0].run.expect("it has made a run");
    let store = place.world.store.clone();
    place.world.engine.crash();
    place.world.restart(store).await;
    place.end(first).await;
    place.world.clock.advance(Duration::from_secs(30));
    place.until_outcomes("nightly", FiringOutcome::Started, 2).await;
    assert_eq!(place.runs().await.len(), 2);
}

#[tokio::test]
async fn no_more_than_a_hundred_firings_wait() {
    let place = Place::new(NOON).await;
    place.put(schedule("* * * * *", "UTC", json!({"overlap": "queue"}))).await;
    for _ in 0..103 {
        let due = place.trigger("nightly").await.fired_until.expect("it is a schedule");
        let minute = due.as_millis() / 60_000 * 60_000 + 60_000;
        place.move_to(stepwell_core::time::Timestamp::from_millis(minute));
        until(async || {
            let fired = place.trigger("nightly").await.fired_until;
            fired.is_some_and(|fired| fired.as_millis() >= minute).then_some(())
        })
        .await;
        place.until_looked("nightly").await;
    }
    let firings = place.firings("nightly").await;
    let count = |wanted| firings.iter().filter(|firing| firing.outcome == wanted).count();
    assert_eq!(
        [FiringOutcome::Started, FiringOutcome::Queued, FiringOutcome::Skipped].map(count),
        [1, 100, 2]
    );
}

// Issue 6: what credits or room forbid is tried again until the window ends.
#[tokio::test]
async fn a_firing_waits_for_credits_until_its_window_ends() {
    let mut settings = Settings::default();
    settings.workspaces.charged = true;
    let place = Place::with(std::sync::Arc::new(MemoryStore::new()), settings, NOON).await;
    let mut document = schedule("0 * * * *", "UTC", json!({"catch_up": "10m"}));
    document["credits_estimate"] = json!(5);
    place.put(document).await;
    place.next("nightly").await;
    let firing = place.firings("nightly").await.remove(0);
    assert_eq!(firing.outcome, FiringOutcome::Queued);
    let error = place.trigger("nightly").await.last_error.expect("it says why");
    assert!(error.contains("credits"), "{error}");
    let grant = Grant {
        tenant: tenant(),
        amount: Credits::whole(7),
        actor: "tester".to_owned(),
        reason: "a test".to_owned(),
        key: None,
        at: place.world.engine.now(),
    };
    place.world.store.grant(grant).await.expect("granted");
    place.next("nightly").await;
    assert_eq!(place.lines("nightly").await, ["2026-02-03T13:00 started"]);
    place.end(place.runs().await[0]).await;
    // The second needs more than is left, and nobody grants more.
    let mut greedy = schedule("0 * * * *", "UTC", json!({"catch_up": "10m"}));
    greedy["credits_estimate"] = json!(50);
    place.put(greedy).await;
    while place.world.clock.now_ms() < at("2026-02-03T14:10:00Z").as_millis() {
        place.next("nightly").await;
    }
    let lines = place.lines("nightly").await;
    assert_eq!(lines, ["2026-02-03T13:00 started", "2026-02-03T14:00 failed"]);
    let reason = place.firings("nightly").await.remove(1).reason.expect("it says why");
    assert!(reason.contains("given up"), "{reason}");
}

#[tokio::test]
async fn a_firing_waits_for_room_in_its_workspace() {
    let place = Place::new(NOON).await;
    let policy = TenantPolicy { runs_open_max: Some(1), ..TenantPolicy::default() };
    place.world.engine.set_tenant_policy(tenant(), Some(policy)).await.expect("agreed");
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": "allow"}))).await;
    place.next("nightly").await;
    place.next("nightly").await;
    let lines = place.lines("nightly").await;
    assert_eq!(lines, ["2026-02-03T13:00 started", "2026-02-03T14:00 queued"]);
    place.end(place.runs().await[0]).await;
    place.next("nightly").await;
    assert_eq!(place.lines("nightly").await[1], "2026-02-03T14:00 started");
}
