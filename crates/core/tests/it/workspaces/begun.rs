//! How many attempts a job has had, wherever it stands.

use stepwell_core::command::Operation::{Retry, Skip};
use stepwell_core::definition::CancelMode;
use stepwell_core::run::RunStatus::{self, Cancelled, Created, Failed, Ready, RetryWait, Running};
use stepwell_core::run::RunStatus::{Cancelling, Succeeded};

use super::job;
use crate::world::{World, cancel, operate, pause};

/// What happens to a job, told from the moment it was created.
type Story = fn(&mut World);

fn queued_again(world: &mut World) {
    world.does(world.failed("a"));
    world.wakes();
}

fn running_again(world: &mut World) {
    queued_again(world);
    world.does(world.acked("a"));
}

const STORIES: [(&str, Story, RunStatus, u32); 21] = [
    ("queued", |_| {}, Ready, 0),
    ("queued and paused", |it| drop(it.does(pause())), Ready, 0),
    ("nobody took its message", |it| drop((it.wakes(), it.wakes())), Ready, 0),
    ("canceled while queued", |it| drop(it.does(cancel(CancelMode::Immediate))), Cancelled, 0),
    ("drained while queued", |it| drop(it.does(cancel(CancelMode::Drain))), Cancelled, 0),
    ("undelivered", |it| drop(it.does(it.undelivered("a"))), Failed, 0),
    ("running", |it| drop(it.does(it.acked("a"))), Running, 1),
    ("failed", |it| drop(it.does(it.failed("a"))), RetryWait, 1),
    ("canceled between attempts", canceled_resting, Cancelled, 1),
    ("queued again", queued_again, Ready, 1),
    ("queued again by a person", retried_by_hand, Ready, 1),
    ("queued again, and nobody took it", unclaimed_again, Ready, 1),
    ("canceled while queued again", |it| canceled(it, CancelMode::Immediate), Cancelled, 1),
    ("drained while queued again", |it| canceled(it, CancelMode::Drain), Cancelled, 1),
    ("undelivered again", undelivered_again, Failed, 1),
    ("ended by a person while queued again", skipped, Succeeded, 1),
    ("running again", running_again, Running, 2),
    ("draining", draining, Cancelling, 2),
    ("canceled while running again", canceled_running, Cancelled, 2),
    ("completed", completed, Succeeded, 2),
    ("dead", dead, Failed, 3),
];

fn canceled_resting(world: &mut World) {
    world.does(world.failed("a"));
    world.does(cancel(CancelMode::Immediate));
}

fn retried_by_hand(world: &mut World) {
    world.does(world.failed("a"));
    world.does(operate("a", Retry));
}

fn unclaimed_again(world: &mut World) {
    queued_again(world);
    world.wakes();
    world.wakes();
}

fn canceled(world: &mut World, mode: CancelMode) {
    queued_again(world);
    world.does(cancel(mode));
}

fn undelivered_again(world: &mut World) {
    queued_again(world);
    world.does(world.undelivered("a"));
}

fn skipped(world: &mut World) {
    queued_again(world);
    for id in ["c", "b", "a"] {
        world.does(operate(id, Skip));
    }
}

fn draining(world: &mut World) {
    running_again(world);
    world.does(cancel(CancelMode::Drain));
}

fn canceled_running(world: &mut World) {
    running_again(world);
    world.does(cancel(CancelMode::Immediate));
}

fn completed(world: &mut World) {
    running_again(world);
    for id in ["a", "b", "c"] {
        world.does(world.succeeded(id));
    }
}

fn dead(world: &mut World) {
    running_again(world);
    queued_again(world);
    world.does(world.failed("a"));
}

// C-009, C-029, X-117: an attempt counts from the moment a worker has taken it, and not before, whatever
// becomes of its message.
#[test]
fn attempts_are_those_that_a_worker_has_begun() {
    for (name, story, status, begun) in STORIES {
        let mut world = job(3);
        story(&mut world);
        assert_eq!((world.run.status, world.run.attempts_begun()), (status, begun), "{name}");
    }
    let reached = |status| STORIES.iter().any(|(_, _, reached, _)| *reached == status);
    assert!(RunStatus::ALL.into_iter().all(|status| status == Created || reached(status)));
}

// C-009, C-018: of a job that was never queued nothing was begun.
#[test]
fn a_job_that_was_never_queued_has_had_no_attempt() {
    let mut world = World::of_header(job(3).run.header.as_ref().clone());
    assert_eq!((world.run.status, world.run.attempts_begun()), (Created, 0));
    world.does(cancel(CancelMode::Immediate));
    assert_eq!((world.run.status, world.run.attempts_begun()), (Cancelled, 0));
}
