//! One step of a runbook, wherever it stands.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::names::{OUTPUT, WORKER_ID, line};
use super::policy;
use super::warnings::Warnings;
use crate::fields::{Field, Tree};
use crate::problem::quoted;
use crate::runbooks::document::{Retry, RunbookStep};
use crate::yaml::Node;

const FUNCTION_CHARS_MAX: usize = 256;
const PATH_CHARS_MAX: usize = 256;
const OUTPUTS_MAX: usize = 100;

/// The most steps of one list, and of all phases together: they are one run.
pub(super) const STEPS_MAX: usize = 1_000;

/// Where a step stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// in `init`, where there is no member
    Init,
    /// in a phase
    Phase,
    /// in a rollback
    Rollback,
    /// in `on_member_removed`
    Removal,
}

impl Place {
    /// Whether a failure here may call for a rollback. Undoing what undoes would never end.
    fn may_roll_back(self) -> bool {
        match self {
            Self::Init | Self::Phase => true,
            Self::Rollback | Self::Removal => false,
        }
    }
}

/// A step as it was read, with the fields that can be judged only when the whole document is known.
pub(super) struct Draft<'n> {
    /// what it says
    pub(super) step: RunbookStep,
    /// the rollback it names
    pub(super) on_failure: Option<Field<'n, Node>>,
    /// every text that may hold placeholders
    pub(super) templates: Vec<Field<'n, Node>>,
}

/// What reading a step needs to know of the document around it.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'r> {
    /// for steps without a `retry` of their own
    pub(super) retry: Retry,
    /// where warnings go
    pub(super) warnings: &'r Warnings,
}

/// Reads a list of steps that may be empty, as `init` is when there is nothing to prepare.
pub(super) fn list<'n>(
    field: &Field<'n, Node>,
    place: Place,
    around: Surroundings<'_>,
) -> Vec<Draft<'n>> {
    let items = field.items().unwrap_or_default();
    if items.len() > STEPS_MAX {
        let message = format!("there are {} steps", items.len());
        field.report(field.problem("out_of_range", message).help("write at most 1000"));
        return Vec::new();
    }
    let mut names = BTreeSet::new();
    let read = items.into_iter().filter_map(|item| {
        let draft = read(item.clone(), place, around)?;
        if !draft.step.name.is_empty() && !names.insert(draft.step.name.clone()) {
            let message = format!("two steps here are called {}", quoted(&draft.step.name));
            let warning = item.nearest("/name").problem("duplicate_name", message);
            around.warnings.add(warning.help("people will confuse them; rename one of them"));
        }
        Some(draft)
    });
    read.collect()
}

/// Reads a list of steps that must not be empty.
pub(super) fn list_of_some<'n>(
    field: &Field<'n, Node>,
    place: Place,
    around: Surroundings<'_>,
) -> Vec<Draft<'n>> {
    if field.node().as_items().is_some_and(<[Node]>::is_empty) {
        let problem = field.problem("out_of_range", "there are no steps");
        field.report(problem.help("write at least one"));
    }
    list(field, place, around)
}

fn read<'n>(field: Field<'n, Node>, place: Place, around: Surroundings<'_>) -> Option<Draft<'n>> {
    let mut fields = field.fields()?;
    let name = fields.required("name");
    let worker_id = fields.required("worker_id").and_then(|field| WORKER_ID.read(&field));
    let function = fields.required("function");
    let params_field = fields.optional("params");
    let output_params = fields.optional("output_params");
    let on_failure = fields.optional("on_failure");
    let poll = fields.optional("poll");
    let retry = fields.optional("retry");
    let timeout = fields.optional("timeout").and_then(|field| policy::wait(&field));
    around.warnings.unknown(&fields);

    if let Some(field) = on_failure.as_ref().filter(|_| !place.may_roll_back()) {
        let problem = field
            .problem("not_here", "what undoes something is not undone itself")
            .help("remove on_failure; only steps of phases and of init have one");
        field.report(problem);
    }
    if let Some(field) = output_params.as_ref().filter(|_| place == Place::Init) {
        let problem = field
            .problem("unused_output", "init has no member whose steps could use what it sets")
            .help("remove it");
        around.warnings.add(problem);
    }
    let on_failure = on_failure.filter(|_| place.may_roll_back());
    let templates = params_field.iter().flat_map(Field::leaves).chain(function.clone()).collect();
    let function = function.and_then(|field| field.text_within(1..=FUNCTION_CHARS_MAX));
    let step = RunbookStep {
        name: name.as_ref().and_then(line).unwrap_or_default().to_owned(),
        worker_id: worker_id.unwrap_or_default().to_owned(),
        function: function.unwrap_or_default().to_owned(),
        params: params_field.as_ref().and_then(params).unwrap_or_default(),
        output_params: output_params.as_ref().map(outputs).unwrap_or_default(),
        on_failure: on_failure.as_ref().and_then(Field::text).map(str::to_owned),
        poll: poll.and_then(|field| policy::poll(field, around.warnings)),
        retry: retry
            .and_then(|field| policy::retry(field, around.warnings))
            .unwrap_or(around.retry),
        timeout,
    };
    Some(Draft { step, on_failure, templates })
}

/// A function is called with named parameters, so that they are an object and nothing else.
fn params(field: &Field<'_, Node>) -> Option<Map<String, Value>> {
    field.entries()?;
    match field.json() {
        Value::Object(params) => Some(params),
        _ => None,
    }
}

fn outputs(field: &Field<'_, Node>) -> BTreeMap<String, String> {
    let entries = field.entries().unwrap_or_default();
    if entries.len() > OUTPUTS_MAX {
        let message = format!("a step with {} outputs has too many", entries.len());
        field.report(field.problem("out_of_range", message).help("declare at most 100"));
    }
    let mut outputs = BTreeMap::new();
    for (name, path) in entries {
        if name.len() > OUTPUT.chars_max || !OUTPUT.holds(name) {
            let message = format!("{} cannot be the name of a variable", quoted(name));
            path.report(path.problem("bad_name", message).help(OUTPUT.rule));
        }
        if let Some(path) = path.text_within(1..=PATH_CHARS_MAX) {
            outputs.insert(name.to_owned(), path.to_owned());
        }
    }
    outputs
}
