//! The way of a member that has followed several versions of its runbook.

use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;
use stepwell_core::batch::Timeline;
use stepwell_core::definition::Workflow;
use stepwell_core::id::{PhaseId, StepIndex};
use stepwell_dialects::runbooks::compile::{Origin, Sequence, chain, of_versioned, versioned};
use stepwell_dialects::runbooks::{Runbook, compile};

use super::{HEAD, MAILBOXES, reading, runbook};

/// Ids of the steps with their gates and what undoes them, and the names of all rollbacks.
fn shown(workflow: &Workflow) -> String {
    let mut text = format!("{} v{}\n", workflow.name, workflow.version);
    for step in &workflow.steps {
        let after: Vec<String> = step.after.iter().map(|before| before.0.to_string()).collect();
        let undo = step.on_failure.as_deref().unwrap_or("nothing");
        let (id, gate) = (&step.id, step.gate.as_deref().unwrap_or("no gate"));
        writeln!(text, "  {id} behind {gate} after [{}] or {undo}", after.join(", ")).unwrap();
    }
    let names: Vec<&str> = workflow.compensations.keys().map(String::as_str).collect();
    writeln!(text, "undo {}", names.join(", ")).unwrap();
    text
}

// A-107, A-125: versions stand side by side, and a step is undone as its own version says.
#[test]
fn a_member_that_goes_over_to_a_newer_version_has_the_phases_of_both_on_its_way() {
    let old = "phases:
- {name: prepare, offset: T-1d, steps: [{name: s, worker_id: w, function: F, on_failure: undo}]}
rollbacks: {undo: [{name: u, worker_id: w, function: Undo}]}
";
    let new = "phases:
- {name: prepare, offset: T-2d, steps: [{name: s, worker_id: w, function: G, on_failure: undo}]}
- {name: cutover, offset: T-0, steps: [{name: t, worker_id: w, function: H}]}
rollbacks: {undo: [{name: u, worker_id: w, function: UndoBetter}]}
";
    let [old, new] = [old, new].map(|text| reading(&format!("{HEAD}{text}")).runbook);
    let workflow = chain(&[(&old, 1), (&new, 4)]);
    expect![[r#"
        runbook-member@1:a v4
          prepare@1/s behind prepare@1 after [] or undo@1
          prepare@4/s behind prepare@4 after [0] or undo@4
          cutover@4/t behind cutover@4 after [1] or nothing
        undo undo@1, undo@4
    "#]]
    .assert_eq(&shown(&workflow));
    assert_eq!(workflow.compensations["undo@1"][0].kind, "Undo");
    assert_eq!(workflow.compensations["undo@4"][0].kind, "UndoBetter");
}

#[test]
fn a_chain_of_one_version_is_the_way_of_that_version() {
    let mailboxes = runbook(MAILBOXES);
    assert_eq!(chain(&[(&mailboxes, 3)]), compile(&mailboxes, 3).member);
}

#[test]
fn the_name_of_a_chain_says_which_versions_it_is_made_of() {
    for name in ["wave", "wave@1", "1,2:wave", "@1:", "runbook-member@1:x"] {
        for earlier in [vec![], vec![1], vec![1, 2, 30]] {
            let workflow = Sequence::chain_name(name, &earlier);
            let origin = Origin { sequence: Sequence::Member, runbook: name, earlier };
            assert_eq!(Sequence::of_workflow_name(&workflow), Some(origin), "{workflow}");
        }
    }
    for wrong in
        ["runbook-member@:a", "runbook-member@1", "runbook-member@01:a", "runbook-member@0:a"]
    {
        assert_eq!(Sequence::of_workflow_name(wrong), None, "{wrong}");
    }
}

#[test]
fn the_name_of_a_gate_says_its_phase_and_version() {
    for name in ["cutover", "a@b", "a@1", "@"] {
        assert_eq!(of_versioned(&versioned(name, 12)), Some((name, 12)));
    }
    assert_eq!(of_versioned("cutover"), None);
    assert_eq!(of_versioned("cutover@+1"), None);
}

// A-020, A-062: what a batch is told of a version is what its members run.
#[test]
fn a_batch_is_given_the_phases_of_its_members() {
    let compiled = compile(&runbook(MAILBOXES), 3);
    let Timeline { version, has_init, phases } = compiled.timeline(PhaseId(70));
    assert_eq!((version, has_init), (3, compiled.init.is_some()));
    let told: Vec<(i64, &str, &str, i32, u16)> = phases
        .iter()
        .map(|it| (it.id.0, it.name.as_str(), it.gate.as_str(), it.offset_minutes, it.steps))
        .collect();
    assert_eq!(
        told,
        [
            (70, "pre-notification", "pre-notification@3", 7_200, 1),
            (71, "prepare", "prepare@3", 240, 1),
            (72, "cutover", "cutover@3", 0, 1),
        ]
    );
    for (phase, told) in compiled.phases.iter().zip(&phases) {
        let gate = &compiled.member.steps[phase.first_step.position()].gate;
        assert_eq!(gate.as_ref(), Some(&told.gate));
    }
}

/// Versions of one runbook: for each phase of each version how many steps it has.
fn versions() -> impl Strategy<Value = Vec<Runbook>> {
    let phases = prop::collection::vec(1..4_usize, 1..4);
    prop::collection::vec(phases, 1..5).prop_map(|versions| {
        versions.iter().map(|phases| reading(&document(phases)).runbook).collect()
    })
}

fn document(phases: &[usize]) -> String {
    let mut text = format!("{HEAD}phases:\n");
    for (number, count) in phases.iter().enumerate() {
        let step = "{name: s, worker_id: w, function: F, on_failure: undo}";
        let steps = vec![step; *count].join(", ");
        writeln!(text, "- {{name: p{number}, offset: T-{}h, steps: [{steps}]}}", 9 - number)
            .unwrap();
    }
    text + "rollbacks: {undo: [{name: u, worker_id: w, function: Undo}]}\n"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // A-125, X-073: what a member has done keeps its place when a newer version comes.
    #[test]
    fn a_longer_chain_begins_with_the_steps_of_every_shorter_one(books in versions()) {
        let versions: Vec<(&Runbook, u32)> = books.iter().zip(1..).collect();
        let longest = chain(&versions);
        for count in 1..=versions.len() {
            let shorter = chain(&versions[..count]);
            prop_assert!(longest.steps.starts_with(&shorter.steps));
            for (name, steps) in &shorter.compensations {
                prop_assert_eq!(longest.compensations.get(name), Some(steps));
            }
        }
        let mut ids: Vec<&str> = longest.steps.iter().map(|step| step.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), longest.steps.len(), "no two steps share an id");
        for (position, step) in longest.steps.iter().enumerate().skip(1) {
            prop_assert_eq!(&step.after, &vec![StepIndex::at(position - 1)]);
            let undo = step.on_failure.as_ref().unwrap();
            prop_assert!(longest.compensations.contains_key(undo));
        }
    }
}
