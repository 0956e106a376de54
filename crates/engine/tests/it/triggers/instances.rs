//! Several instances on one store: one of them fires, and another when it is gone.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_connectors::egress::Policy;
use stepwell_core::time::Timestamp;
use stepwell_engine::Settings;
use stepwell_store::memory::MemoryStore;
use stepwell_store::{FiringOutcome, Store};

use super::world::{Place, at, schedule, settle};
use crate::world::{World, start};

/// Two instances on one store.
async fn town() -> (Place, Place) {
    town_of([Settings::default(), Settings::default()]).await
}

async fn town_of(settings: [Settings; 2]) -> (Place, Place) {
    let clock = Arc::new(ManualClock::new(at("2026-02-03T12:00:00Z").as_millis()));
    let hands = Arc::clone(&clock);
    let store = MemoryStore::shared(move || Timestamp::from_millis(hands.now_ms()));
    let mut places = Vec::new();
    for settings in settings {
        let store: Arc<dyn Store> = Arc::new(store.another());
        let engine = start(&store, &clock, &settings, Policy::default()).await;
        let clock = Arc::clone(&clock);
        places.push(Place { world: World { engine, store, clock, settings } });
    }
    let (two, one) = (places.pop().expect("two"), places.pop().expect("one"));
    one.world.publish("name: report\nsteps:\n  - {id: make, type: MAKE, pool: workers}\n").await;
    (one, two)
}

/// Lets time pass in small steps, so that everybody who lives can give signs of life.
async fn pass(place: &Place, seconds: u64) {
    for _ in 0..seconds {
        place.world.clock.advance(Duration::from_secs(1));
        settle().await;
    }
}

// Issue 6: two instances never fire one trigger twice.
#[tokio::test]
async fn two_instances_fire_a_trigger_once_each_time() {
    let (one, two) = town().await;
    two.put(schedule("* * * * *", "UTC", json!({"overlap": "allow"}))).await;
    pass(&one, 10 * 60).await;
    one.until_outcomes("nightly", FiringOutcome::Started, 10).await;
    assert_eq!(one.firings("nightly").await.len(), 10);
    assert_eq!(one.runs().await.len(), 10);
    assert!(
        one.firings("nightly").await.iter().all(|it| Some(it.at) == it.scheduled_for),
        "in time"
    );
}

// Issue 6: when the one that fires dies, the other goes on, and makes nothing twice.
#[tokio::test]
async fn when_the_one_that_fires_dies_the_other_goes_on() {
    let (one, two) = town().await;
    two.put(schedule("* * * * *", "UTC", json!({"overlap": "allow", "catch_up_mode": "all"})))
        .await;
    pass(&one, 90).await;
    one.world.engine.crash();
    pass(&two, 150).await;
    two.until_outcomes("nightly", FiringOutcome::Started, 4).await;
    let lines = two.lines("nightly").await;
    assert_eq!(lines, ["01", "02", "03", "04"].map(|it| format!("2026-02-03T12:{it} started")));
    assert_eq!(two.runs().await.len(), 4);
}

#[tokio::test]
async fn an_instance_that_decides_nothing_may_fire_for_one_that_does() {
    let mut scheduler = Settings::default();
    scheduler.ownership.decides = false;
    let mut engine = Settings::default();
    engine.triggers.enabled = false;
    let (scheduler, engine) = town_of([scheduler, engine]).await;
    engine.put(schedule("* * * * *", "UTC", json!({"overlap": "queue"}))).await;
    pass(&scheduler, 60).await;
    engine.until_outcomes("nightly", FiringOutcome::Started, 1).await;
    pass(&scheduler, 60).await;
    engine.until_outcomes("nightly", FiringOutcome::Queued, 1).await;
    // Whoever fires hears nothing of the end, and looks.
    engine.end(engine.runs().await[0]).await;
    pass(&scheduler, 31).await;
    engine.until_outcomes("nightly", FiringOutcome::Started, 2).await;
}

// Issue 6: even two that both believe that it is their turn make one run, because of its key.
#[tokio::test]
async fn two_that_fire_the_same_at_once_make_one_run() {
    let (one, two) = town().await;
    let document = json!({"name": "button", "kind": "manual", "workflow_id": "report"});
    two.put(document).await;
    let (tenant, input) = (super::world::tenant(), serde_json::Map::new());
    let (first, second) = tokio::join!(
        one.world.engine.fire(&tenant, "button", Some("k-1"), input.clone()),
        two.world.engine.fire(&tenant, "button", Some("k-1"), input.clone()),
    );
    let (first, second) = (first.expect("fired"), second.expect("fired"));
    assert_eq!(first.firing.run, second.firing.run);
    assert_eq!(u8::from(first.repeated) + u8::from(second.repeated), 1);
    assert_eq!(one.runs().await.len(), 1);
    assert_eq!(one.firings("button").await.len(), 1);
}
