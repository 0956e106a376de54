//! From the first message to the end.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::Command;
use stepwell_core::command::Operation::Retry;
use stepwell_core::definition::StepSpec;
use stepwell_core::run::{Header, RunStatus};
use stepwell_core::step::StepStatus;

use super::{in_pool, job, job_with, terms};
use crate::world::{
    World, after, carried, failure, graph, header, minutes, operate, pause, report, resume,
    sequence, step, success,
};

// C-018, C-014, X-118: one message starts the attempt. The job is queued until a worker has taken it.
#[test]
fn a_job_is_queued_until_a_worker_takes_its_message() {
    let mut world = job(5);
    world.check_status(expect!["ready; a dispatched #1; b waiting #0; c waiting #0"]);
    assert_eq!(world.run.started_at, None);
    world.pass(minutes(10));
    world.check(
        world.acked("a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+1m
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check_status(expect!["running; a acked #1; b waiting #0; c waiting #0"]);
    assert_eq!(world.run.started_at, Some(world.now));
}

// C-010, C-019, C-038, C-039, X-118: whoever reports a step goes on with the next; nothing more is published.
#[test]
fn the_worker_that_reports_a_step_goes_on_with_the_next() {
    let mut world = job(5);
    world.does(world.acked("a"));
    let first = world.fence("a");
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+1m lease=next
            step_acked b"#]],
    );
    let next = world.run.continuation(first.lease).expect("there is more to do");
    assert_eq!((next.step, next.lease), (world.index("b"), world.lease("b")));
    world.does(world.succeeded("b"));
    assert_eq!(world.run.continuation(first.lease), None, "that was the step before");
    world.check(
        world.succeeded("c"),
        expect![[r#"
            step_succeeded c result={}
            run_succeeded
            -> ended succeeded"#]],
    );
}

// C-018: a worker that answers at once has taken the message, whether it said so or not.
#[test]
fn a_report_without_an_ack_takes_the_message_too() {
    let mut world = job(5);
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+1m
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+1m lease=next
            step_acked b
            -> withdraw a attempt=1 lease=1"#]],
    );
    assert_eq!(world.run.started_at, Some(world.now));
}

// X-126: a worker that did not hear the answer repeats its report; that changes nothing, and it can still be
// told what it goes on with.
#[test]
fn a_repeated_report_is_refused_and_the_next_step_is_still_known() {
    let mut world = job(5);
    let first = world.fence("a");
    world.does(world.succeeded("a"));
    world.check(
        report("a", first, success(json!({}))),
        expect!["refused: the step has ended as succeeded"],
    );
    let next = world.run.continuation(first.lease).expect("it has been given the next step");
    assert_eq!(next.lease, world.lease("b"));
}

// C-025, X-118: a step of another pool needs a message of its own; the job stays under way meanwhile.
#[test]
fn a_step_of_another_pool_is_sent_there() {
    let steps = sequence([step("a"), in_pool("gpu", step("b")), step("c")]);
    let mut world = job_with(steps, terms(5));
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+1m
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+1h lease=2
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
    world.check_status(expect!["running; a succeeded #1; b dispatched #1; c waiting #0"]);
    world.does(world.acked("b"));
    world.check(
        world.succeeded("b"),
        expect![[r#"
            step_succeeded b result={}
            step_dispatched c attempt=1 expires_at=+1h lease=3
            -> publish c attempt=1 lease=3"#]],
    );
}

#[test]
fn of_two_branches_a_worker_goes_on_with_one_and_the_other_is_for_others() {
    let steps = vec![step("a"), after(&[0], step("b")), after(&[0], step("c"))];
    let mut world = job_with(graph(steps), terms(5));
    let worker = world.fence("a");
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+1m
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+1m lease=next
            step_acked b
            step_dispatched c attempt=1 expires_at=+1h lease=2
            -> withdraw a attempt=1 lease=1
            -> publish c attempt=1 lease=2"#]],
    );
    assert_eq!(world.run.continuation(worker.lease).map(|it| it.step), Some(world.index("b")));
    // The attempt is over when nothing of it is under way any more.
    world.does(world.failed("b"));
    assert_eq!(world.run.status, RunStatus::Running);
    world.does(world.succeeded("c"));
    assert_eq!(world.run.status, RunStatus::RetryWait);
}

// C-021, X-119: what no attempt can cure ends the job at once, also what goes on beside it.
#[test]
fn a_poisoned_job_is_dead_at_once() {
    let steps = vec![step("a"), after(&[0], step("b")), after(&[0], step("c"))];
    let mut world = job_with(graph(steps), terms(5));
    world.does(world.succeeded("a"));
    world.check(
        world.failed_for_good("b"),
        expect![[r#"
            step_failed b error=broken
            step_cancelled c
            run_failed b error=broken
            -> withdraw c attempt=1 lease=2
            -> ended failed"#]],
    );
}

// X-119, C-021, C-032: the message of the attempt in force lies among the dead ones, so the job is dead.
#[test]
fn a_job_whose_message_was_given_up_is_dead() {
    let mut world = job(5);
    world.check(
        world.undelivered("a"),
        expect![[r#"
            step_failed a error=job_undelivered
            step_cancelled b
            step_cancelled c
            run_failed a error=job_undelivered
            -> ended failed"#]],
    );
    let mut running = job(5);
    running.does(running.acked("a"));
    let message = running.undelivered("a");
    running.does(message);
    assert_eq!(running.run.status, RunStatus::Failed, "also if a worker had taken it");
}

// X-119: only the message in force speaks for the job.
#[test]
fn an_older_message_that_is_given_up_changes_nothing() {
    let mut world = job(5);
    let old = world.undelivered("a");
    world.does(world.failed("a"));
    world.wakes();
    assert!(world.asks(&old).expect_err("it is not in force").is_stale());
    assert_eq!(world.run.status, RunStatus::Ready);
}

// X-125: nobody has tried anything, so no attempt is used up; a fresh message takes the place of the lost one.
#[test]
fn a_message_that_nobody_takes_is_replaced_and_the_job_stays_queued() {
    let mut world = job(1);
    for attempt in 2..6 {
        world.wakes();
        assert_eq!(world.run.status, RunStatus::Ready);
        world.wakes();
        assert_eq!(world.step("a").attempt, attempt);
    }
    assert_eq!((world.run.status, world.run.attempt), (RunStatus::Ready, 1));
    world.does(world.succeeded("a"));
    assert_eq!(world.step("b").status, StepStatus::Acked);
}

#[test]
fn a_paused_job_gives_its_worker_nothing_more_and_goes_on_with_a_message() {
    let mut world = job(5);
    let worker = world.fence("a");
    world.does(pause());
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+1m
            step_succeeded a result={}
            step_readied b
            -> withdraw a attempt=1 lease=1"#]],
    );
    assert_eq!(world.run.continuation(worker.lease), None);
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_dispatched b attempt=1 expires_at=+1h lease=2
            -> publish b attempt=1 lease=2"#]],
    );
}

// X-116, C-030: a person need not wait for the next attempt; it is the same one, only sooner.
#[test]
fn a_person_may_begin_the_next_attempt_before_its_time() {
    let mut world = job(5);
    world.does(world.failed("a"));
    world.check(
        operate("a", Retry),
        expect![[r#"
            step_operated a operation=retry
            run_retried attempt=2
            step_dispatched a attempt=2 expires_at=+1h lease=2
            -> publish a attempt=2 lease=2"#]],
    );
    world.check_status(expect!["ready; a dispatched #2; b waiting #0; c waiting #0"]);
}

#[test]
fn a_failure_that_does_not_matter_lets_the_worker_go_on() {
    let lenient = StepSpec { continue_on_failure: true, ..step("a") };
    let mut world = job_with(sequence([lenient, step("b")]), terms(1));
    let worker = world.fence("a");
    world.does(world.reported("a", failure(true)));
    assert_eq!(world.run.continuation(worker.lease).map(|it| it.step), Some(world.index("b")));
    world.does(world.succeeded("b"));
    assert_eq!(world.run.status, RunStatus::Succeeded);
}

// C-038, C-021: a dead job that is taken up again is a new one that begins at the cursor of the old.
#[test]
fn a_job_that_takes_up_another_one_begins_at_its_cursor() {
    let workflow = sequence([step("a"), step("b")]);
    let terms = Some(Arc::new(terms(5)));
    let mut world = World::of_header(Header { terms, ..header(workflow) });
    let done = carried(world.index("a"), json!({}));
    world.does(Command::Start { carried: vec![done] });
    world.check_status(expect!["ready; a succeeded #0; b dispatched #1"]);
}
