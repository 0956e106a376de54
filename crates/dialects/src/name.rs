//! Names: how long they may be, and which characters they may have.

use crate::fields::{Field, Tree};
use crate::problem::quoted;

/// What a name may look like.
pub(crate) struct Shape {
    /// the most characters; the least is always one
    pub(crate) chars_max: usize,
    /// whether it may begin with this character
    pub(crate) begins: fn(char) -> bool,
    /// whether this character may follow
    pub(crate) follows: fn(char) -> bool,
    /// the same for people
    pub(crate) rule: &'static str,
}

impl Shape {
    /// The field's text, if it is such a name.
    pub(crate) fn read<'n, T: Tree>(&self, field: &Field<'n, T>) -> Option<&'n str> {
        let text = field.text_within(1..=self.chars_max)?;
        if self.holds(text) {
            return Some(text);
        }
        let message = format!("{} cannot be used here", quoted(text));
        field.report(field.problem("bad_name", message).help(self.rule));
        None
    }

    /// Whether the characters of a text are those of such a name.
    pub(crate) fn holds(&self, text: &str) -> bool {
        let mut characters = text.chars();
        characters.next().is_some_and(self.begins) && characters.all(self.follows)
    }
}
