//! Errors without personal data (C-013).
//!
//! Workers write what they like into an error, and whoever debugs wants to read it. What a job shows
//! of it, and what events tell others, is short, and whatever looks like a person, an address or a secret is
//! masked by the kind of thing it was. It is better to mask too much: the history of the run has the
//! original for those who may see it. Names in running text cannot be told from other words; workers
//! put them in quotes or leave them out.

mod scan;

use stepwell_core::step::StepError;

/// The most characters of a code.
pub const CODE_CHARS_MAX: usize = 64;

/// The most characters of a message.
pub const MESSAGE_CHARS_MAX: usize = 200;

/// What stands for a code that says nothing.
const CODE_EMPTY: &str = "error";

/// The error as anybody may see it.
#[must_use]
pub fn error(error: &StepError) -> StepError {
    StepError { code: code(&error.code), message: message(&error.message) }
}

/// A code as anybody may see it: letters, digits, `_`, `.` and `-`, in lower case.
#[must_use]
pub fn code(text: &str) -> String {
    let mut code = String::new();
    let mut previous = ' ';
    for c in scan::masked(text).chars() {
        let boundary = c.is_ascii_uppercase() && previous.is_ascii_lowercase();
        previous = c;
        let kept = c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if (boundary || !kept) && !code.is_empty() && !code.ends_with('_') {
            code.push('_');
        }
        if kept {
            code.push(c.to_ascii_lowercase());
        }
        if code.len() >= CODE_CHARS_MAX {
            break;
        }
    }
    code.truncate(CODE_CHARS_MAX);
    let code = code.trim_matches(['_', '.', '-']);
    if code.is_empty() { CODE_EMPTY.to_owned() } else { code.to_owned() }
}

/// A message as anybody may see it: one line, short, with everything personal masked.
#[must_use]
pub fn message(text: &str) -> String {
    let masked = scan::masked(text);
    if masked.chars().count() <= MESSAGE_CHARS_MAX {
        return masked;
    }
    let kept: String = masked.chars().take(MESSAGE_CHARS_MAX - 1).collect();
    format!("{}…", kept.trim_end())
}
