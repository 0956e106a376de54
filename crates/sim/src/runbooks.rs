//! The runbook of a world, drawn from a seed: a few phases around T-0, with init, polls, retries,
//! rollbacks and something for whoever leaves, or without.

use crate::chance::Chance;
use crate::workload::{POOLS, line, put};

/// What every runbook of a world is called.
pub const NAME: &str = "move";

/// The column that identifies a member.
pub const KEY: &str = "user";

/// The column that says when a member's batch starts.
pub const START: &str = "start";

/// What every edition of a runbook has in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// batches begin as soon as their members are seen; otherwise a column says when
    pub immediate: bool,
    /// something is done for each member that leaves
    pub removal: bool,
    init: bool,
    rollback: bool,
    phases: usize,
}

impl Shape {
    /// The runbook of a seed.
    #[must_use]
    pub fn draw(seed: u64) -> Self {
        let chance = &mut Chance::of(seed, "runbook");
        Self {
            immediate: chance.permille(250),
            removal: chance.permille(600),
            init: chance.permille(400),
            rollback: chance.permille(500),
            phases: 1 + chance.index(3),
        }
    }
}

/// Draws the document; another `edition` differs in its steps, its times and its offsets.
#[must_use]
pub fn document(seed: u64, edition: u32) -> String {
    let shape = Shape::draw(seed);
    let detail = &mut Chance::of(seed, &format!("runbook edition {edition}"));
    let mut text = format!("name: {NAME}\n");
    let grouping = if shape.immediate {
        "batch_time: immediate".to_owned()
    } else {
        format!("batch_time_column: {START}")
    };
    let source = format!("type: csv, connection: ROWS, primary_key: {KEY}, {grouping}");
    line(&mut text, format_args!("data_source: {{{source}}}"));
    if shape.init {
        line(&mut text, "init:");
        for place in 0..=detail.index(2) {
            let step = step(detail, &format!("i{place}"), "batch: \"{{_batch_id}}\"");
            line(&mut text, format_args!("  - {{{step}}}"));
        }
    }
    line(&mut text, "phases:");
    for (place, offset) in offsets(detail, shape).into_iter().enumerate() {
        line(&mut text, format_args!("  - name: p{place}\n    offset: {offset}\n    steps:"));
        for number in 0..=detail.index(3) {
            let step = member_step(detail, shape, place, number);
            line(&mut text, format_args!("      - {{{step}}}"));
        }
    }
    if shape.removal {
        line(&mut text, "on_member_removed:");
        let step = step(detail, "forget", "user: \"{{user}}\"");
        line(&mut text, format_args!("  - {{{step}}}"));
    }
    if shape.rollback {
        line(&mut text, "rollbacks:\n  undo:");
        line(&mut text, "    - {name: u0, worker_id: beta, function: Undo, timeout: 5m}");
    }
    text
}

/// In the order they are due; of an immediate batch, all that come before T-0 are due at once.
fn offsets(detail: &mut Chance, shape: Shape) -> Vec<String> {
    let before =
        [format!("T-{}m", detail.between(16, 40)), format!("T-{}m", detail.between(1, 15))];
    let last = if detail.permille(400) {
        format!("T+{}m", detail.between(1, 20))
    } else {
        "T-0".to_owned()
    };
    let all = before.into_iter().chain([last]);
    all.skip(3 - shape.phases).collect()
}

fn member_step(detail: &mut Chance, shape: Shape, phase: usize, number: usize) -> String {
    let refers = (phase, number) != (0, 0) && detail.permille(300);
    let params = if refers { "ticket: \"{{Ticket}}\"" } else { "size: \"{{size}}\"" };
    let mut fields = step(detail, &format!("s{phase}{number}"), params);
    if (phase, number) == (0, 0) {
        fields.push_str(", output_params: {Ticket: id}");
    }
    if shape.rollback && detail.permille(600) {
        fields.push_str(", on_failure: undo");
    }
    fields
}

fn step(detail: &mut Chance, name: &str, params: &str) -> String {
    let (pool, timeout) = (*detail.one_of(&POOLS), detail.between(3, 12));
    let mut fields = format!(
        "name: {name}, worker_id: {pool}, function: Do, params: {{{params}}}, timeout: {timeout}m"
    );
    if detail.permille(300) {
        let (interval, timeout) = (detail.between(5, 60), detail.between(4, 20));
        put(&mut fields, format_args!(", poll: {{interval: {interval}s, timeout: {timeout}m}}"));
    }
    if detail.permille(500) {
        let (retries, interval) = (detail.between(1, 3), detail.between(1, 90));
        put(
            &mut fields,
            format_args!(", retry: {{max_retries: {retries}, interval: {interval}s}}"),
        );
    }
    fields
}
