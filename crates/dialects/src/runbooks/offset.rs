//! Offsets: where a phase stands on the timeline of its batch, such as `T-5d`.
//!
//! An offset is whole minutes, as it is stored. Seconds are rounded up, so a phase before T-0 is due
//! no later than its author asked for; after T-0, where nothing may happen too early, it is due no
//! sooner.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use stepwell_core::time::Timestamp;

const MINUTES_PER_HOUR: u32 = 60;
const MINUTES_PER_DAY: u32 = 24 * MINUTES_PER_HOUR;
const SECONDS_PER_MINUTE: u64 = 60;
const MILLIS_PER_MINUTE: i64 = 60_000;

/// As far from T-0 as a duration may be long.
const MINUTES_MAX: u32 = 3650 * MINUTES_PER_DAY;

/// The units that an offset is written in, largest first.
const UNITS: [(char, u32); 3] = [('d', MINUTES_PER_DAY), ('h', MINUTES_PER_HOUR), ('m', 1)];

/// How far from T-0 a phase stands. Earlier offsets sort first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Offset {
    /// positive before T-0, negative after it
    minutes: i32,
}

impl Offset {
    /// T-0 itself.
    pub const ZERO: Self = Self { minutes: 0 };

    /// The offset that is stored as so many minutes, if it is one.
    #[must_use]
    pub fn from_minutes(minutes: i32) -> Option<Self> {
        (minutes.unsigned_abs() <= MINUTES_MAX).then_some(Self { minutes })
    }

    /// The minutes as they are stored: positive before T-0, negative after it.
    #[must_use]
    pub fn minutes(self) -> i32 {
        self.minutes
    }

    /// The moment at which a phase is due in a batch that starts at `start`.
    #[must_use]
    pub fn due_at(self, start: Timestamp) -> Timestamp {
        Timestamp::from_millis(start.as_millis() - i64::from(self.minutes) * MILLIS_PER_MINUTE)
    }
}

impl Ord for Offset {
    fn cmp(&self, other: &Self) -> Ordering {
        other.minutes.cmp(&self.minutes)
    }
}

impl PartialOrd for Offset {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Written in the largest unit that divides it, so that equal offsets are equal text.
impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.minutes == 0 {
            return f.write_str("T-0");
        }
        let sign = if self.minutes > 0 { '-' } else { '+' };
        let minutes = self.minutes.unsigned_abs();
        let (unit, size) = UNITS
            .into_iter()
            .find(|(_, size)| minutes.is_multiple_of(*size))
            .expect("one minute divides every offset");
        write!(f, "T{sign}{}{unit}", minutes / size)
    }
}

impl FromStr for Offset {
    type Err = OffsetError;

    fn from_str(text: &str) -> Result<Self, OffsetError> {
        let refuse = |fault| OffsetError { text: excerpt(text), fault };
        if text == "T-0" {
            return Ok(Self::ZERO);
        }
        let (before, rest) = match (text.strip_prefix("T-"), text.strip_prefix("T+")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(refuse(Fault::NoSign)),
        };
        let minutes = magnitude(rest).map_err(refuse)?;
        Ok(Self { minutes: if before { minutes } else { -minutes } })
    }
}

/// The minutes in `<n><unit>`.
fn magnitude(text: &str) -> Result<i32, Fault> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err(Fault::NoNumber);
    }
    // Digits alone can fail to parse only by being too many.
    let number: u64 = number.parse().map_err(|_| Fault::TooFar)?;
    let minutes = match unit {
        "" => return Err(Fault::NoUnit),
        "d" => number.checked_mul(u64::from(MINUTES_PER_DAY)),
        "h" => number.checked_mul(u64::from(MINUTES_PER_HOUR)),
        "m" => Some(number),
        "s" => Some(number.div_ceil(SECONDS_PER_MINUTE)),
        _ => return Err(Fault::UnknownUnit),
    };
    let minutes = minutes.filter(|minutes| *minutes <= u64::from(MINUTES_MAX));
    minutes.and_then(|minutes| i32::try_from(minutes).ok()).ok_or(Fault::TooFar)
}

/// Why a text is not an offset: what was wrong, what is allowed, and examples.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an offset: {fault}; write T-0, or T- (before) or T+ (after) with a whole number \
     and one of d, h, m or s, such as T-5d, T-30m or T+2h"
)]
pub struct OffsetError {
    text: String,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it does not begin with T- or T+")]
    NoSign,
    #[error("there is no whole number after the sign")]
    NoNumber,
    #[error("it has no unit")]
    NoUnit,
    #[error("what follows the number is not a unit")]
    UnknownUnit,
    #[error("it is further from T-0 than the 3650 days allowed")]
    TooFar,
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
    fn check(texts: &[&str], expected: Expect) {
        let lines = texts.iter().map(|text| match text.parse::<Offset>() {
            Ok(offset) => format!("{text}: {} minutes, written {offset}\n", offset.minutes()),
            Err(error) => format!("{text}: {}\n", error.fault),
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    // A-017, A-018: days, hours and minutes before T-0, and T-0 itself.
    #[test]
    fn an_offset_is_stored_in_minutes() {
        check(
            &["T-5d", "T-4h", "T-30m", "T-0", "T-0d", "T-1440m", "T-3650d"],
            expect![[r#"
                T-5d: 7200 minutes, written T-5d
                T-4h: 240 minutes, written T-4h
                T-30m: 30 minutes, written T-30m
                T-0: 0 minutes, written T-0
                T-0d: 0 minutes, written T-0
                T-1440m: 1440 minutes, written T-1d
                T-3650d: 5256000 minutes, written T-3650d
            "#]],
        );
    }

    // A-019: ceil(n / 60).
    #[test]
    fn seconds_are_rounded_up_to_whole_minutes() {
        check(
            &["T-90s", "T-60s", "T-1s", "T-0s", "T-61s", "T-3600s"],
            expect![[r#"
                T-90s: 2 minutes, written T-2m
                T-60s: 1 minutes, written T-1m
                T-1s: 1 minutes, written T-1m
                T-0s: 0 minutes, written T-0
                T-61s: 2 minutes, written T-2m
                T-3600s: 60 minutes, written T-1h
            "#]],
        );
    }

    // X-062: the extension; a phase after T-0 is never due sooner than it says.
    #[test]
    fn an_offset_after_t_zero_is_stored_negative() {
        check(
            &["T+2h", "T+90s", "T+7d", "T+0m"],
            expect![[r#"
                T+2h: -120 minutes, written T+2h
                T+90s: -2 minutes, written T+2m
                T+7d: -10080 minutes, written T+7d
                T+0m: 0 minutes, written T-0
            "#]],
        );
    }

    // A-017, X-062: anything else is refused, never guessed.
    #[test]
    fn a_text_outside_the_grammar_is_refused() {
        check(
            &[
                "",
                "T",
                "5d",
                "t-5d",
                "T−5d",
                "T -5d",
                "T-",
                "T--5d",
                "T-d",
                "T-5",
                "T+0",
                "T-5w",
                "T-5D",
                "T-5 d",
                "T-1.5h",
                "T-1d12h",
                "T-0 ",
                "T-3651d",
                "T-5256001m",
                "T-18446744073709551615d",
                "T-99999999999999999999999m",
            ],
            expect![[r#"
                : it does not begin with T- or T+
                T: it does not begin with T- or T+
                5d: it does not begin with T- or T+
                t-5d: it does not begin with T- or T+
                T−5d: it does not begin with T- or T+
                T -5d: it does not begin with T- or T+
                T-: there is no whole number after the sign
                T--5d: there is no whole number after the sign
                T-d: there is no whole number after the sign
                T-5: it has no unit
                T+0: it has no unit
                T-5w: what follows the number is not a unit
                T-5D: what follows the number is not a unit
                T-5 d: what follows the number is not a unit
                T-1.5h: what follows the number is not a unit
                T-1d12h: what follows the number is not a unit
                T-0 : what follows the number is not a unit
                T-3651d: it is further from T-0 than the 3650 days allowed
                T-5256001m: it is further from T-0 than the 3650 days allowed
                T-18446744073709551615d: it is further from T-0 than the 3650 days allowed
                T-99999999999999999999999m: it is further from T-0 than the 3650 days allowed
            "#]],
        );
        let error = "é".repeat(10_000).parse::<Offset>().unwrap_err();
        assert!(error.to_string().len() < 300, "a refusal does not repeat a long text");
    }

    // A-020: due_at = batch_start_time - offset_minutes.
    #[test]
    fn a_phase_is_due_so_many_minutes_before_its_batch_starts() {
        let start: jiff::Timestamp = "2025-03-15T00:00:00Z".parse().unwrap();
        let start = Timestamp::from_millis(start.as_millisecond());
        let due = |text: &str| text.parse::<Offset>().unwrap().due_at(start).to_string();
        assert_eq!(due("T-5d"), "2025-03-10T00:00:00.000Z");
        assert_eq!(due("T-90s"), "2025-03-14T23:58:00.000Z");
        assert_eq!(due("T-0"), "2025-03-15T00:00:00.000Z");
        assert_eq!(due("T+2h"), "2025-03-15T02:00:00.000Z");
    }

    #[test]
    fn earlier_offsets_sort_first() {
        let mut offsets: Vec<Offset> =
            ["T+1h", "T-0", "T-5d", "T-4h"].map(|text| text.parse().unwrap()).to_vec();
        offsets.sort();
        let texts: Vec<String> = offsets.iter().map(Offset::to_string).collect();
        assert_eq!(texts, ["T-5d", "T-4h", "T-0", "T+1h"]);
    }

    const FAR: i32 = MINUTES_MAX as i32;

    proptest! {
        #[test]
        fn what_is_written_is_read_back_as_the_same_offset(minutes in -FAR..=FAR) {
            let offset = Offset::from_minutes(minutes).unwrap();
            prop_assert_eq!(offset.to_string().parse::<Offset>(), Ok(offset));
        }

        #[test]
        fn the_order_of_offsets_is_the_order_of_what_is_due(a in -FAR..=FAR, b in -FAR..=FAR) {
            let start = Timestamp::from_millis(1_767_600_000_000);
            let [a, b] = [a, b].map(|minutes| Offset::from_minutes(minutes).unwrap());
            prop_assert_eq!(a.cmp(&b), a.due_at(start).cmp(&b.due_at(start)));
        }

        #[test]
        fn any_text_is_an_offset_or_is_refused(text in "T?[-+]?[0-9]{0,22}[dhms]?|\\PC{0,12}") {
            if let Ok(offset) = text.parse::<Offset>() {
                prop_assert_eq!(Offset::from_minutes(offset.minutes()), Some(offset));
            }
        }
    }
}
