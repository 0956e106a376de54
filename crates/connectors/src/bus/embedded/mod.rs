//! The bus inside the process: no rows of its own, and only the head of each pool in memory.
//!
//! A dispatched step in the store *is* the queue entry. The engine publishes it here after the
//! commit, and after a restart, or when a window runs low, refills the window from the store (see
//! [`Window`]). Locks live in memory: a crash forgets them, and the lease fences the redelivery.
//!
//! `pool` holds what is ready and who waits; `state` holds all pools and, with `refill`, does
//! everything that needs no waiting, under one lock that is never held across an await; this file
//! waits. Whoever waits
//! takes turns at being the *watcher*, the one task that sleeps until something falls due: so there
//! is one timer for all locks, delays and expiries, and no task of the bus's own.

mod pool;
mod refill;
mod release;
mod state;

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;

use self::state::{Signals, State, Take};
use crate::bus::{
    Answer, Bus, DeadLetter, Delivery, DeliveryTag, Depth, Message, MessageId, PublishError,
    Published, Receive, Refill, Settled, Settlement, Unavailable, Window,
};
use crate::clock::Clock;

/// What an embedded bus may be told.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// messages of one pool kept in memory, those in flight not counted
    pub capacity: usize,
    /// a message delivered so often without success is given up
    pub deliveries_max: u32,
    /// the largest body, in bytes
    pub body_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { capacity: 10_000, deliveries_max: 10, body_max: 1024 * 1024 }
    }
}

/// The bus inside the process.
pub struct EmbeddedBus {
    state: Mutex<State>,
    signals: Arc<Signals>,
    clock: Arc<dyn Clock>,
    /// Held by the watcher; tokio's lock is fair, so the next in line takes over when it leaves.
    watch: tokio::sync::Mutex<()>,
}

impl EmbeddedBus {
    /// An empty bus.
    pub fn new(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let signals = Arc::<Signals>::default();
        Self {
            state: Mutex::new(State::new(settings, signals.clone())),
            signals,
            clock,
            watch: tokio::sync::Mutex::new(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a panic under the lock is a bug; half a change must not be used")
    }

    /// Brings the state up to now, then lets `change` at it.
    fn change<T>(&self, change: impl FnOnce(&mut State, i64) -> T) -> T {
        let now_ms = self.clock.now_ms();
        let mut state = self.state();
        state.sweep(now_ms);
        change(&mut state, now_ms)
    }

    async fn receive_or_wait(&self, ask: Receive<'_>) -> Vec<Delivery> {
        let Receive { pool, lanes, max, wait, visibility } = ask;
        let take = Take { lanes, max, visibility_ms: as_ms(visibility) };
        let until_ms = self.clock.now_ms() + as_ms(wait);
        let found = self.change(|state, now_ms| {
            let deliveries = state.take(pool, take, now_ms);
            if !deliveries.is_empty() || wait.is_zero() || max == 0 {
                return Ok(deliveries);
            }
            let pool: Arc<str> = pool.into();
            let (number, receiver) = state.enqueue(&pool, take);
            Err(Waiting { bus: self, pool, number, receiver })
        });
        let mut waiting = match found {
            Ok(deliveries) => return deliveries,
            Err(waiting) => waiting,
        };
        tokio::select! {
            biased;
            deliveries = &mut waiting.receiver => deliveries.unwrap_or_default(),
            () = self.clock.sleep_until_ms(until_ms) => waiting.leave(),
            never = self.sweep_when_due() => match never {},
        }
    }

    async fn wait_for_dead_letters(&self, max: usize) -> Vec<DeadLetter> {
        loop {
            let dead_letters = self.change(|state, _| state.take_dead_letters(max));
            if !dead_letters.is_empty() {
                return dead_letters;
            }
            tokio::select! {
                biased;
                () = self.signals.dead_letter.notified() => {}
                never = self.sweep_when_due() => match never {},
            }
        }
    }

    /// Waits to become the watcher, then is it until dropped.
    async fn sweep_when_due(&self) -> Infallible {
        let _turn = self.watch.lock().await;
        loop {
            let next_ms = self.change(|state, _| state.next_due_ms());
            tokio::select! {
                biased;
                () = self.signals.due_sooner.notified() => {}
                () = self.clock.sleep_until_ms(next_ms.unwrap_or(i64::MAX)) => {}
            }
        }
    }
}

impl Bus for EmbeddedBus {
    fn publish(&self, messages: Vec<Message>) -> Answer<'_, Vec<Result<Published, PublishError>>> {
        Box::pin(async move { self.change(|state, now_ms| state.publish(messages, now_ms)) })
    }

    fn receive<'a>(&'a self, ask: Receive<'a>) -> Answer<'a, Result<Vec<Delivery>, Unavailable>> {
        Box::pin(async move { Ok(self.receive_or_wait(ask).await) })
    }

    fn settle(
        &self,
        settlements: Vec<(DeliveryTag, Settlement)>,
    ) -> Answer<'_, Vec<Result<Settled, Unavailable>>> {
        Box::pin(async move {
            self.change(|state, now_ms| {
                let settle = |(tag, settlement)| Ok(state.settle(tag, settlement, now_ms));
                settlements.into_iter().map(settle).collect()
            })
        })
    }

    fn extend(
        &self,
        tag: DeliveryTag,
        visibility: Duration,
    ) -> Answer<'_, Result<Settled, Unavailable>> {
        let visibility_ms = as_ms(visibility);
        Box::pin(async move {
            Ok(self.change(|state, now_ms| state.extend(tag, now_ms + visibility_ms)))
        })
    }

    fn withdraw(&self, ids: Vec<MessageId>) -> Answer<'_, Result<(), Unavailable>> {
        Box::pin(async move {
            self.change(|state, _| state.withdraw(&ids));
            Ok(())
        })
    }

    fn depth(&self) -> Answer<'_, Result<Vec<Depth>, Unavailable>> {
        Box::pin(async move { Ok(self.change(|state, _| state.depth())) })
    }

    fn exhausted(&self, max: usize) -> Answer<'_, Result<Vec<DeadLetter>, Unavailable>> {
        Box::pin(async move { Ok(self.wait_for_dead_letters(max.max(1)).await) })
    }

    fn window(&self) -> Option<&dyn Window> {
        Some(self)
    }
}

impl Window for EmbeddedBus {
    fn refill_needed(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            while !self.state().wants_refill() {
                self.signals.refill.notified().await;
            }
        })
    }

    fn wanted_refills(&self) -> Vec<Refill> {
        self.change(|state, _| state.wanted_refills())
    }

    fn refill(&self, refill: &Refill, page: Vec<Message>, complete: bool) -> bool {
        self.change(|state, now_ms| state.refill(refill, page, complete, now_ms))
    }

    fn refill_from_start(&self, pool: Arc<str>) {
        self.change(|state, _| state.refill_from_start(&pool));
    }

    fn release_runs(&self, pool: &str, max: usize) -> Vec<u128> {
        self.change(|state, _| state.release_runs(pool, max))
    }

    fn forget_runs(&self, runs: &[u128]) {
        self.change(|state, _| state.forget(|id| runs.contains(&id.run)));
    }

    fn forget_all(&self) {
        self.change(|state, _| state.forget(|_| true));
    }
}

/// A receiver in the queue of its pool.
///
/// Leaving it, also by being dropped, gives back what was handed over but never seen.
struct Waiting<'a> {
    bus: &'a EmbeddedBus,
    pool: Arc<str>,
    number: u64,
    receiver: oneshot::Receiver<Vec<Delivery>>,
}

impl Waiting<'_> {
    /// Leaves the queue, with what was handed over at the last moment.
    fn leave(&mut self) -> Vec<Delivery> {
        self.bus.state().dequeue(&self.pool, self.number);
        self.receiver.try_recv().unwrap_or_default()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let unseen = self.leave();
        if !unseen.is_empty() {
            self.bus.change(|state, now_ms| state.put_back(unseen, now_ms));
        }
    }
}

fn as_ms(duration: Duration) -> i64 {
    // Far enough away for any wait, and safe to add to the present.
    const FOREVER_MS: i64 = i64::MAX / 4;
    i64::try_from(duration.as_millis()).map_or(FOREVER_MS, |ms| ms.min(FOREVER_MS))
}
