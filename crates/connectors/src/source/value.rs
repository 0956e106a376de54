//! Values of databases as JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

/// A number with so many digits is the same after a reader of JSON has made a floating-point number of
/// it and back; with more it may not be.
const DIGITS_MAX: usize = 15;

/// A decimal number: a number if nothing of it is lost so, else its text.
pub(super) fn decimal(text: &str) -> Value {
    let digits = text.trim_start_matches('-').trim_start_matches(['0', '.']);
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let is_whole = !text.contains(['.', 'e', 'E']);
    let number = match text.parse::<i64>() {
        Ok(whole) => Some(Number::from(whole)),
        Err(_) if count <= DIGITS_MAX && !is_whole => text.parse().ok().and_then(Number::from_f64),
        Err(_) => None,
    };
    number.map_or_else(|| Value::from(text), Value::Number)
}

/// A floating-point number; what JSON has no number for is text.
pub(super) fn float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::from(number.to_string()), Value::Number)
}

/// Bytes, as base64.
pub(super) fn bytes(bytes: &[u8]) -> Value {
    Value::from(STANDARD.encode(bytes))
}

/// A moment in RFC 3339 and UTC; a time without a zone is one of UTC. What is neither stays as it is.
pub(super) fn moment(text: &str) -> Value {
    let zoned = text.parse::<jiff::Timestamp>().ok();
    let moment = zoned.or_else(|| {
        let time: jiff::civil::DateTime = text.parse().ok()?;
        time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|moment| moment.timestamp())
    });
    moment.map_or_else(|| Value::from(text), |moment| Value::from(moment.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decimal_is_a_number_only_if_nothing_of_it_is_lost() {
        for (text, expected) in [
            ("12", json!(12)),
            ("-9007199254740993", json!(-9_007_199_254_740_993_i64)),
            ("12.50", json!(12.5)),
            ("0.000001", json!(0.000_001)),
            ("123456789012345.6", json!("123456789012345.6")),
            ("123456789012345678901234", json!("123456789012345678901234")),
            ("NaN", json!("NaN")),
            ("", json!("")),
        ] {
            assert_eq!(decimal(text), expected, "{text}");
        }
        assert_eq!(float(f64::INFINITY), json!("inf"));
    }

    #[test]
    fn a_moment_is_shown_in_utc() {
        for (text, expected) in [
            ("2026-03-15T09:00:00+01:00", "2026-03-15T08:00:00Z"),
            ("2026-03-15 08:00:00.25+00", "2026-03-15T08:00:00.25Z"),
            ("2026-03-15T08:00:00", "2026-03-15T08:00:00Z"),
            ("infinity", "infinity"),
        ] {
            assert_eq!(moment(text), json!(expected));
        }
    }
}
