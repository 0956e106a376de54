//! Templates: `{{name}}` inside the string values of JSON.
//!
//! A template is read once, from left to right. What is put in is data and stays data: a value that
//! itself contains `{{` is never looked at again. There are no expressions, loops or conditions here;
//! for those of a step see [`crate::condition`].

mod error;
mod lookup;
mod near;
mod scan;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub use self::error::{TemplateError, TemplateFault};
pub use self::lookup::{Scope, is_known, output, output_of_items};
pub use self::near::near;
pub(crate) use self::scan::Placeholder;
use self::scan::{Segment, Segments};

/// The most that one resolved value may hold, in bytes of text: 256 KiB.
///
/// Larger data belongs elsewhere, with a reference to it in the template.
pub const RESOLVED_BYTES_MAX: usize = 256 * 1024;

/// The longest name between the braces, in characters.
pub const NAME_CHARS_MAX: usize = 128;

/// The names that the templates inside `value` ask for, in full: `{{user.mail}}` gives `user.mail`.
///
/// # Errors
///
/// Reports the first malformed placeholder, such as a `{{` that is never closed.
pub fn variables(value: &Value) -> Result<BTreeSet<String>, TemplateError> {
    let mut names = BTreeSet::new();
    collect(value, &mut names)?;
    Ok(names)
}

/// The value with every placeholder replaced.
///
/// A string that is exactly one placeholder becomes the value itself, with its JSON type. Within
/// other text a value is rendered plainly: `null` as nothing, an array as its items joined by
/// commas, an object as compact JSON. Object keys are left alone.
///
/// # Errors
///
/// Reports the first placeholder that is malformed, unknown or ambiguous, or the place where the
/// resolved value exceeds [`RESOLVED_BYTES_MAX`].
pub fn resolve(value: &Value, scope: &Scope<'_>) -> Result<Value, TemplateError> {
    Rendering::new(scope).value(value)
}

/// The text with every placeholder replaced and rendered plainly, whatever its JSON type.
///
/// This is for places that can only hold text, such as the name of a function.
///
/// # Errors
///
/// As [`resolve`].
pub fn resolve_text(text: &str, scope: &Scope<'_>) -> Result<String, TemplateError> {
    Rendering::new(scope).text(text)
}

/// The name in a text that is exactly one placeholder; `None` for any other text.
#[must_use]
pub fn sole_name(text: &str) -> Option<&str> {
    let placeholder = Placeholder::at_start_of(text.trim())?.ok()?;
    placeholder.rest.is_empty().then_some(placeholder.name)
}

/// The value of a name, however large: it is handed out as it is, and put into nothing.
///
/// # Errors
///
/// If nothing has that name, or several things have it.
pub fn value_of<'v>(name: &str, scope: &Scope<'v>) -> Result<&'v Value, TemplateError> {
    Ok(scope.find(name)?)
}

fn collect(value: &Value, names: &mut BTreeSet<String>) -> Result<(), TemplateError> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => {
            for segment in Segments::of(text) {
                match segment? {
                    Segment::Text(_) => {}
                    Segment::Name(name) => {
                        names.insert(name.to_owned());
                    }
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
            collect(item, names).map_err(|error| error.inside(index))
        }),
        Value::Object(fields) => fields
            .iter()
            .try_for_each(|(key, item)| collect(item, names).map_err(|error| error.inside(key))),
    }
}

/// One pass over one value, with the bytes it may still produce.
struct Rendering<'s> {
    scope: &'s Scope<'s>,
    bytes_left: usize,
}

impl<'s> Rendering<'s> {
    fn new(scope: &'s Scope<'s>) -> Self {
        Self { scope, bytes_left: RESOLVED_BYTES_MAX }
    }

    fn value(&mut self, value: &Value) -> Result<Value, TemplateError> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.spend(1)?;
                Ok(value.clone())
            }
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                let resolved = items.iter().enumerate().map(|(index, item)| {
                    self.spend(1)
                        .and_then(|()| self.value(item))
                        .map_err(|error| error.inside(index))
                });
                resolved.collect::<Result<_, _>>().map(Value::Array)
            }
            Value::Object(fields) => {
                let resolved = fields.iter().map(|(key, item)| {
                    self.spend(key.len() + 1)
                        .and_then(|()| self.value(item))
                        .map(|item| (key.clone(), item))
                        .map_err(|error| error.inside(key))
                });
                resolved.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
        }
    }

    fn string(&mut self, text: &str) -> Result<Value, TemplateError> {
        let mut segments = Segments::of(text);
        match segments.next() {
            Some(Ok(Segment::Name(name))) if segments.is_finished() => {
                let found = self.scope.find(name)?;
                self.spend(size(found))?;
                Ok(found.clone())
            }
            Some(Ok(Segment::Text(text))) if segments.is_finished() => {
                self.spend(text.len())?;
                Ok(Value::String(text.to_owned()))
            }
            Some(_) | None => self.text(text).map(Value::String),
        }
    }

    fn text(&mut self, text: &str) -> Result<String, TemplateError> {
        let mut rendered = String::with_capacity(text.len().min(RESOLVED_BYTES_MAX));
        for segment in Segments::of(text) {
            match segment? {
                Segment::Text(text) => {
                    self.spend(text.len())?;
                    rendered.push_str(text);
                }
                Segment::Name(name) => {
                    let found = self.scope.find(name)?;
                    // Counted before it is rendered: a thousand placeholders for one large value
                    // must not be built first and refused afterwards.
                    self.spend(size(found))?;
                    render_plainly(found, &mut rendered);
                }
            }
        }
        Ok(rendered)
    }

    fn spend(&mut self, bytes: usize) -> Result<(), TemplateError> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(TemplateFault::TooLarge)?;
        Ok(())
    }
}

fn render_plainly(value: &Value, rendered: &mut String) {
    match value {
        Value::Null => {}
        Value::String(text) => rendered.push_str(text),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            rendered.push_str(&value.to_string());
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    rendered.push(',');
                }
                render_plainly(item, rendered);
            }
        }
    }
}

/// The bytes of text in a value. Numbers are taken at their longest, since only a bound is needed.
fn size(value: &Value) -> usize {
    const NUMBER_BYTES_MAX: usize = 24;
    match value {
        Value::Null => 1,
        Value::Bool(_) => 5,
        Value::Number(_) => NUMBER_BYTES_MAX,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 1,
        Value::Object(fields) => {
            fields.iter().map(|(key, item)| key.len() + size(item) + 1).sum::<usize>() + 1
        }
    }
}

#[cfg(test)]
mod tests;
