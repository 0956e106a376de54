//! Marks of what is unfinished, and of what nobody explained.

use super::{Violation, lines_with_word};
use crate::source::Source;

/// Code marks itself as finished by being there: nothing is left open, and nothing prints for its author.
pub(super) fn unfinished(source: &Source) -> Vec<Violation> {
    let in_code = ["todo!", "unimplemented!", "dbg!"].map(|mark| (mark, &source.code));
    let in_comments = ["TODO", "FIXME", "XXX"].map(|mark| (mark, &source.comments));
    let marks = in_code.into_iter().chain(in_comments);
    let tell = |(mark, lines): (&str, &Vec<String>)| {
        let message = format!("`{mark}` marks unfinished work; finish it or take it out");
        let found = lines_with_word(lines, mark).into_iter();
        found.map(|index| Violation::at(&source.path, index, message.clone())).collect::<Vec<_>>()
    };
    marks.flat_map(tell).collect()
}

/// A test that is not run says why.
pub(super) fn ignored_without_reason(source: &Source) -> Vec<Violation> {
    let ignored = source.code.iter().enumerate().filter(|(_, line)| line.contains("#[ignore]"));
    let message = "an ignored test without a reason; write `#[ignore = \"why\"]`, or let it run";
    ignored.map(|(index, _)| Violation::at(&source.path, index, message)).collect()
}

/// Every file begins with a `//!` line that says what it is.
pub(super) fn undocumented_module(source: &Source) -> Vec<Violation> {
    let first = source.lines.first().map_or("", String::as_str);
    if first.starts_with("//! ") {
        return Vec::new();
    }
    let message = "the file does not say what it is; begin it with a `//!` line";
    vec![Violation::at(&source.path, 0, message)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("a.rs", text)
    }

    #[test]
    fn a_mark_of_unfinished_work_is_caught_in_code_and_in_comments() {
        assert_eq!(unfinished(&source("fn f() { todo!() }")).len(), 1);
        assert_eq!(unfinished(&source("let a = dbg!(b); // FIXME")).len(), 2);
    }

    #[test]
    fn a_mark_inside_a_string_or_a_longer_word_passes() {
        assert_eq!(unfinished(&source("let a = \"todo!() TODO\"; // TODOS, todo")), []);
    }

    #[test]
    fn an_ignored_test_needs_a_reason() {
        assert_eq!(ignored_without_reason(&source("#[ignore]\nfn f() {}")).len(), 1);
        assert_eq!(ignored_without_reason(&source("#[ignore = \"why\"]\nfn f() {}")), []);
    }

    #[test]
    fn a_file_begins_with_what_it_is() {
        assert_eq!(undocumented_module(&source("//! Lanes.\n")), []);
        assert_eq!(undocumented_module(&source("// Lanes.\n")).len(), 1);
        assert_eq!(undocumented_module(&source("")).len(), 1);
    }
}
