//! What every bus must do, as functions that panic when it does not.
//!
//! A test runs all [`CASES`], each with a fresh [`Subject`]. Cases use pools of their own,
//! so that they may share a broker; they never sleep, but ask the subject to let time pass: with an
//! injected clock that costs nothing, with a broker it really waits.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{
    Address, Answer, Bus, DELIVERY_LIMIT, DeadLetter, Delivery, EXPIRED, Lane, LaneSet, Message,
    MessageId, Order, Published, Receive, Settled, Settlement,
};

/// A bus under test.
pub struct Subject {
    /// the bus
    pub bus: Arc<dyn Bus>,
    /// lets at least this much time pass, as the bus sees it
    pub pass: Box<dyn Fn(Duration) -> Answer<'static, ()> + Send + Sync>,
    /// the present, as the bus sees it
    pub now_ms: Box<dyn Fn() -> i64 + Send + Sync>,
    /// after so many deliveries without success a message is given up
    pub deliveries_max: u32,
    /// whether ready messages of a pool come in their order; brokers may be first in, first out
    pub keeps_order: bool,
}

/// One case of the suite.
pub type Case = fn(Subject) -> Pin<Box<dyn Future<Output = ()>>>;

/// The suite: the name of each case, which is a sentence, and the case.
pub const CASES: &[(&str, Case)] = &[
    ("a delivery carries what was published", |s| Box::pin(s.carries_what_was_published())),
    ("a locked message is nobody else's", |s| Box::pin(s.locks_what_it_delivers())),
    ("a message returns when its lock ends", |s| Box::pin(s.redelivers_after_visibility())),
    ("a settlement after the lock changes nothing", |s| Box::pin(s.ignores_late_settlements())),
    ("a completed message never returns", |s| Box::pin(s.forgets_completed_messages())),
    ("an abandoned message returns at once", |s| Box::pin(s.returns_abandoned_messages())),
    ("an abandoned message waits for its delay", |s| Box::pin(s.delays_abandoned_messages())),
    ("an extended lock holds", |s| Box::pin(s.holds_extended_locks())),
    ("a message is given up at the limit", |s| Box::pin(s.gives_up_at_the_limit())),
    ("a dead letter keeps its reason", |s| Box::pin(s.keeps_the_reason())),
    ("an expired message is a dead letter", |s| Box::pin(s.gives_up_expired_messages())),
    ("a repeated publish adds nothing", |s| Box::pin(s.adds_nothing_twice())),
    ("older and more urgent work goes first", |s| Box::pin(s.delivers_in_order())),
    ("a receiver gets its lanes only", |s| Box::pin(s.filters_lanes())),
    ("pools do not mix", |s| Box::pin(s.keeps_pools_apart())),
    ("a batch is no larger than asked for", |s| Box::pin(s.respects_the_maximum())),
    ("a publish wakes a waiting receiver", |s| Box::pin(s.wakes_a_receiver())),
    ("an ending lock wakes a waiting receiver", |s| Box::pin(s.wakes_at_the_end_of_a_lock())),
    ("a receiver gives up waiting", |s| Box::pin(s.ends_the_wait())),
    ("a dropped receiver takes nothing along", |s| Box::pin(s.survives_a_dropped_receiver())),
    ("a withdrawn message is gone", |s| Box::pin(s.forgets_withdrawn_messages())),
    ("entries of a batch are judged one by one", |s| Box::pin(s.settles_entry_by_entry())),
    ("depth counts what waits and what is out", |s| Box::pin(s.counts_its_depth())),
];

const LOCK: Duration = Duration::from_secs(30);
const POOL: &str = "conformance";

/// A message for the suite's pool: `number` is its age, its id and its body.
pub fn message(number: u128) -> Message {
    Message {
        id: MessageId { run: number + 1, step: 0, attempt: 1, poll: 0 },
        address: Address { pool: POOL.into(), lane: lane(0) },
        order: Order { priority: 0, key: number },
        body: Bytes::from(number.to_string()),
        expires_at_ms: None,
    }
}

fn lane(number: u8) -> Lane {
    Lane::new(number).expect("the suite names lanes below 16")
}

fn bodies(deliveries: &[Delivery]) -> Vec<&str> {
    let body = |bytes| std::str::from_utf8(bytes).expect("the suite publishes text");
    deliveries.iter().map(|delivery| body(&delivery.message.body)).collect()
}

/// Polls a future once, and says that it is not ready yet.
async fn assert_pending<T>(future: &mut (impl Future<Output = T> + Unpin)) {
    tokio::select! {
        biased;
        _ = future => panic!("the receiver must wait"),
        () = std::future::ready(()) => {}
    }
}

impl Subject {
    async fn publish(&self, messages: Vec<Message>) {
        for answer in self.bus.publish(messages).await {
            assert_eq!(answer.expect("the bus takes the message"), Published::Accepted);
        }
    }

    async fn receive(&self) -> Vec<Delivery> {
        self.receive_with(|_| ()).await
    }

    async fn receive_with(&self, adapt: impl FnOnce(&mut Receive<'_>)) -> Vec<Delivery> {
        let mut ask = Receive { wait: Duration::ZERO, ..patient() };
        adapt(&mut ask);
        self.bus.receive(ask).await.expect("the bus is there")
    }

    async fn receive_one(&self) -> Delivery {
        let mut deliveries = self.receive_with(|ask| ask.max = 1).await;
        assert_eq!(deliveries.len(), 1, "one message is ready");
        deliveries.remove(0)
    }

    async fn settle(&self, delivery: &Delivery, settlement: Settlement) -> Settled {
        let mut answers = self.bus.settle(vec![(delivery.tag, settlement)]).await;
        assert_eq!(answers.len(), 1, "one answer for one entry");
        answers.remove(0).expect("the bus is there")
    }

    async fn abandon(&self, delivery: &Delivery, delay: Duration) -> Settled {
        self.settle(delivery, Settlement::Abandon { delay }).await
    }

    async fn dead_letter(&self) -> DeadLetter {
        let mut dead_letters = self.bus.exhausted(1).await.expect("the bus is there");
        assert_eq!(dead_letters.len(), 1, "as many dead letters as asked for");
        dead_letters.remove(0)
    }

    async fn carries_what_was_published(self) {
        self.publish(vec![message(7)]).await;
        let delivery = self.receive_one().await;
        let (sent, received) = (message(7), &delivery.message);
        assert_eq!((received.id, &received.address), (sent.id, &sent.address));
        assert_eq!((&received.body, delivery.deliveries), (&sent.body, 1));
    }

    async fn locks_what_it_delivers(self) {
        self.publish(vec![message(1)]).await;
        self.receive_one().await;
        assert!(self.receive().await.is_empty(), "the lock holds");
    }

    async fn redelivers_after_visibility(self) {
        self.publish(vec![message(1)]).await;
        let first = self.receive_one().await;
        (self.pass)(LOCK).await;
        let second = self.receive_one().await;
        assert_eq!((second.message.id, second.deliveries), (first.message.id, 2));
        assert_ne!(second.tag, first.tag, "a redelivery has a tag of its own");
    }

    async fn ignores_late_settlements(self) {
        self.publish(vec![message(1)]).await;
        let first = self.receive_one().await;
        (self.pass)(LOCK).await;
        assert_eq!(self.settle(&first, Settlement::Complete).await, Settled::Stale);
        let second = self.receive_one().await;
        assert_eq!(self.abandon(&first, Duration::ZERO).await, Settled::Stale);
        assert_eq!(self.settle(&second, Settlement::Complete).await, Settled::Done);
    }

    async fn forgets_completed_messages(self) {
        self.publish(vec![message(1)]).await;
        let delivery = self.receive_one().await;
        assert_eq!(self.settle(&delivery, Settlement::Complete).await, Settled::Done);
        assert_eq!(self.settle(&delivery, Settlement::Complete).await, Settled::Stale);
        (self.pass)(LOCK).await;
        assert!(self.receive().await.is_empty(), "it is gone for good");
    }

    async fn returns_abandoned_messages(self) {
        self.publish(vec![message(1)]).await;
        let delivery = self.receive_one().await;
        assert_eq!(self.abandon(&delivery, Duration::ZERO).await, Settled::Done);
        assert_eq!(self.receive_one().await.deliveries, 2);
    }

    async fn delays_abandoned_messages(self) {
        let delay = Duration::from_secs(5);
        self.publish(vec![message(1)]).await;
        let delivery = self.receive_one().await;
        self.abandon(&delivery, delay).await;
        assert!(self.receive().await.is_empty(), "the delay runs");
        (self.pass)(delay).await;
        assert_eq!(self.receive_one().await.message.id, delivery.message.id);
    }

    async fn holds_extended_locks(self) {
        self.publish(vec![message(1)]).await;
        let delivery = self.receive_one().await;
        (self.pass)(LOCK / 2).await;
        let extended = self.bus.extend(delivery.tag, LOCK).await.expect("the bus is there");
        assert_eq!(extended, Settled::Done);
        (self.pass)(LOCK / 2).await;
        assert!(self.receive().await.is_empty(), "the extended lock holds");
        (self.pass)(LOCK / 2).await;
        assert_eq!(self.receive_one().await.deliveries, 2);
        let late = self.bus.extend(delivery.tag, LOCK).await.expect("the bus is there");
        assert_eq!(late, Settled::Stale);
    }

    async fn gives_up_at_the_limit(self) {
        self.publish(vec![message(1)]).await;
        for deliveries in 1..=self.deliveries_max {
            let delivery = self.receive_one().await;
            assert_eq!(delivery.deliveries, deliveries);
            self.abandon(&delivery, Duration::ZERO).await;
        }
        assert!(self.receive().await.is_empty(), "it is given up");
        let dead = self.dead_letter().await;
        assert_eq!((dead.message.id, &*dead.reason), (message(1).id, DELIVERY_LIMIT));
        assert_eq!(dead.deliveries, self.deliveries_max);
    }

    async fn keeps_the_reason(self) {
        self.publish(vec![message(1)]).await;
        let delivery = self.receive_one().await;
        let reason = "unknown_message_type".into();
        let description = String::from("the worker knows no 'teleport'");
        self.settle(&delivery, Settlement::DeadLetter { reason, description }).await;
        assert!(self.receive().await.is_empty(), "it is given up");
        let dead = self.dead_letter().await;
        assert_eq!((&*dead.reason, dead.deliveries), ("unknown_message_type", 1));
        assert_eq!(dead.description, "the worker knows no 'teleport'");
        assert_eq!(dead.message.body, message(1).body);
    }

    async fn gives_up_expired_messages(self) {
        let life = Duration::from_secs(60);
        let expires_at_ms = Some((self.now_ms)() + 60_000);
        self.publish(vec![Message { expires_at_ms, ..message(1) }, message(2)]).await;
        let mut exhausted = self.bus.exhausted(8);
        assert_pending(&mut exhausted).await;
        (self.pass)(life).await;
        // Nobody receives: whoever waits for dead letters is told nevertheless.
        let dead = exhausted.await.expect("the bus is there").remove(0);
        assert_eq!((dead.message.id, &*dead.reason), (message(1).id, EXPIRED));
        assert_eq!(bodies(&self.receive().await), ["2"], "the other one lives on");
    }

    async fn adds_nothing_twice(self) {
        self.publish(vec![message(1), message(1)]).await;
        let delivery = self.receive_one().await;
        assert!(self.receive().await.is_empty(), "published twice in one batch");
        self.publish(vec![message(1)]).await;
        assert!(self.receive().await.is_empty(), "published again while in flight");
        assert_eq!(self.settle(&delivery, Settlement::Complete).await, Settled::Done);
        assert!(self.receive().await.is_empty(), "one completion ends it");
    }

    async fn delivers_in_order(self) {
        if !self.keeps_order {
            return;
        }
        let urgent = Message { order: Order { priority: 5, key: 9 }, ..message(9) };
        let other_lane = Address { pool: POOL.into(), lane: lane(7) };
        self.publish(vec![message(3), Message { address: other_lane, ..message(2) }]).await;
        self.publish(vec![message(1), urgent]).await;
        assert_eq!(bodies(&self.receive().await), ["9", "1", "2", "3"]);
    }

    async fn filters_lanes(self) {
        for number in 0..16 {
            let address = Address { pool: POOL.into(), lane: lane(number) };
            self.publish(vec![Message { address, ..message(number.into()) }]).await;
        }
        let some = [lane(3), lane(15)].into_iter().collect::<LaneSet>();
        let deliveries = self.receive_with(|ask| ask.lanes = some).await;
        let mut received = bodies(&deliveries);
        received.sort_unstable();
        assert_eq!(received, ["15", "3"]);
        assert_eq!(self.receive().await.len(), 14, "the other lanes wait for others");
    }

    async fn keeps_pools_apart(self) {
        let address = Address { pool: "conformance-other".into(), lane: lane(0) };
        self.publish(vec![message(1), Message { address, ..message(2) }]).await;
        assert_eq!(bodies(&self.receive().await), ["1"]);
        let others = self.receive_with(|ask| ask.pool = "conformance-other").await;
        assert_eq!(bodies(&others), ["2"]);
    }

    async fn respects_the_maximum(self) {
        self.publish((0..10).map(message).collect()).await;
        assert_eq!(self.receive_with(|ask| ask.max = 4).await.len(), 4);
        assert_eq!(self.receive_with(|ask| ask.max = 0).await.len(), 0);
        assert_eq!(self.receive().await.len(), 6);
    }

    async fn wakes_a_receiver(self) {
        let mut receive = self.bus.receive(patient());
        assert_pending(&mut receive).await;
        self.publish(vec![message(1)]).await;
        assert_eq!(bodies(&receive.await.expect("the bus is there")), ["1"]);
    }

    async fn wakes_at_the_end_of_a_lock(self) {
        self.publish(vec![message(1)]).await;
        self.receive_one().await;
        let mut receive = self.bus.receive(patient());
        assert_pending(&mut receive).await;
        (self.pass)(LOCK).await;
        assert_eq!(bodies(&receive.await.expect("the bus is there")), ["1"]);
    }

    async fn ends_the_wait(self) {
        let wait = Duration::from_secs(5);
        let mut receive = self.bus.receive(Receive { wait, ..patient() });
        assert_pending(&mut receive).await;
        (self.pass)(wait).await;
        assert!(receive.await.expect("the bus is there").is_empty());
    }

    async fn survives_a_dropped_receiver(self) {
        let mut receive = self.bus.receive(patient());
        assert_pending(&mut receive).await;
        self.publish(vec![message(1)]).await;
        drop(receive);
        (self.pass)(LOCK).await;
        assert_eq!(self.receive_one().await.message.id, message(1).id);
    }

    async fn forgets_withdrawn_messages(self) {
        self.publish(vec![message(1), message(2)]).await;
        let in_flight = self.receive_one().await;
        let ids = vec![message(1).id, message(2).id, message(3).id];
        self.bus.withdraw(ids).await.expect("the bus is there");
        assert!(self.receive().await.is_empty(), "ready copies are gone");
        assert_eq!(self.abandon(&in_flight, Duration::ZERO).await, Settled::Stale);
        (self.pass)(LOCK).await;
        assert!(self.receive().await.is_empty(), "copies in flight do not return");
    }

    async fn settles_entry_by_entry(self) {
        self.publish((0..3).map(message).collect()).await;
        let deliveries = self.receive().await;
        self.settle(&deliveries[1], Settlement::Complete).await;
        let all = deliveries.iter().map(|delivery| (delivery.tag, Settlement::Complete));
        let answers = self.bus.settle(all.collect()).await;
        let answers: Vec<_> = answers.into_iter().map(|it| it.expect("the bus is there")).collect();
        assert_eq!(answers, [Settled::Done, Settled::Stale, Settled::Done]);
    }

    async fn counts_its_depth(self) {
        self.publish((0..5).map(message).collect()).await;
        let taken = self.receive_with(|ask| ask.max = 2).await;
        self.abandon(&taken[0], LOCK).await;
        let depths = self.bus.depth().await.expect("the bus is there");
        let depth = depths.iter().find(|depth| &*depth.pool == POOL).expect("the pool is known");
        assert_eq!((depth.ready, depth.delayed, depth.in_flight), (3, 1, 1));
    }
}

fn patient() -> Receive<'static> {
    let (wait, visibility) = (LOCK * 4, LOCK);
    Receive { pool: POOL, lanes: LaneSet::ALL, max: 100, wait, visibility }
}
