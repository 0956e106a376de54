//! A job is cancelled at any point.

use expect_test::expect;
use stepwell_core::command::Command;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use super::{alive, job, under_way};
use crate::world::{World, somebody};

fn cancel() -> Command {
    Command::Cancel { mode: None, by: somebody() }
}

/// Jobs at every point of two attempts, each with how many steps it has finished.
fn everywhere() -> Vec<(World, usize)> {
    let mut found = Vec::new();
    // Per attempt: queued, taken, each step reported; then it fails, rests and is queued again.
    for attempts in 0..2 {
        for moves in 0..=4 {
            let mut world = job(5);
            for _ in 0..attempts {
                world.does(world.failed("a"));
                world.wakes();
            }
            for number in 0..moves {
                let step = under_way(&world);
                let command = match number {
                    0 => world.acked(&step),
                    3 => world.failed(&step),
                    _ => world.succeeded(&step),
                };
                world.does(command);
            }
            let finished = usize::min(moves.max(1) - 1, 2);
            found.push((world, finished));
        }
    }
    found
}

// C-022, X-122, X-123, X-152: it ends at once, keeps its cursor, and whoever has it learns so.
#[test]
fn a_job_that_is_cancelled_ends_at_once_wherever_it_is() {
    for (mut world, finished) in everywhere() {
        let before = world.run.status;
        let held = world.run.steps.iter().any(|step| step.is_in_flight());
        let late = held.then(|| {
            let step = under_way(&world);
            [world.succeeded(&step), alive(&world, &step), world.acked(&step)]
        });
        world.does(cancel());
        assert_eq!(world.run.status, RunStatus::Cancelled, "from {before:?}");
        let done = world.run.steps.iter().filter(|step| step.status == StepStatus::Succeeded);
        assert_eq!(done.count(), finished, "what was finished stays so");
        for command in late.into_iter().flatten() {
            let refusal = world.asks(&command).expect_err("it has ended");
            assert!(refusal.is_stale(), "{refusal}: recorded, and nothing else");
        }
        assert!(world.asks(&cancel()).is_err(), "an end is an end");
    }
}

// X-123, C-022: the message goes with the job; a worker that had taken it had its message taken back then.
#[test]
fn the_message_of_a_cancelled_job_is_withdrawn() {
    let mut world = job(5);
    world.check(
        cancel(),
        expect![[r#"
            cancel_requested mode=immediate
            step_cancelled a
            step_cancelled b
            step_cancelled c
            run_cancelled
            -> withdraw a attempt=1 lease=1
            -> ended cancelled"#]],
    );
}
