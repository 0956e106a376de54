//! Stored histories must fold for ever: the written form of every entry is fixed here.
//!
//! A change of a line of `golden/` is a break with histories that were already stored. A new line
//! is none.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::{expect, expect_file};
use serde_json::{Value, json};
use stepwell_core::command::{Act, Adopted};
use stepwell_core::credit::{CreditState, Credits};
use stepwell_core::definition::{CancelMode, StepSpec, Workflow};
use stepwell_core::entry::{Entry, OperationKind};
use stepwell_core::id::{LeaseId, RunId, StepIndex};
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{SkipReason, Step, StepError, StepStatus};
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::replay::replayed;
use crate::text;
use crate::world::{World, after, behind, graph, minutes, object, once, polled, step, undone};

/// How many kinds of entries there are. `place` makes whoever adds one count it here.
const KINDS: usize = 34;

#[test]
fn the_written_form_of_every_entry_stays_as_it_is() {
    let entries = entries();
    let lines = entries.iter().map(|entry| serde_json::to_string(entry).unwrap());
    let text = format!("[\n{}\n]\n", lines.collect::<Vec<_>>().join(",\n"));
    expect_file!["golden/entries.json"].assert_eq(&text);
}

#[test]
fn every_kind_of_entry_has_a_golden_form() {
    let places: BTreeSet<usize> = entries().iter().map(place).collect();
    assert_eq!(places, (0..KINDS).collect());
}

#[test]
fn an_entry_that_was_written_is_read_as_the_same_entry() {
    for entry in entries() {
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry, "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["entry"], entry.word());
    }
}

#[test]
fn an_entry_of_an_earlier_release_may_lack_what_was_added_since() {
    let lease = "00000000-0000-0000-0000-000000000001";
    for text in [
        format!(
            r#"{{"entry":"step_dispatched","step":0,"attempt":1,"lease":"{lease}","expires_at":9}}"#
        ),
        r#"{"entry":"step_succeeded","step":0,"result":null}"#.to_owned(),
    ] {
        let entry: Entry = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&entry).unwrap(), text);
    }
}

// X-151: the kernel speaks of runs and attempts; "job" is a word of the wires.
#[test]
fn the_kernel_has_no_job() {
    let golden = include_str!("golden/entries.json");
    let statuses = StepStatus::ALL.map(StepStatus::word).into_iter();
    let words = statuses.chain(RunStatus::ALL.map(RunStatus::word)).chain(golden.lines());
    for word in words {
        assert!(!word.contains("job"), "{word}");
    }
}

// D-045: a history that was stored once folds to the same run for ever. It is not written by this
// release: what a later one would decide instead does not matter to it.
#[test]
fn a_stored_history_folds_to_the_run_it_was() {
    let golden = include_str!("golden/history.json");
    let mut stored = World::of(stored_workflow());
    stored.records = serde_json::from_str(golden).unwrap();
    let run = replayed(&stored);
    expect!["failed; a succeeded #2; b timed_out #1; c skipped #0; d succeeded #2; e skipped #0"]
        .assert_eq(&text::status(&run));
    let steps = run.steps.iter().map(shown).collect::<String>();
    let expected = expect![[r#"
        2 Some("{\"id\":7}") None None Some(2025-03-15T00:00:30.000Z) Some(2025-03-15T00:00:30.000Z)
        1 None Some("poll_timed_out") None Some(2025-03-15T00:07:30.000Z) Some(2025-03-15T00:10:30.000Z)
        0 None None Some(Dependency) None Some(2025-03-15T00:10:30.000Z)
        1 Some("{}") None None Some(2025-03-15T00:40:30.000Z) Some(2025-03-15T00:40:30.000Z)
        0 None None Some(Operator) None Some(2025-03-15T00:10:30.000Z)
    "#]];
    expected.assert_eq(&steps);
    assert_eq!((run.version, run.attempt, run.paused), (18, 2, false));
    assert_eq!(*run.outputs, object(json!({ "ticket": 7 })));
    assert_eq!(run.steps[0].params.as_deref(), Some(&json!({ "who": "ada" })));
    assert_eq!(run.steps[1].poll.map(|poll| poll.count), Some(3));
    assert_eq!(run.steps[1].compensation.map(RunId::as_u128), Some(8));
}

/// What a step's history has left of it, on a line.
fn shown(step: &Step) -> String {
    let Step { tries, result, error, skip, dispatched_at, ended_at, .. } = step;
    let code = error.as_ref().map(|error| &error.code);
    let result = result.as_ref().map(ToString::to_string);
    format!("{tries} {result:?} {code:?} {skip:?} {dispatched_at:?} {ended_at:?}\n")
}

fn entries() -> Vec<Entry> {
    let mut entries = entries_of_steps();
    entries.extend(entries_of_ends());
    entries.extend(entries_of_the_run());
    entries.extend(entries_of_what_is_given());
    entries
}

fn entries_of_steps() -> Vec<Entry> {
    let step = StepIndex(3);
    let lease = LeaseId(Uuid::from_u128(1));
    let [soon, later] = [1_741_996_800_000, 1_741_996_860_000].map(Timestamp::from_millis);
    let params = Some(Arc::new(json!({ "who": "ada" })));
    vec![
        Entry::StepCarried { step, result: Arc::new(json!({ "id": 7 })) },
        Entry::StepReadied { step },
        Entry::StepDispatched {
            step,
            attempt: 2,
            lease,
            expires_at: later,
            params,
            kind: Some(Arc::from("greet-ada")),
        },
        Entry::StepDispatched {
            step,
            attempt: 2,
            lease,
            expires_at: later,
            params: None,
            kind: None,
        },
        Entry::AttemptPublished { step },
        Entry::StepAcked { step },
        Entry::LeaseExtended { step, expires_at: later },
        Entry::StepPolling { step, next_at: soon },
        Entry::PollDispatched { step, lease, expires_at: later, wake_at: soon },
        Entry::PollHeld { step, wake_at: later },
        Entry::AttemptFailed { step, error: broken(), retry_at: soon, counted: true },
        Entry::StepHeld { step, error: broken(), not_before: None },
        Entry::StepHeld { step, error: broken(), not_before: Some(later) },
        Entry::StepExpanded { step, items: Arc::new(json!([{ "n": 1 }, "b"])) },
    ]
}

fn entries_of_ends() -> Vec<Entry> {
    let step = StepIndex(3);
    let result = Arc::new(json!({ "id": 7 }));
    vec![
        Entry::StepSucceeded { step, result: Arc::clone(&result), unset: vec!["ticket".into()] },
        Entry::StepSucceeded { step, result, unset: Vec::new() },
        Entry::StepGathered { step, unset: vec!["ticket".into()] },
        Entry::StepGathered { step, unset: Vec::new() },
        Entry::StepFailed { step, error: broken() },
        Entry::StepTimedOut { step, error: broken() },
        Entry::StepCancelled { step },
        Entry::StepSkipped { step, reason: SkipReason::Dependency },
        Entry::StepSkipped { step, reason: SkipReason::Operator },
        Entry::StepSkipped { step, reason: SkipReason::Condition },
        Entry::StepSkipped { step, reason: SkipReason::OtherItem },
        Entry::StepSkipped { step, reason: SkipReason::Superseded },
        Entry::CompensationStarted { step, run: RunId(Uuid::from_u128(2)) },
        operated(OperationKind::Retry),
        operated(OperationKind::Skip),
        operated(OperationKind::MarkSucceeded),
    ]
}

fn entries_of_the_run() -> Vec<Entry> {
    let retry_at = Timestamp::from_millis(1_741_996_800_000);
    vec![
        Entry::RunStarted,
        Entry::GateOpened { gate: "cutover".to_owned() },
        Entry::RunPaused { by: somebody() },
        Entry::RunResumed { by: somebody() },
        Entry::CancelRequested { mode: CancelMode::Drain, by: somebody() },
        Entry::CancelRequested { mode: CancelMode::Immediate, by: somebody() },
        Entry::RunRetryScheduled { retry_at, error: broken() },
        Entry::RunRetried { attempt: 2 },
        Entry::CreditsMoved { movement: CreditState::reserve(Credits::whole(12)) },
        Entry::RunSucceeded,
        Entry::RunFailed { step: StepIndex(3), error: broken() },
        Entry::RunCancelled,
    ]
}

fn entries_of_what_is_given() -> Vec<Entry> {
    let some = |value: Value| Some(Arc::new(object(value)));
    let input = some(json!({ "mail": "ada@example.org" }));
    let special = some(json!({ "_batch_id": 7 }));
    vec![
        Entry::OutputsCarried { outputs: Arc::new(object(json!({ "ticket": 7 }))) },
        Entry::InputRefreshed { input: input.clone(), special: None },
        Entry::InputRefreshed { input: None, special: special.clone() },
        Entry::InputRefreshed { input, special },
        Entry::WorkflowAdopted { workflow: Adopted::named("runbook-member@1:wave", 2) },
    ]
}

fn operated(operation: OperationKind) -> Entry {
    Entry::StepOperated { step: StepIndex(3), operation, by: somebody() }
}

fn broken() -> StepError {
    StepError::new("broken", "the worker broke")
}

fn somebody() -> Act {
    Act::new("operator", "because")
}

/// A number for each kind, without a gap. There is no `_` arm: a new kind does not compile until it
/// has a number, and the test above fails until it has a golden form.
fn place(entry: &Entry) -> usize {
    match entry {
        Entry::RunStarted => 0,
        Entry::StepCarried { .. } => 1,
        Entry::StepReadied { .. } => 2,
        Entry::StepDispatched { .. } => 3,
        Entry::AttemptPublished { .. } => 4,
        Entry::StepAcked { .. } => 5,
        Entry::StepPolling { .. } => 6,
        Entry::PollDispatched { .. } => 7,
        Entry::PollHeld { .. } => 8,
        Entry::AttemptFailed { .. } => 9,
        Entry::StepHeld { .. } => 10,
        Entry::StepSucceeded { .. } => 11,
        Entry::StepFailed { .. } => 12,
        Entry::StepTimedOut { .. } => 13,
        Entry::StepCancelled { .. } => 14,
        Entry::StepSkipped { .. } => 15,
        Entry::CompensationStarted { .. } => 16,
        Entry::GateOpened { .. } => 17,
        Entry::RunPaused { .. } => 18,
        Entry::RunResumed { .. } => 19,
        Entry::CancelRequested { .. } => 20,
        Entry::StepOperated { .. } => 21,
        Entry::RunRetryScheduled { .. } => 22,
        Entry::RunRetried { .. } => 23,
        Entry::RunSucceeded => 24,
        Entry::RunFailed { .. } => 25,
        Entry::RunCancelled => 26,
        Entry::StepExpanded { .. } => 27,
        Entry::StepGathered { .. } => 28,
        Entry::OutputsCarried { .. } => 29,
        Entry::InputRefreshed { .. } => 30,
        Entry::WorkflowAdopted { .. } => 31,
        Entry::LeaseExtended { .. } => 32,
        Entry::CreditsMoved { .. } => 33,
    }
}

/// What the stored history was a run of.
fn stored_workflow() -> Workflow {
    let outputs = [("ticket".to_owned(), "id".to_owned())].into();
    let params = Some(json!({ "who": "{{name}}" }));
    let steps = vec![
        StepSpec { outputs, params, ..step("a") },
        after(&[0], undone(polled("b"))),
        after(&[1], step("c")),
        after(&[0], behind("go", once("d"))),
        after(&[3], step("e")),
    ];
    Workflow {
        run_retry: Some(RetryPolicy::fixed(2, minutes(30))),
        compensations: [("undo".to_owned(), vec![step("revert")])].into(),
        ..graph(steps)
    }
}
