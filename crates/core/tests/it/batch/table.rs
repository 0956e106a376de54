//! The tables of arrows say exactly what batches and phases do.

use std::collections::BTreeSet;
use std::fmt::Debug;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use stepwell_core::batch::{Batch, BatchCommand, BatchStatus, PhaseStatus, evolve_batch};
use stepwell_core::table::{Arrow, BATCH_ARROWS, PHASE_ARROWS};

use super::random::{born, command, lives};
use super::world::{World, check};

const LIVES: usize = 1_000;

/// The arrows that were taken.
#[derive(Default)]
struct Taken {
    batches: BTreeSet<Arrow<BatchStatus>>,
    phases: BTreeSet<Arrow<PhaseStatus>>,
}

impl Taken {
    /// Folds a history entry by entry, and notes every change of a status.
    fn note(&mut self, first: Batch, world: &World) {
        let mut batch = first;
        for (at, entries) in &world.history {
            for entry in entries {
                let before = batch.clone();
                evolve_batch(&mut batch, entry, *at);
                self.compare(&before, entry.word(), &batch);
            }
        }
    }

    fn compare(&mut self, before: &Batch, entry: &'static str, after: &Batch) {
        if before.status != after.status {
            self.batches.insert(Arrow { from: before.status, entry, to: after.status });
        }
        for (old, new) in before.phases.iter().zip(&after.phases) {
            if old.status != new.status {
                self.phases.insert(Arrow { from: old.status, entry, to: new.status });
            }
        }
    }
}

//
#[test]
fn every_arrow_of_batches_and_phases_is_taken_and_no_other() {
    let mut runner = TestRunner::deterministic();
    let mut taken = Taken::default();
    for _ in 0..LIVES {
        let life = lives().new_tree(&mut runner).expect("nothing is filtered out");
        let (manual, has_init, moves) = life.current();
        let mut world = born(manual, has_init);
        let first = world.batch.clone();
        world.does(BatchCommand::Detect);
        world.members(2);
        for next in &moves {
            if let Some(command) = command(&mut world, next) {
                let _refused_or_done = world.asks(&command);
            }
        }
        taken.note(first, &world);
    }
    let (first, failing) = failing();
    taken.note(first, &failing);
    let mut faults = differences(BATCH_ARROWS, &taken.batches);
    faults.extend(differences(PHASE_ARROWS, &taken.phases));
    assert!(faults.is_empty(), "src/table.rs is wrong:\n{}", faults.join("\n"));
}

/// A life that chance may miss: no member comes through any phase.
fn failing() -> (Batch, World) {
    let mut world = born(false, false);
    let first = world.batch.clone();
    world.does(BatchCommand::Detect);
    world.members(2);
    world.comes_to(0);
    for gate in ["one@1", "two@1", "three@1"] {
        world.ends(gate, 0);
    }
    world.all_end();
    world.does(check());
    (first, world)
}

fn differences<S: Copy + Ord + Debug>(
    table: &[Arrow<S>],
    taken: &BTreeSet<Arrow<S>>,
) -> Vec<String> {
    let drawn: BTreeSet<Arrow<S>> = table.iter().copied().collect();
    let never = drawn.difference(taken).map(|arrow| format!("never taken: {arrow:?}"));
    let missing = taken.difference(&drawn).map(|arrow| format!("not drawn: {arrow:?}"));
    never.chain(missing).collect()
}

#[test]
fn no_arrow_of_a_batch_or_phase_leaves_an_end_and_every_status_is_reached() {
    assert!(BATCH_ARROWS.iter().all(|arrow| !arrow.from.is_terminal()));
    assert!(PHASE_ARROWS.iter().all(|arrow| !arrow.from.is_terminal()));
    for status in &BatchStatus::ALL[1..] {
        assert!(BATCH_ARROWS.iter().any(|arrow| arrow.to == *status), "{status:?}");
    }
    for status in &PhaseStatus::ALL[1..] {
        assert!(PHASE_ARROWS.iter().any(|arrow| arrow.to == *status), "{status:?}");
    }
}
