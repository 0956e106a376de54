//! Conditions: whether a step is worth doing, asked once, when its turn has come.
//!
//! The language is small on purpose. It has values, comparisons, `in`, `not`, `and`, `or` and
//! parentheses; it has no functions, no arithmetic and no loops, so judging one costs about as much
//! as reading it. A condition is read when its document is published; what cannot be read is refused
//! there, with the place.
//!
//! ```text
//! condition  = both { "or" both }
//! both       = single { "and" single }
//! single     = "not" single | "(" condition ")" | value [ comparison ]
//! comparison = ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "not" "in" ) value
//! value      = {{name}} | 'text' | "text" | number | true | false | null | "[" [ value { "," value } ] "]"
//! ```

mod error;
mod judge;
mod print;
mod read;
mod token;

use std::collections::BTreeSet;

use serde_json::Value;

pub use self::error::{ConditionError, ConditionFault, JudgeError};

/// The longest condition, in characters.
pub const CONDITION_CHARS_MAX: usize = 1_024;

/// How deep parentheses, lists and `not` may be nested. Reading and judging go as deep as the text.
pub const CONDITION_DEPTH_MAX: usize = 32;

/// Whether a step is worth doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// a value on its own: null, false, 0, and whatever is empty count as no
    Value(Operand),
    /// two values, compared
    Comparison {
        /// on the left
        left: Operand,
        /// how
        operator: Operator,
        /// on the right
        right: Operand,
    },
    /// the opposite
    Not(Box<Condition>),
    /// each of them; at least two
    All(Vec<Condition>),
    /// one of them; at least two
    Any(Vec<Condition>),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `in`: the list on the right holds the value on the left
    In,
    /// `not in`
    NotIn,
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// the value of this name, or null if nothing has it
    Variable(String),
    /// text, a number, true, false or null
    Literal(Value),
    /// a list of such
    List(Vec<Operand>),
}

impl Condition {
    /// Reads a condition.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and at which character.
    pub fn read(text: &str) -> Result<Self, ConditionError> {
        read::read(text)
    }

    /// The names it asks for, in full: `{{user.mail}}` gives `user.mail`.
    #[must_use]
    pub fn variables(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.collect(&mut names);
        names
    }

    fn collect<'c>(&'c self, names: &mut BTreeSet<&'c str>) {
        match self {
            Self::Value(operand) => operand.collect(names),
            Self::Comparison { left, right, .. } => {
                left.collect(names);
                right.collect(names);
            }
            Self::Not(condition) => condition.collect(names),
            Self::All(conditions) | Self::Any(conditions) => {
                conditions.iter().for_each(|condition| condition.collect(names));
            }
        }
    }
}

impl Operand {
    fn collect<'c>(&'c self, names: &mut BTreeSet<&'c str>) {
        match self {
            Self::Variable(name) => {
                names.insert(name);
            }
            Self::Literal(_) => {}
            Self::List(items) => items.iter().for_each(|item| item.collect(names)),
        }
    }
}

#[cfg(test)]
mod tests;
