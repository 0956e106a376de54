//! JSON: the text with its limits, and the tree for readers.

use std::cell::RefCell;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::Tree;
use crate::problem::{Position, Problem, index_path, key_path, quoted, utf8};

/// Deeper JSON is refused while it is read.
const DEPTH_MAX: usize = 32;

impl Tree for Value {
    fn position(&self) -> Option<Position> {
        None
    }

    fn key_position(&self, _key: &str) -> Option<Position> {
        None
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(number) if number.is_i64() => "a number",
            Self::Number(number) if number.is_u64() => "a very large number",
            Self::Number(_) => "a decimal number",
            Self::String(_) => "text",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }

    fn is_null(&self) -> bool {
        self.is_null()
    }

    fn as_text(&self) -> Option<&str> {
        self.as_str()
    }

    fn as_bool(&self) -> Option<bool> {
        self.as_bool()
    }

    fn as_integer(&self) -> Option<i64> {
        self.as_i64()
    }

    fn as_number(&self) -> Option<f64> {
        self.as_f64()
    }

    fn as_items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn as_entries(&self) -> Option<Vec<(&str, &Self)>> {
        Some(self.as_object()?.iter().map(|(key, value)| (key.as_str(), value)).collect())
    }

    fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    fn to_json(&self) -> Value {
        self.clone()
    }
}

/// Reads a JSON text: UTF-8, at most 32 levels deep, no key twice in one object.
///
/// # Errors
///
/// The first fault, with its line, column and path.
pub fn parse_json(bytes: &[u8]) -> Result<Value, Problem> {
    let text = utf8(bytes)?;
    let fault = Fault::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Seed { fault: &fault, depth: 1 }.deserialize(&mut deserializer);
    let value = read.and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| fault.into_problem(&error, text))
}

/// What a visitor knows of its own refusal, beside the error that `serde_json` carries.
#[derive(Default)]
struct Fault {
    refusal: RefCell<Option<(&'static str, String)>>,
    /// The keys and indexes around the fault, innermost first: noted only on the way out.
    steps: RefCell<Vec<Step>>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Fault {
    fn refuse<E: de::Error>(&self, code: &'static str, message: String) -> E {
        let error = E::custom(&message);
        self.refusal.replace(Some((code, message)));
        error
    }

    fn into_problem(self, error: &serde_json::Error, text: &str) -> Problem {
        let path =
            self.steps.into_inner().into_iter().rev().fold(
                String::new(),
                |path, step| match step {
                    Step::Key(key) => key_path(&path, &key),
                    Step::Index(index) => index_path(&path, index),
                },
            );
        let (code, message) = self.refusal.into_inner().unwrap_or_else(|| {
            ("json_syntax", format!("this is not JSON: {}", without_place(error)))
        });
        Problem::new(code, message).at(path).on(place(error, text))
    }
}

/// Where the reading stopped. `serde_json` counts columns in bytes; people count characters.
fn place(error: &serde_json::Error, text: &str) -> Position {
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = line.floor_char_boundary(error.column().saturating_sub(1));
    Position::counted(error.line().max(1), line[..before].chars().count() + 1)
}

/// The error's own words; the place is told apart from them.
fn without_place(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    text.strip_suffix(&place).map_or_else(|| text.clone(), str::to_owned)
}

#[derive(Clone, Copy)]
struct Seed<'f> {
    fault: &'f Fault,
    depth: usize,
}

impl Seed<'_> {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        if self.depth > DEPTH_MAX {
            let message = format!("this is nested more than {DEPTH_MAX} levels deep");
            return Err(self.fault.refuse("too_deep", message));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut items = Vec::new();
        loop {
            let read = sequence.next_element_seed(inner).inspect_err(|_| {
                self.fault.steps.borrow_mut().push(Step::Index(items.len()));
            });
            match read? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if fields.contains_key(&key) {
                let message = format!("the key {} appears twice in this object", quoted(&key));
                return Err(self.fault.refuse("duplicate_key", message));
            }
            let read = map.next_value_seed(inner);
            match read {
                Ok(value) => fields.insert(key, value),
                Err(error) => {
                    self.fault.steps.borrow_mut().push(Step::Key(key));
                    return Err(error);
                }
            };
        }
        Ok(Value::Object(fields))
    }
}
