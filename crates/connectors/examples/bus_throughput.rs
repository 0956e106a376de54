//! How many messages a second the embedded bus takes through publish, receive and complete on one
//! core: `cargo run --release -p stepwell-connectors --example bus_throughput`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::bus::{
    Address, Bus, Lane, LaneSet, Message, MessageId, Order, Receive, Settlement,
};
use stepwell_connectors::clock::SystemClock;

const BATCH: u128 = 64;
const BATCHES: u128 = 40_000;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // A window with half of its places taken, so that the ordered sets have their usual depth.
    for backlog in [0, 5_000] {
        let bus = EmbeddedBus::new(Settings::default(), Arc::new(SystemClock::new()));
        bus.publish((0..backlog).map(message).collect()).await;
        let begin = Instant::now();
        for batch in 0..BATCHES {
            let first = backlog + batch * BATCH;
            bus.publish((first..first + BATCH).map(message).collect()).await;
            complete_batch(&bus).await;
        }
        let per_second = (BATCH * BATCHES) as f64 / begin.elapsed().as_secs_f64();
        println!("{backlog} waiting: {per_second:.0} messages a second");
    }
}

async fn complete_batch(bus: &EmbeddedBus) {
    let ask = Receive {
        pool: "mailboxes",
        lanes: LaneSet::ALL,
        max: BATCH as usize,
        wait: Duration::ZERO,
        visibility: Duration::from_secs(30),
    };
    let deliveries = bus.receive(ask).await.expect("an embedded bus is always there");
    assert_eq!(deliveries.len(), BATCH as usize);
    let complete =
        |delivery: stepwell_connectors::bus::Delivery| (delivery.tag, Settlement::Complete);
    bus.settle(deliveries.into_iter().map(complete).collect()).await;
}

fn message(number: u128) -> Message {
    let lane = Lane::new((number % 16) as u8).expect("a remainder of 16");
    Message {
        id: MessageId { run: number + 1, step: 0, attempt: 1, poll: 0 },
        address: Address { pool: "mailboxes".into(), lane },
        order: Order { priority: 0, key: number },
        body: Bytes::from_static(b"{}"),
        expires_at_ms: None,
    }
}
