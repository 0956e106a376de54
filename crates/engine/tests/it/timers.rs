//! Time passes.

use std::time::Duration;

use serde_json::json;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepStatus};

use crate::world::{THREE_STEPS, World, failure, sqlite, success};

// D-044, D-047, X-144: without a result within the SLA the step is published again under a new attempt
// and lease; an ack does not extend it.
#[tokio::test]
async fn a_silent_worker_is_replaced_when_its_time_is_over() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let silent = world.take_one().await;
    world.after(15 * 60, run, |run| run.steps[0].status == StepStatus::RetryWait).await;
    world.after(10, run, |run| run.steps[0].attempt == 2).await;
    let second = world.take_one().await;
    assert_ne!(second.directive.lease, silent.directive.lease);
    world.report(&silent, success()).await.expect_err("its lease is over");
    world.succeed(&second).await;
}

// D-048: three attempts, then the step and the run have failed.
#[tokio::test]
async fn after_its_last_attempt_a_silent_step_has_timed_out() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    for attempt in 1..=3 {
        assert_eq!(world.run(run).await.steps[0].attempt, attempt);
        world.after(15 * 60, run, |run| run.steps[0].lease.is_none()).await;
        if attempt < 3 {
            world.after(10, run, |run| run.steps[0].lease.is_some()).await;
        }
    }
    let ended = world.run(run).await;
    assert_eq!((ended.status, ended.steps[0].status), (RunStatus::Failed, StepStatus::TimedOut));
    assert!(world.take_now().await.is_empty(), "what had timed out was withdrawn from the bus");
}

// a retry waits for its time, and the row is what wakes it.
#[tokio::test]
async fn a_retry_comes_when_its_time_has_come_and_not_before() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    world.report(&taken, failure(true)).await.expect("counts");
    world.clock.advance(Duration::from_secs(9));
    assert!(world.take_now().await.is_empty(), "nine of ten seconds have passed");
    world.after(1, run, |run| run.steps[0].attempt == 2).await;
    assert_eq!(world.take_now().await.len(), 1);
}

// a directive that was handed out too often without an answer fails its attempt.
#[tokio::test]
async fn a_directive_that_nobody_settles_is_given_up_and_fails_its_attempt() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    for _ in 0..10 {
        world.take_one().await;
        world.clock.advance(Duration::from_secs(61));
    }
    world.after(0, run, |run| run.steps[0].status == StepStatus::RetryWait).await;
    let error = world.run(run).await.steps[0].error.clone().expect("it says why");
    assert_eq!(error.code, "job_undelivered");
}

const POLLING: &str = "
name: polling
steps:
  - {id: copy, type: COPY, pool: workers, poll: {interval: 30s, timeout: 10m}}
";

// an unfinished step is asked again under the same attempt and a new lease.
#[tokio::test]
async fn an_unfinished_step_is_asked_again() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(POLLING).await;
    let run = world.start("polling").await;
    let first = world.take_one().await;
    world.report(&first, Outcome::Incomplete).await.expect("counts");
    assert!(world.take_now().await.is_empty(), "the question waits for its time");
    world.after(30, run, |run| run.steps[0].lease.is_some()).await;
    let question = world.take_one().await;
    assert_eq!((question.directive.attempt, question.directive.poll), (1, 1));
    let done = Outcome::Succeeded { result: json!({"complete": true}) };
    let ended = world.report(&question, done).await.expect("counts");
    assert_eq!(ended.status, RunStatus::Succeeded);
}
