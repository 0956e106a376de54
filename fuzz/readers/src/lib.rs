//! What must hold whatever comes in: one function for each reader.
//!
//! The targets in `fuzz_targets` call them with what a coverage-guided fuzzer comes up with;
//! `crates/sim/tests/it/readers.rs` calls them with the kept corpus and with random bytes, on every
//! toolchain. A function panics when its reader breaks its promise, and never otherwise.

use serde_json::{Map, Value, json};
use stepwell_core::condition::{CONDITION_CHARS_MAX, Condition};
use stepwell_core::duration::Interval;
use stepwell_core::entry::Record;
use stepwell_core::id::StepIndex;
use stepwell_core::template::{Scope, resolve, variables};
use stepwell_dialects::commands::{self, outcome};
use stepwell_dialects::fields::parse_json;
use stepwell_dialects::runbooks::{self, JobId, Offset, event};
use stepwell_dialects::workflow::{self, Checks};
use stepwell_dialects::workspaces::{self, redact, trigger};

/// Data that stays below the limit on what a template may grow to.
const DATA_MAX: usize = 200_000;

/// A reader under test: it takes any bytes.
pub type Reader = fn(&[u8]);

/// Every reader by the name of its target, which is also the name of its folder in the corpus.
pub const READERS: [(&str, Reader); 8] = [
    ("condition", condition),
    ("envelope", envelope),
    ("history", history),
    ("interval", interval),
    ("runbook", runbook),
    ("template", template),
    ("workflow", workflow),
    ("workspace", workspace),
];

/// A condition that is read is printed so that it reads the same, and is judged or said not to be.
///
/// The first line is data, the rest is a condition over it.
pub fn condition(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (data, text) = text.split_once('\n').unwrap_or((text, text));
    let condition = match Condition::read(text) {
        Ok(condition) => condition,
        Err(error) => {
            let chars = text.chars().count();
            assert!((1..=chars + 1).contains(&error.at), "{error} is outside of {text:?}");
            return;
        }
    };
    // What is printed may be longer than what was read, and a condition has a longest.
    let printed = condition.to_string();
    if printed.chars().count() <= CONDITION_CHARS_MAX {
        assert_eq!(Condition::read(&printed).as_ref(), Ok(&condition), "{printed:?}");
    }
    let empty = Map::new();
    let data = serde_json::from_str(data).unwrap_or_else(|_| json!(data));
    let input = Map::from_iter([("data".to_owned(), data)]);
    let scope = Scope { special: &empty, outputs: &empty, input: &input };
    if let Err(error) = condition.holds(&scope) {
        assert!(!error.to_string().is_empty(), "it says why it cannot be judged");
    }
}

/// Any bytes are a command, an ack, a result or a rejection that says why.
pub fn envelope(bytes: &[u8]) {
    if let Err(rejection) = commands::envelope(bytes) {
        assert!(!rejection.problems.to_string().is_empty(), "a rejection says why");
    }
    let Ok(value) = parse_json(bytes) else { return };
    for rejection in [outcome::ack(&value).err(), outcome::result(&value).err()].iter().flatten() {
        assert!(!rejection.problems.to_string().is_empty(), "a rejection says why");
    }
}

/// A record of a history that can be read is written so that it reads the same.
pub fn history(bytes: &[u8]) {
    let Ok(record) = serde_json::from_slice::<Record>(bytes) else { return };
    let text = serde_json::to_string(&record).expect("a record can be written");
    let again: Record = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(serde_json::to_string(&again).ok(), Some(text), "it reads the same");
}

/// A duration that is read is written so that it reads the same.
pub fn interval(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(interval) = text.parse::<Interval>() else { return };
    assert!(interval <= Interval::MAX, "{text:?} is longer than any duration may be");
    assert_eq!(interval.to_string().parse::<Interval>().ok(), Some(interval), "{text:?}");
}

/// Any bytes are a runbook whose phases cover every step of a member's way, in the order in which they
/// are due, or problems that say what is wrong.
pub fn runbook(bytes: &[u8]) {
    message(bytes);
    if let Some(offset) = str::from_utf8(bytes).ok().and_then(|text| text.parse::<Offset>().ok()) {
        assert_eq!(offset.to_string().parse(), Ok(offset), "it reads the same");
    }
    let reading = match runbooks::read(bytes) {
        Ok(reading) => reading,
        Err(problems) => {
            assert!(!problems.to_string().is_empty(), "a refusal says why");
            return;
        }
    };
    let compiled = runbooks::compile(&reading.runbook, 1);
    assert!(compiled.phases.is_sorted_by_key(|phase| phase.offset), "in the order of time");
    for (place, step) in compiled.member.steps.iter().enumerate() {
        let mut phases = compiled.phases.iter().filter(|phase| phase.has(StepIndex::at(place)));
        let gate = phases.next().map(|phase| &phase.gate);
        assert!(gate.is_some() && step.gate.as_ref() == gate, "step {place} is behind its gate");
        assert!(phases.next().is_none(), "step {place} belongs to one phase");
        let undo = step.on_failure.as_ref();
        let exists = |name: &String| compiled.member.compensations.contains_key(name);
        assert!(undo.is_none_or(exists), "step {place} names a rollback that exists");
    }
    assert!(!runbooks::columns::template_columns(&reading.runbook).is_empty());
}

/// Any bytes are a message of a runbook or a rejection that says why, and what is read is written so
/// that it reads the same.
fn message(bytes: &[u8]) {
    if let Some(id) = str::from_utf8(bytes).ok().and_then(|text| text.parse::<JobId>().ok()) {
        assert_eq!(id.to_string().as_bytes(), bytes, "equal ids have equal texts");
    }
    if let Err(rejection) = runbooks::outcome::read(bytes) {
        assert!(!rejection.to_string().is_empty(), "a rejection says why");
    }
    for message_type in event::MESSAGE_TYPES.map(Some).into_iter().chain([None]) {
        match event::read(message_type, bytes) {
            Ok(event) => {
                let written = event.to_body();
                let again = event::read(Some(event.message_type()), written.as_bytes());
                assert_eq!(again, Ok(event), "it reads the same");
            }
            Err(rejection) => assert!(!rejection.to_string().is_empty(), "a rejection says why"),
        }
    }
}

/// Data is inert: whatever stands in a variable comes out as it went in, and is never rendered again.
///
/// The first line is the data, the rest is a template over it.
pub fn template(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (data, template) = text.split_once('\n').unwrap_or((text, text));
    let empty = Map::new();
    let input = Map::from_iter([("data".to_owned(), json!(data))]);
    let scope = Scope { special: &empty, outputs: &empty, input: &input };
    let template = json!(template);
    let known = variables(&template);
    if resolve(&template, &scope).is_ok() {
        assert!(known.is_ok(), "what can be resolved can be listed");
    }
    if data.len() < DATA_MAX {
        assert_eq!(resolve(&json!("{{data}}"), &scope).ok(), Some(Value::from(data)));
    }
}

/// Any bytes are a workflow whose steps follow steps that exist, or problems that say what is wrong.
pub fn workflow(bytes: &[u8]) {
    match workflow::read(bytes) {
        Ok(workflow) => {
            assert!(!workflow.steps.is_empty(), "a sound workflow has steps");
            for (place, step) in workflow.steps.iter().enumerate() {
                let sound = |before: usize| before < workflow.steps.len() && before != place;
                assert!(step.after.iter().all(|before| sound(before.position())), "step {place}");
            }
            // A schema inside it compiles, or says why not; neither may panic.
            let _ = Checks::compile(&workflow);
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "a refusal says why"),
    }
}

/// Any bytes are a request, a message, a policy and a trigger of a workspace, or are refused with the
/// reason; what is read is written so that it reads the same; and no text shows more than it may.
pub fn workspace(bytes: &[u8]) {
    let refusals = [
        workspaces::request::read(bytes, None).err().map(|rejection| rejection.to_string()),
        workspaces::policy::read(bytes).err().map(|rejection| rejection.to_string()),
    ];
    assert!(refusals.iter().flatten().all(|why| !why.is_empty()), "a rejection says why");
    match workspaces::envelope::read(bytes) {
        Ok(message) => {
            let written = message.to_body();
            assert_eq!(workspaces::envelope::read(written.as_bytes()), Ok(message), "{written}");
        }
        Err(poison) => assert!(!poison.description.is_empty(), "poison says why"),
    }
    match trigger::read(bytes) {
        Ok(trigger) => {
            let stored = trigger.to_json();
            let again = trigger::of_json(&stored).expect("what was written can be read");
            assert_eq!(again.to_json(), stored, "it reads the same");
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "a refusal says why"),
    }
    let Ok(text) = str::from_utf8(bytes) else { return };
    let shown = redact::message(text);
    assert!(shown.chars().count() <= redact::MESSAGE_CHARS_MAX, "{shown:?} is too long");
    assert!(!shown.contains(['@', '\n']), "{shown:?} shows an address or a second line");
    let code = redact::code(text);
    assert!((1..=redact::CODE_CHARS_MAX).contains(&code.len()), "{code:?} is no code");
}
