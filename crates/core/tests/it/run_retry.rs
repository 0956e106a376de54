//! Attempts of the whole run: it goes on where it failed.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::Command;
use stepwell_core::command::Operation::Skip;
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::run::RunStatus;

use crate::world::{
    World, after, behind, graph, minutes, once, open_gate, operate, report, seconds, sequence,
    step, success,
};

/// The same workflow with three attempts of the whole run, a minute apart.
fn retried(workflow: Workflow) -> Workflow {
    Workflow { run_retry: Some(RetryPolicy::fixed(3, minutes(1))), ..workflow }
}

// X-116, C-030: a failed attempt of the run is shown as such, and the run is not over.
#[test]
fn a_run_whose_step_failed_waits_for_its_next_attempt() {
    let mut world = World::started(retried(sequence([once("a"), once("b")])));
    world.check(
        world.failed("a"),
        expect![[r#"
            step_held a error=broken
            run_retry_scheduled error=broken retry_at=+1m
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check_status(expect!["retry_wait; a retry_wait #1; b waiting #0"]);
    assert!(!world.run.status.is_terminal());
    assert_eq!(world.run.error.as_ref().unwrap().code, "broken");
    world.pass(minutes(1));
    world.check(
        Command::Wake,
        expect![[r#"
            run_retried attempt=2
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
}

// C-038, C-040: the next attempt is the same run, and begins where the last one failed.
#[test]
fn a_finished_step_is_not_repeated_by_the_next_attempt_of_the_run() {
    let mut world = World::started(retried(sequence([once("a"), once("b")])));
    let id = world.run.id();
    world.does(world.succeeded("a"));
    world.does(world.failed("b"));
    world.wakes();
    world.check_status(expect!["running; a succeeded #1; b dispatched #2"]);
    assert_eq!((world.run.id(), world.run.attempt), (id, 2));
    world.does(world.succeeded("b"));
    assert_eq!((world.run.status, &world.run.error), (RunStatus::Succeeded, &None));
}

// C-031: the attempts of the run are counted, and the last failure is final.
#[test]
fn a_run_is_tried_as_often_as_its_policy_says_and_no_more() {
    let mut world = World::started(retried(sequence([once("a")])));
    for attempt in 1..=2 {
        assert_eq!(world.run.attempt, attempt);
        world.does(world.failed("a"));
        world.wakes();
    }
    world.check(
        world.failed("a"),
        expect![[r#"
            step_failed a error=broken
            run_failed a error=broken
            -> withdraw a attempt=3 lease=3
            -> ended failed"#]],
    );
    assert_eq!(world.run.attempt, 3);
}

// C-034, X-154: 30 s, 120 s, 600 s, then 1800 s, as the policy lists them.
#[test]
fn the_rests_between_attempts_of_a_run_follow_its_policy() {
    let delays = [30, 120, 600, 1800].map(seconds).to_vec();
    let policy = RetryPolicy { attempts_max: 6, delay: Delay::List(delays), jitter_percent: 0 };
    let mut world = World::started(Workflow { run_retry: Some(policy), ..sequence([once("a")]) });
    let mut rests = Vec::new();
    for _ in 0..5 {
        world.does(world.failed("a"));
        rests.push(world.run.retry_at.unwrap().since(world.now).as_secs());
        world.wakes();
    }
    assert_eq!(rests, [30, 120, 600, 1800, 1800]);
}

#[test]
fn a_step_uses_up_its_own_attempts_first_and_has_them_all_again_in_the_next_round() {
    let twice = StepSpec { retry: RetryPolicy::fixed(2, seconds(5)), ..step("a") };
    let mut world = World::started(retried(sequence([twice])));
    world.does(world.failed("a"));
    assert_eq!(world.run.status, RunStatus::Running);
    world.wakes();
    world.does(world.failed("a"));
    assert_eq!(world.run.status, RunStatus::RetryWait);
    world.wakes();
    world.check(
        world.failed("a"),
        expect![[r#"
            attempt_failed a counted=true error=broken retry_at=+5s
            -> withdraw a attempt=3 lease=3"#]],
    );
}

#[test]
fn the_attempt_of_the_run_is_over_only_when_nothing_else_can_go_on() {
    let steps = vec![once("a"), step("b"), after(&[1], step("c"))];
    let mut world = World::started(retried(graph(steps)));
    world.check(
        world.failed("a"),
        expect![[r#"
            step_held a error=broken
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            step_dispatched c attempt=1 expires_at=+15m lease=3
            -> withdraw b attempt=1 lease=2
            -> publish c attempt=1 lease=3"#]],
    );
    world.check(
        world.succeeded("c"),
        expect![[r#"
            step_succeeded c result={}
            run_retry_scheduled error=broken retry_at=+1m
            -> withdraw c attempt=1 lease=3"#]],
    );
}

// X-137: a failure that no attempt can cure is final for the run too.
#[test]
fn a_final_failure_is_not_tried_again_by_the_run() {
    let mut world = World::started(retried(sequence([once("a")])));
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
fn a_gate_that_opens_during_the_rest_lets_its_steps_go() {
    let steps = vec![once("a"), behind("go", step("b"))];
    let mut world = World::started(retried(graph(steps)));
    world.does(world.failed("a"));
    assert_eq!(world.run.status, RunStatus::RetryWait);
    world.check(
        open_gate("go"),
        expect![[r#"
            gate_opened gate=go
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> publish b attempt=1 lease=2"#]],
    );
    world.check_status(expect!["running; a retry_wait #1; b dispatched #1"]);
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            run_retry_scheduled error=broken retry_at=+1m
            -> withdraw b attempt=1 lease=2"#]],
    );
    assert_eq!(world.run.attempt, 1, "the rest begins again, the count does not");
}

#[test]
fn a_run_whose_held_step_was_skipped_by_a_person_ends() {
    let mut world = World::started(retried(sequence([once("a")])));
    world.does(world.failed("a"));
    world.check(
        operate("a", Skip),
        expect![[r#"
            step_operated a operation=skip
            step_skipped a reason=operator
            run_succeeded
            -> ended succeeded"#]],
    );
    let mut other = World::started(retried(graph(vec![once("a"), once("b")])));
    other.does(other.failed_for_good("b"));
    other.does(other.failed("a"));
    other.check(
        operate("a", Skip),
        expect![[r#"
            step_operated a operation=skip
            step_skipped a reason=operator
            run_failed b error=broken
            -> ended failed"#]],
    );
}

#[test]
fn a_late_outcome_of_the_last_round_does_not_settle_the_next() {
    let mut world = World::started(retried(sequence([once("a")])));
    let old = world.fence("a");
    world.does(world.failed("a"));
    world.check(
        report("a", old, success(json!({}))),
        expect!["refused: no attempt of the step is under way; it is retry_wait"],
    );
    world.wakes();
    world.check(
        report("a", old, success(json!({}))),
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
}
