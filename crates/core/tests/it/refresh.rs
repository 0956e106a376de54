//! What a run was given changes at its source while the run is under way.

use std::sync::Arc;

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::Command;
use stepwell_core::definition::{CancelMode, StepSpec, Workflow};
use stepwell_core::effect::Effect;

use crate::replay::replayed;
use crate::world::{World, cancel, chained, graph, object, sequence, step, undone};

fn refresh(input: Value) -> Command {
    Command::Refresh { input: Some(object(input)), special: None }
}

/// A step that is given the name of the run's input and the id of its batch.
fn told(id: &str) -> StepSpec {
    let params = json!({ "who": "{{name}}", "batch": "{{_run_id}}" });
    StepSpec { params: Some(params), ..step(id) }
}

// A-048, A-075, X-034: later steps see fresh values; what was sent stays what it was.
#[test]
fn a_step_that_begins_later_is_given_the_fresh_values() {
    let mut world = World::started(sequence([told("a"), told("b")]));
    world.check(
        refresh(json!({ "name": "grace" })),
        expect![[r#"input_refreshed input={"name":"grace"}"#]],
    );
    let sent = |world: &World, id: &str| world.step(id).params.as_deref().cloned();
    assert_eq!(sent(&world, "a"), Some(json!({ "who": "ada", "batch": "r-1" })));
    // Another attempt is the same work, so it is given the same (X-034).
    world.does(world.failed("a"));
    world.wakes();
    assert_eq!(sent(&world, "a"), Some(json!({ "who": "ada", "batch": "r-1" })));
    world.does(world.succeeded("a"));
    assert_eq!(sent(&world, "b"), Some(json!({ "who": "grace", "batch": "r-1" })));
}

// X-040: the start of a manual batch becomes known when a person first moves it on.
#[test]
fn a_special_variable_may_become_known_on_the_way() {
    let start = StepSpec { params: Some(json!("{{_batch_start_time}}")), ..step("b") };
    let mut world = World::started(sequence([step("a"), start]));
    let special = object(json!({ "_run_id": "r-1", "_batch_start_time": "2025-03-15T00:00:00Z" }));
    world.does(Command::Refresh { input: None, special: Some(special) });
    world.does(world.succeeded("a"));
    let params = world.step("b").params.as_deref();
    assert_eq!(params, Some(&json!("2025-03-15T00:00:00Z")));
    assert_eq!(world.run.header.input["name"], "ada", "the input stays as it was");
}

#[test]
fn values_that_are_as_they_were_change_nothing() {
    let mut world = World::started(sequence([step("a")]));
    let before = world.run.clone();
    world.check(refresh(json!({ "name": "ada", "count": 3 })), expect!["nothing"]);
    world.check(Command::Refresh { input: None, special: None }, expect!["nothing"]);
    assert!(Arc::ptr_eq(&before.header, &world.run.header), "nothing need be stored again");
    assert_eq!(before, world.run);
}

// A-108: a rollback is given the member's data as they are now.
#[test]
fn what_undoes_a_step_is_given_the_fresh_values() {
    let compensations = [("undo".to_owned(), vec![step("revert")])].into();
    let steps = chained(vec![undone(step("a"))]);
    let mut world = World::started(Workflow { compensations, ..graph(steps) });
    world.does(refresh(json!({ "name": "grace" })));
    let decision = world.does(world.failed_for_good("a"));
    let undo = decision.effects.iter().find_map(|effect| match effect {
        Effect::StartRun(header) => Some(header),
        _ => None,
    });
    assert_eq!(undo.unwrap().input["name"], "grace");
}

#[test]
fn a_run_that_has_ended_is_not_refreshed() {
    let mut world = World::started(sequence([step("a")]));
    world.does(cancel(CancelMode::Immediate));
    world.check(
        refresh(json!({ "name": "grace" })),
        expect!["refused: the run has ended as cancelled"],
    );
}

// D-045: the header that is stored has the newest values, and the history ends at them.
#[test]
fn a_history_with_fresh_values_folds_to_the_same_run() {
    let mut world = World::started(sequence([told("a"), told("b")]));
    for name in ["grace", "ada", "mary"] {
        world.does(refresh(json!({ "name": name })));
        assert_eq!(replayed(&world), world.run);
    }
}
