//! Placeholders in a document: which names they may use.
//!
//! Whether a name exists can be known ahead of time only if the document says what a run is given.
//! So names are judged strictly as soon as `input_schema` lists properties, and otherwise only
//! those that begin with `_`, which are the system's own.

use std::collections::BTreeSet;

use serde_json::Value;
use stepwell_core::expansion::{ITEM, ITEM_INDEX};
use stepwell_core::template::{self, is_known, near};

use super::graph;
use super::step::Draft;
use crate::fields::Field;
use crate::problem::{Problem, quoted};
use crate::yaml::Node;

/// The variables that the system provides to the steps of a workflow.
pub const SPECIALS: [&str; 10] = [
    "_job_id",
    "_tenant_id",
    "_correlation_id",
    "_input_ref",
    "_output_ref",
    "_workspace_ref",
    "_doc_id",
    "_request_type",
    "_user_id",
    "_references",
];

/// Keywords beside `properties` that may let in further names.
const OPENING: [&str; 8] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "patternProperties",
    "dependentSchemas",
];

/// The names of what a run is given, if the schema says it.
pub(super) fn input_names(schema: Option<&Value>) -> Option<BTreeSet<String>> {
    let schema = schema?.as_object()?;
    let properties = schema.get("properties")?.as_object()?;
    let is_open = OPENING.iter().any(|keyword| schema.contains_key(*keyword));
    (!is_open).then(|| properties.keys().cloned().collect())
}

/// Reports every placeholder of the main steps that no value can be found for.
pub(super) fn check_steps(drafts: &[Draft<'_>], input: Option<&BTreeSet<String>>) {
    for (index, draft) in drafts.iter().enumerate() {
        if draft.templates.is_empty() && draft.when.is_none() && draft.list.is_empty() {
            continue;
        }
        let before = graph::before(drafts, index);
        let known = input.map(|input| {
            let outputs = before.iter().flat_map(|&step| drafts[step].spec.outputs.keys());
            input.iter().chain(outputs).map(String::as_str).collect()
        });
        let later = drafts.iter().enumerate().filter(|(step, _)| !before.contains(step));
        let later = later.map(|(_, draft)| draft).collect::<Vec<_>>();
        Names { known: known.as_ref(), later: &later }.check(draft);
    }
}

/// Reports every placeholder of a compensation that no value can be found for.
///
/// It is given the run's input and whatever the steps had set when it started; which of them had,
/// nobody knows ahead of time.
pub(super) fn check_compensation(
    drafts: &[Draft<'_>],
    steps: &[Draft<'_>],
    input: Option<&BTreeSet<String>>,
) {
    let mut known: Option<BTreeSet<&str>> = input.map(|input| {
        let outputs = steps.iter().flat_map(|draft| draft.spec.outputs.keys());
        input.iter().chain(outputs).map(String::as_str).collect()
    });
    for draft in drafts {
        Names { known: known.as_ref(), later: &[] }.check(draft);
        if let Some(known) = &mut known {
            known.extend(draft.spec.outputs.keys().map(String::as_str));
        }
    }
}

/// The names that a step may use.
struct Names<'a> {
    /// of the input and of outputs, if they can be known
    known: Option<&'a BTreeSet<&'a str>>,
    /// steps whose outputs come too late
    later: &'a [&'a Draft<'a>],
}

/// Where in a step a name is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// where there is one thing to do
    Once,
    /// where there is an item
    ForItem,
    /// in what is asked before there are items
    BeforeItems,
}

impl Names<'_> {
    fn check(&self, draft: &Draft<'_>) {
        let (in_params, before) = match draft.spec.for_each {
            Some(_) => (Use::ForItem, Use::BeforeItems),
            None => (Use::Once, Use::Once),
        };
        for field in &draft.templates {
            self.check_template(field, in_params);
        }
        for field in &draft.list {
            self.check_template(field, before);
        }
        if let (Some(field), Some(condition)) = (&draft.when, &draft.spec.when) {
            for name in condition.variables() {
                self.check_name(field, name, before);
            }
        }
    }

    fn check_template(&self, field: &Field<'_, Node>, used: Use) {
        match template::variables(&field.json()) {
            Ok(names) => names.iter().for_each(|name| self.check_name(field, name, used)),
            Err(error) => {
                field.report(field.problem("bad_template", error.fault.to_string()));
            }
        }
    }

    fn check_name(&self, field: &Field<'_, Node>, name: &str, used: Use) {
        if let Some(problem) = self.problem(field, name, used) {
            field.report(problem);
        }
    }

    fn problem(&self, field: &Field<'_, Node>, name: &str, used: Use) -> Option<Problem> {
        let unknown = |message| field.problem("unknown_variable", message);
        let nothing_has_it = || unknown(format!("there is no variable {}", quoted(name)));
        let is_given = || self.known.is_some_and(|known| is_known(name, known.iter().copied()));
        if is_known(name, [ITEM, ITEM_INDEX]) && !is_given() {
            match used {
                Use::ForItem => return None,
                Use::BeforeItems => {
                    let message = format!("there is no {} yet", quoted(name));
                    let help = "when and for_each are asked once, for the step as a whole";
                    return Some(unknown(message).help(help));
                }
                Use::Once => {}
            }
        }
        if name.starts_with('_') {
            let specials = SPECIALS.into_iter().collect();
            return (!is_known(name, SPECIALS)).then(|| suggest(nothing_has_it(), name, &specials));
        }
        let known = self.known?;
        if is_known(name, known.iter().copied()) {
            return None;
        }
        let sets_it =
            |draft: &&&Draft<'_>| is_known(name, draft.spec.outputs.keys().map(String::as_str));
        if let Some(draft) = self.later.iter().find(sets_it) {
            let id = quoted(&draft.spec.id);
            let name = quoted(name);
            let message = format!("{name} is set by step {id}, which is not before this one");
            return Some(unknown(message).help(format!("add {id} to this step's after")));
        }
        Some(suggest(nothing_has_it(), name, known))
    }
}

fn suggest(problem: Problem, name: &str, known: &BTreeSet<&str>) -> Problem {
    const SHOWN_MAX: usize = 20;
    match near(name, known.iter().copied()) {
        Some(near) => problem.did_you_mean(Some(near)),
        None if known.is_empty() => problem.help("list it in the properties of input_schema"),
        None => {
            let shown: Vec<&str> = known.iter().copied().take(SHOWN_MAX).collect();
            problem.help(format!("known here are {}", shown.join(", ")))
        }
    }
}
