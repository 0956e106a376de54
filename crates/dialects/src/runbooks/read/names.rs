//! What the names in a runbook may look like.

use stepwell_core::template::NAME_CHARS_MAX;

use crate::fields::Field;
use crate::name::Shape;
use crate::problem::quoted;
use crate::yaml::Node;

/// Names for people (of runbooks, phases, steps and rollbacks) and names of columns.
pub(super) const LINE_CHARS_MAX: usize = 128;

/// Names of worker pools: they also stand in the filter of a bus subscription, where anything else
/// could be more than a name.
pub(super) const WORKER_ID: Shape = Shape {
    chars_max: 64,
    begins: |c| c.is_ascii_alphanumeric(),
    follows: |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'),
    rule: "use letters, digits, '.', '_' and '-', and begin with a letter or a digit",
};

/// Variables that steps set.
pub(super) const OUTPUT: Shape = Shape {
    chars_max: NAME_CHARS_MAX,
    begins: |c| c.is_ascii_alphabetic(),
    follows: |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
    rule: "use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' \
           are the system's own",
};

/// Environment variables.
pub(super) const ENVIRONMENT: Shape = Shape {
    chars_max: 128,
    begins: |c| c.is_ascii_alphabetic() || c == '_',
    follows: |c| c.is_ascii_alphanumeric() || c == '_',
    rule: "use letters, digits and '_', and do not begin with a digit",
};

/// Whether a text can be a name for people: one line, without blanks around it.
pub(super) fn is_line(text: &str) -> bool {
    let count = text.chars().count();
    (1..=LINE_CHARS_MAX).contains(&count) && text.trim() == text && !text.contains(char::is_control)
}

/// A name for people, or the name of a column.
pub(super) fn line<'n>(field: &Field<'n, Node>) -> Option<&'n str> {
    let text = field.text_within(1..=LINE_CHARS_MAX)?;
    if is_line(text) {
        return Some(text);
    }
    let problem = field
        .problem("bad_name", format!("{} cannot be used here", quoted(text)))
        .help("write one line without blanks before or after it");
    field.report(problem);
    None
}

/// The name of an environment variable.
///
/// What is not such a name is not repeated: it may be the secret itself.
pub(super) fn environment<'n>(field: &Field<'n, Node>) -> Option<&'n str> {
    let text = field.text()?;
    if text.len() <= ENVIRONMENT.chars_max && ENVIRONMENT.holds(text) {
        return Some(text);
    }
    let problem = field
        .problem("bad_name", "this is not the name of an environment variable")
        .help(format!("write the name, not the value, and keep secrets out; {}", ENVIRONMENT.rule));
    field.report(problem);
    None
}
