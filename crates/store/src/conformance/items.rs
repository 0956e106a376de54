//! Steps that are done once for each item of a list.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::definition::CancelMode;
use stepwell_core::id::StepIndex;
use stepwell_core::run::{Header, Run};
use stepwell_core::step::StepStatus;

use super::Subject;
use super::world::{World, ack, header, itemized, run_id, success};
use crate::model::StoredRun;

/// Enough for several chunks of steps.
const ITEMS: u16 = 70;

async fn comes_back(world: &World, run: &Run) {
    assert_eq!(world.stored(run.id()).await, Some(StoredRun::of(run)));
}

/// A step with items comes back with all of them: those that have ended, those under way, and those
/// that have no row because nothing has happened to them.
pub async fn items_come_back_as_they_were(subject: Subject) {
    let world = World::of(&subject).await;
    let workflow = itemized("default", ITEMS);
    let header = Header { workflow: Arc::clone(&workflow), ..header(1) };
    let mut run = world.begins(header).await;
    comes_back(&world, &run).await;
    for _ in 0..5 {
        run = world.moves(&run, &ack(&run)).await;
        run = world.moves(&run, &success(&run)).await;
        comes_back(&world, &run).await;
    }
    // The next decision is made from what was stored, as after a restart.
    let stored = world.stored(run_id(1)).await.expect("the run is stored");
    run = Arc::new(stored.with_workflow(workflow));
    while run.steps[0].status == StepStatus::Expanded {
        run = world.moves(&run, &success(&run)).await;
    }
    comes_back(&world, &run).await;
    assert_eq!(run.steps[1].status, StepStatus::Dispatched);
    let ended = world.finishes(run).await;
    comes_back(&world, &ended).await;
    assert_eq!(ended.outputs["found"], 0.1, "the second step has set it anew");
}

/// An item is a queue entry like any step, under a place of its own.
pub async fn items_wait_in_the_queue_each_on_its_own(subject: Subject) {
    let world = World::of(&subject).await;
    let header = Header { workflow: itemized("default", ITEMS), ..header(1) };
    let run = world.begins(header).await;
    let queued = || async {
        let queued = world.store.queued(world.epoch, "default".to_owned(), None, 100).await;
        queued.expect("a queue").into_iter().map(|queued| queued.key.step).collect::<Vec<_>>()
    };
    assert_eq!(queued().await, [StepIndex(2), StepIndex(3)]);
    let run = world.moves(&run, &success(&run)).await;
    assert_eq!(queued().await, [StepIndex(3), StepIndex(4)]);
    let by = stepwell_core::command::Act::new("ada", "enough");
    let mode = Some(CancelMode::Immediate);
    let run = world.moves(&run, &Command::Cancel { mode, by }).await;
    assert_eq!(queued().await, []);
    comes_back(&world, &run).await;
}
