//! A worker that answers "not finished yet" is asked again.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::{Command, Operation};
use stepwell_core::step::{PollTurn, StepStatus};

use crate::world::{World, minutes, operate, polled, report, seconds, sequence, step, success};

/// A run whose only step has answered once that it is not finished.
fn polling() -> World {
    let mut world = World::started(sequence([polled("a")]));
    world.does(world.acked("a"));
    world.does(world.unfinished("a"));
    world
}

// A-093: the first unfinished answer begins the polling, and no lease is held while it rests.
#[test]
fn an_unfinished_answer_is_asked_for_again_after_the_interval() {
    let mut world = World::started(sequence([polled("a")]));
    world.pass(seconds(7));
    world.check(
        world.unfinished("a"),
        expect![[r#"
            step_polling a next_at=+1m
            -> withdraw a attempt=1 lease=1"#]],
    );
    let poll = world.step("a").poll.unwrap();
    assert_eq!((poll.started_at, poll.count, poll.turn), (world.now, 0, PollTurn::Resting));
    assert_eq!(world.step("a").lease, None);
}

// A-095, X-020: the question is the same attempt under a new lease, and the step stays polling.
#[test]
fn a_question_is_asked_under_a_new_lease_of_the_same_attempt() {
    let mut world = polling();
    let started_at = world.now;
    world.pass(minutes(1));
    world.check(
        Command::Wake,
        expect![[r#"
            poll_dispatched a expires_at=+9m lease=2 wake_at=+3m
            -> publish a attempt=1 poll=1 lease=2"#]],
    );
    world.check_status(expect!["running; a polling #1"]);
    world.does(world.unfinished("a"));
    world.pass(minutes(1));
    world.check(
        Command::Wake,
        expect![[r#"
            poll_dispatched a expires_at=+8m lease=3 wake_at=+3m
            -> publish a attempt=1 poll=2 lease=3"#]],
    );
    let poll = world.step("a").poll.unwrap();
    assert_eq!((poll.started_at, poll.count), (started_at, 2), "polling began once");
}

// A-096, X-020: the answer to a question settles the step although it was never dispatched anew.
#[test]
fn a_finished_answer_to_a_question_ends_the_step() {
    let mut world = polling();
    world.wakes();
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            run_succeeded
            -> withdraw a attempt=1 poll=1 lease=2
            -> ended succeeded"#]],
    );
}

// X-028: any success is a success, also one that does not speak of completeness.
#[test]
fn a_step_that_may_poll_need_not() {
    let mut world = World::started(sequence([polled("a")]));
    world.check(
        world.reported("a", success(json!(true))),
        expect![[r#"
            step_succeeded a result=true
            run_succeeded
            -> withdraw a attempt=1 lease=1
            -> ended succeeded"#]],
    );
}

// X-030: while a question is out, no second one is asked; after three intervals it counts as lost.
#[test]
fn a_question_without_an_answer_counts_as_lost_after_three_intervals() {
    let mut world = polling();
    world.wakes();
    let lost = world.fence("a");
    world.pass(minutes(2));
    world.check(Command::Wake, expect!["nothing"]);
    world.pass(minutes(1));
    world.check(
        Command::Wake,
        expect![[r#"
            poll_dispatched a expires_at=+6m lease=3 wake_at=+3m
            -> withdraw a attempt=1 poll=1 lease=2
            -> publish a attempt=1 poll=2 lease=3"#]],
    );
    world.check(
        report("a", lost, success(json!({}))),
        expect!["refused: the lease is not the one of attempt 1"],
    );
}

// A-094, A-097, A-105, X-019: polling that takes too long is the end, although two attempts remain.
#[test]
fn polling_that_takes_too_long_is_never_tried_again() {
    let mut world = polling();
    world.wakes();
    world.pass(minutes(9));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=poll_timed_out
            run_failed a error=poll_timed_out
            -> withdraw a attempt=1 poll=1 lease=2
            -> ended failed"#]],
    );
}

// X-030: the time of the whole polling counts also while a question is out, and for a late answer.
#[test]
fn an_unfinished_answer_after_the_time_of_polling_ends_the_step() {
    let mut world = polling();
    world.wakes();
    world.pass(minutes(11));
    world.check(
        world.unfinished("a"),
        expect![[r#"
            step_timed_out a error=poll_timed_out
            run_failed a error=poll_timed_out
            -> withdraw a attempt=1 poll=1 lease=2
            -> ended failed"#]],
    );
}

#[test]
fn the_last_rest_ends_with_the_time_of_polling() {
    let mut world = polling();
    let give_up_at = world.now.after(minutes(10));
    for _ in 0..9 {
        world.wakes();
        // The worker takes its time, so that the last rest would end too late.
        world.pass(seconds(3));
        world.does(world.unfinished("a"));
    }
    world.wakes();
    assert_eq!((world.now, world.step("a").status), (give_up_at, StepStatus::TimedOut));
}

// X-026: an error is an error also while polling; the next attempt begins polling afresh.
#[test]
fn an_error_while_polling_is_tried_again_and_polling_begins_afresh() {
    let mut world = polling();
    world.wakes();
    world.check(
        world.failed("a"),
        expect![[r#"
            attempt_failed a counted=true error=broken retry_at=+30s
            -> withdraw a attempt=1 poll=1 lease=2"#]],
    );
    assert_eq!(world.step("a").poll, None);
    world.wakes();
    world.check_status(expect!["running; a dispatched #2"]);
    world.does(world.unfinished("a"));
    let poll = world.step("a").poll.unwrap();
    assert_eq!((poll.started_at, poll.count), (world.now, 0));
}

// X-027: going on over unfinished work would be wrong, and another attempt would say the same.
#[test]
fn an_unfinished_answer_of_a_step_without_polling_is_a_final_failure() {
    let mut world = World::started(sequence([step("a")]));
    world.check(
        world.unfinished("a"),
        expect![[r#"
            step_failed a error=poll_not_configured
            run_failed a error=poll_not_configured
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
}

// A-098: whoever asks for a poll of a step that is no longer polling changes nothing.
#[test]
fn a_wake_for_a_step_that_has_answered_changes_nothing() {
    let mut world = World::started(sequence([polled("a"), step("b")]));
    world.does(world.unfinished("a"));
    world.wakes();
    world.does(world.succeeded("a"));
    world.pass(minutes(3));
    world.check(Command::Wake, expect!["nothing"]);
}

#[test]
fn a_lost_question_is_asked_again_and_the_work_is_not_done_twice() {
    let mut world = polling();
    world.wakes();
    world.check(world.publish_failed("a"), expect!["step_polling a next_at=+1m"]);
    world.wakes();
    world.check(world.undelivered("a"), expect!["step_polling a next_at=+1m"]);
    assert_eq!(world.step("a").attempt, 1);
}

#[test]
fn an_ack_of_a_question_tells_nothing_new() {
    let mut world = polling();
    world.wakes();
    world.check(world.acked("a"), expect!["nothing"]);
}

#[test]
fn a_person_may_have_a_polling_step_tried_again() {
    let mut world = polling();
    world.wakes();
    world.check(
        operate("a", Operation::Retry),
        expect![[r#"
            step_operated a operation=retry
            step_dispatched a attempt=2 expires_at=+15m lease=3
            -> withdraw a attempt=1 poll=1 lease=2
            -> publish a attempt=2 lease=3"#]],
    );
    assert_eq!(world.step("a").poll, None);
}
