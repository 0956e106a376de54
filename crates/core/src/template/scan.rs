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

    fn placeholder(&mut self) -> Result<Segment<'t>, TemplateFault> {
        let inside = &self.rest[OPENING.len()..];
        let Some(end) = inside.find(CLOSING) else {
            self.rest = "";
            return Err(TemplateFault::Unclosed);
        };
        let name = inside[..end].trim();
        self.rest = &inside[end + CLOSING.len()..];
        check_name(name).map(|()| Segment::Name(name)).inspect_err(|_| self.rest = "")
    }
}

impl<'t> Iterator for Segments<'t> {
    type Item = Result<Segment<'t>, TemplateFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let opening = self.rest.find(OPENING).unwrap_or(self.rest.len());
        if opening == 0 {
            return Some(self.placeholder());
        }
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
