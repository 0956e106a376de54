//! What the embedded bus promises beyond the suite.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stepwell_connectors::bus::conformance::message;
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::bus::{
    Address, Bus, Delivery, DeliveryTag, Lane, LaneSet, Message, PublishError, Published, Receive,
    Settled, Settlement,
};
use stepwell_connectors::clock::{ManualClock, SystemClock};

fn bus(settings: Settings) -> (EmbeddedBus, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(0));
    (EmbeddedBus::new(settings, clock.clone()), clock)
}

fn ask(max: usize, wait_s: u64) -> Receive<'static> {
    Receive {
        pool: "conformance",
        lanes: LaneSet::ALL,
        max,
        wait: Duration::from_secs(wait_s),
        visibility: Duration::from_secs(30),
    }
}

fn keys(deliveries: &[Delivery]) -> Vec<u128> {
    deliveries.iter().map(|delivery| delivery.message.order.key).collect()
}

async fn settle_all(bus: &EmbeddedBus, tags: impl Iterator<Item = DeliveryTag>) {
    let settlements = tags.map(|tag| (tag, Settlement::Complete)).collect();
    for answer in bus.settle(settlements).await {
        assert_eq!(answer.unwrap(), Settled::Done);
    }
}

/// Polls each future once, in order, so that all of them wait.
macro_rules! start {
    ($($future:ident),+) => {
        $(tokio::select! {
            biased;
            _ = &mut $future => panic!("nothing is ready yet"),
            () = std::future::ready(()) => {}
        })+
    };
}

#[tokio::test]
async fn receivers_are_served_in_the_order_of_their_coming() {
    let (bus, _) = bus(Settings::default());
    let (mut first, mut second) = (bus.receive(ask(1, 60)), bus.receive(ask(1, 60)));
    let mut third = bus.receive(ask(1, 60));
    start!(first, second, third);
    bus.publish(vec![message(2), message(1)]).await;
    assert_eq!(keys(&first.await.unwrap()), [1]);
    assert_eq!(keys(&second.await.unwrap()), [2]);
    // As many wake as there are messages: the third still waits.
    start!(third);
}

#[tokio::test]
async fn a_receiver_of_another_lane_is_passed_over() {
    let (bus, _) = bus(Settings::default());
    let lanes = LaneSet::from_iter(Lane::new(9));
    let mut narrow = bus.receive(Receive { lanes, ..ask(1, 60) });
    let mut wide = bus.receive(ask(1, 60));
    start!(narrow, wide);
    bus.publish(vec![message(1)]).await;
    assert_eq!(keys(&wide.await.unwrap()), [1]);
    start!(narrow);
}

#[tokio::test]
async fn a_receiver_that_leaves_gives_its_messages_to_the_next() {
    let (bus, _) = bus(Settings::default());
    let (mut leaver, mut next) = (bus.receive(ask(1, 60)), bus.receive(ask(1, 60)));
    start!(leaver, next);
    bus.publish(vec![message(1)]).await;
    drop(leaver);
    let deliveries = next.await.unwrap();
    assert_eq!(keys(&deliveries), [1]);
    assert_eq!(deliveries[0].deliveries, 1, "what nobody saw was not delivered");
}

#[tokio::test]
async fn another_receiver_takes_over_the_watch() {
    let (bus, clock) = bus(Settings::default());
    bus.publish(vec![message(1)]).await;
    bus.receive(ask(1, 0)).await.unwrap();
    let (mut watcher, mut other) = (bus.receive(ask(1, 600)), bus.receive(ask(1, 600)));
    start!(watcher, other);
    drop(watcher);
    start!(other);
    clock.advance(Duration::from_secs(30));
    assert_eq!(keys(&other.await.unwrap()), [1]);
}

#[tokio::test]
async fn a_shorter_delay_wakes_a_receiver_that_sleeps_for_a_longer_one() {
    let (bus, clock) = bus(Settings::default());
    bus.publish(vec![message(1), message(2)]).await;
    let taken = bus.receive(ask(2, 0)).await.unwrap();
    let mut waiting = bus.receive(ask(1, 600));
    start!(waiting);
    let delay = Duration::from_secs(1);
    bus.settle(vec![(taken[1].tag, Settlement::Abandon { delay })]).await;
    start!(waiting);
    clock.advance(delay);
    assert_eq!(keys(&waiting.await.unwrap()), [2]);
}

#[tokio::test]
async fn names_of_pools_do_not_pile_up() {
    let (bus, clock) = bus(Settings::default());
    let mut receive = bus.receive(Receive { pool: "nobody-publishes-here", ..ask(1, 5) });
    start!(receive);
    clock.advance(Duration::from_secs(5));
    assert!(receive.await.unwrap().is_empty());
    assert_eq!(bus.depth().await.unwrap(), []);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_alone() {
    let (bus, _) = bus(Settings { body_max: 4, ..Settings::default() });
    let large = Message { body: Bytes::from_static(b"12345"), ..message(2) };
    let answers = bus.publish(vec![message(1), large, message(3)]).await;
    assert!(matches!(answers[0], Ok(Published::Accepted)));
    assert!(matches!(answers[1], Err(PublishError::TooLarge { size: 5, size_max: 4, .. })));
    assert_eq!(keys(&bus.receive(ask(9, 0)).await.unwrap()), [1, 3]);
}

#[tokio::test]
async fn ten_thousand_messages_of_all_lanes_come_oldest_first_in_batches() {
    const COUNT: u128 = 10_000;
    let bus = EmbeddedBus::new(Settings::default(), Arc::new(SystemClock::new()));
    let scattered = |number: u128| {
        // 7,919 is prime to the count, so this visits every key once, in no order.
        let key = number * 7_919 % COUNT;
        let address = Address {
            pool: "conformance".into(),
            lane: Lane::new((key % 16) as u8).expect("a remainder of 16"),
        };
        Message { address, ..message(key) }
    };
    let all: Vec<Message> = (0..COUNT).map(scattered).collect();
    for batch in all.chunks(64) {
        bus.publish(batch.to_vec()).await;
    }
    let mut received = Vec::new();
    while received.len() < COUNT as usize {
        let deliveries = bus.receive(ask(64, 0)).await.unwrap();
        assert!(!deliveries.is_empty(), "nothing is lost");
        received.extend(keys(&deliveries));
        settle_all(&bus, deliveries.iter().map(|delivery| delivery.tag)).await;
    }
    assert_eq!(received, (0..COUNT).collect::<Vec<_>>());
}

// Publishers and receivers on several threads: every message is delivered once and completed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_receivers_share_the_work_without_doubling_it() {
    const COUNT: u128 = 4_000;
    let bus = Arc::new(EmbeddedBus::new(Settings::default(), Arc::new(SystemClock::new())));
    let (sender, mut done) = tokio::sync::mpsc::unbounded_channel();
    let mut receivers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (bus, sender) = (bus.clone(), sender.clone());
        receivers.spawn(async move {
            loop {
                let deliveries = bus.receive(ask(16, 60)).await.unwrap();
                settle_all(&bus, deliveries.iter().map(|delivery| delivery.tag)).await;
                for key in keys(&deliveries) {
                    let _ = sender.send(key);
                }
            }
        });
    }
    for number in 0..COUNT {
        bus.publish(vec![message(number)]).await;
    }
    let mut received = Vec::new();
    while received.len() < COUNT as usize {
        received.push(done.recv().await.expect("receivers run until aborted"));
    }
    receivers.abort_all();
    received.sort_unstable();
    assert_eq!(received, (0..COUNT).collect::<Vec<_>>());
    assert_eq!(bus.depth().await.unwrap().iter().map(|depth| depth.in_flight).sum::<usize>(), 0);
}
