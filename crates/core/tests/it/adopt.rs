//! A member's run goes over to a newer version of its runbook.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::{Adopted, Carried, Command, Operation};
use stepwell_core::definition::{CancelMode, FailureMode, StepSpec, Workflow};
use stepwell_core::explain::explain;
use stepwell_core::invariant;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::SkipReason;

use crate::replay::replayed;
use crate::world::{
    World, behind, cancel, chained, for_each, graph, open_gate, operate, pause, resume, sequence,
    step,
};

/// The way of a member: steps `gate/n` one after another, each gate with its count of steps.
fn way(version: u32, gates: &[(&str, usize)]) -> Workflow {
    let in_gate = |(gate, count): &(&str, usize)| -> Vec<StepSpec> {
        (1..=*count).map(|n| behind(gate, step(&format!("{gate}/{n}")))).collect()
    };
    let steps = chained(gates.iter().flat_map(in_gate).collect());
    Workflow { version, failure: FailureMode::CancelRest, ..graph(steps) }
}

fn adopt(workflow: Workflow, superseded: &[&str], skipped: &[&str]) -> Command {
    let names = |gates: &[&str]| gates.iter().map(|gate| (*gate).to_owned()).collect();
    Command::Adopt {
        workflow: Adopted::of(Arc::new(workflow)),
        superseded: names(superseded),
        skipped: names(skipped),
    }
}

/// Two phases of the first version, the first of them under way; and its second version.
fn under_way() -> (World, Workflow) {
    let mut world = World::started(way(1, &[("p@1", 1), ("q@1", 1)]));
    world.does(open_gate("p@1"));
    (world, way(2, &[("p@1", 1), ("q@1", 1), ("p@2", 1), ("q@2", 1)]))
}

// A-125, X-073: what was under way ends under its version; what had not begun is replaced.
#[test]
fn a_phase_under_way_ends_and_the_newer_version_comes_after_it() {
    let (mut world, newer) = under_way();
    world.check(
        adopt(newer, &["q@1"], &["p@2"]),
        expect![[r#"
            workflow_adopted workflow={"name":"sample","version":2}
            step_skipped q@1/1 reason=superseded
            step_skipped p@2/1 reason=superseded"#]],
    );
    assert_eq!(world.run.header.workflow.version, 2);
    invariant::check(&world.run).unwrap();
    // X-063: it does not overtake what is still under way.
    world.check(open_gate("q@2"), expect!["gate_opened gate=q@2"]);
    let told = explain(&world.run, world.now);
    assert_eq!(told.waits[1].reason, r#"waits for "p@1/1""#);
    world.check(
        world.succeeded("p@1/1"),
        expect![[r#"
            step_succeeded p@1/1 result={}
            step_dispatched q@2/1 attempt=1 expires_at=+15m lease=2
            -> withdraw p@1/1 attempt=1 lease=1
            -> publish q@2/1 attempt=1 lease=2"#]],
    );
}

// X-073, X-018: with `rerun`, what is under way is taken back first.
#[test]
fn a_phase_that_is_done_again_is_taken_back_from_its_worker() {
    let (mut world, newer) = under_way();
    world.does(open_gate("q@1"));
    world.check(
        adopt(newer, &["p@1", "q@1"], &[]),
        expect![[r#"
            workflow_adopted workflow={"name":"sample","version":2}
            step_skipped p@1/1 reason=superseded
            step_skipped q@1/1 reason=superseded
            -> withdraw p@1/1 attempt=1 lease=1"#]],
    );
    world.does(open_gate("p@2"));
    world.check_status(expect![
        "running; p@1/1 skipped #1; q@1/1 skipped #0; p@2/1 dispatched #1; q@2/1 waiting #0"
    ]);
}

#[test]
fn asking_again_changes_nothing() {
    let (mut world, newer) = under_way();
    world.does(adopt(newer.clone(), &["q@1"], &[]));
    world.check(adopt(newer, &["q@1"], &[]), expect!["nothing"]);
    world.check(adopt(way(1, &[("p@1", 1)]), &["p@1"], &[]), expect!["nothing"]);
    let named = Adopted::named("sample", 2);
    let again = Command::Adopt { workflow: named, superseded: vec![], skipped: vec![] };
    world.check(again, expect!["nothing"]);
}

// A-064: whoever has ended stays as it ended.
#[test]
fn a_run_that_has_ended_follows_no_newer_version() {
    let (mut world, newer) = under_way();
    world.does(world.failed_for_good("p@1/1"));
    world.check(adopt(newer, &[], &[]), expect!["refused: the run has ended as failed"]);
    assert_eq!(world.run.steps.len(), 2);
}

#[test]
fn a_run_that_is_being_stopped_is_given_no_further_steps() {
    let (mut world, newer) = under_way();
    world.does(cancel(CancelMode::Drain));
    world.check(adopt(newer, &[], &[]), expect!["refused: the run is being cancelled"]);
}

#[test]
fn only_a_workflow_that_begins_with_the_same_steps_is_followed() {
    let (mut world, _) = under_way();
    let other = way(2, &[("p@1", 2), ("q@1", 1)]);
    let refused = world.asks(&adopt(other, &[], &[])).unwrap_err();
    assert!(
        refused.to_string().contains("the steps that it has now are not the first"),
        "{refused}"
    );
    let no_longer = way(2, &[("p@1", 1), ("q@1", 1)]);
    assert!(matches!(world.asks(&adopt(no_longer, &[], &[])), Err(Refusal::NotAdoptable { .. })));
    let named = Adopted::named("sample", 2);
    let unknown = Command::Adopt { workflow: named, superseded: vec![], skipped: vec![] };
    world.check(
        unknown,
        expect!["refused: workflow sample version 2 was named without its definition; this is a fault of the engine"],
    );
}

#[test]
fn items_keep_their_places_so_a_run_with_items_is_given_no_further_steps() {
    let list = for_each(json!([1, 2]), step("a"));
    let mut world = World::started(sequence([list.clone()]));
    let newer = Workflow { version: 2, ..sequence([list, step("b")]) };
    world.check(
        adopt(newer, &[], &[]),
        expect!["refused: the run cannot follow workflow sample version 2: its items stand where the new steps would"],
    );
}

#[test]
fn a_paused_run_follows_the_newer_version_when_it_goes_on() {
    let (mut world, newer) = under_way();
    world.does(pause());
    world.does(adopt(newer, &["p@1", "q@1"], &[]));
    world.does(open_gate("p@2"));
    world.check_status(expect![
        "running; p@1/1 skipped #1; q@1/1 skipped #0; p@2/1 ready #0; q@2/1 waiting #0"
    ]);
    world.does(resume());
    assert!(world.step("p@2/1").is_in_flight());
}

// A-113: nobody who joined late has gates of a version that it never followed.
#[test]
fn gates_that_the_run_does_not_have_are_passed_by() {
    let mut world = World::started(way(2, &[("p@2", 1)]));
    let newer = way(3, &[("p@2", 1), ("p@3", 1)]);
    world.does(adopt(newer, &["p@1", "p@2"], &[]));
    assert_eq!(world.step("p@2/1").skip, Some(SkipReason::Superseded));
}

#[test]
fn a_run_whose_every_step_is_passed_over_has_ended_well() {
    let (mut world, newer) = under_way();
    world.does(adopt(newer, &["p@1", "q@1"], &["p@2", "q@2"]));
    assert_eq!(world.run.status, RunStatus::Succeeded);
}

// D-045: a stored header has the longest workflow; the history folds to the same run with it, and
// also with the header that the run began with.
#[test]
fn a_history_with_a_newer_version_folds_to_the_same_run() {
    let (mut world, newer) = under_way();
    let began_with = Run::new(Arc::new(stepwell_core::run::Header {
        workflow: Arc::new(way(1, &[("p@1", 1), ("q@1", 1)])),
        ..(*world.run.header).clone()
    }));
    world.does(adopt(newer, &["q@1"], &["p@2"]));
    world.does(world.succeeded("p@1/1"));
    world.does(open_gate("q@2"));
    world.does(operate("q@2/1", Operation::Skip));
    let mut folded = began_with;
    for record in &world.records {
        stepwell_core::evolve::replay(&mut folded, record);
    }
    assert_eq!(folded, world.run);
    let text = serde_json::to_string(&world.records).unwrap();
    world.records = serde_json::from_str(&text).unwrap();
    assert_eq!(replayed(&world), world.run);
}

fn joins(carried: Vec<Carried>) -> World {
    let mut world = World::of(way(2, &[("p@2", 1), ("q@2", 1), ("r@2", 1)]));
    world.does(Command::Start { carried });
    world
}

fn open(gate: &str) -> Carried {
    Carried::Open { gate: gate.to_owned() }
}

fn skip(gate: &str) -> Carried {
    Carried::Skip { gate: gate.to_owned() }
}

// A-113, A-114, X-065: what has begun for the others begins at once, in order; what was passed over
// is passed over; what is to come is waited for.
#[test]
fn a_late_joiner_finds_open_what_has_begun() {
    let mut late = joins(vec![skip("p@2"), open("q@2")]);
    late.check_status(expect!["running; p@2/1 skipped #0; q@2/1 dispatched #1; r@2/1 waiting #0"]);
    late.does(late.succeeded("q@2/1"));
    late.check_status(expect!["running; p@2/1 skipped #0; q@2/1 succeeded #1; r@2/1 waiting #0"]);
    let catching_up = joins(vec![open("p@2"), open("q@2")]);
    catching_up
        .check_status(expect!["running; p@2/1 dispatched #1; q@2/1 waiting #0; r@2/1 waiting #0"]);
}

// A-116: whatever is said twice holds once.
#[test]
fn a_gate_that_was_open_from_the_start_is_not_opened_again() {
    let mut late = joins(vec![open("p@2"), open("p@2"), skip("q@2"), skip("q@2")]);
    late.check(open_gate("p@2"), expect!["nothing"]);
    assert_eq!(replayed(&late), late.run);
    let mut world = World::of(way(1, &[("p@1", 1)]));
    world.check(
        Command::Start { carried: vec![open("x@1")] },
        expect![[r#"refused: the run has no gate "x@1""#]],
    );
    world.check(
        Command::Start { carried: vec![skip("x@1")] },
        expect![[r#"refused: the run has no gate "x@1""#]],
    );
}

// A-076, A-077: what earlier steps have set is there for the later ones, in another run too.
#[test]
fn a_run_may_begin_with_the_outputs_of_an_earlier_one() {
    let params = Some(json!({ "ticket": "{{ticket}}" }));
    let mut world = World::of(sequence([StepSpec { params, ..step("a") }]));
    let outputs = crate::world::object(json!({ "ticket": 7 }));
    let carried =
        vec![Carried::Outputs { outputs }, Carried::Outputs { outputs: Default::default() }];
    world.check(
        Command::Start { carried },
        expect![[r#"
            run_started
            outputs_carried outputs={"ticket":7}
            step_dispatched a attempt=1 expires_at=+15m lease=1 params={"ticket":7}
            -> publish a attempt=1 lease=1"#]],
    );
    assert_eq!(replayed(&world), world.run);
}
