//! Wherever a life has led: with workers that answer and time that passes, a run ends.

use serde_json::json;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::run::{Run, RunStatus};

use crate::lives;
use crate::world::{World, open_gate, resume, start, success};

/// Far more than any run of a few steps with a few attempts needs.
const MOVES_MAX: usize = 200;

/// Lets workers answer and time pass until nothing moves any more.
fn drive(world: &mut World) {
    for _ in 0..MOVES_MAX {
        if let Some(command) = next_answer(&world.run) {
            world.does(command);
        } else if let Some(due) = world.run.wake_at() {
            world.now = world.now.max(due);
            let decision = world.does(Command::Wake);
            assert!(!decision.entries.is_empty(), "a moment that has come changes something");
        } else {
            return;
        }
    }
    panic!("the run goes on and on: {:#?}", world.run);
}

/// A worker is done with the first step that is under way.
fn next_answer(run: &Run) -> Option<Command> {
    let (step, state) = run.indexed().find(|(_, step)| step.is_in_flight())?;
    let lease = state.lease.expect("it is under way");
    let fence = Fence { attempt: lease.attempt, lease: lease.id };
    let outcome = success(json!({ "id": 7 }));
    Some(Command::Report { step: StepRef::Index(step), fence, outcome, spent: Credits::ZERO })
}

#[test]
fn a_run_with_workers_ends_unless_it_is_paused_or_behind_a_closed_gate() {
    lives::each(|life| {
        let mut world = life.live(|_| {});
        if world.run.status == RunStatus::Created {
            world.does(start());
        }
        drive(&mut world);
        if !world.run.status.is_terminal() {
            let (index, _) = world
                .run
                .indexed()
                .find(|(index, _)| matches!(world.run.waiting_for(*index), Some("gate" | "resume")))
                .expect("something waits for a person");
            let closed = world.run.waiting_for(index) == Some("gate");
            assert!(closed || world.run.paused);
        }
    });
}

#[test]
fn a_run_that_is_resumed_and_whose_gates_are_opened_ends() {
    lives::each(|life| {
        let mut world = life.live(|_| {});
        if world.run.status == RunStatus::Created {
            world.does(start());
        }
        let gates = world.run.header.specs().iter().filter_map(|spec| spec.gate.clone());
        let opened = gates.map(|gate| open_gate(&gate)).collect::<Vec<_>>();
        for command in opened.into_iter().chain([resume()]) {
            // Opening a gate may let the run end; then the rest is refused.
            let _ = world.asks(&command);
        }
        drive(&mut world);
        assert!(world.run.status.is_terminal(), "{:#?}", world.run);
    });
}
