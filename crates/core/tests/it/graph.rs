//! Which steps may start: edges, gates, and what a failure means for the rest.

use expect_test::expect;
use serde_json::json;
use stepwell_core::definition::{FailureMode, StepSpec, Workflow};
use stepwell_core::step::StepStatus;

use crate::world::{
    World, after, behind, graph, once, open_gate, report, sequence, start, step, success,
};

/// `a` first, then `b` and `c` side by side, then `d`.
fn diamond() -> Workflow {
    graph(vec![
        step("a"),
        after(&[0], step("b")),
        after(&[0], step("c")),
        after(&[1, 2], step("d")),
    ])
}

// X-149: branches go side by side when the graph says so; a join waits for all of them.
#[test]
fn branches_start_together_and_a_join_waits_for_all() {
    let mut world = World::started(diamond());
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+15m lease=2
            step_dispatched c attempt=1 expires_at=+15m lease=3
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2
            -> publish c attempt=1 lease=3"#]],
    );
    world.check(
        world.succeeded("c"),
        expect![[r#"
            step_succeeded c result={}
            -> withdraw c attempt=1 lease=3"#]],
    );
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            step_dispatched d attempt=1 expires_at=+15m lease=4
            -> withdraw b attempt=1 lease=2
            -> publish d attempt=1 lease=4"#]],
    );
}

// X-149: what a worker says is matched by the step it names, whichever is current.
#[test]
fn an_answer_for_one_step_does_not_touch_another() {
    let mut world = World::started(diamond());
    world.does(world.succeeded("a"));
    let of_b = world.fence("b");
    world.check(
        report("c", of_b, success(json!({}))),
        expect!["refused: the lease is not the one of attempt 1"],
    );
    world.check(
        report("d", of_b, success(json!({}))),
        expect!["refused: no attempt of the step is under way; it is waiting"],
    );
    world.does(world.succeeded("c"));
    world.check_status(expect![
        "running; a succeeded #1; b dispatched #1; c succeeded #1; d waiting #0"
    ]);
}

#[test]
fn a_failure_skips_what_depends_on_it_and_independent_branches_run_on() {
    let mut world = World::started(diamond());
    world.does(world.succeeded("a"));
    world.check(
        world.failed_for_good("b"),
        expect![[r#"
            step_failed b error=broken
            step_skipped d reason=dependency
            -> withdraw b attempt=1 lease=2"#]],
    );
    world.check(
        world.succeeded("c"),
        expect![[r#"
            step_succeeded c result={}
            run_failed b error=broken
            -> withdraw c attempt=1 lease=3
            -> ended failed"#]],
    );
}

// A-068: with this mode the first final failure ends everything, whatever gate it stands behind.
#[test]
fn a_failure_cancels_all_the_rest_when_the_workflow_says_so() {
    let steps = vec![step("a"), step("b"), after(&[0], behind("cutover", step("c")))];
    let mut world = World::started(Workflow { failure: FailureMode::CancelRest, ..graph(steps) });
    world.check(
        world.failed_for_good("a"),
        expect![[r#"
            step_failed a error=broken
            step_cancelled b
            step_cancelled c
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> withdraw b attempt=1 lease=2
            -> ended failed"#]],
    );
    world.check_status(expect!["failed; a failed #1; b cancelled #1; c cancelled #0"]);
}

#[test]
fn a_failure_that_does_not_matter_neither_skips_nor_fails_anything() {
    for failure in [FailureMode::SkipDescendants, FailureMode::CancelRest] {
        let lenient = StepSpec { continue_on_failure: true, ..once("a") };
        let mut world = World::started(Workflow { failure, ..sequence([lenient, step("b")]) });
        world.does(world.failed("a"));
        assert_eq!(world.step("b").status, StepStatus::Dispatched);
        world.does(world.succeeded("b"));
        world.check_status(expect!["succeeded; a failed #1; b succeeded #1"]);
    }
}

#[test]
fn a_step_waits_for_its_gate_and_for_the_steps_before_it() {
    let mut world = World::started(sequence([step("a"), behind("go", step("b"))]));
    world.check(open_gate("go"), expect!["gate_opened gate=go"]);
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
    let mut other = World::started(sequence([step("a"), behind("go", step("b"))]));
    other.check(
        other.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            -> withdraw a attempt=1 lease=1"#]],
    );
    other.check(
        open_gate("go"),
        expect![[r#"
            gate_opened gate=go
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> publish b attempt=1 lease=2"#]],
    );
}

#[test]
fn a_gate_may_open_before_the_run_starts() {
    let mut world = World::of(sequence([behind("go", step("a"))]));
    world.check(open_gate("go"), expect!["gate_opened gate=go"]);
    world.check(
        start(),
        expect![[r#"
            run_started
            step_dispatched a attempt=1 expires_at=+15m lease=1
            -> publish a attempt=1 lease=1"#]],
    );
}

// X-022: the event that opens a gate may come twice; it brings no resting step forward.
#[test]
fn a_gate_that_opens_again_does_not_cut_a_rest_short() {
    let mut world = World::started(sequence([behind("go", step("a"))]));
    world.does(open_gate("go"));
    world.does(world.failed("a"));
    world.check(open_gate("go"), expect!["nothing"]);
    world.check_status(expect!["running; a retry_wait #1"]);
    world.check(open_gate("elsewhere"), expect![[r#"refused: the run has no gate "elsewhere""#]]);
}

// X-022: neither does the progress of another step.
#[test]
fn progress_elsewhere_does_not_cut_a_rest_short() {
    let mut world = World::started(graph(vec![step("a"), step("b"), after(&[1], step("c"))]));
    world.does(world.failed("a"));
    world.does(world.succeeded("b"));
    world.check_status(expect!["running; a retry_wait #1; b succeeded #1; c dispatched #1"]);
}

#[test]
fn a_step_behind_a_closed_gate_is_skipped_when_what_it_needs_has_failed() {
    let mut world = World::started(sequence([step("a"), behind("go", step("b"))]));
    world.check(
        world.failed_for_good("a"),
        expect![[r#"
            step_failed a error=broken
            step_skipped b reason=dependency
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
}

#[test]
fn the_run_fails_with_the_first_of_its_failed_steps() {
    let mut world = World::started(graph(vec![step("a"), step("b")]));
    world.does(world.failed_for_good("b"));
    world.check(
        world.failed_for_good("a"),
        expect![[r#"
            step_failed a error=broken
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
}

#[test]
fn a_run_without_steps_succeeds_at_once() {
    let mut world = World::of(graph(Vec::new()));
    world.check(
        start(),
        expect![[r#"
            run_started
            run_succeeded
            -> ended succeeded"#]],
    );
}
