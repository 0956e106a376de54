//! Lengths of time as people write them: `30s`, `15m`, `7d`.
//!
//! The type is called [`Interval`] so that it is never mistaken for [`std::time::Duration`]: it is
//! whole milliseconds, it has an upper bound, and it has exactly one way to be written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MILLIS_PER_SECOND: u64 = 1_000;
const MILLIS_PER_MINUTE: u64 = 60 * MILLIS_PER_SECOND;
const MILLIS_PER_HOUR: u64 = 60 * MILLIS_PER_MINUTE;
const MILLIS_PER_DAY: u64 = 24 * MILLIS_PER_HOUR;

/// The units of the grammar, largest first: the order in which an interval looks for its own.
const UNITS: [(&str, u64); 5] = [
    ("d", MILLIS_PER_DAY),
    ("h", MILLIS_PER_HOUR),
    ("m", MILLIS_PER_MINUTE),
    ("s", MILLIS_PER_SECOND),
    ("ms", 1),
];

/// A length of time in whole milliseconds, from nothing up to [`Interval::MAX`].
///
/// Written and read as a number with one unit. The written form uses the largest unit that divides
/// the interval exactly, so equal intervals are always equal text: `24h` is written `1d`, while
/// `90s` stays `90s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interval(u64);

impl Interval {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// The longest interval, 3650 days: adding it to any moment we store cannot overflow.
    pub const MAX: Self = Self(3650 * MILLIS_PER_DAY);

    /// An interval of so many milliseconds, cut to [`Interval::MAX`].
    ///
    /// Text from a person goes through [`str::parse`] instead, which refuses what is too long.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        if millis > Self::MAX.0 { Self::MAX } else { Self(millis) }
    }

    /// An interval of so many seconds, cut to [`Interval::MAX`].
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_millis(secs.saturating_mul(MILLIS_PER_SECOND))
    }

    /// The interval in milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The whole seconds in the interval; a rest below one second is dropped.
    #[must_use]
    pub const fn as_secs(self) -> u64 {
        self.0 / MILLIS_PER_SECOND
    }

    /// Whether the interval is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, unless it is longer than [`Interval::MAX`].
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(millis) if millis <= Self::MAX.0 => Some(Self(millis)),
            Some(_) | None => None,
        }
    }

    /// The difference, unless `other` is the longer one.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(millis) => Some(Self(millis)),
            None => None,
        }
    }

    /// The product, unless it is longer than [`Interval::MAX`].
    #[must_use]
    pub const fn checked_mul(self, factor: u64) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(millis) if millis <= Self::MAX.0 => Some(Self(millis)),
            Some(_) | None => None,
        }
    }

    /// The product, cut to [`Interval::MAX`]: a backoff that grows stops growing there.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self::from_millis(self.0.saturating_mul(factor))
    }
}

impl From<Interval> for std::time::Duration {
    fn from(interval: Interval) -> Self {
        Self::from_millis(interval.0)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0s");
        }
        let (suffix, millis) = UNITS
            .into_iter()
            .find(|(_, millis)| self.0.is_multiple_of(*millis))
            .expect("one millisecond divides every interval");
        write!(f, "{}{suffix}", self.0 / millis)
    }
}

impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        let refuse = |fault| Err(IntervalError { text: excerpt(text), fault });
        if text.is_empty() {
            return refuse(Fault::Empty);
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = text.split_at(digits);
        if number.is_empty() {
            return refuse(Fault::NoNumber);
        }
        if suffix.is_empty() {
            return refuse(Fault::NoUnit);
        }
        let Some((_, millis)) = UNITS.into_iter().find(|(unit, _)| *unit == suffix) else {
            return refuse(Fault::UnknownUnit);
        };
        // Digits alone can fail to parse only by being too many.
        let interval = number.parse().ok().and_then(|count| Self(millis).checked_mul(count));
        interval.map_or_else(|| refuse(Fault::TooLong), Ok)
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// Why a text is not an interval: what was wrong, what is allowed, and an example.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a duration: {fault}; write {ALLOWED}")]
pub struct IntervalError {
    text: String,
    fault: Fault,
}

const ALLOWED: &str =
    "a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m";

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it is empty")]
    Empty,
    #[error("it does not begin with a whole number")]
    NoNumber,
    #[error("it has no unit")]
    NoUnit,
    #[error("what follows the number is not a unit")]
    UnknownUnit,
    #[error("it is longer than the 3650 days allowed")]
    TooLong,
}

/// The beginning of a text, so that an error never repeats a whole document back.
fn excerpt(text: &str) -> String {
    const SHOWN_MAX: usize = 32;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&match text.parse::<Interval>() {
            Ok(interval) => format!("{} ms, written {interval}", interval.as_millis()),
            Err(error) => error.to_string(),
        });
    }

    #[test]
    fn an_interval_is_a_number_with_one_unit() {
        // A-021: the five examples of the grammar, and milliseconds as our extension.
        check("30s", expect!["30000 ms, written 30s"]);
        check("1m", expect!["60000 ms, written 1m"]);
        check("15m", expect!["900000 ms, written 15m"]);
        check("24h", expect!["86400000 ms, written 1d"]);
        check("7d", expect!["604800000 ms, written 7d"]);
        check("250ms", expect!["250 ms, written 250ms"]);
    }

    #[test]
    fn an_interval_is_written_in_the_largest_unit_that_divides_it() {
        check("90s", expect!["90000 ms, written 90s"]);
        check("120s", expect!["120000 ms, written 2m"]);
        check("1500ms", expect!["1500 ms, written 1500ms"]);
        check("0d", expect!["0 ms, written 0s"]);
        check("3650d", expect!["315360000000 ms, written 3650d"]);
    }

    #[test]
    fn a_text_outside_the_grammar_is_refused_with_what_is_allowed() {
        // A-021: anything else is refused, never guessed.
        check(
            "",
            expect![[
                r#""" is not a duration: it is empty; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m"#
            ]],
        );
        check(
            "30",
            expect![[
                r#""30" is not a duration: it has no unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m"#
            ]],
        );
        check(
            "-5m",
            expect![[
                r#""-5m" is not a duration: it does not begin with a whole number; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m"#
            ]],
        );
        check(
            "5 m",
            expect![[
                r#""5 m" is not a duration: what follows the number is not a unit; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m"#
            ]],
        );
    }

    #[test]
    fn signs_spaces_fractions_and_capitals_are_not_part_of_the_grammar() {
        // A-021: one number, one lower-case unit.
        for text in ["+5m", " 5m", "5m ", "1.5h", "5M", "1h30m", "PT5M", "٣s", "s", "5sec"] {
            assert!(text.parse::<Interval>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn an_interval_beyond_ten_years_is_refused_and_not_wrapped() {
        for text in ["3651d", "315360000001ms", "18446744073709551615d", "99999999999999999999999s"]
        {
            let error = text.parse::<Interval>().unwrap_err();
            assert_eq!(error.fault, Fault::TooLong, "{text}");
        }
    }

    #[test]
    fn a_refusal_does_not_repeat_a_long_text() {
        let error = "é".repeat(10_000).parse::<Interval>().unwrap_err();
        assert!(error.to_string().len() < 300);
    }

    #[test]
    fn arithmetic_stops_at_the_longest_interval() {
        let day = Interval::from_secs(24 * 60 * 60);
        assert_eq!(day.checked_mul(3650), Some(Interval::MAX));
        assert_eq!(day.checked_mul(3651), None);
        assert_eq!(day.saturating_mul(u64::MAX), Interval::MAX);
        assert_eq!(Interval::MAX.checked_add(Interval::from_millis(1)), None);
        assert_eq!(Interval::ZERO.checked_sub(day), None);
        assert_eq!(Interval::from_secs(u64::MAX), Interval::MAX);
    }

    #[test]
    fn an_interval_travels_in_json_as_its_text() {
        let interval: Interval = serde_json::from_str("\"48h\"").unwrap();
        assert_eq!(serde_json::to_string(&interval).unwrap(), "\"2d\"");
        assert!(serde_json::from_str::<Interval>("30").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_as_the_same_interval(millis in 0..=Interval::MAX.0) {
            let interval = Interval::from_millis(millis);
            prop_assert_eq!(interval.to_string().parse::<Interval>(), Ok(interval));
        }
    }
}
