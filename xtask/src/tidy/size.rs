//! Limits on size: what does not fit on a few screens is not read.

use super::Violation;
use crate::functions::functions;
use crate::source::Source;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const COLUMNS_MAX: usize = 140;

/// A file has at most 600 lines.
pub(super) fn long_file(source: &Source) -> Vec<Violation> {
    let lines = source.lines.len();
    if lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    let message = format!(
        "the file has {lines} lines, more than {FILE_LINES_MAX}; split it where its duties part"
    );
    vec![Violation::of(&source.path, message)]
}

/// A function has at most 70 lines, from its signature to its closing brace.
pub(super) fn long_functions(source: &Source) -> Vec<Violation> {
    let all = functions(source);
    let long = all.iter().filter(|function| function.length() > FUNCTION_LINES_MAX);
    let tell = |function: &crate::functions::Function| {
        let (name, length) = (&function.name, function.length());
        let message = format!(
            "`{name}` has {length} lines, more than {FUNCTION_LINES_MAX}; \
             move a part that has a name of its own into its own function"
        );
        Violation::at(&source.path, function.first, message)
    };
    long.map(tell).collect()
}

/// A line has at most 140 columns. rustfmt breaks code at 100; strings and comments it leaves alone.
///
/// A line that is nothing but raw text passes: a test expects a text as it will be read.
pub(super) fn long_lines(source: &Source) -> Vec<Violation> {
    let widths = source.lines.iter().map(|line| line.chars().count()).enumerate();
    let long = widths.filter(|(index, width)| *width > COLUMNS_MAX && !is_raw_text(source, *index));
    let tell = |(index, width)| {
        let message = format!("{width} columns, more than {COLUMNS_MAX}; break the line");
        Violation::at(&source.path, index, message)
    };
    long.map(tell).collect()
}

fn is_raw_text(source: &Source, index: usize) -> bool {
    let delimiters = source.code[index].trim();
    let rest = delimiters.trim_start_matches(['r', '#', '"', ']', ')', ',', ';', ' ']);
    let begins_raw = delimiters.is_empty() || delimiters.starts_with("r#");
    begins_raw && rest.is_empty() && source.comments[index].trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("a.rs", text)
    }

    #[test]
    fn a_file_of_600_lines_passes_and_one_more_does_not() {
        assert_eq!(long_file(&source(&"\n".repeat(600))), []);
        assert_eq!(long_file(&source(&"\n".repeat(601))).len(), 1);
    }

    #[test]
    fn a_function_of_70_lines_passes_and_one_more_does_not() {
        let function = |body: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(body));
        assert_eq!(long_functions(&source(&function(68))), []);
        let found = long_functions(&source(&function(69)));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("a.rs:1: `f` has 71 lines"), "{}", found[0]);
    }

    #[test]
    fn a_line_is_measured_in_characters_not_bytes() {
        assert_eq!(long_lines(&source(&"é".repeat(140))), []);
        assert_eq!(long_lines(&source(&"e".repeat(141))).len(), 1);
    }

    #[test]
    fn a_long_line_of_raw_text_passes_and_a_long_comment_does_not() {
        let long = "e".repeat(141);
        assert_eq!(long_lines(&source(&format!("f(\n    r#\"{long}\"#\n)"))), []);
        assert_eq!(long_lines(&source(&format!("f(r#\"\n{long}\n\"#)"))), []);
        assert_eq!(long_lines(&source(&format!("f(\"{long}\")"))).len(), 1);
        assert_eq!(long_lines(&source(&format!("// {long}"))).len(), 1);
    }
}
