//! A condition as text again. What is printed reads as the same condition.

use std::fmt;

use serde_json::Value;

use super::{Condition, Operand, Operator};

impl Operator {
    /// The sign or word that is written for it.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(operand) => operand.fmt(f),
            Self::Comparison { left, operator, right } => {
                write!(f, "{left} {} {right}", operator.sign())
            }
            Self::Not(opposite) => {
                f.write_str("not ")?;
                nested(opposite, f, |inner| matches!(inner, Self::All(_) | Self::Any(_)))
            }
            Self::All(parts) => {
                joined(parts, " and ", f, |part| matches!(part, Self::All(_) | Self::Any(_)))
            }
            Self::Any(parts) => joined(parts, " or ", f, |part| matches!(part, Self::Any(_))),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "{{{{{name}}}}}"),
            Self::Literal(value) => f.write_str(&literal(value)),
            Self::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

/// A single value as it is written.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

fn joined(
    parts: &[Condition],
    word: &str,
    f: &mut fmt::Formatter<'_>,
    needs_parentheses: fn(&Condition) -> bool,
) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        f.write_str(if index > 0 { word } else { "" })?;
        nested(part, f, needs_parentheses)?;
    }
    Ok(())
}

fn nested(
    part: &Condition,
    f: &mut fmt::Formatter<'_>,
    needs_parentheses: fn(&Condition) -> bool,
) -> fmt::Result {
    if needs_parentheses(part) { write!(f, "({part})") } else { write!(f, "{part}") }
}
