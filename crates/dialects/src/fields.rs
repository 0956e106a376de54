//! Reading the fields of an input, YAML or JSON, and collecting every problem on the way.
//!
//! [`Field`] is a value that knows its path. A reading method gives `None` if the value is not what
//! it must be, and has then reported why, so a caller reads everything it needs first and decides
//! only at the end whether it has it all.

mod json;

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_core::template::near;

pub use self::json::parse_json;
use crate::problem::{Position, Problem, Report, index_path, key_path, quoted};

/// A value as its author wrote it: what a reader must know about it, whatever the format.
pub trait Tree: Sized {
    /// Where the value is in the text, if there is a text.
    fn position(&self) -> Option<Position>;
    /// Where a key of the object is in the text.
    fn key_position(&self, key: &str) -> Option<Position>;
    /// What the value is, with its article, for people: `a list`.
    fn kind(&self) -> &'static str;
    /// Whether the author left the value out.
    fn is_null(&self) -> bool;
    /// The value as text.
    fn as_text(&self) -> Option<&str>;
    /// The value as true or false.
    fn as_bool(&self) -> Option<bool>;
    /// The value as a whole number.
    fn as_integer(&self) -> Option<i64>;
    /// The value as any number.
    fn as_number(&self) -> Option<f64>;
    /// The value as a list.
    fn as_items(&self) -> Option<&[Self]>;
    /// The keys and values of an object, in the order the format keeps.
    fn as_entries(&self) -> Option<Vec<(&str, &Self)>>;
    /// The value under a key of an object.
    fn get(&self, key: &str) -> Option<&Self>;
    /// The value as JSON.
    fn to_json(&self) -> Value;
}

/// A value at its path.
#[derive(Debug)]
pub struct Field<'n, T> {
    node: &'n T,
    path: String,
    report: &'n Report,
}

// Deriving it would ask the node to be `Clone` too, and only the reference to it is copied.
impl<T> Clone for Field<'_, T> {
    fn clone(&self) -> Self {
        Self { node: self.node, path: self.path.clone(), report: self.report }
    }
}

impl<'n, T: Tree> Field<'n, T> {
    /// The whole input, with the report that its problems go to.
    pub fn root(node: &'n T, report: &'n Report) -> Self {
        Self { node, path: String::new(), report }
    }

    /// The value itself.
    pub fn node(&self) -> &'n T {
        self.node
    }

    /// The path of the value, such as `steps[2].retry`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where the value is in the text.
    pub fn position(&self) -> Option<Position> {
        self.node.position()
    }

    /// A problem with this value, to be completed and given to [`Field::report`].
    pub fn problem(&self, code: &'static str, message: impl Into<String>) -> Problem {
        Problem::new(code, message).at(self.path.as_str()).on(self.node.position())
    }

    /// Adds a problem to the report.
    pub fn report(&self, problem: Problem) {
        self.report.add(problem);
    }

    /// The value as text of any length.
    pub fn text(&self) -> Option<&'n str> {
        self.expect("text", self.node.as_text())
    }

    /// The value as text whose length in characters is within `chars`.
    pub fn text_within(&self, chars: RangeInclusive<usize>) -> Option<&'n str> {
        let text = self.text()?;
        let count = text.chars().count();
        if chars.contains(&count) {
            return Some(text);
        }
        let (least, most) = chars.into_inner();
        self.refuse(if count == 0 {
            self.problem("empty_text", "this text must not be empty")
        } else {
            let message = format!("this text has {count} characters");
            self.problem("text_length", message).help(format!("write {least} to {most}"))
        })
    }

    /// The value as true or false.
    pub fn boolean(&self) -> Option<bool> {
        self.expect("true or false", self.node.as_bool())
    }

    /// The value as a whole number within `range`.
    pub fn integer<N>(&self, range: RangeInclusive<N>) -> Option<N>
    where
        N: TryFrom<i64> + PartialOrd + Display,
    {
        let number = self.expect("a whole number", self.node.as_integer())?;
        match N::try_from(number) {
            Ok(number) if range.contains(&number) => Some(number),
            Ok(_) | Err(_) => self.out_of_range(number, &range),
        }
    }

    /// The value as a number, whole or not, within `range`.
    pub fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        let number = self.expect("a number", self.node.as_number())?;
        if range.contains(&number) { Some(number) } else { self.out_of_range(number, &range) }
    }

    /// The value as a duration such as `30s`.
    pub fn interval(&self) -> Option<Interval> {
        let text = self.expect("a duration such as 30s", self.node.as_text())?;
        text.parse()
            .map_err(|error| self.report(self.problem("bad_duration", format!("{error}"))))
            .ok()
    }

    /// The value as one of several words.
    pub fn word<V: Clone>(&self, choices: &[(&str, V)]) -> Option<V> {
        let text = self.text()?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Some(value.clone());
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        let help = match near(text, words.iter().copied()) {
            Some(near) => format!("did you mean {}?", quoted(near)),
            None => format!("use one of {}", words.join(", ")),
        };
        let message = format!("{} is not possible here", quoted(text));
        self.refuse(self.problem("unknown_word", message).help(help))
    }

    /// The value as a list.
    pub fn items(&self) -> Option<Vec<Field<'n, T>>> {
        let items = self.expect("a list", self.node.as_items())?;
        Some(items.iter().enumerate().map(|(index, node)| self.item(index, node)).collect())
    }

    /// The value as an object whose keys the author may choose.
    pub fn entries(&self) -> Option<Vec<(&'n str, Field<'n, T>)>> {
        let entries = self.expect("an object", self.node.as_entries())?;
        Some(entries.into_iter().map(|(key, node)| (key, self.child(key, node))).collect())
    }

    /// The value as an object whose keys are given.
    pub fn fields(self) -> Option<Fields<'n, T>> {
        self.expect("an object", self.node.as_entries())?;
        Some(Fields { object: self, known: Vec::new() })
    }

    /// The value as JSON, whatever it is.
    pub fn json(&self) -> Value {
        self.node.to_json()
    }

    /// The texts and numbers inside the value, however deep, each at its own path.
    pub fn leaves(&self) -> Vec<Field<'n, T>> {
        let inner = self.inner();
        if inner.is_empty() {
            return vec![self.clone()];
        }
        inner.iter().flat_map(Field::leaves).collect()
    }

    /// The value at a JSON pointer into this one, or the nearest value on the way that exists.
    pub fn nearest(&self, pointer: &str) -> Field<'n, T> {
        let mut field = self.clone();
        for key in pointer.split('/').skip(1) {
            let key = key.replace("~1", "/").replace("~0", "~");
            let index = key.parse::<usize>().ok();
            let item = index.and_then(|index| Some((index, field.node.as_items()?.get(index)?)));
            field = match (item, field.node.get(&key)) {
                (Some((index, node)), _) => field.item(index, node),
                (None, Some(node)) => field.child(&key, node),
                (None, None) => break,
            };
        }
        field
    }

    /// What a list or an object holds; nothing for any other value.
    fn inner(&self) -> Vec<Field<'n, T>> {
        let items = self.node.as_items().unwrap_or_default().iter().enumerate();
        let entries = self.node.as_entries().unwrap_or_default().into_iter();
        items
            .map(|(index, node)| self.item(index, node))
            .chain(entries.map(|(key, node)| self.child(key, node)))
            .collect()
    }

    fn item(&self, index: usize, node: &'n T) -> Field<'n, T> {
        Field { node, path: index_path(&self.path, index), report: self.report }
    }

    fn child(&self, key: &str, node: &'n T) -> Field<'n, T> {
        Field { node, path: key_path(&self.path, key), report: self.report }
    }

    fn expect<V>(&self, wanted: &str, found: Option<V>) -> Option<V> {
        if found.is_none() {
            let message = format!("this must be {wanted}, not {}", self.node.kind());
            self.report(self.problem("wrong_type", message));
        }
        found
    }

    fn out_of_range<N: Display, V>(
        &self,
        number: impl Display,
        range: &RangeInclusive<N>,
    ) -> Option<V> {
        let help = format!("use {} to {}", range.start(), range.end());
        self.refuse(self.problem("out_of_range", format!("{number} is out of range")).help(help))
    }

    fn refuse<V>(&self, problem: Problem) -> Option<V> {
        self.report(problem);
        None
    }
}

/// The fields of an object, each asked for by name.
///
/// The object remembers what it was asked for: that is how [`Fields::finish`] knows which keys have
/// no meaning, and what their author may have meant.
#[derive(Debug)]
pub struct Fields<'n, T> {
    object: Field<'n, T>,
    known: Vec<&'static str>,
}

impl<'n, T: Tree> Fields<'n, T> {
    /// The object itself, for problems that concern no single field.
    pub fn object(&self) -> &Field<'n, T> {
        &self.object
    }

    /// The field, if the author gave it; a null counts as not given.
    pub fn optional(&mut self, key: &'static str) -> Option<Field<'n, T>> {
        self.known.push(key);
        let node = self.object.node.get(key).filter(|node| !node.is_null())?;
        Some(self.object.child(key, node))
    }

    /// The field, or a problem if the author did not give it.
    pub fn required(&mut self, key: &'static str) -> Option<Field<'n, T>> {
        let field = self.optional(key);
        if field.is_none() {
            let problem = Problem::new("missing_field", "this field is required")
                .at(key_path(&self.object.path, key))
                .on(self.object.node.key_position(key).or_else(|| self.object.position()));
            self.object.report(problem);
        }
        field
    }

    /// A required text that is not empty.
    pub fn required_str(&mut self, key: &'static str) -> Option<&'n str> {
        self.required(key)?.text_within(1..=usize::MAX)
    }

    /// An optional text.
    pub fn optional_str(&mut self, key: &'static str) -> Option<&'n str> {
        self.optional(key)?.text()
    }

    /// An optional true or false.
    pub fn optional_bool(&mut self, key: &'static str) -> Option<bool> {
        self.optional(key)?.boolean()
    }

    /// An optional whole number within `range`.
    pub fn optional_integer<N>(&mut self, key: &'static str, range: RangeInclusive<N>) -> Option<N>
    where
        N: TryFrom<i64> + PartialOrd + Display,
    {
        self.optional(key)?.integer(range)
    }

    /// An optional duration.
    pub fn optional_interval(&mut self, key: &'static str) -> Option<Interval> {
        self.optional(key)?.interval()
    }

    /// An optional object whose keys are given.
    pub fn optional_fields(&mut self, key: &'static str) -> Option<Fields<'n, T>> {
        self.optional(key)?.fields()
    }

    /// The items of an optional list; none if it is not given.
    pub fn list(&mut self, key: &'static str) -> Vec<Field<'n, T>> {
        self.optional(key).and_then(|field| field.items()).unwrap_or_default()
    }

    /// Reports every key that nobody asked for.
    pub fn finish(self) {
        for problem in self.unknown() {
            if self.object.report.is_full() {
                return;
            }
            self.object.report(problem);
        }
    }

    /// Lets keys pass that nobody asked for: for senders that may be newer than we are.
    pub fn ignore_unknown(self) {}

    /// A problem for each key that nobody has asked for, unreported: for a dialect that must accept
    /// such keys and would still like to warn of them.
    pub fn unknown(&self) -> impl Iterator<Item = Problem> {
        let entries = self.object.node.as_entries().unwrap_or_default();
        let unknown = entries.into_iter().filter(|(key, _)| !self.known.contains(key));
        unknown.map(|(key, _)| {
            let help = match near(key, self.known.iter().copied()) {
                Some(near) => format!("did you mean {}?", quoted(near)),
                None => format!("known fields are {}", self.known.join(", ")),
            };
            Problem::new("unknown_field", format!("there is no field {}", quoted(key)))
                .at(key_path(&self.object.path, key))
                .on(self.object.node.key_position(key))
                .help(help)
        })
    }
}

#[cfg(test)]
mod tests;
