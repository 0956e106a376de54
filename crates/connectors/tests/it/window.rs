//! The window of the embedded bus against a model of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use stepwell_connectors::bus::conformance::message;
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::bus::{
    Address, Bus, Delivery, Lane, LaneSet, Message, MessageId, Order, Position, Published, Receive,
    Refill, Settled, Settlement, Window,
};
use stepwell_connectors::clock::{Clock, ManualClock};

const VISIBILITY: Duration = Duration::from_secs(30);

fn small_bus(capacity: usize) -> (EmbeddedBus, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(0));
    let settings = Settings { capacity, deliveries_max: u32::MAX, ..Settings::default() };
    (EmbeddedBus::new(settings, clock.clone()), clock)
}

fn ask(max: usize) -> Receive<'static> {
    let (lanes, wait) = (LaneSet::ALL, Duration::ZERO);
    Receive { pool: "conformance", lanes, max, wait, visibility: VISIBILITY }
}

async fn publish_one(bus: &EmbeddedBus, number: u128) -> Published {
    bus.publish(vec![message(number)]).await.remove(0).unwrap()
}

async fn receive_keys(bus: &EmbeddedBus, max: usize) -> Vec<u128> {
    let deliveries = bus.receive(ask(max)).await.unwrap();
    deliveries.iter().map(|delivery| delivery.message.order.key).collect()
}

#[tokio::test]
async fn a_full_window_leaves_younger_work_to_the_store() {
    let (bus, _) = small_bus(4);
    for number in 0..4 {
        assert_eq!(publish_one(&bus, number).await, Published::Accepted);
    }
    assert_eq!(publish_one(&bus, 4).await, Published::Deferred);
    assert_eq!(bus.wanted_refills(), [], "there is enough for now");
    assert_eq!(receive_keys(&bus, 4).await, [0, 1, 2, 3]);
    bus.refill_needed().await;
    let refills = bus.wanted_refills();
    assert!(bus.refill(&refills[0], vec![message(4)], true));
    assert_eq!(receive_keys(&bus, 4).await, [4]);
    assert_eq!(bus.wanted_refills(), [], "everything is in memory again");
}

#[tokio::test]
async fn a_window_that_runs_low_wakes_whoever_refills_it() {
    let (bus, _) = small_bus(4);
    for number in 0..5 {
        publish_one(&bus, number).await;
    }
    let mut needed = bus.refill_needed();
    tokio::select! {
        biased;
        () = &mut needed => panic!("the window is full"),
        () = std::future::ready(()) => {}
    }
    receive_keys(&bus, 4).await;
    needed.await;
}

#[tokio::test]
async fn a_low_window_that_fills_up_by_itself_wants_no_refill() {
    let (bus, _) = small_bus(4);
    for number in 10..15 {
        publish_one(&bus, number).await;
    }
    receive_keys(&bus, 4).await;
    for number in 0..4 {
        assert_eq!(publish_one(&bus, number).await, Published::Accepted, "older than the horizon");
    }
    let mut needed = bus.refill_needed();
    tokio::select! {
        biased;
        () = &mut needed => panic!("the window is full"),
        () = std::future::ready(()) => {}
    }
}

#[tokio::test]
async fn older_work_pushes_younger_work_out_of_a_full_window() {
    let (bus, _) = small_bus(2);
    for number in [5, 6, 1] {
        assert_eq!(publish_one(&bus, number).await, Published::Accepted);
    }
    assert_eq!(receive_keys(&bus, 9).await, [1, 5]);
    let refills = bus.wanted_refills();
    assert!(refills[0].after < message(6).position(), "the one pushed out is asked for");
}

#[tokio::test]
async fn work_deferred_while_a_page_is_read_is_fetched_by_the_next() {
    let (bus, _) = small_bus(2);
    for number in [1, 2, 3] {
        publish_one(&bus, number).await;
    }
    receive_keys(&bus, 2).await;
    let reading = bus.wanted_refills();
    // The page is read from the store here: 3 and 9. Only then is 5 committed and published.
    assert_eq!(publish_one(&bus, 5).await, Published::Deferred);
    assert!(bus.refill(&reading[0], vec![message(3), message(9)], true));
    assert_eq!(receive_keys(&bus, 9).await, [3], "9 is younger than what the page lacks");
    let next = bus.wanted_refills();
    assert!(bus.refill(&next[0], vec![message(5), message(9)], true));
    assert_eq!(receive_keys(&bus, 9).await, [5, 9]);
}

#[tokio::test]
async fn work_that_ended_while_a_page_was_read_does_not_return_with_it() {
    let (bus, _) = small_bus(2);
    bus.refill_from_start("conformance".into());
    let reading = bus.wanted_refills();
    bus.withdraw(vec![message(1).id]).await.unwrap();
    assert!(bus.refill(&reading[0], vec![message(1), message(2)], true));
    assert_eq!(receive_keys(&bus, 9).await, [2]);
}

#[tokio::test]
async fn a_replaced_refill_is_not_taken() {
    let (bus, _) = small_bus(2);
    bus.refill_from_start("conformance".into());
    let (earlier, later) = (bus.wanted_refills(), bus.wanted_refills());
    assert!(!bus.refill(&earlier[0], vec![message(1)], true));
    assert!(bus.refill(&later[0], vec![message(1)], true));
    assert!(!bus.refill(&later[0], vec![message(1)], true), "nor twice");
}

#[tokio::test]
async fn a_pool_that_was_never_full_needs_no_refill_but_after_a_start() {
    let (bus, _) = small_bus(4);
    publish_one(&bus, 1).await;
    assert_eq!(bus.wanted_refills(), []);
    bus.refill_from_start("conformance".into());
    assert_eq!(publish_one(&bus, 2).await, Published::Deferred);
    // One message is in memory: that is a quarter, so the window does not run low yet.
    assert_eq!(receive_keys(&bus, 9).await, [1]);
    let refills = bus.wanted_refills();
    assert_eq!((refills[0].after, refills[0].limit), (Position::FIRST, 4));
}

#[derive(Debug, Clone)]
enum Act {
    Commit { key: u8, priority: u8 },
    PublishCommitted { which: usize },
    Receive { max: usize },
    Complete { which: usize },
    Abandon { which: usize, delay_s: u64 },
    Withdraw { which: usize },
    BeginRefill,
    FinishRefill,
    PassTime { seconds: u64 },
    Restart,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (any::<u8>(), 0..2_u8).prop_map(|(key, priority)| Act::Commit { key, priority }),
        8 => any::<usize>().prop_map(|which| Act::PublishCommitted { which }),
        4 => (1..6_usize).prop_map(|max| Act::Receive { max }),
        6 => any::<usize>().prop_map(|which| Act::Complete { which }),
        2 => (any::<usize>(), 0..40_u64)
            .prop_map(|(which, delay_s)| Act::Abandon { which, delay_s }),
        1 => any::<usize>().prop_map(|which| Act::Withdraw { which }),
        3 => Just(Act::BeginRefill),
        3 => Just(Act::FinishRefill),
        1 => (1..40_u64).prop_map(|seconds| Act::PassTime { seconds }),
        1 => Just(Act::Restart),
    ];
    prop::collection::vec(act, 1..400)
}

/// The store, the engine and the workers, as simple as they can be.
struct World {
    capacity: usize,
    bus: EmbeddedBus,
    clock: Arc<ManualClock>,
    number: u128,
    /// what must still be delivered and completed
    store: BTreeMap<Position, Message>,
    /// committed, and on the way to the bus
    unpublished: Vec<Message>,
    held: Vec<Delivery>,
    locks: BTreeMap<MessageId, i64>,
    reading: Vec<(Refill, Vec<Message>, bool)>,
    /// ended before their publish reached the bus: the one way in which it may deliver ended work
    late: BTreeSet<MessageId>,
}

impl World {
    fn new(capacity: usize) -> Self {
        let (bus, clock) = small_bus(capacity);
        Self {
            capacity,
            bus,
            clock,
            number: 0,
            store: BTreeMap::new(),
            unpublished: Vec::new(),
            held: Vec::new(),
            locks: BTreeMap::new(),
            reading: Vec::new(),
            late: BTreeSet::new(),
        }
    }

    async fn act(&mut self, act: Act) {
        match act {
            Act::Commit { key, priority } => self.commit(key, priority),
            Act::PublishCommitted { which } => self.publish(which).await,
            Act::Receive { max } => self.receive(max).await,
            Act::Complete { which } => self.complete(which).await,
            Act::Abandon { which, delay_s } => self.abandon(which, delay_s).await,
            Act::Withdraw { which } => self.withdraw(which).await,
            Act::BeginRefill => self.begin_refill(),
            Act::FinishRefill => self.finish_refill(),
            Act::PassTime { seconds } => self.clock.advance(Duration::from_secs(seconds)),
            Act::Restart => self.restart(),
        }
    }

    fn commit(&mut self, key: u8, priority: u8) {
        self.number += 1;
        let order = Order { priority, key: key.into() };
        let lane = Lane::new((self.number % 16) as u8).expect("a remainder of 16");
        let address = Address { pool: "conformance".into(), lane };
        let committed = Message { order, address, ..message(self.number) };
        self.store.insert(committed.position(), committed.clone());
        self.unpublished.push(committed);
    }

    async fn publish(&mut self, which: usize) {
        if let Some(which) = which.checked_rem(self.unpublished.len()) {
            let message = self.unpublished.swap_remove(which);
            if !self.store.contains_key(&message.position()) {
                self.late.insert(message.id);
            }
            self.bus.publish(vec![message]).await.remove(0).unwrap();
        }
    }

    async fn receive(&mut self, max: usize) {
        let now_ms = self.clock.now_ms();
        let deliveries = self.bus.receive(ask(max)).await.unwrap();
        let position = |delivery: &Delivery| delivery.message.position();
        assert!(deliveries.is_sorted_by_key(position), "the oldest comes first");
        for delivery in deliveries {
            let (id, position) = (delivery.message.id, delivery.message.position());
            let lock = self.locks.insert(id, delivery.locked_until_ms);
            assert!(lock.is_none_or(|until_ms| until_ms <= now_ms), "delivered while locked");
            let is_live = self.store.contains_key(&position) || self.late.contains(&id);
            assert!(is_live, "delivered after its end");
            self.held.push(delivery);
        }
    }

    async fn complete(&mut self, which: usize) {
        if let Some(which) = which.checked_rem(self.held.len()) {
            let delivery = self.held.swap_remove(which);
            self.store.remove(&delivery.message.position());
            self.settle(&delivery, Settlement::Complete).await;
        }
    }

    async fn abandon(&mut self, which: usize, delay_s: u64) {
        if let Some(which) = which.checked_rem(self.held.len()) {
            let delivery = self.held.swap_remove(which);
            let delay = Duration::from_secs(delay_s);
            self.settle(&delivery, Settlement::Abandon { delay }).await;
        }
    }

    async fn settle(&mut self, delivery: &Delivery, settlement: Settlement) {
        let is_end = settlement == Settlement::Complete;
        let settled = self.bus.settle(vec![(delivery.tag, settlement)]).await.remove(0).unwrap();
        if settled == Settled::Done {
            self.locks.remove(&delivery.message.id);
        } else if is_end {
            // The work is over for the store, so the engine withdraws the copy that went back.
            self.bus.withdraw(vec![delivery.message.id]).await.unwrap();
            self.locks.remove(&delivery.message.id);
        }
    }

    async fn withdraw(&mut self, which: usize) {
        let Some(nth) = which.checked_rem(self.store.len()) else { return };
        let position = *self.store.keys().nth(nth).unwrap();
        self.store.remove(&position);
        self.bus.withdraw(vec![position.id]).await.unwrap();
        self.locks.remove(&position.id);
    }

    fn begin_refill(&mut self) {
        let read = |refill: Refill| {
            let behind = (Bound::Excluded(refill.after), Bound::Unbounded);
            let beyond = self.store.range(behind).map(|(_, message)| message.clone());
            let limit = refill.limit.min(3);
            let mut page: Vec<Message> = beyond.take(limit + 1).collect();
            let complete = page.len() <= limit;
            page.truncate(limit);
            (refill, page, complete)
        };
        self.reading.extend(self.bus.wanted_refills().into_iter().map(read));
    }

    fn finish_refill(&mut self) {
        for (refill, page, complete) in self.reading.drain(..) {
            self.bus.refill(&refill, page, complete);
        }
    }

    /// A new process: the store is as it was, and nothing else is.
    fn restart(&mut self) {
        (self.bus, self.clock) = small_bus(self.capacity);
        self.unpublished.clear();
        self.held.clear();
        self.locks.clear();
        self.reading.clear();
        self.late.clear();
        self.bus.refill_from_start("conformance".into());
    }

    async fn drain(&mut self) {
        while !self.unpublished.is_empty() {
            self.publish(0).await;
        }
        self.finish_refill();
        // Each round completes at least one message, or lets the locks of lost deliveries end.
        for _ in 0..2 * self.store.len() + 4 {
            self.begin_refill();
            self.finish_refill();
            self.receive(8).await;
            while !self.held.is_empty() {
                self.complete(0).await;
            }
            self.clock.advance(VISIBILITY * 2);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn nothing_is_lost_or_delivered_while_locked_whatever_interleaves(
        capacity in 1..12_usize,
        acts in acts(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new(capacity);
            for act in acts {
                world.act(act).await;
                let depths = world.bus.depth().await.unwrap();
                assert!(depths.iter().all(|depth| depth.ready <= capacity), "the window is full");
            }
            world.drain().await;
            assert!(world.store.is_empty(), "lost: {:?}", world.store.keys());
        });
    }
}
