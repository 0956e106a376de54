//! Jobs with attempts: one message, one worker and all steps an attempt.

mod begun;
mod cancel;
mod crashes;
mod credits;
mod ladder;
mod life;
mod signs;
mod timeouts;

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::credit::{CreditTerms, Credits, Restore};
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::run::{Dialect, Header};
use stepwell_core::step::StepStatus;
use stepwell_core::terms::{Keeping, Terms};

use crate::world::{World, header, minutes, named, seconds, sequence, start, step};

/// From one sign of life to the next.
const LEASE_SECS: u64 = 60;

/// What the seed says of attempts: 30 s, 120 s, 600 s, then 1,800 s.
fn ladder(attempts_max: u32, jitter_percent: u8) -> RetryPolicy {
    let delays = [30, 120, 600, 1800].map(seconds).to_vec();
    RetryPolicy { attempts_max, delay: Delay::List(delays), jitter_percent }
}

fn terms(attempts_max: u32) -> Terms {
    Terms {
        run_retry: Some(ladder(attempts_max, 0)),
        keeping: Some(Keeping { lease: seconds(LEASE_SECS), unclaimed: minutes(60) }),
        credits: None,
    }
}

/// A job that was just created: its message waits for a worker.
fn job_with(workflow: Workflow, terms: Terms) -> World {
    let mut world = World::of_header(Header {
        dialect: Dialect::Workspaces,
        terms: Some(Arc::new(terms)),
        ..header(workflow)
    });
    world.does(start());
    world
}

/// A job of three steps.
fn job(attempts_max: u32) -> World {
    job_with(sequence([step("a"), step("b"), step("c")]), terms(attempts_max))
}

fn charged(estimate: i64, restore: Restore) -> CreditTerms {
    CreditTerms { estimate: Credits::whole(estimate), restore, charged: true }
}

/// The same step, for workers of another kind.
fn in_pool(pool: &str, step: StepSpec) -> StepSpec {
    StepSpec { pool: pool.to_owned(), ..step }
}

/// A sign of life of whoever has the step.
fn alive(world: &World, id: &str) -> Command {
    Command::Extend { step: named(id), fence: world.fence(id) }
}

/// The step that a worker has, or whose message waits.
fn under_way(world: &World) -> String {
    let (index, _) = world
        .run
        .indexed()
        .find(|(_, step)| matches!(step.status, StepStatus::Dispatched | StepStatus::Acked))
        .expect("an attempt is under way");
    world.run.step_id(index).into_owned()
}
