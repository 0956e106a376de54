//! Moments. There is no `now()` here: the caller says what time it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::duration::Interval;

/// A moment in UTC, in whole milliseconds since 1970. Shown as RFC 3339 with `Z`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

/// The last moment that can be stored: the end of the year 2199.
const LAST_MS: i64 = 7_258_118_399_999;

impl Timestamp {
    /// A moment from milliseconds since 1970, brought into the storable range.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LAST_MS))
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0
    }

    /// This much later. Saturates at the last storable moment: a wait that long never ends anyway.
    #[must_use]
    pub fn after(self, interval: Interval) -> Self {
        let millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// How long since an earlier moment; nothing if the clock went back.
    #[must_use]
    pub fn since(self, earlier: Self) -> Interval {
        let millis = self.0.saturating_sub(earlier.0);
        Interval::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // UTC RFC 3339 with Z.
    #[test]
    fn a_moment_is_shown_in_utc_with_a_z() {
        assert_eq!(
            Timestamp::from_millis(1_741_564_800_123).to_string(),
            "2025-03-10T00:00:00.123Z"
        );
    }

    #[test]
    fn a_wait_longer_than_time_itself_ends_at_the_last_moment() {
        let late = Timestamp::from_millis(LAST_MS);
        assert_eq!(late.after(Interval::from_secs(60)), late);
    }
}
