//! A run is stopped: at once, or when what is under way has ended.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::{Command, Operation};
use stepwell_core::definition::CancelMode::{Drain, Immediate};
use stepwell_core::definition::Workflow;

use crate::world::{
    World, after, behind, cancel, graph, open_gate, operate, pause, polled, report, resume,
    sequence, somebody, start, step, success, undone,
};

/// One step under way, one that waits for it.
fn one_under_way() -> World {
    World::started(sequence([step("a"), step("b")]))
}

// D-051, D-052, X-123, X-138, X-152: nothing new starts; what is under way ends and is recorded.
#[test]
fn a_drained_run_ends_when_its_current_step_does() {
    let mut world = World::started(sequence([step("a"), step("b"), step("c")]));
    world.does(world.succeeded("a"));
    world.check(
        cancel(Drain),
        expect![[r#"
            cancel_requested mode=drain
            step_cancelled c"#]],
    );
    world.check_status(expect!["cancelling; a succeeded #1; b dispatched #1; c cancelled #0"]);
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            run_cancelled
            -> withdraw b attempt=1 lease=2
            -> ended cancelled"#]],
    );
    world.check_status(expect!["cancelled; a succeeded #1; b succeeded #1; c cancelled #0"]);
}

// X-138: the current step's failure ends the run as cancelled too, and is not tried again.
#[test]
fn a_failure_while_draining_ends_the_run_as_cancelled_without_another_attempt() {
    let mut world = one_under_way();
    world.does(cancel(Drain));
    world.check(
        world.failed("a"),
        expect![[r#"
            step_failed a error=broken
            run_cancelled
            -> withdraw a attempt=1 lease=1
            -> ended cancelled"#]],
    );
}

// X-138: so does its timeout.
#[test]
fn a_timeout_while_draining_ends_the_run_as_cancelled_without_another_attempt() {
    let mut world = one_under_way();
    world.does(cancel(Drain));
    world.now = world.run.wake_at().unwrap();
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=attempt_timed_out
            run_cancelled
            -> withdraw a attempt=1 lease=1
            -> ended cancelled"#]],
    );
}

// X-138, X-136: without anything under way the run is cancelled at once, started or not.
#[test]
fn a_run_with_nothing_under_way_is_cancelled_at_once() {
    let mut created = World::of(sequence([step("a")]));
    created.check(
        cancel(Drain),
        expect![[r#"
            cancel_requested mode=drain
            step_cancelled a
            run_cancelled
            -> ended cancelled"#]],
    );
    let mut ready = World::started(sequence([behind("go", step("a"))]));
    ready.check(
        cancel(Drain),
        expect![[r#"
            cancel_requested mode=drain
            step_cancelled a
            run_cancelled
            -> ended cancelled"#]],
    );
    let mut resting = one_under_way();
    resting.does(resting.failed("a"));
    resting.check(
        cancel(Drain),
        expect![[r#"
            cancel_requested mode=drain
            step_cancelled a
            step_cancelled b
            run_cancelled
            -> ended cancelled"#]],
    );
}

// X-152: cut off at once; the worker is not waited for.
#[test]
fn an_immediate_cancel_ends_everything_at_once() {
    let mut world = one_under_way();
    let late = world.fence("a");
    world.check(
        cancel(Immediate),
        expect![[r#"
            cancel_requested mode=immediate
            step_cancelled a
            step_cancelled b
            run_cancelled
            -> withdraw a attempt=1 lease=1
            -> ended cancelled"#]],
    );
    world.check_status(expect!["cancelled; a cancelled #1; b cancelled #0"]);
    world.check(
        report("a", late, success(json!({}))),
        expect!["refused: the step has ended as cancelled"],
    );
}

// D-053, A-088, C-037: what comes after the end changes nothing.
#[test]
fn nothing_changes_a_run_that_has_ended() {
    let mut world = World::started(sequence([behind("go", step("a"))]));
    world.does(cancel(Immediate));
    let ended = world.run.clone();
    for command in
        [start(), open_gate("go"), pause(), resume(), cancel(Drain), operate("a", Operation::Skip)]
    {
        let refusal = world.asks(&command).unwrap_err();
        assert!(refusal.is_stale(), "{command:?}: {refusal}");
    }
    world.check(Command::Wake, expect!["nothing"]);
    assert_eq!(world.run, ended);
}

// X-138: asking again is followed, and changes nothing; asking for more is more.
#[test]
fn a_cancel_may_be_repeated_and_made_stronger_but_not_milder() {
    let mut world = one_under_way();
    world.does(cancel(Drain));
    world.check(cancel(Drain), expect!["nothing"]);
    world.check(
        cancel(Immediate),
        expect![[r#"
            cancel_requested mode=immediate
            step_cancelled a
            run_cancelled
            -> withdraw a attempt=1 lease=1
            -> ended cancelled"#]],
    );
    world.check(cancel(Immediate), expect!["refused: the run has ended as cancelled"]);
}

// X-152: the workflow has a way of its own, for callers who do not say.
#[test]
fn a_caller_who_does_not_say_how_gets_the_way_of_the_workflow() {
    let cancel = Command::Cancel { mode: None, by: somebody() };
    for mode in [Drain, Immediate] {
        let workflow = Workflow { cancel: mode, ..sequence([step("a")]) };
        let mut world = World::started(workflow);
        world.does(cancel.clone());
        assert_eq!(world.run.cancel, Some(mode));
        assert_eq!(world.run.status.is_terminal(), mode == Immediate);
    }
}

// D-051: no new step starts, not even one whose gate opens.
#[test]
fn a_gate_that_opens_while_draining_starts_nothing() {
    let mut world = World::started(graph(vec![step("a"), behind("go", step("b"))]));
    world.does(cancel(Drain));
    world.check(open_gate("go"), expect!["gate_opened gate=go"]);
    world.check_status(expect!["cancelling; a dispatched #1; b cancelled #0"]);
}

#[test]
fn a_step_that_fails_while_draining_is_not_compensated() {
    let mut workflow = sequence([undone(step("a"))]);
    workflow.compensations.insert("undo".to_owned(), vec![step("revert")]);
    let mut world = World::started(workflow);
    world.does(cancel(Drain));
    world.check(
        world.failed_for_good("a"),
        expect![[r#"
            step_failed a error=broken
            run_cancelled
            -> withdraw a attempt=1 lease=1
            -> ended cancelled"#]],
    );
}

#[test]
fn polling_does_not_outlive_a_cancel() {
    let mut resting = World::started(sequence([polled("a")]));
    resting.does(resting.unfinished("a"));
    resting.check(
        cancel(Drain),
        expect![[r#"
            cancel_requested mode=drain
            step_cancelled a
            run_cancelled
            -> ended cancelled"#]],
    );
    let mut asked = World::started(sequence([polled("a")]));
    asked.does(asked.unfinished("a"));
    asked.wakes();
    asked.check(cancel(Drain), expect!["cancel_requested mode=drain"]);
    asked.check(
        asked.unfinished("a"),
        expect![[r#"
            step_cancelled a
            run_cancelled
            -> withdraw a attempt=1 poll=1 lease=2
            -> ended cancelled"#]],
    );
}

#[test]
fn a_question_that_is_lost_while_draining_is_not_asked_again() {
    let mut world = World::started(sequence([polled("a")]));
    world.does(world.unfinished("a"));
    world.wakes();
    world.does(cancel(Drain));
    world.now = world.run.wake_at().unwrap();
    world.check(
        Command::Wake,
        expect![[r#"
            step_cancelled a
            run_cancelled
            -> withdraw a attempt=1 poll=1 lease=2
            -> ended cancelled"#]],
    );
}

#[test]
fn a_run_that_is_being_stopped_takes_no_other_orders() {
    let mut world = World::started(graph(vec![step("a"), after(&[0], step("b"))]));
    world.does(cancel(Drain));
    world.check(pause(), expect!["refused: the run is being cancelled"]);
    world.check(operate("a", Operation::Retry), expect!["refused: the run is being cancelled"]);
}
