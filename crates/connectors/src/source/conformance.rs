//! What every source must do, as functions that panic when it does not.
//!
//! A test runs all [`CASES`], each with a [`Subject`] that knows how to fill the real source with the
//! members of [`member`].

use std::pin::Pin;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{Limits, Rows, Source, SourceError};

/// A kind of source under test.
pub struct Subject {
    /// a source with so many members
    pub members: Box<dyn Fn(usize, Limits) -> Box<dyn Source>>,
    /// a source that is asked what it cannot answer
    pub broken: Opens<Box<dyn Source>>,
    /// a source that answers later than anybody waits, where a source can
    pub slow: Option<Opens<Box<dyn Source>>>,
    /// opens a source whose variable is not set
    pub unset: Opens<Result<Box<dyn Source>, SourceError>>,
    /// the name of that variable
    pub variable: &'static str,
    /// what no error may repeat
    pub secrets: Vec<String>,
    /// what it can say
    pub typing: Typing,
}

/// Opens a source with limits.
pub type Opens<T> = Box<dyn Fn(Limits) -> T>;

/// Which types a source knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typing {
    /// all that JSON has
    Full,
    /// no truth values: 0 and 1
    NoBooleans,
    /// nothing but text, and no null: an empty text
    TextOnly,
}

/// One case of the suite.
pub type Case = for<'s> fn(&'s Subject) -> Pin<Box<dyn Future<Output = ()> + 's>>;

/// The suite: the name of each case, which is a sentence, and the case.
pub const CASES: &[(&str, Case)] = &[
    ("every row arrives as it is", |s| Box::pin(s.answers_every_row())),
    ("no rows are no error", |s| Box::pin(s.answers_no_rows())),
    ("many rows arrive whole", |s| Box::pin(s.answers_many_rows())),
    ("a source may be asked again", |s| Box::pin(s.answers_again())),
    ("one row too many is an error", |s| Box::pin(s.refuses_one_row_too_many())),
    ("a wrong question is an error without secrets", |s| Box::pin(s.refuses_a_wrong_question())),
    ("a missing variable is named", |s| Box::pin(s.names_a_missing_variable())),
    ("a slow source is given up", |s| Box::pin(s.gives_up_a_slow_source())),
];

/// The columns of [`member`].
pub const COLUMNS: [&str; 6] = ["Id", "Age", "Share", "Vip", "Note", "Start"];

/// The notes of members: what a careless reader would spoil.
pub const NOTES: [Option<&str>; 4] =
    [None, Some("plain"), Some("a \"quoted\", list;\nof two lines"), Some("Größe 漢 😀 'x' \\n")];

/// When members start, in RFC 3339.
pub const START: &str = "2026-03-15T08:00:00Z";

/// The member of a number, as a source of all types says it.
#[must_use]
pub fn member(number: usize) -> Map<String, Value> {
    let row = json!({
        "Id": format!("m-{number:05}"),
        "Age": number,
        "Share": 0.25,
        "Vip": number % 2 == 1,
        "Note": NOTES[number % NOTES.len()],
        "Start": START,
    });
    let Value::Object(row) = row else { unreachable!("an object was written") };
    row
}

impl Typing {
    /// A member as a source of these types says it.
    #[must_use]
    pub fn member(self, number: usize) -> Map<String, Value> {
        let said = |value: Value| match (self, value) {
            (Self::NoBooleans, Value::Bool(value)) => Value::from(u8::from(value)),
            (Self::TextOnly, Value::Null) => Value::from(""),
            (Self::TextOnly, Value::String(text)) => Value::from(text),
            (Self::TextOnly, value) => Value::from(value.to_string()),
            (Self::Full | Self::NoBooleans, value) => value,
        };
        member(number).into_iter().map(|(name, value)| (name, said(value))).collect()
    }
}

impl Subject {
    async fn answers_every_row(&self) {
        let rows = self.read(9, Limits::default()).await.expect("it answers");
        self.check(&rows, 9);
        let mut columns: Vec<&str> = rows.columns.iter().map(String::as_str).collect();
        columns.sort_unstable();
        let mut expected = COLUMNS;
        expected.sort_unstable();
        assert_eq!(columns, expected);
    }

    async fn answers_no_rows(&self) {
        let rows = self.read(0, Limits::default()).await.expect("it answers");
        assert!(rows.rows.is_empty());
    }

    async fn answers_many_rows(&self) {
        let rows = self.read(12_345, Limits::default()).await.expect("it answers");
        self.check(&rows, 12_345);
    }

    async fn answers_again(&self) {
        let source = (self.members)(3, Limits::default());
        let (first, second) = tokio::join!(source.rows(), source.rows());
        assert_eq!(first, second);
        assert_eq!(source.rows().await, first);
    }

    async fn refuses_one_row_too_many(&self) {
        let limits = Limits { rows_max: 10, ..Limits::default() };
        let rows = self.read(10, limits).await.expect("the limit itself is allowed");
        self.check(&rows, 10);
        let refused = self.read(11, limits).await.expect_err("one more is not");
        assert_eq!(refused, SourceError::TooManyRows { rows_max: 10 });
    }

    async fn refuses_a_wrong_question(&self) {
        let source = (self.broken)(Limits::default());
        let error = source.rows().await.expect_err("it cannot answer");
        let is_told = matches!(error, SourceError::Query { .. } | SourceError::Unreadable { .. });
        assert!(is_told, "{error:?}");
        self.check_secrets(&error);
    }

    async fn names_a_missing_variable(&self) {
        let error = (self.unset)(Limits::default()).err().expect("there is no variable");
        assert_eq!(error, SourceError::MissingVariable { name: self.variable.to_owned() });
    }

    async fn gives_up_a_slow_source(&self) {
        let Some(slow) = &self.slow else { return };
        let limits = Limits { time_max: Duration::from_millis(200), ..Limits::default() };
        let error = slow(limits).rows().await.expect_err("nobody waits that long");
        assert_eq!(error, SourceError::TimedOut { after: limits.time_max });
        self.check_secrets(&error);
    }

    async fn read(&self, count: usize, limits: Limits) -> Result<Rows, SourceError> {
        (self.members)(count, limits).rows().await
    }

    fn check(&self, rows: &Rows, count: usize) {
        assert_eq!(rows.rows.len(), count);
        for (number, row) in rows.rows.iter().enumerate() {
            assert_eq!(row, &self.typing.member(number), "row {number}");
        }
    }

    fn check_secrets(&self, error: &SourceError) {
        let said = format!("{error} {error:?}");
        for secret in &self.secrets {
            assert!(!said.contains(secret.as_str()), "{said}");
        }
    }
}
