//! Short texts of requests that more than one dialect takes.

use serde_json::Value;

use crate::fields::{Field, Tree};

/// A short text that may be logged and shown as it is.
pub(crate) fn plain<T: Tree>(field: &Field<'_, T>, chars_max: usize) -> Option<String> {
    let text = field.text_within(1..=chars_max)?;
    if !text.contains(char::is_control) {
        return Some(text.to_owned());
    }
    let problem = field
        .problem("control_character", "this text has a control character")
        .help("remove line breaks, tabs and other control characters");
    field.report(problem);
    None
}

/// A URL that can be called back.
pub(crate) fn url<'n>(field: &Field<'n, Value>, chars_max: usize) -> Option<&'n str> {
    let text = field.text_within(1..=chars_max)?;
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let host = authority.split(':').next().unwrap_or_default();
    // Whether the address may be called is for whoever calls it; here it must only be one.
    let is_url = (!host.is_empty() || authority.starts_with('['))
        && !authority.contains('@')
        && text.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '<' | '>' | '\\'));
    if is_url {
        return Some(text);
    }
    // It is not repeated: what is wrong with it may be a password in it.
    let problem = field
        .problem("bad_url", "this is not a URL that can be called back")
        .help("write https://host/path, without user name and blanks");
    field.report(problem);
    None
}
