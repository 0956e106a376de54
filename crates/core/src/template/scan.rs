//! Reading a template: text and names, in order, without copying either.

use super::NAME_CHARS_MAX;
use super::error::TemplateFault;

const OPENING: &str = "{{";
const CLOSING: &str = "}}";

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segment<'t> {
    /// Text that stands for itself.
    Text(&'t str),
    /// The name in a placeholder, sound and without the blanks around it.
    Name(&'t str),
}

/// The pieces of a template, from left to right; a fault is the last one.
pub(super) struct Segments<'t> {
    rest: &'t str,
}

impl<'t> Segments<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.rest.is_empty()
    }

    fn placeholder(&mut self) -> Option<Result<Segment<'t>, TemplateFault>> {
        let placeholder = Placeholder::at_start_of(self.rest)?;
        self.rest = placeholder.as_ref().map_or("", |placeholder| placeholder.rest);
        Some(placeholder.map(|placeholder| Segment::Name(placeholder.name)))
    }
}

/// A placeholder, and what follows it.
pub(crate) struct Placeholder<'t> {
    /// The name, sound and without the blanks around it.
    pub(crate) name: &'t str,
    /// The text after the closing braces.
    pub(crate) rest: &'t str,
}

impl<'t> Placeholder<'t> {
    /// The placeholder that a text begins with, if it begins with one.
    pub(crate) fn at_start_of(text: &'t str) -> Option<Result<Self, TemplateFault>> {
        let inside = text.strip_prefix(OPENING)?;
        let Some((name, rest)) = inside.split_once(CLOSING) else {
            return Some(Err(TemplateFault::Unclosed));
        };
        let name = name.trim();
        Some(check_name(name).map(|()| Self { name, rest }))
    }
}

impl<'t> Iterator for Segments<'t> {
    type Item = Result<Segment<'t>, TemplateFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some(placeholder) = self.placeholder() {
            return Some(placeholder);
        }
        let opening = self.rest.find(OPENING).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(opening);
        self.rest = rest;
        Some(Ok(Segment::Text(text)))
    }
}

fn check_name(name: &str) -> Result<(), TemplateFault> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() {
        return Err(TemplateFault::NoName);
    }
    if name.chars().nth(NAME_CHARS_MAX).is_some() {
        return Err(TemplateFault::NameTooLong);
    }
    if !name.chars().all(allowed) {
        return Err(TemplateFault::BadName { name: name.to_owned() });
    }
    Ok(())
}
