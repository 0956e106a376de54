//! Station 2, accept: from a request to publish a runbook to the version that is stored, or to all
//! of its problems.

use serde_json::Value;

use super::read::{Reading, read};
use crate::fields::{Field, Fields};
use crate::problem::{Problems, Report, quoted};
use crate::rejection::{self, Rejection};

/// A version that may be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// the document as it was sent
    pub source: String,
    /// what it says, and what its author should look at again
    pub reading: Reading,
    /// what becomes of phases that are past due when the version takes over a batch
    pub overdue_behavior: OverdueBehavior,
    /// whether a batch that is taken over is prepared again
    pub rerun_init: bool,
}

/// What becomes of phases of a new version that are already past due in a batch under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverdueBehavior {
    /// they are run again
    Rerun,
    /// they are skipped: correcting a slip of the pen must not repeat a migration
    #[default]
    Ignore,
}

const WORDS: [(&str, OverdueBehavior); 2] =
    [("rerun", OverdueBehavior::Rerun), ("ignore", OverdueBehavior::Ignore)];

impl OverdueBehavior {
    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rerun => "rerun",
            Self::Ignore => "ignore",
        }
    }

    /// The behavior of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, behavior)| *behavior)
    }
}

/// Reads a request to publish: `{name, yaml_content, overdue_behavior?, rerun_init?}`.
///
/// # Errors
///
/// Every problem of the request and of the document in it. Line and column are those of the document.
pub fn publication(body: &[u8]) -> Result<Publication, Rejection> {
    let value = rejection::parse(body)?;
    let report = Report::new();
    let read = Field::root(&value, &report).fields().and_then(|fields| request(fields, &report));
    report.finish(read).map_err(Rejection::invalid)
}

fn request(mut fields: Fields<'_, Value>, report: &Report) -> Option<Publication> {
    let name = fields.required("name").filter(|name| name.text().is_some());
    let source = fields.required_str("yaml_content");
    let overdue_behavior = fields.optional("overdue_behavior").and_then(|field| field.word(&WORDS));
    let rerun_init = fields.optional_bool("rerun_init");
    fields.finish();

    let source = source?;
    let reading = read(source.as_bytes());
    for problem in reading.as_ref().err().into_iter().flat_map(Problems::iter) {
        report.add(problem.clone());
    }
    let reading = reading.ok()?;
    check_name(&name?, &reading);
    Some(Publication {
        source: source.to_owned(),
        reading,
        overdue_behavior: overdue_behavior.unwrap_or_default(),
        rerun_init: rerun_init.unwrap_or(false),
    })
}

/// The name is said twice, so that a wrong file is not published over the right runbook.
fn check_name(name: &Field<'_, Value>, reading: &Reading) {
    let Some(asked) = name.text() else { return };
    let named = &reading.runbook.name;
    if asked != named {
        let message = format!("the document is called {}, not {}", quoted(named), quoted(asked));
        name.report(name.problem("name_mismatch", message).help("use the same name in both"));
    }
}
