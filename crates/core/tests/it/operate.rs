//! A person overrides a step that has not ended.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::Command;
use stepwell_core::command::Operation::{MarkSucceeded, Retry, Skip};
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::retry::RetryPolicy;

use crate::world::{
    World, behind, carried, graph, minutes, once, operate, pause, report, resume, sequence, step,
    success,
};

#[test]
fn a_retry_by_a_person_replaces_the_attempt_under_way() {
    let mut world = World::started(sequence([step("a")]));
    let replaced = world.fence("a");
    world.does(world.acked("a"));
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a operation=retry
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish a attempt=2 lease=2"#]],
    );
    world.check(
        report("a", replaced, success(json!({}))),
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
}

#[test]
fn a_retry_by_a_person_does_not_wait_and_counts_from_the_beginning() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.failed("a"));
    world.wakes();
    world.does(world.failed("a"));
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a operation=retry
            step_dispatched a attempt=3 expires_at=+15m lease=3
            -> publish a attempt=3 lease=3"#]],
    );
    assert_eq!((world.step("a").attempt, world.step("a").tries), (3, 1));
}

#[test]
fn a_step_that_was_skipped_by_a_person_lets_the_next_one_start() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    world.check(
        operate("a", Skip),
        expect![[r#"
            step_operated a operation=skip
            step_skipped a reason=operator
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
    world.does(world.succeeded("b"));
    world.check_status(expect!["succeeded; a skipped #1; b succeeded #1"]);
}

#[test]
fn a_step_that_was_marked_as_done_gives_its_outputs() {
    let outputs = [("ticket".to_owned(), "id".to_owned())].into();
    let mut world = World::started(sequence([StepSpec { outputs, ..step("a") }, step("b")]));
    world.check(
        operate("a", MarkSucceeded { result: json!({ "id": 7 }) }),
        expect![[r#"
            step_operated a operation=mark_succeeded
            step_succeeded a result={"id":7}
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
    assert_eq!(world.run.outputs["ticket"], json!(7));
}

// A-066: what was before a settled step is still before what comes after it.
#[test]
fn a_step_may_be_settled_before_its_turn_and_nothing_overtakes_what_was_before_it() {
    let mut world = World::started(sequence([step("a"), step("b"), step("c")]));
    world.check(
        operate("b", Skip),
        expect![[r#"
            step_operated b operation=skip
            step_skipped b reason=operator"#]],
    );
    world.check(
        operate("c", MarkSucceeded { result: json!({}) }),
        expect![[r#"
            step_operated c operation=mark_succeeded
            step_succeeded c result={}"#]],
    );
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            run_succeeded
            -> withdraw a attempt=1 lease=1
            -> ended succeeded"#]],
    );
}

#[test]
fn a_step_that_was_settled_before_the_start_stays_settled() {
    let mut world = World::of(sequence([step("a"), step("b")]));
    world.does(operate("a", Skip));
    let carried = vec![carried(world.index("a"), json!({}))];
    world.check(
        Command::Start { carried },
        expect![[r#"
            run_started
            step_dispatched b attempt=1 expires_at=+15m lease=1
            -> publish b attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a skipped #0; b dispatched #1"]);
}

#[test]
fn a_step_that_was_never_tried_cannot_be_tried_again() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    world.check(
        operate("b", Retry),
        expect!["refused: no attempt of the step is under way; it is waiting"],
    );
}

// X-019: a step that has ended stays as it is; a new run that carries what was done takes over.
#[test]
fn a_step_that_has_ended_cannot_be_overridden() {
    let mut world = World::started(graph(vec![once("a"), step("b")]));
    world.does(world.failed("a"));
    for operation in [Retry, Skip, MarkSucceeded { result: json!({}) }] {
        let refusal = world.asks(&operate("a", operation)).unwrap_err();
        assert_eq!(refusal.to_string(), "the step has ended as failed");
    }
    world.check(operate("nowhere", Skip), expect![[r#"refused: the run has no step "nowhere""#]]);
}

#[test]
fn a_retry_by_a_person_waits_for_the_resume_too() {
    let mut world = World::started(sequence([step("a")]));
    world.does(pause());
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a operation=retry
            step_readied a
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a operation=retry
            step_readied a"#]],
    );
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
}

#[test]
fn a_person_need_not_wait_for_the_next_attempt_of_the_whole_run() {
    let run_retry = Some(RetryPolicy::fixed(2, minutes(1)));
    let mut world = World::started(Workflow { run_retry, ..sequence([once("a")]) });
    world.does(world.failed("a"));
    world.check_status(expect!["retry_wait; a retry_wait #1"]);
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a operation=retry
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
    world.check_status(expect!["running; a dispatched #2"]);
    assert_eq!(world.run.retry_at, None);
}

#[test]
fn a_step_behind_a_gate_may_be_skipped_and_the_run_then_ends() {
    let mut world = World::started(sequence([behind("go", step("a"))]));
    world.check(
        operate("a", Skip),
        expect![[r#"
            step_operated a operation=skip
            step_skipped a reason=operator
            run_succeeded
            -> ended succeeded"#]],
    );
}
