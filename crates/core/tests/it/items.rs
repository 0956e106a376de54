//! Steps that are done once for each item of a list.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::command::Command;
use stepwell_core::definition::{CancelMode, FailureMode, ForEach, StepSpec, Workflow};
use stepwell_core::expansion::Expansion;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use crate::world::{
    World, after, at_once, cancel, for_each, graph, minutes, once, pause, polled, resume, sequence,
    start, step, success, undone, when,
};

/// `a` for x, y and z, then `b`.
fn three() -> StepSpec {
    for_each(json!(["x", "y", "z"]), step("a"))
}

fn items(world: &World) -> &Expansion {
    world.run.expansion(StepIndex(0)).expect("a was expanded")
}

// B-021, X-112: one item for each element, all under way together, each with its own attempt, lease
// and params; the step succeeds with the last of them, and what comes after it goes on.
#[test]
fn each_element_of_a_list_becomes_an_item_and_the_step_ends_with_the_last() {
    let a = StepSpec {
        params: Some(json!({ "of": "{{item}}", "at": "{{_item_index}}" })),
        kind: "make-{{item}}".to_owned(),
        outputs: [("sizes".to_owned(), "size".to_owned())].into(),
        ..for_each(json!(["x", "{{name}}"]), step("a"))
    };
    let b = StepSpec { params: Some(json!("{{sizes}}")), ..step("b") };
    let mut world = World::of(sequence([a, b]));
    world.check(
        start(),
        expect![[r#"
            run_started
            step_expanded a items=["x","ada"]
            step_dispatched a[0] attempt=1 expires_at=+15m kind=make-x lease=1 params={"at":0,"of":"x"}
            step_dispatched a[1] attempt=1 expires_at=+15m kind=make-ada lease=2 params={"at":1,"of":"ada"}
            -> publish a[0] attempt=1 lease=1
            -> publish a[1] attempt=1 lease=2"#]],
    );
    world.does(world.acked("a[1]"));
    world.check(
        world.reported("a[1]", success(json!({ "size": 5 }))),
        expect![[r#"
            step_succeeded a[1] result={"size":5}
            -> withdraw a[1] attempt=1 lease=2"#]],
    );
    world.check(
        world.reported("a[0]", success(json!({ "size": 3 }))),
        expect![[r#"
            step_succeeded a[0] result={"size":3}
            step_gathered a
            step_dispatched b attempt=1 expires_at=+15m lease=3 params=[3,5]
            -> withdraw a[0] attempt=1 lease=1
            -> publish b attempt=1 lease=3"#]],
    );
    let result = world.run.result(StepIndex(0)).unwrap();
    assert_eq!(*result, json!([{ "size": 3 }, { "size": 5 }]));
}

// B-021: the list may come from the input or from a step before; without params a worker gets the item.
#[test]
fn a_list_may_come_from_an_earlier_step_and_an_item_without_params_is_the_element() {
    let lists =
        StepSpec { outputs: [("found".to_owned(), "found".to_owned())].into(), ..step("l") };
    let mut world = World::started(sequence([lists, for_each(json!("{{found}}"), step("a"))]));
    world.does(world.reported("l", success(json!({ "found": [{ "id": 7 }, null] }))));
    assert_eq!(world.step("a[0]").params.as_deref(), Some(&json!({ "id": 7 })));
    assert_eq!(world.step("a[1]").params.as_deref(), Some(&Value::Null));
    world.does(world.succeeded("a[0]"));
    world.does(world.reported("a[1]", success(json!(4))));
    assert_eq!(*world.run.result(StepIndex(1)).unwrap(), json!([{}, 4]));
    assert_eq!(world.run.status, RunStatus::Succeeded);
}

#[test]
fn an_empty_list_succeeds_at_once() {
    let a = StepSpec {
        outputs: [("ids".to_owned(), "id".to_owned())].into(),
        ..for_each(json!([]), step("a"))
    };
    let mut world = World::of(sequence([a]));
    world.check(
        start(),
        expect![[r#"
            run_started
            step_expanded a items=[]
            step_gathered a
            run_succeeded
            -> ended succeeded"#]],
    );
    assert_eq!(*world.run.result(StepIndex(0)).unwrap(), json!([]));
    assert_eq!(world.run.outputs["ids"], json!([]));
}

// X-039: an output that no item's result held is told; one that some held has null for the others.
#[test]
fn outputs_are_lists_with_null_where_an_item_has_none() {
    let a = StepSpec {
        outputs: [("ids".to_owned(), "id".to_owned()), ("no".to_owned(), "no".to_owned())].into(),
        ..for_each(json!([1, 2]), step("a"))
    };
    let mut world = World::started(sequence([a]));
    world.does(world.reported("a[0]", success(json!({ "id": 7 }))));
    world.check(
        world.succeeded("a[1]"),
        expect![[r#"
            step_succeeded a[1] result={}
            step_gathered a unset=["no"]
            run_succeeded
            -> withdraw a[1] attempt=1 lease=2
            -> ended succeeded"#]],
    );
    assert_eq!(*world.run.outputs, *json!({ "ids": [7, null] }).as_object().unwrap());
}

// X-112: a list that is none, is missing or is too long fails the step at once and says so.
#[test]
fn a_step_whose_list_cannot_be_used_fails_at_once() {
    let error = |list: Value, items_max: u16| {
        let list = Some(ForEach { list, items_max, parallel_max: None });
        let mut world = World::of(sequence([StepSpec { for_each: list, ..step("a") }, step("b")]));
        world.does(start());
        assert_eq!(world.run.steps.len(), 2, "no item was made");
        assert_eq!(world.step("b").status, StepStatus::Skipped);
        let error = world.run.error.clone().unwrap();
        format!("{}: {}", error.code, error.message)
    };
    expect!["for_each_not_a_list: for_each needs a list, and was given a text"]
        .assert_eq(&error(json!("{{name}}"), 10));
    expect!["for_each_too_many: for_each was given 3 items; this step may have 2"]
        .assert_eq(&error(json!([1, 2, 3]), 2));
    expect!["for_each_too_many: for_each was given 10001 items; this step may have 10000"]
        .assert_eq(&error((0..10_001).collect(), u16::MAX));
    expect!["template_unresolved: unresolved: nowhere; there is no such column, output or special variable"]
        .assert_eq(&error(json!("{{nowhere}}"), 10));
}

#[test]
fn a_run_has_an_end_of_positions_too() {
    let wide = |id: &str| {
        let list =
            Some(ForEach { list: (0..10_000).collect(), items_max: 10_000, parallel_max: Some(1) });
        StepSpec { for_each: list, ..step(id) }
    };
    let steps = ["a", "b", "c", "d", "e", "f", "g"].map(wide).to_vec();
    let world = World::started(graph(steps));
    assert_eq!(world.run.steps.len(), 60_007);
    assert_eq!(world.step("f").status, StepStatus::Expanded);
    expect!["for_each was given 10000 items; with them the run would have more than 65535 steps and items"]
        .assert_eq(&world.step("g").error.as_ref().unwrap().message);
}

// B-021: no more items are under way than may be; one that rests keeps its place.
#[test]
fn items_begin_in_order_as_others_end() {
    let mut world = World::started(sequence([at_once(2, three())]));
    world.check_status(expect![
        "running; a expanded #0; a[0] dispatched #1; a[1] dispatched #1; a[2] waiting #0"
    ]);
    world.check(
        world.failed("a[0]"),
        expect![[r#"
            attempt_failed a[0] counted=true error=broken retry_at=+30s
            -> withdraw a[0] attempt=1 lease=1"#]],
    );
    world.check(
        world.succeeded("a[1]"),
        expect![[r#"
            step_succeeded a[1] result={}
            step_dispatched a[2] attempt=1 expires_at=+15m lease=3 params=z
            -> withdraw a[1] attempt=1 lease=2
            -> publish a[2] attempt=1 lease=3"#]],
    );
    world.wakes();
    world.check_status(expect![
        "running; a expanded #0; a[0] dispatched #2; a[1] succeeded #1; a[2] dispatched #1"
    ]);
}

// X-111: an item that failed for good fails the step once, after what is under way has ended; what has
// not begun is passed over, and what depends on the step is skipped.
#[test]
fn an_item_that_failed_for_good_fails_the_step_when_the_others_have_ended() {
    let mut workflow = sequence([undone(at_once(2, three())), step("b")]);
    workflow.compensations = [("undo".to_owned(), vec![step("revert")])].into();
    let mut world = World::started(workflow);
    world.check(
        world.failed_for_good("a[0]"),
        expect![[r#"
            step_failed a[0] error=broken
            step_skipped a[2] reason=other_item
            -> withdraw a[0] attempt=1 lease=1"#]],
    );
    world.check(
        world.succeeded("a[1]"),
        expect![[r#"
            step_succeeded a[1] result={}
            step_failed a error=item_failed
            compensation_started a run=3
            step_skipped b reason=dependency
            run_failed a error=item_failed
            -> withdraw a[1] attempt=1 lease=2
            -> start_run undo run=3
            -> ended failed"#]],
    );
    expect!["1 of 3 items failed; a[0]: the worker broke (broken)"]
        .assert_eq(&world.run.error.as_ref().unwrap().message);
}

// X-111: with this mode the first failed item ends everything at once.
#[test]
fn an_item_that_failed_for_good_cancels_all_the_rest_when_the_workflow_says_so() {
    let steps = vec![undone(three()), step("b")];
    let mut world = World::started(Workflow {
        failure: FailureMode::CancelRest,
        compensations: [("undo".to_owned(), vec![step("revert")])].into(),
        ..graph(steps)
    });
    world.check(
        world.failed_for_good("a[1]"),
        expect![[r#"
            step_failed a[1] error=broken
            step_failed a error=item_failed
            compensation_started a run=5
            step_cancelled b
            step_cancelled a[0]
            step_cancelled a[2]
            run_failed a error=item_failed
            -> withdraw a[1] attempt=1 lease=2
            -> start_run undo run=5
            -> withdraw b attempt=1 lease=4
            -> withdraw a[0] attempt=1 lease=1
            -> withdraw a[2] attempt=1 lease=3
            -> ended failed"#]],
    );
}

// X-111: continue_on_failure leaves null in the place of a failed item, in both modes.
#[test]
fn items_that_may_fail_leave_null_in_their_place() {
    for failure in [FailureMode::SkipDescendants, FailureMode::CancelRest] {
        let lenient = StepSpec { continue_on_failure: true, ..at_once(1, three()) };
        let mut world = World::started(Workflow { failure, ..sequence([lenient, step("b")]) });
        world.does(world.failed_for_good("a[0]"));
        world.does(world.succeeded("a[1]"));
        world.does(world.failed_for_good("a[2]"));
        world.check_status(expect![
            "running; a succeeded #0; a[0] failed #1; a[1] succeeded #1; a[2] failed #1; b dispatched #1"
        ]);
        assert_eq!(*world.run.result(StepIndex(0)).unwrap(), json!([null, {}, null]));
    }
}

#[test]
fn an_item_whose_params_cannot_be_filled_in_fails_alone() {
    let a = StepSpec {
        params: Some(json!("{{item.id}}")),
        ..for_each(json!([{ "id": 1 }, {}]), step("a"))
    };
    let mut world = World::of(sequence([a]));
    world.does(start());
    world.check_status(expect!["running; a expanded #0; a[0] dispatched #1; a[1] failed #0"]);
    world.does(world.succeeded("a[0]"));
    expect!["1 of 2 items failed; a[1]: unresolved: item.id; there is no such column, output or special variable (template_unresolved)"]
        .assert_eq(&world.run.error.as_ref().unwrap().message);
}

#[test]
fn items_poll_and_time_out_each_on_its_own() {
    let a = for_each(json!([1, 2]), StepSpec { retry: RetryPolicy::once(), ..polled("a") });
    let mut world = World::started(sequence([a]));
    world.does(world.unfinished("a[0]"));
    world.check_status(expect!["running; a expanded #0; a[0] polling #1; a[1] dispatched #1"]);
    world.pass(minutes(15));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a[0] error=poll_timed_out
            step_timed_out a[1] error=attempt_timed_out
            step_failed a error=item_failed
            run_failed a error=item_failed
            -> withdraw a[1] attempt=1 lease=2
            -> ended failed"#]],
    );
}

// D-051, D-052, X-152: a drain lets items under way end, and starts no other.
#[test]
fn a_drained_step_with_items_ends_after_those_under_way() {
    let mut world = World::started(sequence([at_once(2, three()), step("b")]));
    world.check(
        cancel(CancelMode::Drain),
        expect![[r#"
            cancel_requested mode=drain
            step_cancelled b
            step_cancelled a[2]"#]],
    );
    world.does(world.succeeded("a[0]"));
    world.check(
        world.succeeded("a[1]"),
        expect![[r#"
            step_succeeded a[1] result={}
            step_cancelled a
            run_cancelled
            -> withdraw a[1] attempt=1 lease=2
            -> ended cancelled"#]],
    );
}

#[test]
fn an_immediate_cancel_takes_all_items_back() {
    let mut world = World::started(sequence([three()]));
    world.check(
        cancel(CancelMode::Immediate),
        expect![[r#"
            cancel_requested mode=immediate
            step_cancelled a
            step_cancelled a[0]
            step_cancelled a[1]
            step_cancelled a[2]
            run_cancelled
            -> withdraw a[0] attempt=1 lease=1
            -> withdraw a[1] attempt=1 lease=2
            -> withdraw a[2] attempt=1 lease=3
            -> ended cancelled"#]],
    );
}

#[test]
fn a_paused_step_starts_no_item_and_goes_on_when_resumed() {
    let mut world = World::started(sequence([at_once(1, three())]));
    world.does(pause());
    world.check(
        world.succeeded("a[0]"),
        expect![[r#"
            step_succeeded a[0] result={}
            -> withdraw a[0] attempt=1 lease=1"#]],
    );
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_dispatched a[1] attempt=1 expires_at=+15m lease=2 params=y
            -> publish a[1] attempt=1 lease=2"#]],
    );
    let mut other = World::of(sequence([three()]));
    other.does(pause());
    other.check(
        start(),
        expect![
            "run_started
step_readied a"
        ],
    );
    other.does(resume());
    assert_eq!(items(&other).under_way, 3);
}

// C-038: the next attempt of the whole run does again only the items that were not finished.
#[test]
fn the_next_attempt_of_the_run_does_only_unfinished_items_again() {
    let run_retry = Some(RetryPolicy::fixed(2, minutes(1)));
    let a = for_each(json!([1, 2, 3]), once("a"));
    let mut world = World::started(Workflow { run_retry, ..sequence([at_once(2, a)]) });
    world.check(
        world.failed("a[0]"),
        expect![[r#"
            step_held a[0] error=broken
            -> withdraw a[0] attempt=1 lease=1"#]],
    );
    world.does(world.succeeded("a[1]"));
    world.check(
        world.succeeded("a[2]"),
        expect![[r#"
            step_succeeded a[2] result={}
            run_retry_scheduled error=broken retry_at=+1m
            -> withdraw a[2] attempt=1 lease=3"#]],
    );
    world.wakes();
    world.check_status(expect![
        "running; a expanded #0; a[0] dispatched #2; a[1] succeeded #1; a[2] succeeded #1"
    ]);
    world.does(world.succeeded("a[0]"));
    assert_eq!(world.run.status, RunStatus::Succeeded);
}

#[test]
fn a_history_newer_than_the_run_at_hand_names_items_by_their_place() {
    let before = World::of(sequence([three()]));
    let world = World::started(sequence([three()]));
    let last = world.records[0].entries.last().and_then(stepwell_core::entry::Entry::step);
    assert_eq!(world.run.step_id(last.unwrap()), "a[2]");
    assert_eq!(before.run.step_id(last.unwrap()), "#3");
}

#[test]
fn a_step_with_a_condition_and_a_list_is_asked_once_for_all_items() {
    let a = when("{{count}} == 3", three());
    let world = World::started(sequence([a]));
    assert_eq!(items(&world).under_way, 3);
    let skipped = World::started(sequence([when("{{count}} != 3", three()), step("b")]));
    assert_eq!(skipped.run.steps.len(), 2, "no list was taken");
    assert_eq!(skipped.step("b").status, StepStatus::Dispatched);
}

#[test]
fn steps_with_items_may_stand_side_by_side_and_after_one_another() {
    let a = StepSpec {
        outputs: [("ids".to_owned(), "id".to_owned())].into(),
        ..for_each(json!([1, 2]), step("a"))
    };
    let b = for_each(json!([1]), step("b"));
    let c = after(&[0, 1], for_each(json!("{{ids}}"), step("c")));
    let mut world = World::started(graph(vec![a, b, c]));
    world.does(world.reported("a[0]", success(json!({ "id": 5 }))));
    world.does(world.succeeded("b[0]"));
    world.does(world.reported("a[1]", success(json!({ "id": 6 }))));
    assert_eq!(world.step("a").status, StepStatus::Succeeded);
    assert_eq!(world.step("c").status, StepStatus::Expanded);
    assert_eq!(world.step("c[1]").params.as_deref(), Some(&json!(6)));
    assert_eq!(world.run.current_step(), Some(StepIndex(2)));
}
