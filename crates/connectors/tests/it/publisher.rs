//! What a publisher can rely on, whichever bus carries its messages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stepwell_connectors::bus::conformance::message;
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::bus::{
    Bus, EXPIRED, LaneSet, Message, PublishError, Published, Receive, Unavailable,
};
use stepwell_connectors::clock::ManualClock;

const VISIBILITY: Duration = Duration::from_secs(30);

fn bus(settings: Settings) -> (Arc<EmbeddedBus>, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(0));
    (Arc::new(EmbeddedBus::new(settings, clock.clone())), clock)
}

async fn receive(bus: &EmbeddedBus, max: usize, wait: Duration) -> Vec<u128> {
    let (pool, lanes) = ("conformance", LaneSet::ALL);
    let taken = bus.receive(Receive { pool, lanes, max, wait, visibility: VISIBILITY }).await;
    taken.expect("it answers").iter().map(|delivery| delivery.message.order.key).collect()
}

// B-007: one publisher for the whole process, whichever thread asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_bus_serves_every_thread() {
    let (bus, _) = bus(Settings::default());
    let mut publishers = tokio::task::JoinSet::new();
    for number in 0..64 {
        let bus = Arc::clone(&bus);
        publishers.spawn(async move { bus.publish(vec![message(number)]).await });
    }
    for answers in publishers.join_all().await {
        assert!(answers.into_iter().all(|answer| answer.is_ok()));
    }
    let taken: BTreeSet<u128> = receive(&bus, 100, Duration::ZERO).await.into_iter().collect();
    assert_eq!(taken, (0..64).collect());
}

// B-009, B-010: a batch is answered message by message; what can never be carried is told apart from
// what may be tried again, and costs its neighbors nothing.
#[tokio::test]
async fn a_batch_says_which_failed_and_whether_trying_again_helps() {
    let (bus, _) = bus(Settings { body_max: 8, ..Settings::default() });
    let large = Message { body: Bytes::from_static(b"more than eight"), ..message(2) };
    let small = |number| Message { body: Bytes::from_static(b"small"), ..message(number) };
    let answers = bus.publish(vec![small(1), large, small(3)]).await;
    let mut answers = answers.into_iter();
    assert!(matches!(answers.next(), Some(Ok(Published::Accepted))));
    let permanent = answers.next().and_then(Result::err).expect("it is refused");
    assert!(matches!(permanent, PublishError::TooLarge { size: 15, size_max: 8, .. }));
    assert!(permanent.to_string().contains("send a reference instead"), "{permanent}");
    assert!(matches!(answers.next(), Some(Ok(Published::Accepted))));
    assert_eq!(receive(&bus, 9, Duration::ZERO).await, [1, 3]);
    let away = Unavailable(Box::new(std::io::Error::other("gone")));
    let transient = PublishError::from(away);
    assert!(matches!(transient, PublishError::Unavailable(_)));
    assert!(transient.to_string().contains("may be repeated"), "{transient}");
}

// B-011: each message has a time of its own.
#[tokio::test]
async fn a_message_lives_as_long_as_it_was_given() {
    let (bus, clock) = bus(Settings::default());
    let until = |number, ms| Message { expires_at_ms: Some(ms), ..message(number) };
    bus.publish(vec![until(1, 1_000), until(2, 5_000), message(3)]).await;
    clock.advance(Duration::from_millis(2_000));
    let given_up = bus.exhausted(9).await.expect("it answers");
    let given_up: Vec<_> =
        given_up.iter().map(|letter| (letter.message.order.key, &letter.reason[..])).collect();
    assert_eq!(given_up, [(1, EXPIRED)]);
    assert_eq!(receive(&bus, 9, Duration::ZERO).await, [2, 3]);
}

// B-013: one that waits gets a message when it comes, or nothing when its time is up.
#[tokio::test]
async fn a_receiver_waits_so_long_and_no_longer() {
    let (bus, clock) = bus(Settings::default());
    let wait = Duration::from_secs(5);
    let waiting = tokio::spawn({
        let bus = Arc::clone(&bus);
        async move { receive(&bus, 1, wait).await }
    });
    tokio::task::yield_now().await;
    bus.publish(vec![message(1)]).await;
    assert_eq!(waiting.await.expect("no panic"), [1]);
    let waiting = tokio::spawn({
        let bus = Arc::clone(&bus);
        async move { receive(&bus, 1, wait).await }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    clock.advance(wait);
    assert_eq!(waiting.await.expect("no panic"), [] as [u128; 0]);
}
