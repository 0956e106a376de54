//! Steps that are done only when a condition holds.

use expect_test::expect;
use serde_json::json;
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::run::RunStatus;
use stepwell_core::step::{SkipReason, StepStatus};

use crate::world::{
    World, after, behind, graph, once, open_gate, pause, resume, sequence, start, step, success,
    undone, when,
};

/// `a` decides which of `yes` and `no` is done; `join` comes after both.
fn alternatives() -> Workflow {
    let asks = StepSpec { outputs: [("ok".to_owned(), "ok".to_owned())].into(), ..step("a") };
    graph(vec![
        asks,
        after(&[0], when("{{ok}}", step("yes"))),
        after(&[0], when("not {{ok}}", step("no"))),
        after(&[1, 2], step("join")),
    ])
}

// X-112, B-021: a condition that does not hold passes the step over; branches that exclude each other
// join again, because what was passed over stands in nobody's way.
#[test]
fn of_two_branches_that_exclude_each_other_one_is_done_and_both_join() {
    let mut world = World::started(alternatives());
    world.check(
        world.reported("a", success(json!({ "ok": false }))),
        expect![[r#"
            step_succeeded a result={"ok":false}
            step_skipped yes reason=condition
            step_dispatched no attempt=1 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish no attempt=1 lease=2"#]],
    );
    world.check(
        world.succeeded("no"),
        expect![[r#"
            step_succeeded no result={}
            step_dispatched join attempt=1 expires_at=+15m lease=3
            -> withdraw no attempt=1 lease=2
            -> publish join attempt=1 lease=3"#]],
    );
    world.does(world.succeeded("join"));
    world.check_status(expect![
        "succeeded; a succeeded #1; yes skipped #0; no succeeded #1; join succeeded #1"
    ]);
}

// X-112: a run in which everything is passed over has done all there was to do.
#[test]
fn a_run_whose_steps_are_all_passed_over_succeeds() {
    let mut world =
        World::of(sequence([when("false", step("a")), when("{{b}} > 1 and {{c}}", step("b"))]));
    world.check(
        start(),
        expect![[r#"
            run_started
            step_skipped a reason=condition
            step_failed b error=condition_failed
            run_failed b error=condition_failed
            -> ended failed"#]],
    );
    let mut other = World::of(sequence([when("false", step("a")), when("{{b}}", step("b"))]));
    other.does(start());
    assert_eq!(other.run.status, RunStatus::Succeeded);
    assert_eq!(other.step("b").skip, Some(SkipReason::Condition));
}

// X-112: an output of a step that was passed over is null in a condition, and missing in params.
#[test]
fn what_a_skipped_step_would_have_set_is_null_in_a_condition_and_missing_in_params() {
    let skipped = StepSpec {
        outputs: [("ticket".to_owned(), "id".to_owned())].into(),
        ..when("false", step("a"))
    };
    let asks = when("{{ticket}} == null", step("b"));
    let needs = StepSpec { params: Some(json!("{{ticket}}")), ..step("c") };
    let mut world = World::of(sequence([skipped, asks, needs]));
    world.check(
        start(),
        expect![[r#"
            run_started
            step_skipped a reason=condition
            step_dispatched b attempt=1 expires_at=+15m lease=1
            -> publish b attempt=1 lease=1"#]],
    );
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            step_failed c error=template_unresolved
            run_failed c error=template_unresolved
            -> withdraw b attempt=1 lease=1
            -> ended failed"#]],
    );
}

// X-112: it is asked once; a later attempt does not ask again, whatever has changed.
#[test]
fn a_condition_is_asked_when_the_turn_of_the_step_has_come_and_never_again() {
    let sets =
        StepSpec { outputs: [("stop".to_owned(), "stop".to_owned())].into(), ..step("sets") };
    let mut world =
        World::started(graph(vec![sets, behind("go", when("{{stop}} == null", step("b")))]));
    assert_eq!(world.step("b").status, StepStatus::Waiting, "its gate is closed");
    world.does(open_gate("go"));
    world.does(world.reported("sets", success(json!({ "stop": true }))));
    world.does(world.failed("b"));
    world.wakes();
    world.check_status(expect!["running; sets succeeded #1; b dispatched #2"]);
}

// X-112: values that cannot be compared fail the step with a clear error, once, and undo it.
#[test]
fn a_condition_that_cannot_be_judged_fails_the_step_and_says_why() {
    let odd = undone(when("{{name}} < {{count}}", step("a")));
    let mut workflow = sequence([odd, step("b")]);
    workflow.compensations = [("undo".to_owned(), vec![step("revert")])].into();
    let mut world = World::of(workflow);
    world.check(
        start(),
        expect![[r#"
            run_started
            step_failed a error=condition_failed
            compensation_started a run=1
            step_skipped b reason=dependency
            run_failed a error=condition_failed
            -> start_run undo run=1
            -> ended failed"#]],
    );
    let error = world.run.error.as_ref().unwrap();
    expect![
        "{{name}} < {{count}}: a text and a number have no order; compare two numbers or two texts"
    ]
    .assert_eq(&error.message);
}

#[test]
fn a_paused_run_asks_when_it_is_resumed() {
    let mut world = World::started(sequence([once("a"), when("false", step("b")), step("c")]));
    world.does(pause());
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_readied b
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_skipped b reason=condition
            step_dispatched c attempt=1 expires_at=+15m lease=2
            -> publish c attempt=1 lease=2"#]],
    );
}

// X-111: a failure skips what depends on it, also behind a step that would have been passed over.
#[test]
fn a_condition_does_not_let_a_step_pass_a_failure() {
    let mut world = World::started(sequence([once("a"), when("true", step("b")), step("c")]));
    world.does(world.failed_for_good("a"));
    world.check_status(expect!["failed; a failed #1; b skipped #0; c skipped #0"]);
    assert_eq!(world.step("b").skip, Some(SkipReason::Dependency));
}
