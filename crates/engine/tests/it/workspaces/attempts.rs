//! Attempts: their messages, their workers, and silence.

use std::time::Duration;

use stepwell_core::command::{Act, Command};
use stepwell_core::run::RunStatus;
use stepwell_engine::Kept;

use super::{LEASE_SECS, create, done, is_stale, one_sign, stores, take, terms, world_on};
use crate::world::failure;

/// How often a message is received before it is given up.
const DELIVERIES_MAX: usize = 5;

// C-018, C-025, C-038, C-039, X-118: an attempt is one delivery; the worker is given one step after the
// other with the answers to its reports, and nothing else waits for anybody.
#[tokio::test]
async fn an_attempt_is_one_delivery() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let job = create(&world, terms(5)).await;
        assert_eq!(world.run(job).await.status, RunStatus::Ready);
        let first = take(&world).await;
        assert_eq!(world.run(job).await.status, RunStatus::Running);
        let (_, second) = done(&world, first, 0).await;
        assert!(world.take_now().await.is_empty(), "the next step is with the worker");
        let (_, third) = done(&world, second.expect("render"), 0).await;
        let (run, nothing) = done(&world, third.expect("send"), 0).await;
        assert_eq!((run.status, nothing.is_none()), (RunStatus::Succeeded, true));
        assert!(world.take_now().await.is_empty());
    }
}

// whoever has taken the message keeps it, also when the bus would have handed it out again.
#[tokio::test]
async fn a_message_that_was_taken_is_not_handed_out_again() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let job = create(&world, terms(5)).await;
        let work = take(&world).await;
        // Longer than the bus keeps a delivery from others, shorter than the lease after another sign.
        world.clock.advance(Duration::from_secs(LEASE_SECS / 2));
        assert!(matches!(one_sign(&world, work).await, Kept::Until(Some(_))));
        world.clock.advance(Duration::from_secs(LEASE_SECS / 2 + 10));
        assert!(matches!(one_sign(&world, work).await, Kept::Until(Some(_))));
        assert!(world.take_now().await.is_empty());
        assert_eq!(world.run(job).await.status, RunStatus::Running);
    }
}

// X-121, C-029, C-034, C-035: a worker that falls silent has failed; the next message comes 30 s later.
#[tokio::test]
async fn a_silent_worker_loses_its_attempt_and_the_next_begins_after_the_rest() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let job = create(&world, terms(5)).await;
        let silent = take(&world).await;
        let (_, silent) = done(&world, silent, 0).await;
        let silent = silent.expect("it goes on");
        world.after(LEASE_SECS, job, |run| run.status == RunStatus::RetryWait).await;
        let rests_until = world.run(job).await.retry_at.expect("the next attempt has its time");
        assert_eq!(rests_until.since(world.engine.now()).as_secs(), 30);
        assert!(matches!(one_sign(&world, silent).await, Kept::Lost(_)));
        world.after(30, job, |run| run.status == RunStatus::Ready).await;
        let work = take(&world).await;
        assert_eq!(world.run(job).await.attempt, 2);
        assert_eq!(work.directive.step, silent.directive.step, "it goes on where the first was");
        let late = world.engine.command(job, silent.report(failure(true), 0)).await;
        assert!(is_stale(&late.expect_err("it has lost the attempt")));
        assert_eq!(world.store.stale_reports(job).await.expect("kept").len(), 1);
    }
}

// C-022, X-123: a cancel ends the job at once; whoever has it learns so with its next word.
#[tokio::test]
async fn the_worker_of_a_cancelled_job_learns_so() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let jobs = [create(&world, terms(5)).await, create(&world, terms(5)).await];
        let work = take(&world).await;
        for run in jobs {
            let by = Act::new("user", "not needed");
            let run = world.engine.command(run, Command::Cancel { mode: None, by }).await;
            assert_eq!(run.expect("cancels").status, RunStatus::Cancelled);
        }
        assert!(matches!(one_sign(&world, work).await, Kept::Lost(_)));
        assert!(world.take_now().await.is_empty(), "the other one's message went with it");
    }
}

// C-028, C-031, C-032, X-119, X-164: the job's own message was given up, so the job is dead, whatever attempts remain.
#[tokio::test]
async fn a_message_that_is_given_up_makes_its_job_dead() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let job = create(&world, terms(7)).await;
        // Every worker that gets it dies before it has said a word.
        for _ in 0..DELIVERIES_MAX {
            world.take_one().await;
            world.clock.advance(Duration::from_secs(61));
        }
        assert!(world.take_now().await.is_empty(), "nobody gets it a sixth time");
        world.after(0, job, |run| run.status.is_terminal()).await;
        let run = world.run(job).await;
        assert_eq!((run.status, run.attempts_begun()), (RunStatus::Failed, 0), "nobody began it");
        assert_eq!(run.error.as_ref().map(|it| it.code.as_str()), Some("job_undelivered"));
        let letters = world.store.dead_letters(Default::default()).await.expect("kept");
        assert_eq!(letters.len(), 1);
    }
}

// C-029, C-031: the letter of a job that was tried again says what went wrong first, and what last.
#[tokio::test]
async fn a_dead_letter_knows_the_first_error_and_the_last() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let job = create(&world, terms(2)).await;
        take(&world).await;
        world.after(LEASE_SECS, job, |run| run.status == RunStatus::RetryWait).await;
        world.after(30, job, |run| run.status == RunStatus::Ready).await;
        let work = take(&world).await;
        world.engine.command(job, work.report(failure(true), 0)).await.expect("counts");
        let letters = world.store.dead_letters(Default::default()).await.expect("kept");
        let letter = &letters[0].letter;
        let first = letter.first_error.as_ref().map(|it| it.code.as_str());
        assert_eq!((first, letter.error.code.as_str()), (Some("lease_expired"), "broken"));
    }
}
