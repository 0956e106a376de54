//! A worker dies at any point of an attempt: the next attempt goes on where it was.

use stepwell_core::command::Command;
use stepwell_core::entry::Entry;
use stepwell_core::run::RunStatus;

use super::{job, under_way};
use crate::world::World;

/// What was begun, by attempt of the run.
fn begun(world: &World) -> Vec<(u32, String)> {
    let mut attempt = 1;
    let mut begun = Vec::new();
    for entry in world.records.iter().flat_map(|record| &record.entries) {
        match entry {
            Entry::RunRetried { attempt: next } => attempt = *next,
            Entry::StepAcked { step } => {
                begun.push((attempt, world.run.step_id(*step).into_owned()))
            }
            _ => {}
        }
    }
    begun
}

/// One move of a worker that does its work: take the message, then report step after step.
fn next_move(world: &World) -> Command {
    let step = under_way(world);
    match world.run.status {
        RunStatus::Ready => world.acked(&step),
        _ => world.succeeded(&step),
    }
}

// C-038, C-040, X-121: whatever was finished stays finished; what was not is done again, by the same job.
#[test]
fn a_crash_at_any_point_of_an_attempt_resumes_at_the_cursor_and_repeats_no_finished_step() {
    // Taken, and each of the first two steps reported: the worker dies after so many of its moves.
    for moves in 1..=3 {
        let mut world = job(5);
        for _ in 0..moves {
            let command = next_move(&world);
            world.does(command);
        }
        let cursor = under_way(&world);
        world.wakes();
        assert_eq!(world.run.status, RunStatus::RetryWait, "after {moves} moves");
        assert_eq!(world.run.error.as_ref().map(|it| it.code.as_str()), Some("lease_expired"));
        assert_eq!(world.run.retry_at.map(|at| at.since(world.now).as_secs()), Some(30));
        world.wakes();
        assert_eq!((world.run.status, world.run.attempt), (RunStatus::Ready, 2));
        assert_eq!(under_way(&world), cursor);
        while !world.run.status.is_terminal() {
            let command = next_move(&world);
            world.does(command);
        }
        assert_eq!(world.run.status, RunStatus::Succeeded);
        let mut expected: Vec<_> =
            ["a", "b", "c"].iter().take(moves).map(|id| (1, (*id).to_owned())).collect();
        let rest = ["a", "b", "c"].iter().skip(moves - 1);
        expected.extend(rest.map(|id| (2, (*id).to_owned())));
        assert_eq!(begun(&world), expected);
    }
}

// X-121, C-031: silence uses attempts up like any other failure.
#[test]
fn a_job_whose_workers_always_fall_silent_is_dead_after_its_last_attempt() {
    for attempts_max in [1, 3] {
        let mut world = job(attempts_max);
        for attempt in 1..=attempts_max {
            world.does(world.acked("a"));
            world.wakes();
            if attempt < attempts_max {
                world.wakes();
            }
        }
        assert_eq!((world.run.status, world.run.attempt), (RunStatus::Failed, attempts_max));
        assert_eq!(world.run.error.as_ref().map(|it| it.code.as_str()), Some("lease_expired"));
    }
}

// C-037, X-121: the silent worker was only slow. What it reports of the lost attempt changes nothing.
#[test]
fn a_worker_that_comes_back_too_late_is_refused() {
    let mut world = job(5);
    world.does(world.acked("a"));
    let late = world.succeeded("a");
    let alive = super::alive(&world, "a");
    world.wakes();
    for command in [&late, &alive] {
        assert!(world.asks(command).expect_err("it has lost the attempt").is_stale());
    }
    world.wakes();
    for command in [&late, &alive] {
        assert!(world.asks(command).expect_err("another attempt is in force").is_stale());
    }
}
