//! Moments as every wire shows them.

use serde::{Serialize, Serializer};
use stepwell_core::time::Timestamp;

/// A moment that travels as text: UTC, RFC 3339, with `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Timestamp);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self(timestamp)
    }
}

/// Reads a moment in RFC 3339, with any offset; one without an offset is taken as UTC, because that
/// is how some senders have always written it. `None` if it is none, or cannot be stored.
#[must_use]
pub fn parse(text: &str) -> Option<Moment> {
    let utc = || {
        let moment: jiff::civil::DateTime = text.parse().ok()?;
        moment.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|moment| moment.timestamp())
    };
    // A name of a time zone in brackets says something that we would not heed.
    let moment = text.parse().ok().or_else(utc).filter(|_| !text.contains('['));
    let millis = jiff::Timestamp::as_millisecond(moment?);
    let stored = Timestamp::from_millis(millis);
    (stored.as_millis() == millis).then_some(Moment(stored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let parsed = parse(text).map(|moment| moment.0.to_string());
        assert_eq!(parsed.as_deref(), expected, "{text}");
    }

    // UTC RFC 3339 with Z, whatever came in.
    #[test]
    fn a_moment_is_read_with_any_offset_and_shown_in_utc() {
        check("2026-02-03T12:00:00Z", Some("2026-02-03T12:00:00.000Z"));
        check("2026-02-03T13:00:00.123456+01:00", Some("2026-02-03T12:00:00.123Z"));
        check("2026-02-03T12:00:00.123456", Some("2026-02-03T12:00:00.123Z"));
        for text in ["", "yesterday", "12:00", "2026-02-30T00:00:00Z", "1900-01-01T00:00:00Z"] {
            check(text, None);
        }
        check("2026-02-03T12:00:00+01:00[Europe/Oslo]", None);
        check("2026-02-03T12:00:00[Europe/Oslo]", None);
        check("9999-12-31T00:00:00Z", None);
    }
}
