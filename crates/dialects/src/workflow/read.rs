//! A workflow document, read field by field.
//!
//! A value that cannot be read is replaced by its default and reading goes on, so that an author
//! sees every problem at once. The report has the last word: with one problem in it there is no
//! workflow.

use std::collections::BTreeMap;

use stepwell_core::definition::{CancelMode, FailureMode, StepSpec, Workflow};
use stepwell_core::template::near;

use super::checks;
use super::graph;
use super::policy;
use super::step::{self, Defaults, Draft, LABEL, Place};
use super::variables;
use crate::amount;
use crate::fields::{Field, Fields};
use crate::name::Shape;
use crate::problem::{Problems, Report, quoted};
use crate::yaml::{self, Node};

const NAME: Shape = Shape {
    chars_max: 64,
    begins: |c| c.is_ascii_lowercase() || c.is_ascii_digit(),
    follows: |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-'),
    rule: "use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit",
};

pub(crate) const REQUEST_TYPE: Shape = Shape {
    chars_max: 128,
    begins: |c| c.is_ascii_alphanumeric(),
    follows: |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '/'),
    rule: "use letters, digits, '.', '_', '-', ':' and '/', and begin with a letter or a digit",
};

const DESCRIPTION_CHARS_MAX: usize = 4_096;
const STEPS_MAX: usize = 1_000;
const COMPENSATIONS_MAX: usize = 100;

const CANCEL: [(&str, CancelMode); 2] =
    [("drain", CancelMode::Drain), ("immediate", CancelMode::Immediate)];

const ON_STEP_FAILURE: [(&str, FailureMode); 2] =
    [("skip_descendants", FailureMode::SkipDescendants), ("cancel_rest", FailureMode::CancelRest)];

/// Reads a workflow document. Its version is 0: whoever stores it gives it a number.
///
/// # Errors
///
/// Every problem of the document, in the order of the text.
pub fn read(source: &[u8]) -> Result<Workflow, Problems> {
    let node = yaml::read(source)?;
    let report = Report::new();
    let workflow = Field::root(&node, &report).fields().map(document);
    report.finish(workflow)
}

fn document(mut fields: Fields<'_, Node>) -> Workflow {
    let name = fields.required("name").and_then(|field| NAME.read(&field));
    let description = fields
        .optional("description")
        .and_then(|field| field.text_within(0..=DESCRIPTION_CHARS_MAX));
    let request_type = fields.optional("request_type").and_then(|field| REQUEST_TYPE.read(&field));
    let cancel = fields.optional("cancel").and_then(|field| field.word(&CANCEL));
    let failure = fields.optional("on_step_failure").and_then(|field| field.word(&ON_STEP_FAILURE));
    let run_retry = fields.optional("run_retry").and_then(policy::retry);
    let credits = fields.optional("credits").and_then(|field| amount::read_positive(&field));
    let retry = fields.optional("retry").and_then(policy::retry);
    let timeout = fields.optional("timeout").and_then(|field| policy::wait(&field));
    let input_schema = fields.optional("input_schema").and_then(|field| checks::read(&field));
    let defaults = Defaults { retry: retry.unwrap_or_else(policy::retry_default), timeout };
    let mut steps = fields
        .required("steps")
        .map(|field| sequence(&field, &defaults, Place::Main))
        .unwrap_or_default();
    let compensations = fields
        .optional("compensations")
        .map(|field| compensations(&field, &defaults))
        .unwrap_or_default();
    fields.finish();

    graph::connect(&mut steps);
    let input = variables::input_names(input_schema.as_ref());
    variables::check_steps(&steps, input.as_ref());
    for drafts in compensations.values() {
        variables::check_compensation(drafts, &steps, input.as_ref());
    }
    check_compensations_exist(&steps, &compensations);
    let of_steps = steps.iter().filter_map(|draft| draft.credits).reduce(|sum, more| sum + more);
    Workflow {
        name: name.unwrap_or_default().to_owned(),
        version: 0,
        description: description.unwrap_or_default().to_owned(),
        request_type: request_type.map(str::to_owned),
        input_schema,
        steps: specs(steps),
        compensations: compensations
            .into_iter()
            .map(|(name, drafts)| (name.to_owned(), specs(drafts)))
            .collect(),
        run_retry,
        // Without a word for the whole, its steps say it together.
        credits: credits.or(of_steps),
        cancel: cancel.unwrap_or(CancelMode::Drain),
        failure: failure.unwrap_or(FailureMode::SkipDescendants),
    }
}

fn sequence<'n>(field: &Field<'n, Node>, defaults: &Defaults, place: Place) -> Vec<Draft<'n>> {
    let Some(items) = field.items() else { return Vec::new() };
    if !(1..=STEPS_MAX).contains(&items.len()) {
        let message = format!("there are {} steps", items.len());
        field.report(field.problem("out_of_range", message).help("write 1 to 1000"));
        return Vec::new();
    }
    items.into_iter().filter_map(|item| step::read(item, defaults, place)).collect()
}

fn compensations<'n>(
    field: &Field<'n, Node>,
    defaults: &Defaults,
) -> BTreeMap<&'n str, Vec<Draft<'n>>> {
    let Some(entries) = field.entries() else { return BTreeMap::new() };
    if entries.len() > COMPENSATIONS_MAX {
        let message = format!("there are {} compensations", entries.len());
        field.report(field.problem("out_of_range", message).help("write at most 100"));
        return BTreeMap::new();
    }
    let mut read = BTreeMap::new();
    for (name, steps) in entries {
        if name.len() > LABEL.chars_max || !LABEL.holds(name) {
            let message = format!("{} cannot be the name of a compensation", quoted(name));
            steps.report(steps.problem("bad_name", message).help(LABEL.rule));
        }
        let mut drafts = sequence(&steps, defaults, Place::Compensation);
        graph::follow_one_another(&mut drafts);
        read.insert(name, drafts);
    }
    read
}

fn check_compensations_exist(steps: &[Draft<'_>], compensations: &BTreeMap<&str, Vec<Draft<'_>>>) {
    for draft in steps {
        let (Some(field), Some(name)) = (&draft.on_failure, &draft.spec.on_failure) else {
            continue;
        };
        if compensations.contains_key(name.as_str()) {
            continue;
        }
        let near = near(name, compensations.keys().copied());
        let message = format!("there is no compensation {}", quoted(name));
        let problem = field.problem("unknown_compensation", message);
        field.report(match near {
            Some(near) => problem.did_you_mean(Some(near)),
            None => problem.help("add it under compensations"),
        });
    }
}

fn specs(drafts: Vec<Draft<'_>>) -> Vec<StepSpec> {
    drafts.into_iter().map(|draft| draft.spec).collect()
}
