//! Nothing new is dispatched while a run is paused; what is under way may end.

use expect_test::expect;
use stepwell_core::command::Command;
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::retry::RetryPolicy;

use crate::world::{World, minutes, once, pause, polled, resume, seconds, sequence, start, step};

#[test]
fn what_is_under_way_may_end_and_what_would_follow_waits_ready() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    world.check(pause(), expect!["run_paused"]);
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_readied b
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a succeeded #1; b ready #0"]);
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> publish b attempt=1 lease=2"#]],
    );
}

#[test]
fn pausing_twice_and_resuming_twice_change_nothing() {
    let mut world = World::started(sequence([step("a")]));
    world.does(pause());
    world.check(pause(), expect!["nothing"]);
    world.does(resume());
    world.check(resume(), expect!["nothing"]);
}

#[test]
fn a_run_may_be_paused_before_it_starts() {
    let mut world = World::of(sequence([step("a")]));
    world.does(pause());
    world.check(
        start(),
        expect![[r#"
            run_started
            step_readied a"#]],
    );
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_dispatched a attempt=1 expires_at=+15m lease=1
            -> publish a attempt=1 lease=1"#]],
    );
}

#[test]
fn a_retry_that_falls_due_during_a_pause_waits_ready() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.failed("a"));
    world.does(pause());
    world.pass(seconds(30));
    world.check(Command::Wake, expect!["step_readied a"]);
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
}

#[test]
fn a_retry_that_is_not_due_yet_keeps_its_time_over_a_pause() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.failed("a"));
    world.does(pause());
    world.check(resume(), expect!["run_resumed"]);
    world.pass(seconds(30));
    world.check(
        Command::Wake,
        expect![[r#"
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
}

#[test]
fn a_question_that_falls_due_during_a_pause_is_asked_at_the_resume() {
    let mut world = World::started(sequence([polled("a")]));
    world.does(world.unfinished("a"));
    world.does(pause());
    world.pass(minutes(1));
    world.check(Command::Wake, expect!["poll_held a wake_at=+9m"]);
    world.pass(minutes(3));
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            poll_dispatched a expires_at=+6m lease=2 wake_at=+3m
            -> publish a attempt=1 poll=1 lease=2"#]],
    );
}

// X-030: the time of polling goes on, whoever paused.
#[test]
fn a_pause_does_not_stop_the_time_of_polling() {
    let mut world = World::started(sequence([polled("a")]));
    world.does(world.unfinished("a"));
    world.does(pause());
    world.wakes();
    world.pass(minutes(9));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=poll_timed_out
            run_failed a error=poll_timed_out
            -> ended failed"#]],
    );
}

#[test]
fn an_attempt_that_takes_too_long_during_a_pause_is_given_up_but_not_replaced() {
    let eager = StepSpec { retry: RetryPolicy::fixed(2, seconds(0)), ..step("a") };
    let mut world = World::started(sequence([eager]));
    world.does(pause());
    world.pass(minutes(15));
    world.check(
        Command::Wake,
        expect![[r#"
            attempt_failed a counted=true error=attempt_timed_out retry_at=+0s
            step_readied a
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a ready #1"]);
}

#[test]
fn the_next_attempt_of_the_whole_run_waits_ready_during_a_pause() {
    let run_retry = Some(RetryPolicy::fixed(2, minutes(1)));
    let mut world = World::started(Workflow { run_retry, ..sequence([once("a")]) });
    world.does(world.failed("a"));
    world.does(pause());
    world.pass(minutes(1));
    world.check(
        Command::Wake,
        expect![[r#"
            run_retried attempt=2
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
