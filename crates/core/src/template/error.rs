//! What can be wrong with a template, and where.

use std::fmt;

use super::NAME_CHARS_MAX;

/// A fault of a template, with its place in the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// What is wrong.
    pub fault: TemplateFault,
    /// Where: a JSON pointer into the value, empty for the value itself.
    pub at: String,
}

impl TemplateError {
    /// The same fault, seen from the object or array that holds the value under `key`.
    ///
    /// The place is put together on the way out, so a template without faults never pays for it.
    pub(super) fn inside(mut self, key: impl fmt::Display) -> Self {
        let key = key.to_string().replace('~', "~0").replace('/', "~1");
        self.at = format!("/{key}{}", self.at);
        self
    }
}

impl From<TemplateFault> for TemplateError {
    fn from(fault: TemplateFault) -> Self {
        Self { fault, at: String::new() }
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        self.fault.fmt(f)
    }
}

impl std::error::Error for TemplateError {}

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// A placeholder begins and does not end.
    #[error("a placeholder begins with {{{{ and is never closed; add }}}} after the name")]
    Unclosed,
    /// There is nothing between the braces.
    #[error("a placeholder is empty; write a name between the braces, such as {{{{Email}}}}")]
    NoName,
    /// The name is longer than any name can be.
    #[error("a placeholder's name is longer than {NAME_CHARS_MAX} characters")]
    NameTooLong,
    /// The name has characters that no name has.
    #[error("\"{name}\" cannot be a placeholder's name; use letters, digits, _, - and dots")]
    BadName {
        /// What stands between the braces.
        name: String,
    },
    /// Nothing has that name.
    #[error("unresolved: {name}; {}", advice(.name, .near.as_deref()))]
    Unresolved {
        /// The name in full, as it is written in the template.
        name: String,
        /// A name that exists and is spelled almost alike.
        near: Option<String>,
    },
    /// Several things have that name if capitals are ignored, and none has it exactly.
    #[error("unresolved: {name}; write exactly the one you mean: {}", .candidates.join(" or "))]
    Ambiguous {
        /// The name, as it is written in the template.
        name: String,
        /// The names it could stand for.
        candidates: Vec<String>,
    },
    /// The resolved value is too large.
    #[error(
        "the resolved value is larger than 256 KiB; keep large data elsewhere and pass a reference"
    )]
    TooLarge,
}

fn advice(name: &str, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None if name.starts_with('_') => {
            "names that begin with an underscore are reserved, and this one is not known".to_owned()
        }
        None => "there is no such column, output or special variable".to_owned(),
    }
}
