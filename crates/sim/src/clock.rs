//! Time that passes only when nobody has anything to do.
//!
//! The runtime says when its last task has gone to sleep; then the clock moves to the earliest
//! sleeper. So a world of many hours takes as long as its events take, and two runs of a seed see
//! the same moments in the same order.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use stepwell_connectors::bus::Answer;
use stepwell_connectors::clock::Clock;

/// When every world begins: noon of some day.
pub const NOON_MS: i64 = 1_741_608_000_000;

/// Later than any world lasts; whoever sleeps until then sleeps for ever.
const FOREVER_MS: i64 = NOON_MS + 50 * 365 * 86_400_000;

/// The true time of a world.
#[derive(Debug)]
pub struct VirtualClock {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    now_ms: i64,
    /// by moment, and in the order in which they lay down
    sleepers: BTreeMap<(i64, u64), Waker>,
    lain_down: u64,
}

impl VirtualClock {
    /// A clock that stands at noon.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let state = State { now_ms: NOON_MS, sleepers: BTreeMap::new(), lain_down: 0 };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Sleeps for so many milliseconds of true time.
    pub async fn sleep_ms(&self, millis: u64) {
        let until = self.now_ms().saturating_add_unsigned(millis);
        self.sleep_until_ms(until).await;
    }

    /// Moves to the earliest sleeper and wakes all whose moment that is.
    pub fn advance(&self) {
        let mut woken = Vec::new();
        {
            let mut state = self.state();
            let Some(&(next_ms, _)) = state.sleepers.keys().next() else { return };
            state.now_ms = state.now_ms.max(next_ms);
            while let Some(first) = state.sleepers.first_entry()
                && first.key().0 <= next_ms
            {
                woken.push(first.remove());
            }
        }
        for waker in woken {
            waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single assignment, so a poisoned lock holds a sound state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> i64 {
        self.state().now_ms
    }

    fn sleep_until_ms(&self, at_ms: i64) -> Answer<'_, ()> {
        Box::pin(Sleep { clock: self, at_ms, place: None })
    }
}

/// One sleeper; leaves its place when it is dropped.
struct Sleep<'a> {
    clock: &'a VirtualClock,
    at_ms: i64,
    place: Option<(i64, u64)>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state();
        if state.now_ms >= self.at_ms {
            return Poll::Ready(());
        }
        if self.at_ms < FOREVER_MS {
            let place = self.place.unwrap_or_else(|| {
                state.lain_down += 1;
                (self.at_ms, state.lain_down)
            });
            state.sleepers.insert(place, context.waker().clone());
            drop(state);
            self.place = Some(place);
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.clock.state().sleepers.remove(&place);
        }
    }
}

/// The time as one instance sees it: the true time, wrong by a fixed amount.
#[derive(Debug)]
pub struct SkewedClock {
    truth: Arc<VirtualClock>,
    skew_ms: i64,
}

impl SkewedClock {
    /// A clock that is ahead by `skew_ms`, or behind if that is negative.
    #[must_use]
    pub fn new(truth: Arc<VirtualClock>, skew_ms: i64) -> Arc<Self> {
        Arc::new(Self { truth, skew_ms })
    }
}

impl Clock for SkewedClock {
    fn now_ms(&self) -> i64 {
        self.truth.now_ms() + self.skew_ms
    }

    fn sleep_until_ms(&self, at_ms: i64) -> Answer<'_, ()> {
        self.truth.sleep_until_ms(at_ms.saturating_sub(self.skew_ms))
    }
}
