//! Time that passes only when nobody has anything to do.
//!
//! The runtime says when its last task has gone to sleep; then the clock moves to the earliest
//! sleeper. So a week takes as long as its events take, and two runs of a seed see the same moments in
//! the same order. With a speed the clock also waits, for people who want to look on.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::Clock;
use crate::bus::Answer;

/// Longer than anything lasts that is watched by such a clock: fifty years.
const EVER_MS: i64 = 50 * 365 * 86_400_000;

/// A clock that moves on when everybody sleeps: for the simulator and for rehearsals.
#[derive(Debug)]
pub struct VirtualClock {
    state: Mutex<State>,
    /// whoever sleeps until then is woken by something else, or never
    forever_ms: i64,
    /// so many times faster than the wall clock; `None`: as fast as it goes
    speed: Option<f64>,
}

#[derive(Debug)]
struct State {
    now_ms: i64,
    /// by moment, and in the order in which they lay down
    sleepers: BTreeMap<(i64, u64), Waker>,
    lain_down: u64,
}

impl VirtualClock {
    /// A clock that stands at `now_ms`, and runs so many times faster than the wall clock; without a
    /// speed, as fast as it goes.
    #[must_use]
    pub fn new(now_ms: i64, speed: Option<f64>) -> Arc<Self> {
        let state = State { now_ms, sleepers: BTreeMap::new(), lain_down: 0 };
        let forever_ms = now_ms.saturating_add(EVER_MS);
        Arc::new(Self { state: Mutex::new(state), forever_ms, speed })
    }

    /// Sleeps for so many milliseconds of this time.
    pub async fn sleep_ms(&self, millis: u64) {
        self.sleep_until_ms(self.now_ms().saturating_add_unsigned(millis)).await;
    }

    /// Moves to the earliest sleeper and wakes all whose moment that is.
    pub fn advance(&self) {
        let Some(next_ms) = self.state().sleepers.keys().next().map(|(at_ms, _)| *at_ms) else {
            return;
        };
        self.wait_for(next_ms);
        let mut woken = Vec::new();
        {
            let mut state = self.state();
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

    /// Blocks the only thread there is, which has nothing to do: that is why time passes.
    fn wait_for(&self, next_ms: i64) {
        let Some(speed) = self.speed else { return };
        let left_ms = next_ms.saturating_sub(self.now_ms()).max(0);
        std::thread::sleep(Duration::from_secs_f64(left_ms as f64 / 1_000.0 / speed));
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
        if self.at_ms < self.clock.forever_ms {
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
