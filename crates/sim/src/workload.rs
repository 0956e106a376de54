//! Workflows of every kind, drawn from a seed: sequences, graphs, gates, conditions, steps for each
//! item of a list, polls, retries of the whole run, compensations, both ways to fail and both ways to
//! be canceled.

use std::fmt::Write as _;

use crate::chance::Chance;

/// Where directives wait for workers.
pub const POOLS: [&str; 2] = ["alpha", "beta"];

/// The gates that a workflow may have.
pub const GATES: [&str; 2] = ["morning", "evening"];

/// Each is judged a second time by the model, which knows no others.
const CONDITIONS: [&str; 5] = [
    "{{document}} == 'd-1'",
    "{{ticket}} != null",
    "{{ticket}} == null",
    "{{absent}}",
    "{{document}} > 3",
];

/// Draws the document of workflow `number`; another `edition` differs in its times and its length.
#[must_use]
pub fn document(seed: u64, number: usize, edition: u32) -> String {
    let shape = &mut Chance::of(seed, &format!("workflow {number}"));
    let detail = &mut Chance::of(seed, &format!("workflow {number} edition {edition}"));
    let mut text = format!("name: flow-{number}\n");
    line(&mut text, format_args!("timeout: {}m", detail.between(3, 12)));
    line(&mut text, format_args!("retry: {}", retry(detail)));
    if shape.permille(400) {
        let interval = detail.between(1, 10);
        line(&mut text, format_args!("run_retry: {{max_attempts: 2, interval: {interval}m}}"));
    }
    line(&mut text, format_args!("cancel: {}", shape.one_of(&["drain", "immediate"])));
    let failure = if shape.permille(300) { "cancel_rest" } else { "skip_descendants" };
    line(&mut text, format_args!("on_step_failure: {failure}"));
    let compensated = shape.permille(500);
    let graph = shape.permille(500);
    line(&mut text, "steps:");
    let count = 1 + shape.index(4) + usize::from(edition > 1);
    for place in 0..count {
        let step = Step { place, graph, compensated };
        line(&mut text, format_args!("  - {{{}}}", step.fields(shape, detail)));
    }
    if compensated {
        line(&mut text, "compensations:");
        line(&mut text, "  undo:");
        for place in 0..=shape.index(2) {
            line(&mut text, format_args!("    - {{id: u{place}, type: UNDO, pool: beta}}"));
        }
    }
    text
}

struct Step {
    place: usize,
    graph: bool,
    compensated: bool,
}

impl Step {
    fn fields(&self, shape: &mut Chance, detail: &mut Chance) -> String {
        let place = self.place;
        let mut fields = format!("id: s{place}, pool: {}", shape.one_of(&POOLS));
        let refers = place > 0 && shape.permille(500);
        if place == 0 {
            fields.push_str(", type: FIRST, outputs: {ticket: id}");
        } else if refers {
            fields.push_str(", type: \"NEXT {{ticket}}\", params: {ticket: \"{{ticket}}\"}");
        } else {
            fields.push_str(", type: NEXT");
        }
        if self.graph && place > 0 {
            // The first step comes before all, so that what refers to it always may.
            let other = shape.index(place);
            let after = if other == 0 { "s0".to_owned() } else { format!("s0, s{other}") };
            put(&mut fields, format_args!(", after: [{after}]"));
        }
        if shape.permille(100) {
            put(&mut fields, format_args!(", when: \"{}\"", shape.one_of(&CONDITIONS)));
        }
        if shape.permille(200) {
            put(&mut fields, format_args!(", {}", items(shape, detail)));
        }
        if shape.permille(150) {
            put(&mut fields, format_args!(", gate: {}", shape.one_of(&GATES)));
        }
        if shape.permille(350) {
            let (interval, timeout) = (detail.between(5, 60), detail.between(4, 20));
            put(
                &mut fields,
                format_args!(", poll: {{interval: {interval}s, timeout: {timeout}m}}"),
            );
        }
        if shape.permille(300) {
            put(&mut fields, format_args!(", retry: {}", retry(detail)));
        }
        if shape.permille(250) {
            fields.push_str(", on_timeout: fail");
        }
        if shape.permille(200) {
            fields.push_str(", continue_on_failure: true");
        }
        if self.compensated && shape.permille(700) {
            fields.push_str(", on_failure: undo");
        }
        fields
    }
}

/// A list that is there, or one that may not be, or not be one, or be longer than it may.
fn items(shape: &mut Chance, detail: &mut Chance) -> String {
    let list = match shape.below(8) {
        0 => "\"{{ticket}}\"".to_owned(),
        1 => "\"{{ticket}}\", max_items: 2".to_owned(),
        2 => "\"{{document}}\"".to_owned(),
        _ => format!("[{}]", ["a", "b", "c", "d"][..detail.index(5)].join(", ")),
    };
    let max_parallel = if shape.permille(500) { detail.between(1, 3) } else { 10 };
    format!("for_each: {list}, max_parallel: {max_parallel}")
}

fn retry(chance: &mut Chance) -> String {
    let attempts = chance.between(1, 4);
    match chance.below(4) {
        0 => format!("{{max_attempts: {attempts}}}"),
        1 => format!("{{max_attempts: {attempts}, interval: {}s}}", chance.between(1, 90)),
        2 => format!("{{max_attempts: {attempts}, delays: [1s, 30s, 3m], jitter: 20%}}"),
        _ => format!("{{max_attempts: {attempts}, exponential: {{first: 2s, cap: 5m}}}}"),
    }
}

pub(crate) fn line(text: &mut String, line: impl std::fmt::Display) {
    put(text, format_args!("{line}\n"));
}

pub(crate) fn put(text: &mut String, part: std::fmt::Arguments<'_>) {
    text.write_fmt(part).expect("writing to a string cannot fail");
}
