//! Problems: the faults of an input, each with its place and the way out.
//!
//! Whoever reads an input adds every problem it finds to a [`Report`] and goes on, so that an
//! author sees all of them at once.

use std::cell::RefCell;
use std::fmt;

use serde::Serialize;

/// More problems than this help nobody, and an input must not be able to order a huge answer.
const PROBLEMS_MAX: usize = 100;

/// One fault of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A stable word for programs, such as `unknown_field`.
    pub code: &'static str,
    /// The field, such as `steps[2].retry.interval`; empty for the input as a whole.
    pub path: String,
    /// Where in the text it is, if there was a text.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// What is wrong, for people.
    pub message: String,
    /// What to do about it, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A place in a text; lines and columns are counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The place of the character that follows `text`.
    #[must_use]
    pub fn after(text: &str) -> Self {
        let line = text.rsplit_once('\n').map_or(text, |(_, line)| line);
        Self::counted(text.matches('\n').count() + 1, line.chars().count() + 1)
    }

    /// A place whose line and column were counted by somebody else, from 1.
    #[must_use]
    pub fn counted(line: usize, column: usize) -> Self {
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Self { line: count(line), column: count(column) }
    }
}

impl Problem {
    /// A problem of the input as a whole.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, path: String::new(), position: None, message: message.into(), help: None }
    }

    /// The same problem, at a field.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// The same problem, at a place in the text if one is known.
    #[must_use]
    pub fn on(mut self, position: impl Into<Option<Position>>) -> Self {
        self.position = position.into();
        self
    }

    /// The same problem, with what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same problem, asking whether `near` was meant, if there is one.
    #[must_use]
    pub fn did_you_mean(self, near: Option<&str>) -> Self {
        match near {
            Some(near) => self.help(format!("did you mean {}?", quoted(near))),
            None => self,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// All problems of one input, in the order of the text; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// The problems one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// The listing with the name of the file on each line, as a compiler prints it.
    pub fn in_file(&self, name: &str) -> impl fmt::Display {
        fmt::from_fn(move |f| {
            for (index, problem) in self.0.iter().enumerate() {
                // A place follows its file without a blank, so that editors can jump to it.
                let gap = if problem.position.is_some() { "" } else { " " };
                let end = if index + 1 < self.0.len() { "\n" } else { "" };
                write!(f, "{name}:{gap}{problem}{end}")?;
            }
            Ok(())
        })
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            write!(f, "{problem}{}", if index + 1 < self.0.len() { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

/// Where readers put the problems they find.
///
/// It is shared by reference, so that a reader of a part can report while the reader of the whole
/// is still at work.
#[derive(Debug, Default)]
pub struct Report {
    problems: RefCell<Vec<Problem>>,
}

impl Report {
    /// A report without problems.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a problem; beyond the first hundred only the fact that there are more is kept.
    pub fn add(&self, problem: Problem) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        } else if problems.len() == PROBLEMS_MAX {
            let message = format!("there are more problems; these are the first {PROBLEMS_MAX}");
            problems.push(Problem::new("too_many_problems", message));
        }
    }

    /// Adds a problem if there is room for it; `false` if there is not, and it must be counted instead.
    pub fn add_if_room(&self, problem: Problem) -> bool {
        let has_room = self.problems.borrow().len() < PROBLEMS_MAX;
        if has_room {
            self.add(problem);
        }
        has_room
    }

    /// Says how many problems were found beside those that are listed, if any.
    pub fn add_rest(&self, count: usize) {
        if count > 0 {
            let message = format!("there are {count} more problems");
            self.problems.borrow_mut().push(Problem::new("too_many_problems", message));
        }
    }

    /// Whether nothing more would be kept, so that looking for more is a waste.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.problems.borrow().len() > PROBLEMS_MAX
    }

    /// The value that was read, or else every problem that was found; the report is empty again.
    ///
    /// It is not consumed, because a value that borrows from the input is tied to the report too.
    ///
    /// # Errors
    ///
    /// If there is any problem, or if there is no value.
    pub fn finish<V>(&self, value: Option<V>) -> Result<V, Problems> {
        let mut problems = self.problems.take();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            Some(_) | None => {
                if problems.is_empty() {
                    problems.push(Problem::new("unreadable", "the input could not be read"));
                }
                // Problems without a place keep their order, at the end.
                problems.sort_by_key(|problem| (problem.position.is_none(), problem.position));
                Err(Problems(problems))
            }
        }
    }
}

/// The text in quotes, cut short and made harmless for a terminal.
#[must_use]
pub fn quoted(text: &str) -> String {
    const SHOWN_MAX: usize = 64;
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
        None => format!("{text:?}"),
    }
}

/// The bytes as text.
///
/// # Errors
///
/// If they are not UTF-8, with the place of the first byte that is not.
pub fn utf8(bytes: &[u8]) -> Result<&str, Problem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let sound = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        Problem::new("not_utf8", "the text is not UTF-8 from here on")
            .on(Position::after(sound))
            .help("save or send it with UTF-8 encoding")
    })
}

/// The path of the value under `key` in the object at `path`.
#[must_use]
pub fn key_path(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_plain = !key.is_empty() && key.chars().all(plain) && key.len() <= 64;
    match (path.is_empty(), is_plain) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{}]", quoted(key)),
    }
}

/// The path of the item at `index` in the list at `path`.
#[must_use]
pub fn index_path(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn position(line: u32, column: u32) -> Position {
        Position { line, column }
    }

    #[test]
    fn problems_are_listed_as_a_compiler_lists_them() {
        let report = Report::new();
        report.add(Problem::new("empty", "there are no steps").at("steps"));
        report.add(
            Problem::new("unknown_step", "there is no step \"fetchh\"")
                .at("steps[2].after")
                .on(position(12, 7))
                .did_you_mean(Some("fetch")),
        );
        report.add(Problem::new("missing", "this field is required").on(position(3, 1)).at("name"));
        let problems = report.finish(Some(())).unwrap_err();
        expect![[r#"
            workflow.yaml:3:1: name: this field is required
            workflow.yaml:12:7: steps[2].after: there is no step "fetchh"; did you mean "fetch"?
            workflow.yaml: steps: there are no steps"#]]
        .assert_eq(&problems.in_file("workflow.yaml").to_string());
    }

    #[test]
    fn a_problem_travels_with_its_place_beside_its_message() {
        let problem = Problem::new("missing", "this field is required").at("name");
        expect![[r#"[{"code":"missing","path":"name","message":"this field is required"}]"#]]
            .assert_eq(&serde_json::to_string(&Problems::from(problem.clone())).unwrap());
        expect![[r#"{"code":"missing","path":"name","line":3,"column":1,"message":"this field is required","help":"add it"}"#]]
            .assert_eq(&serde_json::to_string(&problem.on(position(3, 1)).help("add it")).unwrap());
    }

    #[test]
    fn an_endless_supply_of_problems_gives_a_short_report() {
        let report = Report::new();
        for _ in 0..10_000 {
            report.add(Problem::new("x", "y"));
        }
        assert!(report.is_full());
        let problems = report.finish(Some(())).unwrap_err();
        assert_eq!(problems.iter().count(), PROBLEMS_MAX + 1);
        assert_eq!(problems.iter().last().unwrap().code, "too_many_problems");
    }

    #[test]
    fn an_input_cannot_put_control_characters_or_long_texts_into_a_message() {
        assert_eq!(quoted("a\u{1b}[31m\n\"b"), r#""a\u{1b}[31m\n\"b""#);
        assert!(quoted(&"x".repeat(100_000)).len() < 80);
        assert_eq!(key_path("params", "a b"), r#"params["a b"]"#);
        assert_eq!(key_path("", "name"), "name");
    }

    #[test]
    fn a_reader_that_gave_nothing_and_said_nothing_is_not_taken_for_success() {
        assert!(Report::new().finish(None::<()>).is_err());
        assert_eq!(Report::new().finish(Some(1)), Ok(1));
    }
}
