//! `cargo xtask tidy`: the house rules that a machine can check.
//!
//! Each rule is one small function from text to violations, with the rule in words above it. The
//! rules also run as a test, so that `cargo test` alone is enough to learn of a violation.

mod dependencies;
mod marks;
mod names;
mod purity;
mod size;
mod stations;

use std::fmt;

use crate::requirement::{self, CATALOG};
use crate::source::Source;
use crate::{Outcome, only, tree};

/// One place that breaks a rule.
#[derive(Debug, PartialEq)]
pub(crate) struct Violation {
    path: String,
    /// Counted from 1; 0 when the file as a whole is meant.
    line: usize,
    /// What is wrong; what to do.
    message: String,
}

impl Violation {
    /// A violation on the line with this index, counted from 0.
    fn at(path: &str, index: usize, message: impl Into<String>) -> Violation {
        Violation { path: path.to_owned(), line: index + 1, message: message.into() }
    }

    /// A violation of the file as a whole.
    fn of(path: &str, message: impl Into<String>) -> Violation {
        Violation { path: path.to_owned(), line: 0, message: message.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Checks all rules and prints every violation.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    only(&[], arguments)?;
    let violations = violations()?;
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => {
            println!("tidy: every rule holds");
            Ok(())
        }
        1 => Err("tidy: 1 violation, named above; STYLE.md has the rules".into()),
        count => Err(format!("tidy: {count} violations, named above; STYLE.md has the rules")),
    }
}

fn violations() -> Outcome<Vec<Violation>> {
    let sources = tree::sources()?;
    let declared = requirement::declared(&tree::read(CATALOG)?);
    let mut found: Vec<Violation> = sources.iter().flat_map(of_source).collect();
    found.extend(sources.iter().flat_map(|source| names::unknown_ids(source, &declared)));
    found.extend(stations::missing(&sources));
    found.extend(dependencies::forbidden(&dependencies::metadata()?)?);
    found.extend(tree::texts("")?.iter().flat_map(|(path, text)| names::machines(path, text)));
    Ok(found)
}

/// The rules that look at one Rust file alone.
fn of_source(source: &Source) -> Vec<Violation> {
    let rules: [fn(&Source) -> Vec<Violation>; 8] = [
        size::long_file,
        size::long_functions,
        size::long_lines,
        marks::unfinished,
        marks::ignored_without_reason,
        marks::undocumented_module,
        purity::impure_words,
        names::empty_names,
    ];
    rules.iter().flat_map(|rule| rule(source)).collect()
}

/// The indices of the lines in which `word` stands as a whole word.
fn lines_with_word(lines: &[String], word: &str) -> Vec<usize> {
    let is_whole = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    let holds = |line: &str| line.match_indices(word).any(|(at, _)| is_whole(line, at));
    lines.iter().enumerate().filter(|(_, line)| holds(line)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_tree_keeps_every_rule() {
        let lines: Vec<String> =
            violations().expect("the tree can be read").iter().map(Violation::to_string).collect();
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn a_violation_reads_as_path_line_and_sentence() {
        let there = Violation::at("a.rs", 4, "is wrong; make it right");
        assert_eq!(there.to_string(), "a.rs:5: is wrong; make it right");
        let whole = Violation::of("a.rs", "is wrong; make it right");
        assert_eq!(whole.to_string(), "a.rs: is wrong; make it right");
    }

    #[test]
    fn a_word_is_found_only_as_a_whole() {
        let lines = ["use rand;".to_owned(), "operand + brand_new".to_owned()];
        assert_eq!(lines_with_word(&lines, "rand"), [0]);
    }
}
