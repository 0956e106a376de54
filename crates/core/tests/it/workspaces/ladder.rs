//! Rests between attempts, and how many there are.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::command::Operation::Retry;
use stepwell_core::definition::Workflow;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepError};
use stepwell_core::terms::Terms;
use uuid::Uuid;

use super::{job, job_with, ladder, terms};
use crate::world::{World, after, graph, operate, seconds, sequence, step};

/// Fails every attempt at its first step; the rest after each, in milliseconds.
fn rests(world: &mut World) -> Vec<u64> {
    let mut rests = Vec::new();
    loop {
        world.does(world.failed("a"));
        let Some(retry_at) = world.run.retry_at else { return rests };
        rests.push(retry_at.since(world.now).as_millis());
        world.wakes();
    }
}

// C-034, C-035, X-120, X-154: 30 s, 120 s, 600 s, then 1,800 s however often.
#[test]
fn the_rests_are_thirty_seconds_two_minutes_ten_minutes_and_then_half_an_hour() {
    let mut world = job(7);
    assert_eq!(rests(&mut world), [30, 120, 600, 1800, 1800, 1800].map(|it| it * 1000));
}

// C-034: about so long; a tenth either way, and not all jobs the same.
#[test]
fn jitter_moves_each_rest_by_at_most_a_tenth() {
    let mut all = Vec::new();
    for number in 0..50 {
        let granted = Terms { run_retry: Some(ladder(6, 10)), ..terms(6) };
        let mut world = job_with(sequence([step("a")]), granted);
        let header = Arc::make_mut(&mut world.run.header);
        header.id = RunId(Uuid::from_u128(number));
        let rests = rests(&mut world);
        for (rest, plain) in rests.iter().zip([30_000, 120_000, 600_000, 1_800_000, 1_800_000]) {
            assert!((plain - plain / 10..=plain + plain / 10).contains(rest), "{rest} for {plain}");
        }
        all.push(rests);
    }
    all.sort_unstable();
    all.dedup();
    assert!(all.len() > 40, "jobs that fail together do not come back together");
}

// C-009, C-020, C-029 … C-031, X-116, X-119: as many attempts as were granted, above and below the five
// deliveries of a broker; the last failure is the end.
#[test]
fn a_job_is_tried_as_often_as_it_was_granted() {
    for attempts_max in [1, 3, 5, 7] {
        let mut world = job(attempts_max);
        let id = world.run.id();
        for attempt in 1..=attempts_max {
            assert_eq!((world.run.status, world.run.attempt), (RunStatus::Ready, attempt));
            world.does(world.acked("a"));
            assert_eq!(world.run.status, RunStatus::Running);
            let ended = world.does(world.failed("a"));
            assert_eq!(world.run.error.as_ref().map(|it| it.code.as_str()), Some("broken"));
            if attempt < attempts_max {
                assert_eq!(world.run.status, RunStatus::RetryWait);
                assert_eq!(world.run.ended_at, None);
                world.wakes();
            } else {
                assert_eq!(world.run.status, RunStatus::Failed);
                assert_eq!(world.run.ended_at, Some(world.now));
                assert_eq!(ended.effects.len(), 1, "its end, and nothing else");
            }
        }
        assert_eq!(world.run.id(), id);
    }
}

/// A failure of a worker that asks for a rest.
fn busy(world: &World, step: &str, rest: Interval) -> Command {
    let error = StepError::new("busy", "come back later");
    world.reported(step, Outcome::Failed { error, retryable: true, retry_after: Some(rest) })
}

// C-034, C-035, X-154: a worker may ask for a longer rest than the ladder has, up to a day, and not for a
// shorter one.
#[test]
fn a_worker_may_ask_for_a_longer_rest() {
    for (asked, rest) in [(0, 30), (10, 30), (45, 45), (7_200, 7_200), (172_800, 86_400)] {
        let mut world = job(5);
        world.does(busy(&world, "a", seconds(asked)));
        let retry_at = world.run.retry_at.expect("another attempt follows");
        assert_eq!(retry_at.since(world.now).as_secs(), rest, "asked for {asked}");
        world.pass(seconds(rest - 1));
        assert!(world.does(Command::Wake).entries.is_empty(), "not before its time");
        world.wakes();
        assert_eq!((world.run.status, world.run.attempt), (RunStatus::Ready, 2));
        world.does(world.failed("a"));
        let retry_at = world.run.retry_at.expect("another attempt follows");
        assert_eq!(retry_at.since(world.now).as_secs(), 120, "that was for one rest");
    }
}

// C-034, X-154: of two branches that ask, the longer rest counts, from the moment it was asked for.
#[test]
fn the_longest_rest_that_was_asked_for_counts_from_when_it_was_asked_for() {
    let steps = vec![step("a"), after(&[0], step("b")), after(&[0], step("c"))];
    let mut world = job_with(graph(steps), terms(5));
    world.does(world.succeeded("a"));
    world.does(busy(&world, "b", seconds(300)));
    assert_eq!((world.run.status, world.run.retry_at), (RunStatus::Running, None));
    world.pass(seconds(100));
    world.does(busy(&world, "c", seconds(40)));
    let retry_at = world.run.retry_at.expect("another attempt follows");
    assert_eq!(retry_at.since(world.now).as_secs(), 200);
}

// a person who does not want to wait need not.
#[test]
fn a_person_need_not_wait_for_the_rest_that_a_worker_asked_for() {
    let mut world = job(5);
    world.does(busy(&world, "a", seconds(7_200)));
    world.does(operate("a", Retry));
    assert_eq!((world.run.status, world.run.attempt), (RunStatus::Ready, 2));
}

// C-034: what was granted to the job goes before what its workflow says.
#[test]
fn the_workflow_gives_the_attempts_of_a_job_that_was_granted_none() {
    let own = Some(RetryPolicy::fixed(2, seconds(7)));
    let workflow = Workflow { run_retry: own, ..sequence([step("a")]) };
    let granted = Terms { run_retry: None, ..terms(1) };
    assert_eq!(rests(&mut job_with(workflow.clone(), granted)), [7_000]);
    assert_eq!(rests(&mut job_with(workflow, terms(3))), [30_000, 120_000]);
}
