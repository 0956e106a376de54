//! What identifies a member.

use serde_json::{Number, Value};

use super::SkipReason;

/// The longest key that the tables of an existing scheduler hold.
const KEY_CHARS_MAX: usize = 256;

/// The whole numbers that a floating-point number holds exactly end here.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// The key in a value, as text.
pub(super) fn key(column: &str, value: Option<&Value>) -> Result<String, SkipReason> {
    let bad = |why| SkipReason::BadKey { column: column.to_owned(), why };
    let text = match value {
        None => return Err(SkipReason::NoColumn { column: column.to_owned() }),
        Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => of_number(number),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(bad("is neither a text nor a number"));
        }
    };
    match key_of_text(&text) {
        Ok(Some(key)) => Ok(key.to_owned()),
        Ok(None) => Err(SkipReason::NoKey { column: column.to_owned() }),
        Err(why) => Err(bad(why)),
    }
}

/// The key in a text: without the blanks around it, which columns of a fixed width add. `None` if
/// nothing is left; an error says why it cannot be a key.
pub(in crate::runbooks) fn key_of_text(text: &str) -> Result<Option<&str>, &'static str> {
    let key = text.trim();
    if key.is_empty() {
        return Ok(None);
    }
    if key.chars().any(char::is_control) {
        return Err("holds a line break or another control character");
    }
    // A text has at least as many bytes as characters, so that most are never counted.
    if key.len() > KEY_CHARS_MAX && key.chars().count() > KEY_CHARS_MAX {
        return Err("is longer than 256 characters");
    }
    Ok(Some(key))
}

/// A whole number is written without a fraction, however the source stores it: a spreadsheet knows
/// no other numbers than 17.0.
fn of_number(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() && value.fract() == 0.0 && value.abs() < WHOLE_MAX => {
            format!("{value:.0}")
        }
        _ => number.to_string(),
    }
}
