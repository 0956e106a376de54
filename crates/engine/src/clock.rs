//! The time that decisions are made by.
//!
//! Instances that share a store go by the store's clock, or a timer set by one would be early for
//! another. Nobody asks the store for the time on every decision: each sign of life shows how far
//! the instance's own clock is off, and until the next one that is close enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use stepwell_connectors::clock::Clock;
use stepwell_core::time::Timestamp;

/// The longest way of an answer that the time is taken from; half of it is the error.
const ANSWER_MAX_MS: i64 = 1_000;

/// The instance's own clock, moved to where the store's stands. Never goes back.
pub(crate) struct StoreClock {
    own: Arc<dyn Clock>,
    ahead_ms: AtomicI64,
    latest_ms: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(own: Arc<dyn Clock>) -> Self {
        Self { own, ahead_ms: AtomicI64::new(0), latest_ms: AtomicI64::new(i64::MIN) }
    }

    /// The store said what time it is, somewhere between these two readings of our own clock. If they
    /// lie far apart (we were paused in between), nobody knows where, and nothing is learned from it.
    pub(crate) fn set(&self, store: Timestamp, asked_at: Timestamp, answered_at: Timestamp) {
        let (asked_ms, answered_ms) = (asked_at.as_millis(), answered_at.as_millis());
        if answered_ms - asked_ms > ANSWER_MAX_MS {
            return;
        }
        let middle_ms = asked_ms + (answered_ms - asked_ms) / 2;
        self.ahead_ms.store(store.as_millis() - middle_ms, Ordering::SeqCst);
    }

    /// Milliseconds since 1970 UTC.
    pub(crate) fn now_ms(&self) -> i64 {
        let now_ms = self.own.now_ms().saturating_add(self.ahead_ms.load(Ordering::SeqCst));
        self.latest_ms.fetch_max(now_ms, Ordering::SeqCst).max(now_ms)
    }

    /// Resolves once [`now_ms`](Self::now_ms) has reached `at_ms`; at once if it already has.
    pub(crate) async fn sleep_until_ms(&self, at_ms: i64) {
        loop {
            let left_ms = at_ms.saturating_sub(self.now_ms());
            if left_ms <= 0 {
                return;
            }
            self.own.sleep_until_ms(self.own.now_ms().saturating_add(left_ms)).await;
        }
    }

    /// Our own clock, for spans that the store has no say in.
    pub(crate) fn own(&self) -> Timestamp {
        Timestamp::from_millis(self.own.now_ms())
    }
}

#[cfg(test)]
mod tests {
    use stepwell_connectors::clock::ManualClock;

    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(ms)
    }

    // the store's clock decides.
    #[test]
    fn it_shows_what_the_store_said() {
        let clock = StoreClock::new(Arc::new(ManualClock::new(10_000)));
        clock.set(at(70_100), at(9_900), at(10_100));
        assert_eq!(clock.now_ms(), 70_100);
        assert_eq!(clock.own(), at(10_000));
    }

    #[test]
    fn it_never_goes_back() {
        let own = Arc::new(ManualClock::new(10_000));
        let clock = StoreClock::new(Arc::clone(&own) as _);
        assert_eq!(clock.now_ms(), 10_000);
        clock.set(at(5_000), at(10_000), at(10_000));
        assert_eq!(clock.now_ms(), 10_000, "it stands until the store has caught up");
        own.advance(std::time::Duration::from_millis(5_500));
        assert_eq!(clock.now_ms(), 10_500);
    }

    #[test]
    fn an_answer_that_took_long_says_nothing() {
        let clock = StoreClock::new(Arc::new(ManualClock::new(120_000)));
        clock.set(at(120_000), at(0), at(120_000));
        assert_eq!(clock.now_ms(), 120_000, "half of the pause would be a minute too much");
    }
}
