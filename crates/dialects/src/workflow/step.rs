//! One step of a document.

use std::collections::BTreeMap;

use stepwell_core::condition::Condition;
use stepwell_core::credit::Credits;
use stepwell_core::definition::{StepSpec, TimeoutMode};
use stepwell_core::duration::Interval;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::template::NAME_CHARS_MAX;

use super::checks;
use super::items;
use super::policy;
use crate::amount;
use crate::fields::{Field, Fields};
use crate::name::Shape;
use crate::problem::quoted;
use crate::yaml::Node;

/// Ids of steps, and names of pools, gates and compensations.
pub(super) const LABEL: Shape = Shape {
    chars_max: 64,
    begins: |c| c.is_ascii_alphanumeric(),
    follows: |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'),
    rule: "use letters, digits, '.', '_' and '-', and begin with a letter or a digit",
};

const OUTPUT: Shape = Shape {
    chars_max: NAME_CHARS_MAX,
    begins: |c| c.is_ascii_alphabetic(),
    follows: |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
    rule: "use letters, digits, '_' and '-', and begin with a letter; names that begin with '_' \
           are the system's own",
};

const KIND_CHARS_MAX: usize = 256;
const PATH_CHARS_MAX: usize = 256;
const OUTPUTS_MAX: usize = 100;

/// Where a step stands in its document.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// among the steps of the workflow
    Main,
    /// in a compensation, which is a plain sequence and has none of its own
    Compensation,
}

/// What a step takes from its document when it says nothing itself.
pub(super) struct Defaults {
    pub(super) retry: RetryPolicy,
    /// `None` if nobody has set one
    pub(super) timeout: Option<Interval>,
}

/// A step as it was read, with the fields that can be judged only when all steps are known.
pub(super) struct Draft<'n> {
    /// its `after` is still empty
    pub(super) spec: StepSpec,
    /// the step itself
    pub(super) field: Field<'n, Node>,
    /// its id
    pub(super) id: Option<Field<'n, Node>>,
    /// the steps it names, if it has an `after` at all
    pub(super) after: Option<Vec<Field<'n, Node>>>,
    /// the compensation it names
    pub(super) on_failure: Option<Field<'n, Node>>,
    /// every text that may hold placeholders and is filled in for each item
    pub(super) templates: Vec<Field<'n, Node>>,
    /// its condition
    pub(super) when: Option<Field<'n, Node>>,
    /// every text of the list for whose items it is done
    pub(super) list: Vec<Field<'n, Node>>,
    /// what it will probably cost
    pub(super) credits: Option<Credits>,
}

/// Reads one step.
pub(super) fn read<'n>(
    field: Field<'n, Node>,
    defaults: &Defaults,
    place: Place,
) -> Option<Draft<'n>> {
    let mut fields = field.clone().fields()?;
    let id = fields.required("id");
    let kind = fields.required("type");
    let pool = pool(&mut fields);
    let params = fields.optional("params");
    let when = fields.optional("when");
    let list = fields.optional("for_each");
    let for_each = items::read(list.as_ref(), &mut fields);
    let outputs = fields.optional("outputs").and_then(|field| outputs(&field));
    let timeout = fields.optional("timeout").and_then(|field| policy::wait(&field));
    let timeout = timeout.or(defaults.timeout);
    let on_timeout = fields.optional("on_timeout").and_then(|field| field.word(&ON_TIMEOUT));
    let retry = fields.optional("retry").and_then(policy::retry);
    let poll = fields.optional("poll").and_then(policy::poll);
    let credits = fields.optional("credits").and_then(|field| amount::read_positive(&field));
    let continue_on_failure = fields.optional_bool("continue_on_failure");
    let graph = graph_fields(&mut fields, place);
    fields.finish();

    let templates = params.iter().flat_map(Field::leaves).chain(kind.clone()).collect();
    let name = |field: &Option<Field<'n, Node>>| {
        field.as_ref().and_then(|field| LABEL.read(field)).map(str::to_owned)
    };
    let kind = kind.and_then(|kind| kind.text_within(1..=KIND_CHARS_MAX));
    let spec = StepSpec {
        id: name(&id).unwrap_or_default(),
        kind: kind.unwrap_or_default().to_owned(),
        pool: name(&pool).unwrap_or_default(),
        params: params.map(|params| params.json()),
        payload_schema: graph.payload_schema.and_then(|field| checks::read(&field)),
        outputs: outputs.unwrap_or_default(),
        after: Vec::new(),
        gate: name(&graph.gate),
        when: when.as_ref().and_then(condition),
        for_each,
        timeout: timeout.unwrap_or(policy::TIMEOUT_DEFAULT),
        timeout_given: timeout.is_some(),
        on_timeout: on_timeout.unwrap_or(TimeoutMode::Republish),
        retry: retry.unwrap_or_else(|| defaults.retry.clone()),
        poll,
        on_failure: name(&graph.on_failure),
        continue_on_failure: continue_on_failure.unwrap_or(false),
    };
    let after = graph.after.map(|after| after.items().unwrap_or_default());
    let list = list.iter().flat_map(Field::leaves).collect();
    let on_failure = graph.on_failure;
    Some(Draft { spec, field, id, after, on_failure, templates, when, list, credits })
}

/// Reads `when`. The place is that of the text, whose characters are counted from 1.
fn condition(field: &Field<'_, Node>) -> Option<Condition> {
    let text = field.text()?;
    Condition::read(text)
        .map_err(|error| field.report(field.problem("bad_condition", error.to_string())))
        .ok()
}

const ON_TIMEOUT: [(&str, TimeoutMode); 2] =
    [("republish", TimeoutMode::Republish), ("fail", TimeoutMode::Fail)];

/// The fields that only a step of the workflow itself may have.
struct GraphFields<'n> {
    after: Option<Field<'n, Node>>,
    gate: Option<Field<'n, Node>>,
    on_failure: Option<Field<'n, Node>>,
    payload_schema: Option<Field<'n, Node>>,
}

fn graph_fields<'n>(fields: &mut Fields<'n, Node>, place: Place) -> GraphFields<'n> {
    let mut ask = |key| {
        let field = fields.optional(key)?;
        if place == Place::Main {
            return Some(field);
        }
        let problem = field
            .problem("not_in_compensation", format!("a step of a compensation has no {key}"))
            .help("its steps follow one another; remove the field");
        field.report(problem);
        None
    };
    let (after, depends_on) = (ask("after"), ask("depends_on"));
    if let (Some(_), Some(second)) = (&after, &depends_on) {
        let problem = second
            .problem("conflicting_fields", "after and depends_on are two names of one field")
            .help("keep one of them");
        second.report(problem);
    }
    GraphFields {
        // The platform's word for it.
        after: after.or(depends_on),
        gate: ask("gate"),
        on_failure: ask("on_failure"),
        payload_schema: ask("payload_schema"),
    }
}

/// The pool, which protocols call the service.
fn pool<'n>(fields: &mut Fields<'n, Node>) -> Option<Field<'n, Node>> {
    let service = fields.optional("service");
    let Some(service) = service else { return fields.required("pool") };
    if fields.optional("pool").is_some() {
        let problem = service
            .problem("conflicting_fields", "service and pool are two names of one field")
            .help("keep one of them");
        service.report(problem);
    }
    Some(service)
}

fn outputs(field: &Field<'_, Node>) -> Option<BTreeMap<String, String>> {
    let entries = field.entries()?;
    if entries.len() > OUTPUTS_MAX {
        let message = format!("a step with {} outputs has too many", entries.len());
        field.report(field.problem("out_of_range", message).help("declare at most 100"));
    }
    let mut outputs = BTreeMap::new();
    for (name, path) in entries {
        if name.len() > OUTPUT.chars_max || !OUTPUT.holds(name) {
            let message = format!("{} cannot be the name of an output", quoted(name));
            path.report(path.problem("bad_name", message).help(OUTPUT.rule));
        }
        if let Some(path) = path.text_within(1..=PATH_CHARS_MAX) {
            outputs.insert(name.to_owned(), path.to_owned());
        }
    }
    Some(outputs)
}
