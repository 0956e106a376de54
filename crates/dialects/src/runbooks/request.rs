//! What people ask of a batch or a runbook over HTTP, read field by field.
//!
//! Each reader takes the fields of a body and reports every problem on the way, so that whoever
//! holds the body decides how it is refused. Publishing has a reader of its own in
//! [`super::accept`].

use serde_json::Value;
use stepwell_core::id::MemberId;

use super::accept::OverdueBehavior;
use super::status::{MEMBER_WORDS, STEP_WORDS};
use crate::fields::{Field, Fields};
use crate::moment::{self, Moment};
use crate::payload::{self, PAYLOAD_BYTES_MAX};

/// A reason is at most this long, in characters.
pub const REASON_CHARS_MAX: usize = 500;

/// Members, keys or statuses that one filter may name.
pub const NAMED_MAX: usize = 10_000;

/// Items that one order may change.
pub const ITEMS_MAX: usize = 100_000;

/// What is done to whatever a filter finds.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// try again what failed, or what waits for its next attempt
    Retry,
    /// pass a step over
    Skip,
    /// take a step as done
    MarkDone {
        /// as a worker would have returned it
        result: Value,
    },
    /// run the rollback of a step
    Rollback,
    /// stop a member
    Cancel,
    /// take a member out of the batch
    Remove,
}

/// Which members or steps are meant. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OrderFilter {
    /// these members
    pub members: Vec<MemberId>,
    /// members with these keys
    pub keys: Vec<String>,
    /// members in one of these, as words
    pub member_statuses: Vec<&'static str>,
    /// steps of this phase
    pub phase: Option<String>,
    /// steps of this name
    pub step: Option<String>,
    /// steps in one of these, as words
    pub step_statuses: Vec<&'static str>,
}

/// An order for everything that a filter finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// what is done
    pub operation: Operation,
    /// to whom
    pub filter: OrderFilter,
    /// why; required, because such an order is remembered longer than its author
    pub reason: String,
    /// only say what would be done
    pub dry_run: bool,
    /// at most so many
    pub limit: Option<usize>,
}

/// Another T-0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoveStart {
    /// when
    pub start: Moment,
    /// why; may be empty
    pub reason: String,
}

/// A document that is not published but looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicationDraft {
    /// the document
    pub yaml_content: String,
    /// what becomes of phases past due in batches under way
    pub overdue_behavior: OverdueBehavior,
    /// whether batches under way are prepared again
    pub rerun_init: bool,
}

/// Reads `{reason?}`.
pub fn reason(fields: &mut Fields<'_, Value>) -> Option<String> {
    let reason = fields.optional("reason");
    let text = reason.and_then(|field| field.text_within(0..=REASON_CHARS_MAX));
    Some(text.unwrap_or_default().to_owned())
}

/// Reads `{enabled}`.
pub fn automation(fields: &mut Fields<'_, Value>) -> Option<bool> {
    fields.required("enabled").and_then(|field| field.boolean())
}

/// Reads `{batch_start_time, reason?}`.
pub fn move_start(fields: &mut Fields<'_, Value>) -> Option<MoveStart> {
    let start = fields.required("batch_start_time").and_then(|field| start(&field));
    let reason = reason(fields);
    Some(MoveStart { start: start?, reason: reason? })
}

fn start(field: &Field<'_, Value>) -> Option<Moment> {
    let text = field.text()?;
    let parsed = moment::parse(text);
    if parsed.is_none() {
        let problem = field.problem("bad_moment", "this is not a moment");
        field.report(problem.help("write it as 2026-03-15T08:00:00Z"));
    }
    parsed
}

/// Reads `{yaml_content, overdue_behavior?, rerun_init?}`.
pub fn publication_draft(fields: &mut Fields<'_, Value>) -> Option<PublicationDraft> {
    let words = [("rerun", OverdueBehavior::Rerun), ("ignore", OverdueBehavior::Ignore)];
    let yaml_content = fields.required_str("yaml_content");
    let overdue_behavior = fields.optional("overdue_behavior").and_then(|field| field.word(&words));
    let rerun_init = fields.optional_bool("rerun_init");
    Some(PublicationDraft {
        yaml_content: yaml_content?.to_owned(),
        overdue_behavior: overdue_behavior.unwrap_or_default(),
        rerun_init: rerun_init.unwrap_or(false),
    })
}

/// Reads `{operation, filter, reason, result?, dry_run?, limit?}`.
pub fn order(fields: &mut Fields<'_, Value>) -> Option<Order> {
    let operation = fields.required("operation");
    let operation = operation.and_then(|field| Some((field.word(&OPERATIONS)?, field)));
    let result = fields.optional("result");
    let filter = fields.required("filter").and_then(Field::fields).and_then(|mut fields| {
        let filter = order_filter(&mut fields);
        fields.finish();
        filter
    });
    let reason = fields.required("reason").and_then(|it| it.text_within(1..=REASON_CHARS_MAX));
    let dry_run = fields.optional_bool("dry_run").unwrap_or(false);
    let limit = fields.optional_integer("limit", 1..=ITEMS_MAX);
    let (mut operation, field) = operation?;
    match (&mut operation, result) {
        (Operation::MarkDone { result }, Some(given)) => *result = within_limit(&given),
        (_, Some(given)) => {
            let problem = given.problem("unexpected_field", "only mark_done takes a result");
            given.report(problem.help("leave it out"));
        }
        (_, None) => {}
    }
    let filter = filter?;
    check_width(&operation, &filter, &field);
    Some(Order { operation, filter, reason: reason?.to_owned(), dry_run, limit })
}

const OPERATIONS: [(&str, Operation); 6] = [
    ("retry", Operation::Retry),
    ("skip", Operation::Skip),
    ("mark_done", Operation::MarkDone { result: Value::Null }),
    ("rollback", Operation::Rollback),
    ("cancel", Operation::Cancel),
    ("remove", Operation::Remove),
];

impl Operation {
    /// The word on the wire.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Skip => "skip",
            Self::MarkDone { .. } => "mark_done",
            Self::Rollback => "rollback",
            Self::Cancel => "cancel",
            Self::Remove => "remove",
        }
    }
}

fn order_filter(fields: &mut Fields<'_, Value>) -> Option<OrderFilter> {
    let members = list(fields, "members", |item| item.integer(1..=i64::MAX).map(MemberId));
    let keys = list(fields, "keys", |item| item.text_within(1..=usize::MAX).map(str::to_owned));
    let member_statuses = list(fields, "member_status", |item| word(item, &MEMBER_WORDS));
    let phase = fields.optional("phase").and_then(|field| field.text_within(1..=usize::MAX));
    let step = fields.optional("step").and_then(|field| field.text_within(1..=usize::MAX));
    let step_statuses = list(fields, "step_status", |item| word(item, &STEP_WORDS));
    Some(OrderFilter {
        members: members?,
        keys: keys?,
        member_statuses: member_statuses?,
        phase: phase.map(str::to_owned),
        step: step.map(str::to_owned),
        step_statuses: step_statuses?,
    })
}

/// A list of at most ten thousand; a single value stands for a list of it.
fn list<V>(
    fields: &mut Fields<'_, Value>,
    key: &'static str,
    read: impl Fn(&Field<'_, Value>) -> Option<V>,
) -> Option<Vec<V>> {
    let Some(field) = fields.optional(key) else { return Some(Vec::new()) };
    if !field.node().is_array() {
        return read(&field).map(|value| vec![value]);
    }
    let items = field.items()?;
    if items.len() > NAMED_MAX {
        let problem = field.problem("out_of_range", format!("there are {} items", items.len()));
        field.report(problem.help(format!("name at most {NAMED_MAX} in one order")));
        return None;
    }
    items.iter().map(read).collect()
}

fn word(field: &Field<'_, Value>, words: &[&'static str]) -> Option<&'static str> {
    let choices: Vec<(&str, &'static str)> = words.iter().map(|word| (*word, *word)).collect();
    field.word(&choices)
}

/// To try again whatever failed is what one often wants. Anything else for everybody is hardly ever
/// meant, and a batch as a whole is stopped by cancelling the batch.
fn check_width(operation: &Operation, filter: &OrderFilter, field: &Field<'_, Value>) {
    if *filter != OrderFilter::default() || *operation == Operation::Retry {
        return;
    }
    let message = format!("{} would be done to every member of the batch", operation.word());
    let problem = field.problem("filter_too_wide", message);
    field.report(problem.help("say to whom: name members, keys, a phase, a step or a status"));
}

/// A result by hand has the same limit as a worker's.
fn within_limit(field: &Field<'_, Value>) -> Value {
    let bytes = payload::size(field.node());
    if bytes > PAYLOAD_BYTES_MAX {
        let problem = field.problem("too_large", format!("the result has {bytes} bytes"));
        field.report(problem.help("256 KiB are allowed; keep large data elsewhere"));
    }
    field.json()
}
