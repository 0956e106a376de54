//! When a batch starts.

use serde_json::Value;
use stepwell_core::time::Timestamp;

use super::SkipReason;
use crate::moment;
use crate::problem::quoted;

const MARK_MS: i64 = 5 * 60 * 1_000;

/// The closest mark of five minutes; from the middle between two, the later one.
///
/// It may lie ahead: what is due there waits.
#[must_use]
pub fn nearest_mark(now: Timestamp) -> Timestamp {
    let marks = (now.as_millis() + MARK_MS / 2).div_euclid(MARK_MS);
    Timestamp::from_millis(marks * MARK_MS)
}

/// The moment in a value. A time without a zone is UTC, and a date is its midnight.
pub(super) fn start(column: &str, value: Option<&Value>) -> Result<Timestamp, SkipReason> {
    let column = column.to_owned();
    let text = match value {
        None => return Err(SkipReason::NoColumn { column }),
        Some(Value::Null) => return Err(SkipReason::NoTime { column }),
        Some(Value::String(text)) => text.trim(),
        // A number may count seconds, milliseconds or days since several moments: no guess is safe.
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            return Err(SkipReason::BadTime { column, value: quoted(&other.to_string()) });
        }
    };
    if text.is_empty() {
        return Err(SkipReason::NoTime { column });
    }
    let moment = moment::parse(text).or_else(|| moment::parse(&joined(text)));
    moment.map(|moment| moment.0).ok_or_else(|| SkipReason::BadTime { column, value: quoted(text) })
}

/// Some databases write a blank before the offset: `2026-03-15 08:00:00.0000000 +00:00`.
fn joined(text: &str) -> String {
    match text.rsplit_once(' ') {
        Some((time, offset)) if offset.starts_with(['+', '-']) || offset == "UTC" => {
            format!("{}{}", time.trim_end(), if offset == "UTC" { "Z" } else { offset })
        }
        _ => text.to_owned(),
    }
}
