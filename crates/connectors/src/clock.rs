//! Time as the connectors see it: handed in, so that a simulator can drive it.

mod virtual_time;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

pub use self::virtual_time::VirtualClock;
use crate::bus::Answer;

/// Bounds one sleep, so that a wall clock that jumps forward is noticed.
const NAP_MAX_MS: i64 = 60_000;

/// The runtime sleeps no shorter than this.
const NAP_MIN: Duration = Duration::from_millis(1);

/// A source of time that never goes back.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970 UTC.
    fn now_ms(&self) -> i64;

    /// Resolves once [`now_ms`](Clock::now_ms) has reached `at_ms`; at once if it already has.
    fn sleep_until_ms(&self, at_ms: i64) -> Answer<'_, ()>;
}

/// The machine's clock, made monotonic.
///
/// It follows the wall clock forward (a laptop that wakes from sleep, a correction of the time)
/// and ignores steps back: there it goes on at the pace of the monotonic clock, so that no
/// visibility timeout is stretched by the size of the step.
#[derive(Debug)]
pub struct SystemClock {
    last: Mutex<Reading>,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    now_ms: i64,
}

impl SystemClock {
    /// A clock that starts at the machine's present time.
    pub fn new() -> Self {
        Self::no_earlier_than(i64::MIN)
    }

    /// A clock that starts at the machine's present time, or at `floor_ms` if that is later: what a
    /// restart finds written down has happened, whatever the machine says.
    pub fn no_earlier_than(floor_ms: i64) -> Self {
        let now_ms = wall_ms().max(floor_ms);
        Self { last: Mutex::new(Reading { at: Instant::now(), now_ms }) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        // A reading is written whole or not at all, so a poisoned lock holds a sound one.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let (now_ms, elapsed) = advance(last.now_ms, last.at.elapsed(), wall_ms());
        // Only whole milliseconds are taken off, or frequent readings would lose the rest of each.
        *last = Reading { at: last.at + elapsed, now_ms };
        now_ms
    }

    fn sleep_until_ms(&self, at_ms: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            loop {
                let left_ms = at_ms - self.now_ms();
                if left_ms <= 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(left_ms.min(NAP_MAX_MS) as u64)).await;
            }
        })
    }
}

/// The next reading, and how much of the elapsed time it has used up.
fn advance(last_ms: i64, elapsed: Duration, wall_ms: i64) -> (i64, Duration) {
    let whole_ms = elapsed.as_millis() as u64;
    let now_ms = wall_ms.max(last_ms.saturating_add_unsigned(whole_ms));
    (now_ms, Duration::from_millis(whole_ms))
}

fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// A clock that begins in the past and runs many times as fast as the machine's, until it has caught
/// up with it. From then on it is the machine's.
///
/// For demonstrations: what takes hours is seen in seconds, and whoever looks at it afterwards finds
/// it as long ago as it says.
#[derive(Debug)]
pub struct FastClock {
    machine: SystemClock,
    begun: Instant,
    start_ms: i64,
    factor: u32,
}

impl FastClock {
    /// A clock that stands at `start_ms` and runs `factor` times as fast as the machine's.
    ///
    /// # Panics
    /// A factor of 0 would be a clock that stands.
    pub fn new(start_ms: i64, factor: u32) -> Self {
        assert!(factor > 0, "a clock must move");
        Self { machine: SystemClock::new(), begun: Instant::now(), start_ms, factor }
    }

    /// The reading, and how many times as fast as the machine's clock it goes on.
    fn read(&self) -> (i64, u32) {
        let fast_ms = hastened(self.start_ms, self.begun.elapsed(), self.factor);
        let machine_ms = self.machine.now_ms();
        if fast_ms < machine_ms { (fast_ms, self.factor) } else { (machine_ms, 1) }
    }
}

impl Clock for FastClock {
    fn now_ms(&self) -> i64 {
        self.read().0
    }

    fn sleep_until_ms(&self, at_ms: i64) -> Answer<'_, ()> {
        Box::pin(async move {
            loop {
                let (now_ms, factor) = self.read();
                if now_ms >= at_ms {
                    return;
                }
                let left_ms = at_ms.saturating_sub(now_ms).min(NAP_MAX_MS * i64::from(factor));
                let left = Duration::from_millis(left_ms.unsigned_abs());
                tokio::time::sleep((left / factor).max(NAP_MIN)).await;
            }
        })
    }
}

/// What a clock shows that began at `start_ms` and runs so many times as fast as time passes.
fn hastened(start_ms: i64, elapsed: Duration, factor: u32) -> i64 {
    let passed_ms = elapsed.as_micros().saturating_mul(factor.into()) / 1_000;
    start_ms.saturating_add(i64::try_from(passed_ms).unwrap_or(i64::MAX))
}

/// A clock that moves only when told to: for tests and the simulator.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: watch::Sender<i64>,
}

impl ManualClock {
    /// A clock that stands at `now_ms`.
    pub fn new(now_ms: i64) -> Self {
        Self { now_ms: watch::Sender::new(now_ms) }
    }

    /// Moves time forward and wakes every sleeper whose moment has come.
    pub fn advance(&self, by: Duration) {
        self.now_ms.send_modify(|now_ms| *now_ms += by.as_millis() as i64);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        *self.now_ms.borrow()
    }

    fn sleep_until_ms(&self, at_ms: i64) -> Answer<'_, ()> {
        let mut now_ms = self.now_ms.subscribe();
        Box::pin(async move {
            let reached = now_ms.wait_for(|now_ms| *now_ms >= at_ms).await;
            assert!(reached.is_ok(), "the sender lives as long as the borrowed clock");
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_steps_back_neither_turns_nor_stops_time() {
        let (now_ms, _) = advance(10_000, Duration::from_millis(250), 4_000);
        assert_eq!(now_ms, 10_250);
    }

    #[test]
    fn a_wall_clock_that_jumps_forward_is_followed() {
        let (now_ms, _) = advance(10_000, Duration::from_millis(250), 90_000);
        assert_eq!(now_ms, 90_000);
    }

    #[test]
    fn a_clock_starts_no_earlier_than_what_was_written_down() {
        let ahead_ms = wall_ms() + 86_400_000;
        let now_ms = SystemClock::no_earlier_than(ahead_ms).now_ms();
        assert!((ahead_ms..ahead_ms + 60_000).contains(&now_ms), "{now_ms}");
        assert!(SystemClock::no_earlier_than(0).now_ms() > 0);
    }

    #[test]
    fn a_fast_clock_multiplies_what_has_passed() {
        assert_eq!(hastened(5_000, Duration::from_micros(2_500), 300), 5_750);
        assert_eq!(hastened(5_000, Duration::MAX, u32::MAX), i64::MAX);
    }

    #[tokio::test]
    async fn whoever_sleeps_by_a_fast_clock_wakes_in_time_by_that_clock() {
        let start_ms = wall_ms() - 3_600_000;
        let clock = FastClock::new(start_ms, 1_000);
        let began = Instant::now();
        clock.sleep_until_ms(start_ms + 60_000).await;
        assert!(clock.now_ms() >= start_ms + 60_000);
        assert!(began.elapsed() < Duration::from_secs(30), "a minute takes 60 ms");
    }

    #[test]
    fn a_fast_clock_that_has_caught_up_goes_at_the_pace_of_the_machine() {
        let clock = FastClock::new(wall_ms() + 3_600_000, 1_000);
        let (now_ms, factor) = clock.read();
        assert!((now_ms - wall_ms()).abs() < 60_000, "{now_ms}");
        assert_eq!(factor, 1);
    }

    #[test]
    fn parts_of_a_millisecond_are_kept_for_the_next_reading() {
        let (now_ms, used) = advance(10_000, Duration::from_micros(1_900), 0);
        assert_eq!((now_ms, used), (10_001, Duration::from_millis(1)));
    }
}
