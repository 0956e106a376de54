//! What can be wrong with a condition, and where.

use std::fmt;

use super::{CONDITION_CHARS_MAX, CONDITION_DEPTH_MAX};
use crate::template::TemplateFault;

/// A condition that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// What is wrong.
    pub fault: ConditionFault,
    /// At which character, counted from 1.
    pub at: usize,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.at, self.fault)
    }
}

impl std::error::Error for ConditionError {}

/// What is wrong with a condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionFault {
    /// It says nothing.
    #[error(
        "the condition is empty; write one such as {{{{approved}}}} or {{{{country}}}} == 'NO'"
    )]
    Empty,
    /// It is longer than any condition.
    #[error("the condition is longer than {CONDITION_CHARS_MAX} characters; split it over steps")]
    TooLong,
    /// It is nested too deep.
    #[error("parentheses, lists and not are nested deeper than {CONDITION_DEPTH_MAX} levels")]
    TooDeep,
    /// A text begins and does not end.
    #[error("a text begins with {quote} and is never closed")]
    UnclosedText {
        /// Its first character.
        quote: char,
    },
    /// A placeholder stands in quotes, where it would be taken for text.
    #[error("a placeholder stands without quotes: {{{{name}}}}, not '{{{{name}}}}'")]
    QuotedPlaceholder,
    /// A placeholder is not one.
    #[error("{0}")]
    Placeholder(TemplateFault),
    /// A number is not one.
    #[error("{text} is not a number; a text stands in quotes: '{text}'")]
    BadNumber {
        /// What stands there.
        text: String,
    },
    /// A word has no meaning here.
    #[error(
        "{word} has no meaning here; a variable is written {{{{{word}}}}} and a text '{word}'; the \
         words are and, or, not, in, true, false and null"
    )]
    UnknownWord {
        /// The word.
        word: String,
    },
    /// A character has no meaning here, but there is a way to say what was probably meant.
    #[error("{found} has no meaning here; write {meant}")]
    Instead {
        /// What stands there.
        found: &'static str,
        /// What to write.
        meant: &'static str,
    },
    /// A character has no meaning here.
    #[error("{found:?} has no meaning here")]
    UnknownCharacter {
        /// The character.
        found: char,
    },
    /// Something else must stand here.
    #[error("{found} stands where {expected} is expected")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
}

/// A condition that cannot be judged with the values at hand. It never repeats a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgeError {
    /// The two sides have no order.
    #[error("{comparison}: {left} and {right} have no order; compare two numbers or two texts")]
    NoOrder {
        /// As it is written.
        comparison: String,
        /// What stands on the left.
        left: &'static str,
        /// What stands on the right.
        right: &'static str,
    },
    /// What stands on the right of `in` is not a list.
    #[error("{comparison}: in asks for a list on its right, not for {right}")]
    NotAList {
        /// As it is written.
        comparison: String,
        /// What stands on the right.
        right: &'static str,
    },
    /// A name stands for several things.
    #[error("{0}")]
    Ambiguous(TemplateFault),
}
