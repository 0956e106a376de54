//! Everything the embedded bus knows, behind one lock; nothing here waits.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use tokio::sync::{Notify, oneshot};

use super::Settings;
use super::pool::{Pool, Waiter};
use crate::bus::{
    DELIVERY_LIMIT, DeadLetter, Delivery, DeliveryTag, Depth, EXPIRED, LaneSet, Message, MessageId,
    PublishError, Published, Settled, Settlement,
};

/// What wakes the tasks that wait outside the lock.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// a pool began to want a refill
    pub(super) refill: Notify,
    /// a message was given up
    pub(super) dead_letter: Notify,
    /// something falls due before the moment the watcher sleeps to
    pub(super) due_sooner: Notify,
}

#[derive(Debug)]
pub(super) struct Entry {
    message: Message,
    deliveries: u32,
    place: Place,
    /// The entry's one moment in [`State::due`]: end of the lock, of the delay, or of its life.
    due_ms: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Ready,
    Delayed,
    InFlight(DeliveryTag),
}

impl Entry {
    pub(super) fn is_in_flight(&self) -> bool {
        matches!(self.place, Place::InFlight(_))
    }
}

/// What a receiver gets, without the waiting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Take {
    pub(super) lanes: LaneSet,
    pub(super) max: usize,
    pub(super) visibility_ms: i64,
}

#[derive(Debug)]
pub(super) struct State {
    settings: Settings,
    pub(super) signals: Arc<Signals>,
    pub(super) entries: HashMap<MessageId, Entry>,
    in_flight: HashMap<DeliveryTag, MessageId>,
    pub(super) pools: HashMap<Arc<str>, Pool>,
    /// No timer a message: this set, and at most one sleeper, the watcher.
    due: BTreeSet<(i64, MessageId)>,
    /// The watcher sleeps no further than this.
    watched_until_ms: i64,
    dead_letters: VecDeque<DeadLetter>,
    /// The pools that want a refill.
    pub(super) low_pools: BTreeSet<Arc<str>>,
    /// Numbers deliveries, waiters and refills; never reused.
    number_last: u64,
}

impl State {
    pub(super) fn new(settings: Settings, signals: Arc<Signals>) -> Self {
        Self {
            settings,
            signals,
            entries: HashMap::new(),
            in_flight: HashMap::new(),
            pools: HashMap::new(),
            due: BTreeSet::new(),
            watched_until_ms: i64::MAX,
            dead_letters: VecDeque::new(),
            low_pools: BTreeSet::new(),
            number_last: 0,
        }
    }

    pub(super) fn publish(
        &mut self,
        messages: Vec<Message>,
        now_ms: i64,
    ) -> Vec<Result<Published, PublishError>> {
        let mut touched: Vec<Arc<str>> = Vec::new();
        let mut answers = Vec::with_capacity(messages.len());
        for message in messages {
            if touched.last() != Some(&message.address.pool) {
                touched.push(message.address.pool.clone());
            }
            answers.push(self.publish_one(message));
        }
        // Only now, so that the first receiver gets a full batch and not one message.
        for pool in touched {
            self.serve_waiters(&pool, now_ms);
        }
        answers
    }

    fn publish_one(&mut self, message: Message) -> Result<Published, PublishError> {
        let (id, position) = (message.id, message.position());
        let (size, size_max) = (message.body.len(), self.settings.body_max);
        if size > size_max {
            return Err(PublishError::TooLarge { id, size, size_max });
        }
        if self.entries.contains_key(&id) {
            return Ok(Published::Accepted);
        }
        let name = message.address.pool.clone();
        let pool = self.pool_or_new(&name);
        if pool.window.is_beyond(position) {
            pool.window.defer(position);
            return Ok(Published::Deferred);
        }
        self.put_ready(message, 0);
        let is_kept = self.entries.contains_key(&id);
        Ok(if is_kept { Published::Accepted } else { Published::Deferred })
    }

    /// Locks up to `take.max` ready messages of a pool, the oldest first.
    pub(super) fn take(&mut self, name: &str, take: Take, now_ms: i64) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        while deliveries.len() < take.max {
            let Some(pool) = self.pools.get_mut(name) else { break };
            let Some(position) = pool.pop_first(take.lanes) else { break };
            pool.in_flight += 1;
            deliveries.push(self.deliver(position.id, now_ms + take.visibility_ms));
        }
        self.note_level(name);
        deliveries
    }

    fn deliver(&mut self, id: MessageId, locked_until_ms: i64) -> Delivery {
        let tag = DeliveryTag(self.next_number());
        self.in_flight.insert(tag, id);
        self.set_due(id, Some(locked_until_ms));
        let entry = self.entries.get_mut(&id).expect("a ready position names an entry");
        entry.place = Place::InFlight(tag);
        entry.deliveries += 1;
        let (message, deliveries) = (entry.message.clone(), entry.deliveries);
        Delivery { tag, message, deliveries, locked_until_ms }
    }

    /// Ends a delivery as its receiver wishes.
    pub(super) fn settle(
        &mut self,
        tag: DeliveryTag,
        settlement: Settlement,
        now_ms: i64,
    ) -> Settled {
        let Some(&id) = self.in_flight.get(&tag) else { return Settled::Stale };
        match settlement {
            Settlement::Complete => drop(self.end(id)),
            Settlement::Abandon { delay } => {
                if let Some(pool) = self.release(id, now_ms, super::as_ms(delay)) {
                    self.serve_waiters(&pool, now_ms);
                }
            }
            Settlement::DeadLetter { reason, description } => {
                self.give_up(id, reason, description);
            }
        }
        Settled::Done
    }

    pub(super) fn extend(&mut self, tag: DeliveryTag, locked_until_ms: i64) -> Settled {
        let Some(&id) = self.in_flight.get(&tag) else { return Settled::Stale };
        self.set_due(id, Some(locked_until_ms));
        Settled::Done
    }

    pub(super) fn withdraw(&mut self, ids: &[MessageId]) {
        for &id in ids {
            if self.end(id).is_some() {
                continue;
            }
            // Not in memory; but a page that is being read may bring it.
            for pool in self.pools.values_mut() {
                pool.window.note_ended(id);
            }
        }
    }

    /// Puts deliveries back that their receiver never saw; they do not count as delivered.
    pub(super) fn put_back(&mut self, deliveries: Vec<Delivery>, now_ms: i64) {
        for delivery in deliveries {
            let Some(&id) = self.in_flight.get(&delivery.tag) else { continue };
            let Some(entry) = self.lift(id) else { continue };
            let pool = entry.message.address.pool.clone();
            self.put_ready(entry.message, entry.deliveries - 1);
            self.serve_waiters(&pool, now_ms);
        }
    }

    /// Does what has fallen due: locks and delays that end, messages that expire.
    pub(super) fn sweep(&mut self, now_ms: i64) {
        let mut touched = BTreeSet::new();
        while let Some(&(due_ms, id)) = self.due.first()
            && due_ms <= now_ms
        {
            let entry = self.entries.get(&id).expect("whatever is due is in memory");
            match entry.place {
                Place::InFlight(_) => touched.extend(self.release(id, now_ms, 0)),
                Place::Delayed => {
                    let entry = self.lift(id).expect("the entry was just seen");
                    touched.insert(entry.message.address.pool.clone());
                    self.put_ready(entry.message, entry.deliveries);
                }
                Place::Ready => {
                    let description = format!("no worker took it before {due_ms} ms of UTC");
                    self.give_up(id, Cow::Borrowed(EXPIRED), description);
                }
            }
        }
        for pool in touched {
            self.serve_waiters(&pool, now_ms);
        }
    }

    /// The next moment at which a sweep finds something, which the watcher is going to sleep to.
    pub(super) fn next_due_ms(&mut self) -> Option<i64> {
        let next = self.due.first().map(|&(due_ms, _)| due_ms);
        self.watched_until_ms = next.unwrap_or(i64::MAX);
        next
    }

    pub(super) fn depth(&self) -> Vec<Depth> {
        let depth_of = |(name, pool): (&Arc<str>, &Pool)| Depth {
            pool: name.clone(),
            ready: pool.ready,
            delayed: pool.delayed,
            in_flight: pool.in_flight,
            overflowed: pool.window.horizon().is_some(),
        };
        let mut depths: Vec<Depth> = self.pools.iter().map(depth_of).collect();
        depths.sort_by(|left, right| left.pool.cmp(&right.pool));
        depths
    }

    pub(super) fn take_dead_letters(&mut self, max: usize) -> Vec<DeadLetter> {
        let count = self.dead_letters.len().min(max);
        self.dead_letters.drain(..count).collect()
    }

    /// Queues a receiver behind those that already wait.
    pub(super) fn enqueue(
        &mut self,
        name: &Arc<str>,
        take: Take,
    ) -> (u64, oneshot::Receiver<Vec<Delivery>>) {
        let number = self.next_number();
        let (sender, receiver) = oneshot::channel();
        let Take { lanes, max, visibility_ms } = take;
        let waiter = Waiter { number, lanes, max, visibility_ms, sender };
        self.pool_or_new(name).waiters.push_back(waiter);
        (number, receiver)
    }

    /// Forgets a receiver, and its pool if nothing else is known about it: names of pools come from
    /// outside and must not pile up.
    pub(super) fn dequeue(&mut self, name: &Arc<str>, number: u64) {
        let Some(pool) = self.pools.get_mut(name) else { return };
        pool.waiters.retain(|waiter| waiter.number != number);
        if pool.is_idle() {
            self.pools.remove(name);
        }
    }

    /// Hands ready messages to waiting receivers, the longest waiting first.
    ///
    /// Runs after whatever makes messages ready. So a receiver that newly comes never overtakes one
    /// that waits: what it finds ready, nobody waiting may take.
    pub(super) fn serve_waiters(&mut self, name: &Arc<str>, now_ms: i64) {
        while let Some(waiter) = self.pools.get_mut(name).and_then(Pool::next_waiter) {
            let Waiter { lanes, max, visibility_ms, sender, .. } = waiter;
            let deliveries = self.take(name, Take { lanes, max, visibility_ms }, now_ms);
            if let Err(unseen) = sender.send(deliveries) {
                self.put_back(unseen, now_ms);
            }
        }
    }

    /// Takes a message back from its receiver: ready again, delayed, or given up.
    ///
    /// Answers the pool in which it became ready.
    fn release(&mut self, id: MessageId, now_ms: i64, delay_ms: i64) -> Option<Arc<str>> {
        let deliveries = self.entries.get(&id)?.deliveries;
        if deliveries >= self.settings.deliveries_max {
            let description = format!("delivered {deliveries} times, never completed");
            self.give_up(id, Cow::Borrowed(DELIVERY_LIMIT), description);
            return None;
        }
        let entry = self.lift(id)?;
        let pool = entry.message.address.pool.clone();
        if delay_ms > 0 {
            self.put_delayed(entry, now_ms + delay_ms);
            return None;
        }
        self.put_ready(entry.message, deliveries);
        Some(pool)
    }

    fn give_up(&mut self, id: MessageId, reason: Cow<'static, str>, description: String) {
        let Some(Entry { message, deliveries, .. }) = self.end(id) else { return };
        tracing::warn!(%id, pool = %message.address.pool, %reason, deliveries, "message given up");
        self.dead_letters.push_back(DeadLetter { message, deliveries, reason, description });
        self.signals.dead_letter.notify_one();
    }

    pub(super) fn put_ready(&mut self, message: Message, deliveries: u32) {
        let (id, position) = (message.id, message.position());
        let (lane, due_ms) = (message.address.lane, message.expires_at_ms);
        let name = message.address.pool.clone();
        self.entries.insert(id, Entry { message, deliveries, place: Place::Ready, due_ms: None });
        self.set_due(id, due_ms);
        let pool = self.pool_or_new(&name);
        pool.insert(lane, position);
        if pool.is_over_capacity() {
            self.evict_last(&name);
        }
    }

    fn put_delayed(&mut self, entry: Entry, until_ms: i64) {
        let (id, name) = (entry.message.id, entry.message.address.pool.clone());
        self.entries.insert(id, Entry { place: Place::Delayed, due_ms: None, ..entry });
        self.set_due(id, Some(until_ms));
        let pool = self.pool_or_new(&name);
        pool.delayed += 1;
        if pool.is_over_capacity() {
            self.evict_last(&name);
        }
    }

    /// Takes a message off the bus for good.
    fn end(&mut self, id: MessageId) -> Option<Entry> {
        let entry = self.lift(id)?;
        let name = &entry.message.address.pool;
        self.pool_or_new(name).window.note_ended(id);
        self.note_level(name);
        Some(entry)
    }

    /// Takes an entry out of every index.
    pub(super) fn lift(&mut self, id: MessageId) -> Option<Entry> {
        self.set_due(id, None);
        let entry = self.entries.remove(&id)?;
        let Message { address, .. } = &entry.message;
        let pool = self.pools.get_mut(&address.pool).expect("an entry's pool is in memory");
        match entry.place {
            Place::Ready => pool.remove(address.lane, &entry.message.position()),
            Place::Delayed => pool.delayed -= 1,
            Place::InFlight(tag) => {
                pool.in_flight -= 1;
                self.in_flight.remove(&tag);
            }
        }
        Some(entry)
    }

    fn set_due(&mut self, id: MessageId, due_ms: Option<i64>) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if let Some(before_ms) = entry.due_ms.take() {
            self.due.remove(&(before_ms, id));
        }
        let Some(due_ms) = due_ms else { return };
        entry.due_ms = Some(due_ms);
        self.due.insert((due_ms, id));
        if due_ms < self.watched_until_ms {
            self.watched_until_ms = due_ms;
            self.signals.due_sooner.notify_one();
        }
    }

    pub(super) fn pool_or_new(&mut self, name: &Arc<str>) -> &mut Pool {
        if !self.pools.contains_key(name) {
            self.pools.insert(name.clone(), Pool::new(self.settings.capacity.max(1)));
        }
        self.pools.get_mut(name).expect("the pool was just made sure of")
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.number_last += 1;
        self.number_last
    }
}
