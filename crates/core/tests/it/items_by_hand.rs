//! A person overrides items, or the step they belong to; a new run takes finished items over.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::Operation::{MarkSucceeded, Retry, Skip};
use stepwell_core::command::{Carried, Command};
use stepwell_core::definition::StepSpec;
use stepwell_core::expansion::Expansion;
use stepwell_core::id::StepIndex;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{SkipReason, StepStatus};

use crate::world::{
    World, at_once, behind, chained, for_each, graph, once, open_gate, operate, report, sequence,
    step, success,
};

/// `a` for x, y and z.
fn three() -> StepSpec {
    for_each(json!(["x", "y", "z"]), step("a"))
}

fn items(world: &World) -> &Expansion {
    world.run.expansion(StepIndex(0)).expect("a was expanded")
}

#[test]
fn a_person_may_retry_skip_and_complete_a_single_item() {
    let mut world = World::started(sequence([three()]));
    world.does(world.failed("a[0]"));
    world.check(
        operate("a[0]", Retry),
        expect![[r#"
            step_operated a[0] operation=retry
            step_dispatched a[0] attempt=2 expires_at=+15m lease=4
            -> publish a[0] attempt=2 lease=4"#]],
    );
    world.does(operate("a[0]", Skip));
    world.does(operate("a[1]", MarkSucceeded { result: json!(7) }));
    world.does(world.succeeded("a[2]"));
    assert_eq!(*world.run.result(StepIndex(0)).unwrap(), json!([null, 7, {}]));
    assert_eq!(world.run.status, RunStatus::Succeeded);
    for unknown in ["a[3]", "a[03]", "a[+1]", "a[]", "b[0]", "a[1", "[1]"] {
        let refused = world.run.step_named(unknown);
        assert_eq!(refused, None, "{unknown}");
    }
}

#[test]
fn an_item_that_waits_for_its_turn_may_be_settled_and_is_passed_over_then() {
    let mut world = World::started(sequence([at_once(1, three())]));
    world.check(
        operate("a[1]", Retry),
        expect!["refused: no attempt of the step is under way; it is waiting"],
    );
    world.does(operate("a[1]", Skip));
    world.does(world.succeeded("a[0]"));
    assert_eq!(world.step("a[2]").status, StepStatus::Dispatched);
}

// A person who overrides the step overrides all of its items.
#[test]
fn a_person_may_take_the_whole_step_over() {
    let mut world = World::started(sequence([three(), step("b")]));
    world.does(world.succeeded("a[0]"));
    world.check(
        operate("a", MarkSucceeded { result: json!([1, 2, 3]) }),
        expect![[r#"
            step_operated a operation=mark_succeeded
            step_cancelled a[1]
            step_cancelled a[2]
            step_succeeded a result=[1,2,3]
            step_dispatched b attempt=1 expires_at=+15m lease=4
            -> withdraw a[1] attempt=1 lease=2
            -> withdraw a[2] attempt=1 lease=3
            -> publish b attempt=1 lease=4"#]],
    );
    let mut skipped = World::started(sequence([three(), step("b")]));
    skipped.does(operate("a", Skip));
    assert_eq!(skipped.step("a").skip, Some(SkipReason::Operator));
    assert_eq!(skipped.step("b").status, StepStatus::Dispatched);
}

#[test]
fn a_retry_of_the_step_tries_the_items_that_rest_and_leaves_the_others_to_their_workers() {
    let mut world = World::started(sequence([three()]));
    world.does(world.failed("a[0]"));
    world.does(world.failed("a[2]"));
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a[0] operation=retry
            step_dispatched a[0] attempt=2 expires_at=+15m lease=4
            step_operated a[2] operation=retry
            step_dispatched a[2] attempt=2 expires_at=+15m lease=5
            -> publish a[0] attempt=2 lease=4
            -> publish a[2] attempt=2 lease=5"#]],
    );
    world.check(operate("a", Retry), expect!["nothing"]);
}

#[test]
fn nobody_reports_on_the_step_itself_and_an_answer_for_one_item_does_not_touch_another() {
    let mut world = World::started(sequence([three()]));
    let fence = world.fence("a[0]");
    world.check(
        report("a", fence, success(json!({}))),
        expect!["refused: no attempt of the step is under way; it is expanded"],
    );
    world.check(
        report("a[1]", fence, success(json!({}))),
        expect!["refused: the lease is not the one of attempt 1"],
    );
}

#[test]
fn a_new_run_takes_over_the_items_that_an_earlier_one_has_finished() {
    let done = |result: Value| Some(result.into());
    let carried = vec![Carried::Items {
        step: StepIndex(0),
        items: json!(["x", "y", "z"]).into(),
        results: vec![done(json!({ "id": 1 })), None, done(json!({ "id": 3 }))],
    }];
    let mut world = World::of(sequence([for_each(json!("{{list}}"), step("a"))]));
    world.check(
        Command::Start { carried: carried.clone() },
        expect![[r#"
            run_started
            step_expanded a items=["x","y","z"]
            step_carried a[0] result={"id":1}
            step_carried a[2] result={"id":3}
            step_dispatched a[1] attempt=1 expires_at=+15m lease=1 params=y
            -> publish a[1] attempt=1 lease=1"#]],
    );
    world.does(world.reported("a[1]", success(json!({ "id": 2 }))));
    assert_eq!(
        *world.run.result(StepIndex(0)).unwrap(),
        json!([{ "id": 1 }, { "id": 2 }, { "id": 3 }])
    );

    let mut behind_gate = World::of(sequence([behind("go", three())]));
    behind_gate.does(Command::Start { carried: carried.clone() });
    assert_eq!(items(&behind_gate).waiting, 1, "its turn has not come");
    assert_eq!(behind_gate.run.waiting_for(StepIndex(0)), Some("gate"));
    behind_gate.does(open_gate("go"));
    assert_eq!(items(&behind_gate).under_way, 1);
}

#[test]
fn items_taken_over_are_passed_over_when_what_their_step_needs_fails_this_time() {
    let steps = chained(vec![once("first"), three()]);
    let mut world = World::of(graph(steps));
    world.does(Command::Start {
        carried: vec![Carried::Items {
            step: StepIndex(1),
            items: json!(["x", "y"]).into(),
            results: vec![Some(json!(1).into()), None],
        }],
    });
    assert_eq!(world.run.waiting_for(StepIndex(1)), Some("steps"));
    world.check(
        world.failed_for_good("first"),
        expect![[r#"
            step_failed first error=broken
            step_skipped a[1] reason=dependency
            step_skipped a reason=dependency
            run_failed first error=broken
            -> withdraw first attempt=1 lease=1
            -> ended failed"#]],
    );
}
