//! YAML documents as trees of nodes that remember where they stand in the text.
//!
//! A small, safe part of YAML is accepted: one document, text keys, no tags, no merge keys, no key
//! twice. A scalar keeps its text, and the field that reads it decides its type: `version: 1.10`
//! read as text is `1.10`, and `no` is never taken for false.

mod read;

use serde_json::{Map, Number, Value};

pub use self::read::read;
use crate::fields::Tree;
use crate::problem::Position;

/// A value of a YAML document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What the value is.
    pub kind: Kind,
    /// Where the value begins.
    pub position: Position,
}

/// What a value of a YAML document is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A single word, number or text, as it is written.
    Scalar {
        /// The text, without quotes and with its escapes resolved.
        text: String,
        /// Whether it stands without quotes, so that it may be more than text.
        plain: bool,
    },
    /// A list.
    Sequence(Vec<Node>),
    /// An object, in the order of the text.
    Mapping(Vec<Entry>),
}

/// A key of an object, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key begins.
    pub key_position: Position,
    /// The value.
    pub value: Node,
}

impl Node {
    fn plain(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, plain: true } => Some(text),
            Kind::Scalar { plain: false, .. } | Kind::Sequence(_) | Kind::Mapping(_) => None,
        }
    }

    fn mapping(&self) -> Option<&[Entry]> {
        match &self.kind {
            Kind::Mapping(entries) => Some(entries),
            Kind::Scalar { .. } | Kind::Sequence(_) => None,
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        self.mapping()?.iter().find(|entry| entry.key == key)
    }
}

impl Tree for Node {
    fn position(&self) -> Option<Position> {
        Some(self.position)
    }

    fn key_position(&self, key: &str) -> Option<Position> {
        self.entry(key).map(|entry| entry.key_position)
    }

    fn kind(&self) -> &'static str {
        match &self.kind {
            Kind::Scalar { text, plain: true } => plain_value(text).kind(),
            Kind::Scalar { plain: false, .. } => "text",
            Kind::Sequence(_) => "a list",
            Kind::Mapping(_) => "an object",
        }
    }

    fn is_null(&self) -> bool {
        self.plain().is_some_and(|text| plain_value(text).is_null())
    }

    fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } if !self.is_null() => Some(text),
            Kind::Scalar { .. } | Kind::Sequence(_) | Kind::Mapping(_) => None,
        }
    }

    fn as_bool(&self) -> Option<bool> {
        match self.plain()? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    fn as_integer(&self) -> Option<i64> {
        plain_value(self.plain()?).as_i64()
    }

    fn as_number(&self) -> Option<f64> {
        plain_value(self.plain()?).as_f64()
    }

    fn as_items(&self) -> Option<&[Self]> {
        match &self.kind {
            Kind::Sequence(items) => Some(items),
            Kind::Scalar { .. } | Kind::Mapping(_) => None,
        }
    }

    fn as_entries(&self) -> Option<Vec<(&str, &Self)>> {
        Some(self.mapping()?.iter().map(|entry| (entry.key.as_str(), &entry.value)).collect())
    }

    fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar { text, plain: true } => plain_value(text),
            Kind::Scalar { text, plain: false } => Value::String(text.clone()),
            Kind::Sequence(items) => items.iter().map(Tree::to_json).collect(),
            Kind::Mapping(entries) => {
                let fields = entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json()));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

/// What a scalar without quotes stands for when no field says what it must be.
///
/// Null, true and false are those of YAML 1.2. A number is what JSON calls a number: `007`, `0x1F`,
/// `1_000` and `12:30:45` stay text, since nobody could tell a code from a quantity. So does a
/// whole number that 64 bits cannot hold.
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    // Most scalars are words; they need not be parsed to be known as such.
    if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    let number: Number = serde_json::from_str(text).ok()?;
    let is_whole = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    (!is_whole || number.is_i64() || number.is_u64()).then_some(number)
}

#[cfg(test)]
mod tests;
