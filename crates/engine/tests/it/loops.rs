//! What goes on by itself while an engine runs: it begins with the start, survives errors, ends at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_connectors::egress::Policy;
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_engine::{Ownership, Settings};
use stepwell_store::Store;
use stepwell_store::memory::MemoryStore;

use crate::faulty::{Fault, Faulty};
use crate::world::{NOON_MS, THREE_STEPS, World, report, start, success};

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

fn shared_store(clock: &Arc<ManualClock>) -> MemoryStore {
    let hands = Arc::clone(clock);
    MemoryStore::shared(move || Timestamp::from_millis(hands.now_ms()))
}

async fn instance(store: Arc<dyn Store>, clock: &Arc<ManualClock>) -> World {
    let settings = Settings::default();
    let engine = start(&store, clock, &settings, Policy::default()).await;
    World { engine, store, clock: Arc::clone(clock), settings }
}

// B-044, B-046, B-054, B-055, B-059, B-067: with the start, signs of life and scans begin, at the seed's
// intervals, and nothing has to be won first: the second instance starts beside the first.
#[tokio::test]
async fn signs_of_life_and_scans_begin_with_the_start() {
    let ownership = Ownership::default();
    let times = [ownership.heartbeat, ownership.silence, ownership.scan].map(Interval::as_secs);
    assert_eq!(times, [30, 120, 60]);
    let clock = Arc::new(ManualClock::new(NOON_MS));
    let store = shared_store(&clock);
    let one = instance(Arc::new(store.another()), &clock).await;
    let two = instance(Arc::new(store.another()), &clock).await;
    for world in [&one, &two] {
        until(|| world.engine.stats().last_heartbeat_at.is_some()).await;
        until(|| world.engine.stats().last_orphan_scan_at.is_some()).await;
        assert!(world.engine.stats().running);
    }
    let first = one.engine.stats().last_heartbeat_at;
    clock.advance(Duration::from_secs(29));
    tokio::task::yield_now().await;
    assert_eq!(one.engine.stats().last_heartbeat_at, first, "not before its time");
    clock.advance(Duration::from_secs(1));
    until(|| one.engine.stats().last_heartbeat_at != first).await;
}

// B-052, B-054, B-055: what fails is counted, and the loop goes on.
#[tokio::test]
async fn a_sign_of_life_that_fails_is_counted_and_given_again() {
    let clock = Arc::new(ManualClock::new(NOON_MS));
    let deaf = Faulty::new(Arc::new(shared_store(&clock)));
    deaf.deaf.store(true, Ordering::SeqCst);
    let world = instance(Arc::clone(&deaf) as _, &clock).await;
    until(|| world.engine.stats().errors >= 2).await;
    assert_eq!(world.engine.stats().last_heartbeat_at, None);
    deaf.deaf.store(false, Ordering::SeqCst);
    clock.advance(Duration::from_secs(1));
    until(|| world.engine.stats().last_heartbeat_at.is_some()).await;
}

// whoever cannot give a sign of life stops deciding before others may take over.
#[tokio::test]
async fn without_signs_of_life_it_stops_before_others_may_take_over() {
    let clock = Arc::new(ManualClock::new(NOON_MS));
    let deaf = Faulty::new(Arc::new(shared_store(&clock)));
    let world = instance(Arc::clone(&deaf) as _, &clock).await;
    world.publish(THREE_STEPS).await;
    until(|| world.engine.stats().last_heartbeat_at.is_some()).await;
    deaf.deaf.store(true, Ordering::SeqCst);
    clock.advance(Duration::from_secs(107));
    assert!(world.engine.may_decide());
    world.start("three-steps").await;
    clock.advance(Duration::from_secs(1));
    assert!(!world.engine.may_decide(), "at nine tenths of the two minutes");
    assert!(world.try_start("three-steps", "acme", None, None).await.is_err());
    deaf.deaf.store(false, Ordering::SeqCst);
    clock.advance(Duration::from_secs(1));
    until(|| world.engine.may_decide()).await;
    world.start("three-steps").await;
}

// B-045, B-056: a stop ends every loop at once; nobody sleeps an interval out.
#[tokio::test]
async fn a_stop_waits_for_no_interval() {
    let clock = Arc::new(ManualClock::new(NOON_MS));
    let world = instance(Arc::new(shared_store(&clock)), &clock).await;
    // The clock stands still: if anything slept, this would never end.
    world.engine.stop().await;
    assert!(!world.engine.stats().running);
}

// B-051, B-053: what workers have reported is decided without waiting for anything, and an instance
// that owns nothing decides nothing.
#[tokio::test]
async fn an_instance_without_runs_does_nothing_beside_its_results() {
    let clock = Arc::new(ManualClock::new(NOON_MS));
    let store = shared_store(&clock);
    let one = instance(Arc::new(store.another()), &clock).await;
    let idle = instance(Arc::new(store.another()), &clock).await;
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    let taken = one.take_one().await;
    one.engine.command(run, report(&taken, success())).await.expect("followed");
    clock.advance(Duration::from_secs(61));
    until(|| idle.engine.stats().last_orphan_scan_at.is_some()).await;
    assert_eq!(idle.engine.stats().cycles, 0);
    assert!(one.engine.stats().cycles >= 2);
    assert_eq!(one.engine.stats().tasks_dispatched, 2);
}

// B-052: a commit that fails is counted and answered, and the next one is done.
#[tokio::test]
async fn a_failed_cycle_is_counted_and_the_next_one_is_done() {
    let faulty = Faulty::new(Arc::new(MemoryStore::new()));
    let world = World::on(Arc::clone(&faulty) as _).await;
    world.publish(THREE_STEPS).await;
    faulty.fail_next(&[Fault::Lost]);
    assert!(world.try_start("three-steps", "acme", None, None).await.is_err());
    assert_eq!(world.engine.stats().errors, 1);
    world.start("three-steps").await;
}
