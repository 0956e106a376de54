//! A runbook document, read field by field.
//!
//! A value that cannot be read is replaced by a default and reading goes on, so that an author sees
//! every problem at once. The report has the last word: with one problem in it there is no runbook.

mod names;
mod phase;
mod policy;
mod rollbacks;
mod source;
mod step;
mod variables;
mod warnings;

use self::names::line;
use self::phase::PhaseDraft;
use self::rollbacks::Rollback;
use self::step::{Draft, Place, Surroundings};
use self::variables::Reports;
pub use self::variables::SPECIALS;
use self::warnings::Warnings;
use super::document::{Runbook, RunbookStep};
use crate::fields::{Field, Fields, Tree};
use crate::problem::{Problems, Report};
use crate::yaml::{self, Node};

const DESCRIPTION_CHARS_MAX: usize = 4_096;

/// A runbook that can be published, and what its author should look at again.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// what the document says
    pub runbook: Runbook,
    /// what is accepted and was probably meant otherwise, such as a key that nobody knows
    pub warnings: Option<Problems>,
}

/// Reads a runbook document.
///
/// # Errors
///
/// Every problem of the document, in the order of the text. Keys that nobody knows are among them
/// then: they often explain why another one is missing.
pub fn read(source: &[u8]) -> Result<Reading, Problems> {
    let node = yaml::read(source)?;
    let (report, warnings) = (Report::new(), Warnings::default());
    let runbook = Field::root(&node, &report)
        .fields()
        .and_then(|fields| document(fields, &report, &warnings));
    let warnings = warnings.finish();
    match report.finish(runbook) {
        Ok(runbook) => Ok(Reading { runbook, warnings }),
        Err(problems) => {
            let warnings = warnings.iter().flat_map(Problems::iter);
            let unknown = warnings.filter(|warning| warning.code == "unknown_field");
            problems.iter().chain(unknown).for_each(|problem| report.add(problem.clone()));
            report.finish(None)
        }
    }
}

/// Whether a document that may be a workflow or a runbook means to be a runbook.
#[must_use]
pub fn is_runbook(source: &[u8]) -> bool {
    let node = yaml::read(source);
    node.is_ok_and(|node| ["phases", "data_source"].iter().any(|key| node.get(key).is_some()))
}

fn document(mut fields: Fields<'_, Node>, report: &Report, warnings: &Warnings) -> Option<Runbook> {
    let name = fields.required("name").and_then(|field| line(&field));
    let description = fields
        .optional("description")
        .and_then(|field| field.text_within(0..=DESCRIPTION_CHARS_MAX));
    let data_source =
        fields.required("data_source").and_then(|field| source::read(field, warnings));
    let retry = fields.optional("retry").and_then(|field| policy::retry(field, warnings));
    let around = Surroundings { retry: retry.unwrap_or_default(), warnings };
    let init = fields.optional("init").map(|field| step::list(&field, Place::Init, around));
    let phases = fields.required("phases").map(|field| phase::list(&field, around));
    let removal = fields
        .optional("on_member_removed")
        .map(|field| step::list(&field, Place::Removal, around));
    let rollbacks = fields.optional("rollbacks").map(|field| rollbacks::read(&field, around));
    warnings.unknown(&fields);

    let drafts = Drafts {
        init: init.unwrap_or_default(),
        phases: phases.unwrap_or_default(),
        removal: removal.unwrap_or_default(),
        rollbacks: rollbacks.unwrap_or_default(),
    };
    rollbacks::check(&drafts, warnings);
    let columns = data_source.as_ref().and_then(|source| source.columns.as_deref());
    variables::check(&drafts, columns, Reports { problems: report, warnings });
    Some(Runbook {
        name: name?.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        data_source: data_source?,
        init: steps(drafts.init),
        phases: drafts.phases.into_iter().map(PhaseDraft::into_spec).collect(),
        on_member_removed: steps(drafts.removal),
        rollbacks: drafts.rollbacks.into_iter().map(Rollback::into_steps).collect(),
    })
}

/// Everything that has steps, each list in the order in which it runs.
struct Drafts<'n> {
    init: Vec<Draft<'n>>,
    /// in the order of their offsets
    phases: Vec<PhaseDraft<'n>>,
    removal: Vec<Draft<'n>>,
    rollbacks: Vec<Rollback<'n>>,
}

fn steps(drafts: Vec<Draft<'_>>) -> Vec<RunbookStep> {
    drafts.into_iter().map(|draft| draft.step).collect()
}
