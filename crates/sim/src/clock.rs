//! The time of a world, and how wrong each instance is about it.

use std::sync::Arc;

use stepwell_connectors::bus::Answer;
use stepwell_connectors::clock::Clock;
pub use stepwell_connectors::clock::VirtualClock;

/// When every world begins: noon of some day.
pub const NOON_MS: i64 = 1_741_608_000_000;

/// The true time of a world: it passes only when nobody has anything to do.
#[must_use]
pub fn at_noon() -> Arc<VirtualClock> {
    VirtualClock::new(NOON_MS, None)
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
