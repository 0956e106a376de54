//! Decisions as a person would read them: one line for each entry, then one for each effect.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use stepwell_core::decide::Decision;
use stepwell_core::definition::Part;
use stepwell_core::effect::{Directive, Effect};
use stepwell_core::entry::Entry;
use stepwell_core::id::StepIndex;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

/// What was decided, or why not. Ids are shown as numbers, moments as seen from `now`.
pub(crate) fn answer(run: &Run, answer: &Result<Decision, Refusal>, now: Timestamp) -> String {
    let decision = match answer {
        Ok(decision) => decision,
        Err(refusal) => return format!("refused: {refusal}"),
    };
    let entries = decision.entries.iter().map(|entry| entry_line(run, entry, now));
    let effects = decision.effects.iter().map(|effect| effect_line(run, effect));
    let lines: Vec<String> = entries.chain(effects).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n") }
}

/// Where a run and its steps stand.
pub(crate) fn status(run: &Run) -> String {
    let mut text = run.status.word().to_owned();
    for (index, step) in run.in_order() {
        let id = run.step_id(index);
        let _ = write!(text, "; {id} {} #{}", step.status.word(), step.attempt);
    }
    text
}

fn entry_line(run: &Run, entry: &Entry, now: Timestamp) -> String {
    let json = serde_json::to_value(entry).expect("an entry is plain data");
    let fields: BTreeMap<&String, &Value> =
        json.as_object().expect("an entry is an object").iter().collect();
    let mut line = entry.word().to_owned();
    let step = match entry {
        Entry::RunFailed { step, .. } => Some(*step),
        other => other.step(),
    };
    if let Some(step) = step {
        let _ = write!(line, " {}", id(run, step));
    }
    for (name, value) in fields {
        if !["entry", "step", "by"].contains(&name.as_str()) {
            let _ = write!(line, " {name}={}", shown(name, value, now));
        }
    }
    line
}

fn shown(name: &str, value: &Value, now: Timestamp) -> String {
    match (name, value) {
        ("lease" | "run", Value::String(uuid)) => number(uuid),
        ("error", Value::Object(error)) => error["code"].as_str().unwrap_or_default().to_owned(),
        (_, Value::Number(millis)) if name.ends_with("_at") => {
            let at = Timestamp::from_millis(millis.as_i64().expect("a moment is an integer"));
            if at < now { format!("-{}", now.since(at)) } else { format!("+{}", at.since(now)) }
        }
        (_, Value::String(text)) => text.clone(),
        (_, other) => other.to_string(),
    }
}

/// Ids of the world count from 1, so the number is what tells them apart.
fn number(uuid: &str) -> String {
    counted(uuid::Uuid::parse_str(uuid).expect("an id is a UUID"))
}

/// The lease of a worker that goes on follows from the one it had, and is no number worth reading.
fn counted(uuid: uuid::Uuid) -> String {
    match u32::try_from(uuid.as_u128()) {
        Ok(number) => number.to_string(),
        Err(_) => "next".to_owned(),
    }
}

fn effect_line(run: &Run, effect: &Effect) -> String {
    match effect {
        Effect::Publish(directive) => format!("-> publish {}", named(run, directive)),
        Effect::Withdraw(directive) => format!("-> withdraw {}", named(run, directive)),
        Effect::StartRun(child) => {
            let part = match &child.part {
                Part::Main => "main".to_owned(),
                Part::Compensation(name) => name.clone(),
            };
            format!("-> start_run {part} run={}", child.id.as_u128())
        }
        Effect::Ended { status } => format!("-> ended {}", status.word()),
    }
}

fn named(run: &Run, directive: &Directive) -> String {
    let Directive { step, attempt, poll, lease } = directive;
    let asked = if *poll > 0 { format!(" poll={poll}") } else { String::new() };
    format!("{} attempt={attempt}{asked} lease={}", id(run, *step), counted(lease.0))
}

fn id(run: &Run, step: StepIndex) -> Cow<'_, str> {
    run.step_id(step)
}
