//! Times that outlast the engine: how long a step may be kept, and how long a job rests.

use std::sync::Arc;
use std::time::Duration;

use stepwell_core::command::{Act, Command};
use stepwell_core::duration::Interval;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::{Outcome, StepError};
use stepwell_core::time::Timestamp;
use stepwell_engine::Kept;

use super::{LEASE_SECS, Work, create, done, is_stale, one_sign, stores, take, terms, world_on};
use crate::world::{World, failure, sqlite};

/// The same job, whose steps may take a minute and a half.
const LIMITED: &str = "
name: report
timeout: 90s
steps:
  - {id: collect, type: COLLECT, pool: workers}
  - {id: render, type: RENDER, pool: workers}
";

/// Two branches.
const BRANCHES: &str = "
name: report
steps:
  - {id: collect, type: COLLECT, pool: workers}
  - {id: render, type: RENDER, pool: workers, after: [collect]}
  - {id: send, type: SEND, pool: workers, after: [collect]}
";

/// The engine ends where it stands; another one takes the store over.
async fn crash(world: &mut World) {
    world.engine.crash();
    world.restart(Arc::clone(&world.store)).await;
}

/// A sign of life after so many seconds, and for how many more the worker may keep the step.
async fn sign_after(world: &World, seconds: u64, work: Work) -> u64 {
    world.clock.advance(Duration::from_secs(seconds));
    match one_sign(world, work).await {
        Kept::Until(Some(until)) => until.since(world.engine.now()).as_secs(),
        other => panic!("not kept: {other:?}"),
    }
}

fn code(run: &Run) -> Option<&str> {
    run.error.as_ref().map(|error| error.code.as_str())
}

// a worker sees the end of its step's time come in the answers to its signs of life. Then the attempt has
// failed, and the next one begins at the same step.
#[tokio::test]
async fn signs_of_life_are_answered_with_the_end_of_the_steps_time() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        world.publish(LIMITED).await;
        let job = create(&world, terms(5)).await;
        let work = take(&world).await;
        let (_, work) = done(&world, work, 0).await;
        let work = work.expect("it goes on");
        assert_eq!(sign_after(&world, 20, work).await, LEASE_SECS);
        assert_eq!(sign_after(&world, 40, work).await, 30, "60 of 90 s have passed");
        assert_eq!(sign_after(&world, 20, work).await, 10, "nothing moves the end");
        world.after(10, job, |run| run.status == RunStatus::RetryWait).await;
        assert_eq!(code(&*world.run(job).await), Some("attempt_timed_out"));
        assert!(matches!(one_sign(&world, work).await, Kept::Lost(_)));
        let late = world.engine.command(job, work.report(failure(true), 0)).await;
        assert!(is_stale(&late.expect_err("it has lost the attempt")));
        world.after(30, job, |run| run.status == RunStatus::Ready).await;
        assert_eq!(take(&world).await.directive.step, work.directive.step);
    }
}

// another engine that takes over knows how long the step may still take.
#[tokio::test]
async fn the_time_of_a_step_is_known_after_a_restart() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = world_on(sqlite(&place)).await;
    world.publish(LIMITED).await;
    let job = create(&world, terms(5)).await;
    // What the message waited is not counted.
    world.clock.advance(Duration::from_secs(50));
    let work = take(&world).await;
    assert_eq!(sign_after(&world, 50, work).await, 40);
    crash(&mut world).await;
    assert_eq!(sign_after(&world, 20, work).await, 20);
    world.after(20, job, |run| run.status == RunStatus::RetryWait).await;
    assert_eq!(code(&*world.run(job).await), Some("attempt_timed_out"));
}

async fn fails_busy(world: &World, work: Work, rest_secs: u64) -> Arc<Run> {
    let error = StepError::new("busy", "come back later");
    let retry_after = Some(Interval::from_secs(rest_secs));
    let outcome = Outcome::Failed { error, retryable: true, retry_after };
    world.engine.command(work.run, work.report(outcome, 0)).await.expect("counts")
}

fn seconds_until(world: &World, at: Option<Timestamp>) -> Option<u64> {
    at.map(|at| at.since(world.engine.now()).as_secs())
}

// C-034, C-035: a worker that asks for a longer rest gets it, also if the engine ends before the attempt does.
#[tokio::test]
async fn a_job_rests_as_long_as_its_workers_have_asked() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = world_on(sqlite(&place)).await;
    world.publish(BRANCHES).await;
    let job = create(&world, terms(5)).await;
    let (_, one) = done(&world, take(&world).await, 0).await;
    let other = take(&world).await;
    let run = fails_busy(&world, one.expect("it goes on"), 300).await;
    assert_eq!(run.status, RunStatus::Running, "the other branch is under way");
    crash(&mut world).await;
    world.clock.advance(Duration::from_secs(10));
    let run = world.engine.command(job, other.report(failure(true), 0)).await.expect("counts");
    assert_eq!(seconds_until(&world, run.retry_at), Some(290));
    world.after(290, job, |run| run.status == RunStatus::Ready).await;
    assert_eq!(world.run(job).await.attempt, 2);
}

// C-009, C-022, X-117: an attempt that was canceled before a worker took its message was none.
#[tokio::test]
async fn a_job_that_is_canceled_while_it_is_queued_again_has_had_one_attempt() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let mut world = world_on(store).await;
        let job = create(&world, terms(5)).await;
        let work = take(&world).await;
        world.engine.command(job, work.report(failure(true), 0)).await.expect("counts");
        world.after(30, job, |run| run.status == RunStatus::Ready).await;
        assert_eq!(world.run(job).await.attempts_begun(), 1);
        let by = Act::new("user", "not needed");
        world.engine.command(job, Command::Cancel { mode: None, by }).await.expect("cancels");
        crash(&mut world).await;
        let run = world.run(job).await;
        assert_eq!((run.status, run.attempts_begun()), (RunStatus::Cancelled, 1));
    }
}
