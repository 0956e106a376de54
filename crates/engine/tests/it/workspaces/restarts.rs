//! The engine itself dies in the middle of an attempt.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::run::RunStatus;
use stepwell_engine::Kept;

use super::{LEASE_SECS, create, done, kinds, one_sign, take, terms, told_end, world_on};
use crate::world::{World, failure, sqlite};

/// The engine ends where it stands; another one takes the store over.
async fn crash(world: &mut World) {
    world.engine.crash();
    world.restart(Arc::clone(&world.store)).await;
}

// C-038, X-121, X-126: a worker that keeps an attempt does not notice. What it has is not handed out again,
// its report counts, and it goes on.
#[tokio::test]
async fn a_worker_goes_on_across_a_restart() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = world_on(sqlite(&place)).await;
    let job = create(&world, terms(5)).await;
    let first = take(&world).await;
    let (_, second) = done(&world, first, 0).await;
    let second = second.expect("render");
    crash(&mut world).await;
    assert!(world.take_now().await.is_empty(), "the step is with its worker");
    assert!(matches!(one_sign(&world, second).await, Kept::Until(Some(_))));
    let (_, third) = done(&world, second, 0).await;
    let (run, _) = done(&world, third.expect("send"), 0).await;
    assert_eq!(run.status, RunStatus::Succeeded);
    assert_eq!(told_end(&world, job).await["outcome"], "completed");
}

// the message of a job that was created just before a crash is there after it.
#[tokio::test]
async fn a_message_that_waits_is_there_after_a_restart() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = world_on(sqlite(&place)).await;
    let job = create(&world, terms(5)).await;
    crash(&mut world).await;
    assert_eq!(take(&world).await.run, job);
}

// X-121, C-030: a worker that died with the engine loses its attempt when its lease ends.
#[tokio::test]
async fn a_lease_ends_across_a_restart() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = world_on(sqlite(&place)).await;
    let job = create(&world, terms(5)).await;
    let work = take(&world).await;
    crash(&mut world).await;
    world.after(LEASE_SECS, job, |run| run.status == RunStatus::RetryWait).await;
    world.after(30, job, |run| run.status == RunStatus::Ready).await;
    assert_eq!(take(&world).await.directive.step, work.directive.step);
}

// C-031, X-128: what ends a job and what tells of its end are one commit, so a crash after it repeats nothing.
#[tokio::test]
async fn an_end_is_told_once_across_a_restart() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = world_on(sqlite(&place)).await;
    let job = create(&world, terms(1)).await;
    let work = take(&world).await;
    let failed = work.report(failure(false), 0);
    world.engine.command(job, failed.clone()).await.expect("counts");
    crash(&mut world).await;
    world.engine.command(job, failed).await.expect_err("it has ended");
    world.engine.command(job, Command::Wake).await.expect("a wake changes nothing");
    let ends = kinds(&world, job).await.into_iter().filter(|kind| kind == "workflow_run_completed");
    assert_eq!(ends.count(), 1);
}
