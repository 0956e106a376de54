//! How attempts begin, and how they end.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::Command;
use stepwell_core::definition::{StepSpec, TimeoutMode};
use stepwell_core::effect::Effect;
use stepwell_core::entry::Entry;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepError, StepStatus};
use stepwell_core::time::Timestamp;

use crate::world::{
    World, behind, carried, minutes, once, open_gate, seconds, sequence, start, step, success,
};

// D-040, D-041, X-134: attempt and lease are minted, recorded and enqueued by one decision. The
// publish is an effect, so it follows the commit of the record.
#[test]
fn a_start_records_the_first_attempt_and_publishes_it_under_the_same_lease() {
    let mut world = World::of(sequence([step("a"), step("b")]));
    world.check(
        start(),
        expect![[r#"
            run_started
            step_dispatched a attempt=1 expires_at=+15m lease=1
            -> publish a attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a dispatched #1; b waiting #0"]);
}

// X-148, D-054: a run is queued until its first attempt is recorded.
#[test]
fn a_run_is_ready_until_its_first_attempt_and_running_from_then_on() {
    let mut world = World::of(sequence([behind("go", step("a"))]));
    assert_eq!(world.run.status, RunStatus::Created);
    world.does(start());
    assert_eq!((world.run.status, world.run.started_at), (RunStatus::Ready, None));
    world.pass(seconds(5));
    world.does(open_gate("go"));
    let began_at = world.now;
    assert_eq!((world.run.status, world.run.started_at), (RunStatus::Running, Some(began_at)));
    world.does(world.failed("a"));
    world.wakes();
    assert_eq!(world.run.started_at, Some(began_at), "a run begins once");
}

// D-042, A-066, C-038, C-039: the next step starts with the success of the one before, and not earlier.
#[test]
fn a_success_starts_the_next_step_and_the_last_one_ends_the_run() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    assert_eq!(world.step("b").status, StepStatus::Waiting);
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            run_succeeded
            -> withdraw b attempt=1 lease=2
            -> ended succeeded"#]],
    );
    assert_eq!(world.run.ended_at, Some(world.now));
}

// D-043: a final failure ends the run, once; later steps never start.
#[test]
fn a_final_failure_fails_the_run_and_starts_nothing() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    world.check(
        world.failed_for_good("a"),
        expect![[r#"
            step_failed a error=broken
            step_skipped b reason=dependency
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
    world.check_status(expect!["failed; a failed #1; b skipped #0"]);
}

// D-055, X-136: a step ends with or without an ack, and an ack is shown while it lasts.
#[test]
fn an_ack_is_recorded_and_both_ends_may_follow_it_or_come_without_it() {
    let mut world = World::started(sequence([step("a"), step("b"), step("c")]));
    world.check(world.acked("a"), expect!["step_acked a"]);
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            step_dispatched c attempt=1 expires_at=+15m lease=3
            -> withdraw b attempt=1 lease=2
            -> publish c attempt=1 lease=3"#]],
    );
    world.does(world.acked("c"));
    world.check(
        world.failed_for_good("c"),
        expect![[r#"
            step_failed c error=broken
            run_failed c error=broken
            -> withdraw c attempt=1 lease=3
            -> ended failed"#]],
    );
}

// X-144, D-047: the time of an attempt is bounded from its dispatch, and an ack does not extend it.
#[test]
fn an_ack_does_not_extend_the_time_of_an_attempt() {
    let mut world = World::started(sequence([step("a")]));
    let expires_at = world.step("a").lease.unwrap().expires_at;
    assert_eq!(expires_at, world.now.after(minutes(15)));
    world.pass(minutes(14));
    world.does(world.acked("a"));
    assert_eq!(world.step("a").lease.unwrap().expires_at, expires_at);
    assert_eq!(world.run.wake_at(), Some(expires_at));
    world.pass(minutes(1));
    world.check(
        Command::Wake,
        expect![[r#"
            attempt_failed a counted=true error=attempt_timed_out retry_at=+30s
            -> withdraw a attempt=1 lease=1"#]],
    );
}

// D-044, X-121, X-126: a worker that vanished is not waited for; the same step is tried again, under
// a new attempt and a new lease.
#[test]
fn an_attempt_without_a_result_is_given_up_and_published_again() {
    let mut world = World::started(sequence([step("a")]));
    world.pass(minutes(15));
    world.check(
        Command::Wake,
        expect![[r#"
            attempt_failed a counted=true error=attempt_timed_out retry_at=+30s
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.pass(seconds(30));
    world.check(
        Command::Wake,
        expect![[r#"
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
}

// D-044, D-049: the policy of the step says whether a timeout is final.
#[test]
fn a_timeout_is_final_when_the_step_says_so() {
    let strict = StepSpec { on_timeout: TimeoutMode::Fail, timeout: seconds(20), ..step("a") };
    let mut world = World::started(sequence([strict]));
    world.pass(seconds(20));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=attempt_timed_out
            run_failed a error=attempt_timed_out
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
}

#[test]
fn a_wake_that_comes_too_early_changes_nothing() {
    let mut world = World::started(sequence([step("a")]));
    world.pass(minutes(14));
    world.check(Command::Wake, expect!["nothing"]);
    world.does(world.failed("a"));
    world.pass(seconds(29));
    world.check(Command::Wake, expect!["nothing"]);
}

// X-137, C-030: a failure that another attempt may cure waits for its time and is tried again.
#[test]
fn a_retryable_failure_waits_for_its_time_and_is_tried_again() {
    let mut world = World::started(sequence([step("a")]));
    world.check(
        world.failed("a"),
        expect![[r#"
            attempt_failed a counted=true error=broken retry_at=+30s
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a retry_wait #1"]);
    world.pass(seconds(30));
    world.check(
        Command::Wake,
        expect![[r#"
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> publish a attempt=2 lease=2"#]],
    );
}

// X-023: fail or retry is one decision, so no moment shows a step as failed that is tried again.
#[test]
fn a_step_that_is_tried_again_never_shows_as_failed_in_between() {
    let mut world = World::started(sequence([step("a")]));
    let decision = world.does(world.failed("a"));
    let words: Vec<_> = decision.entries.iter().map(Entry::word).collect();
    assert_eq!(words, ["attempt_failed"]);
    assert_eq!(world.step("a").status, StepStatus::RetryWait);
    assert_eq!(world.run.status, RunStatus::Running);
}

// A-104, D-048: two retries are three executions in all, and then step and run have failed.
#[test]
fn a_step_is_tried_as_often_as_its_policy_says_and_no_more() {
    let mut world = World::started(sequence([step("a")]));
    let mut attempts = vec![world.fence("a").attempt];
    for _ in 0..2 {
        world.does(world.failed("a"));
        world.wakes();
        attempts.push(world.fence("a").attempt);
    }
    assert_eq!(attempts, [1, 2, 3]);
    world.check(
        world.failed("a"),
        expect![[r#"
            step_failed a error=broken
            run_failed a error=broken
            -> withdraw a attempt=3 lease=3
            -> ended failed"#]],
    );
}

// A-105: without a retry policy there is no second attempt.
#[test]
fn a_step_with_one_attempt_is_not_tried_again() {
    let mut world = World::started(sequence([once("a")]));
    world.check(
        world.failed("a"),
        expect![[r#"
            step_failed a error=broken
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
}

// D-049, X-154: each step has its own policy: so often, with these rests.
#[test]
fn each_step_rests_as_its_own_policy_says() {
    let delays = [30, 120, 600].map(seconds).to_vec();
    let listed = RetryPolicy { attempts_max: 5, delay: Delay::List(delays), jitter_percent: 0 };
    let mut world = World::started(sequence([StepSpec { retry: listed, ..step("a") }]));
    let mut rests = Vec::new();
    for _ in 0..4 {
        world.does(world.failed("a"));
        rests.push(world.run.wake_at().unwrap().since(world.now).as_secs());
        world.wakes();
    }
    assert_eq!(rests, [30, 120, 600, 600]);
}

#[test]
fn a_rest_of_no_time_is_no_rest() {
    let eager = StepSpec { retry: RetryPolicy::fixed(2, seconds(0)), ..step("a") };
    let mut world = World::started(sequence([eager]));
    world.check(
        world.failed("a"),
        expect![[r#"
            attempt_failed a counted=true error=broken retry_at=+0s
            step_dispatched a attempt=2 expires_at=+15m lease=2
            -> withdraw a attempt=1 lease=1
            -> publish a attempt=2 lease=2"#]],
    );
}

#[test]
fn a_worker_may_ask_for_a_longer_rest_but_not_for_a_shorter_one_nor_for_more_than_a_day() {
    let rest_after_asking = |asked| {
        let mut world = World::started(sequence([step("a")]));
        let error = StepError::new("busy", "come back later");
        let outcome = Outcome::Failed { error, retryable: true, retry_after: Some(asked) };
        world.does(world.reported("a", outcome));
        world.run.wake_at().unwrap().since(world.now)
    };
    assert_eq!(rest_after_asking(seconds(90)), seconds(90));
    assert_eq!(rest_after_asking(seconds(1)), seconds(30));
    assert_eq!(rest_after_asking(minutes(60 * 24 * 9)), minutes(60 * 24));
}

// D-046, X-135: a publish that fails costs a number and a lease, but none of the step's attempts.
#[test]
fn a_failed_publish_takes_a_new_attempt_and_lease_and_does_not_count_to_the_limit() {
    let mut world = World::started(sequence([step("a")]));
    world.check(
        world.publish_failed("a"),
        expect!["attempt_failed a counted=false error=bus_away retry_at=+30s"],
    );
    for _ in 0..5 {
        world.wakes();
        world.does(world.publish_failed("a"));
    }
    world.wakes();
    assert_eq!((world.step("a").attempt, world.step("a").tries), (7, 1));
}

// X-135: only published attempts count, and they count exactly.
#[test]
fn after_failed_publishes_the_limit_still_allows_all_its_attempts_and_no_more() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.publish_failed("a"));
    world.wakes();
    for _ in 0..2 {
        world.does(world.failed("a"));
        world.wakes();
    }
    world.does(world.publish_failed("a"));
    world.wakes();
    assert_eq!((world.step("a").attempt, world.step("a").tries), (5, 3));
    world.does(world.failed("a"));
    assert_eq!(world.step("a").status, StepStatus::Failed);
}

#[test]
fn a_bus_that_refuses_what_a_worker_has_taken_is_not_believed() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    world.does(world.acked("a"));
    world.check(world.publish_failed("a"), expect!["nothing"]);
    world.does(world.succeeded("a"));
    world.check(world.published("b"), expect!["attempt_published b"]);
    world.check(world.publish_failed("b"), expect!["nothing"]);
    world.check(world.published("b"), expect!["nothing"]);
}

// X-025, X-164: the bus gave up after its own count of deliveries; that fails one attempt, and
// another one may help.
#[test]
fn an_undelivered_directive_is_a_failed_attempt_that_is_tried_again() {
    let mut world = World::started(sequence([step("a")]));
    world.check(
        world.undelivered("a"),
        expect!["attempt_failed a counted=true error=job_undelivered retry_at=+30s"],
    );
    world.wakes();
    world.does(world.undelivered("a"));
    world.wakes();
    world.check(
        world.undelivered("a"),
        expect![[r#"
            step_failed a error=job_undelivered
            run_failed a error=job_undelivered
            -> ended failed"#]],
    );
}

// X-117: an attempt counts from its dispatch, so that one which vanished has counted.
#[test]
fn an_attempt_that_vanished_has_counted() {
    let mut world = World::started(sequence([step("a")]));
    assert_eq!(world.step("a").tries, 1);
    for _ in 0..2 {
        world.wakes();
        world.wakes();
    }
    world.pass(minutes(15));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=attempt_timed_out
            run_failed a error=attempt_timed_out
            -> withdraw a attempt=3 lease=3
            -> ended failed"#]],
    );
}

// A-067, A-112: members are runs of their own; what happens to one says nothing to another.
#[test]
fn a_slow_or_failing_run_does_not_delay_another_one() {
    let workflow = sequence([step("a"), step("b")]);
    let mut slow = World::started(workflow.clone());
    let mut quick = World::started(workflow);
    slow.does(slow.failed("a"));
    quick.does(quick.succeeded("a"));
    quick.does(quick.succeeded("b"));
    slow.check_status(expect!["running; a retry_wait #1; b waiting #0"]);
    quick.check_status(expect!["succeeded; a succeeded #1; b succeeded #1"]);
}

#[test]
fn a_result_is_kept_with_its_step() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.reported("a", success(json!({ "id": 7 }))));
    assert_eq!(world.step("a").result.as_deref(), Some(&json!({ "id": 7 })));
}

#[test]
fn a_clock_that_was_set_back_does_not_take_the_history_back_with_it() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    let started_at = world.run.updated_at;
    world.now = Timestamp::from_millis(0);
    let decision = world.does(world.succeeded("a"));
    assert_eq!(decision.run.updated_at, started_at);
    assert_eq!(world.step("b").lease.unwrap().expires_at, started_at.after(minutes(15)));
    assert!(matches!(decision.effects.last(), Some(Effect::Publish(_))));
}

// A run may take over what an earlier one has finished; it begins where that one failed.
// X-019: that is how a person has a step tried again that has timed out for good.
#[test]
fn a_run_that_resumes_another_carries_its_finished_steps() {
    let mut world = World::of(sequence([step("a"), step("b")]));
    let carried = vec![carried(world.index("a"), json!({ "id": 7 }))];
    world.check(
        Command::Start { carried },
        expect![[r#"
            run_started
            step_carried a result={"id":7}
            step_dispatched b attempt=1 expires_at=+15m lease=1
            -> publish b attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a succeeded #0; b dispatched #1"]);
}

#[test]
fn a_run_starts_once_and_carries_only_steps_it_has() {
    let mut world = World::of(sequence([step("a")]));
    let carried = vec![carried(StepIndex(9), json!({}))];
    world.check(Command::Start { carried }, expect![[r#"refused: the run has no step "9""#]]);
    world.does(start());
    world.check(start(), expect!["refused: the run has already started"]);
}
