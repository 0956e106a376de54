//! How long to wait before the same call is made again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Grows from a tenth of a second to five seconds, and begins again after a success.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The next wait; never shorter than what the server asked for.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Duration {
        let grown = FIRST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        grown.max(asked.unwrap_or_default())
    }

    /// A call has succeeded.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_limit_and_begin_again_after_a_success() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..8).map(|_| backoff.next(None).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        backoff.reset();
        assert_eq!(backoff.next(None), FIRST);
    }

    #[test]
    fn a_server_that_asks_for_more_time_gets_it() {
        assert_eq!(Backoff::default().next(Some(Duration::from_secs(30))), Duration::from_secs(30));
    }
}
