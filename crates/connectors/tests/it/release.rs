//! Runs that go to another engine leave the bus whole, or not at all.

use std::sync::Arc;
use std::time::Duration;

use stepwell_connectors::bus::conformance::message;
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::bus::{Bus, LaneSet, Message, MessageId, Receive, Window};
use stepwell_connectors::clock::ManualClock;

const POOL: &str = "conformance";

fn of_run(run: u128, step: u32) -> Message {
    let plain = message(run);
    Message { id: MessageId { run, step, ..plain.id }, ..plain }
}

async fn bus_with(messages: Vec<Message>) -> EmbeddedBus {
    let bus = EmbeddedBus::new(Settings::default(), Arc::new(ManualClock::new(0)));
    for published in bus.publish(messages).await {
        published.expect("there is room");
    }
    bus
}

async fn receive(bus: &EmbeddedBus, max: usize) -> Vec<(u128, u32)> {
    let (lanes, wait) = (LaneSet::ALL, Duration::ZERO);
    let visibility = Duration::from_secs(30);
    let taken = bus.receive(Receive { pool: POOL, lanes, max, wait, visibility }).await;
    let taken = taken.expect("it answers");
    taken.iter().map(|delivery| (delivery.message.id.run, delivery.message.id.step)).collect()
}

#[tokio::test]
async fn the_oldest_runs_go_with_all_their_messages() {
    let messages = vec![of_run(1, 0), of_run(1, 1), of_run(2, 0), of_run(3, 0)];
    let bus = bus_with(messages).await;
    assert_eq!(bus.release_runs(POOL, 2), [1, 2]);
    assert_eq!(receive(&bus, 9).await, [(3, 0)]);
    assert_eq!(bus.release_runs("no such pool", 9), [] as [u128; 0]);
}

#[tokio::test]
async fn a_run_stays_while_a_receiver_holds_one_of_its_messages() {
    let bus = bus_with(vec![of_run(1, 0), of_run(1, 1), of_run(2, 0)]).await;
    assert_eq!(receive(&bus, 1).await, [(1, 0)]);
    assert_eq!(bus.release_runs(POOL, 9), [2]);
    assert_eq!(receive(&bus, 9).await, [(1, 1)]);
}

#[tokio::test]
async fn what_was_released_comes_back_from_the_store_if_it_must() {
    let bus = bus_with(vec![of_run(1, 0)]).await;
    assert_eq!(bus.release_runs(POOL, 9), [1]);
    bus.refill_from_start(Arc::from(POOL));
    bus.refill_needed().await;
    let refill = bus.wanted_refills().remove(0);
    assert!(bus.refill(&refill, vec![of_run(1, 0)], true));
    assert_eq!(receive(&bus, 9).await, [(1, 0)]);
}

#[tokio::test]
async fn a_page_read_before_the_run_went_does_not_bring_it_back() {
    let bus = bus_with(vec![of_run(1, 0)]).await;
    bus.refill_from_start(Arc::from(POOL));
    let refill = bus.wanted_refills().remove(0);
    assert_eq!(bus.release_runs(POOL, 9), [1]);
    assert!(bus.refill(&refill, vec![of_run(1, 0)], true));
    assert_eq!(receive(&bus, 9).await, []);
}

#[tokio::test]
async fn whoever_owns_nothing_any_more_forgets_everything() {
    let bus = bus_with(vec![of_run(1, 0), of_run(2, 0), of_run(3, 0)]).await;
    assert_eq!(receive(&bus, 1).await, [(1, 0)]);
    bus.forget_runs(&[2]);
    assert_eq!(receive(&bus, 1).await, [(3, 0)]);
    bus.forget_all();
    let depths = bus.depth().await.expect("it answers");
    let left: usize = depths.iter().map(|depth| depth.ready + depth.in_flight).sum();
    assert_eq!(left, 0);
}
