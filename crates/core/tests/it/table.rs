//! The table of arrows says exactly what the machine does.

use std::cell::RefCell;
use std::collections::BTreeSet;

use stepwell_core::command::Operation;
use stepwell_core::definition::{CancelMode, StepSpec, Workflow};
use stepwell_core::entry::Entry;
use stepwell_core::evolve::evolve;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::StepStatus;
use stepwell_core::table::{Arrow, RUN_ARROWS, STEP_ARROWS};

use crate::lives;
use crate::world::{World, cancel, graph, minutes, once, operate, polled};

/// The arrows that were taken.
#[derive(Default)]
struct Taken {
    steps: BTreeSet<Arrow<StepStatus>>,
    runs: BTreeSet<Arrow<RunStatus>>,
}

impl Taken {
    /// Folds a history entry by entry, and notes every change of a status.
    fn note(&mut self, world: &World) {
        let mut run = Run::new(world.run.header.clone());
        for record in &world.records {
            for entry in &record.entries {
                let before = run.clone();
                evolve(&mut run, entry, record.at);
                self.compare(&before, entry, &run);
            }
        }
    }

    fn compare(&mut self, before: &Run, entry: &Entry, after: &Run) {
        let word = entry.word();
        if before.status != after.status {
            self.runs.insert(Arrow { from: before.status, entry: word, to: after.status });
        }
        for ((index, old), new) in before.indexed().zip(&after.steps) {
            if old.status != new.status {
                assert_eq!(entry.step(), Some(index), "{word} moves a step it does not name");
                self.steps.insert(Arrow { from: old.status, entry: word, to: new.status });
            }
        }
    }
}

#[test]
fn every_arrow_of_the_table_is_taken_and_no_other() {
    let taken = RefCell::new(Taken::default());
    lives::each(|life| taken.borrow_mut().note(&life.live(|_| {})));
    let mut taken = taken.into_inner();
    for world in rare() {
        taken.note(&world);
    }
    let mut faults = differences(STEP_ARROWS, &taken.steps, "step");
    faults.extend(differences(RUN_ARROWS, &taken.runs, "run"));
    assert!(faults.is_empty(), "src/table.rs is wrong:\n{}", faults.join("\n"));
}

/// Lives that chance may miss: a step that polls is held for the next attempt of the whole run, and
/// people act while the run rests between two attempts.
fn rare() -> [World; 4] {
    let mut polling = retried(vec![StepSpec { retry: RetryPolicy::once(), ..polled("a") }]);
    polling.does(polling.unfinished("a"));
    polling.wakes();
    polling.does(polling.failed("a"));
    let mut cancelled = retried(vec![once("a")]);
    cancelled.does(cancelled.failed("a"));
    cancelled.does(cancel(CancelMode::Drain));
    let mut skipped = retried(vec![once("a")]);
    skipped.does(skipped.failed("a"));
    skipped.does(operate("a", Operation::Skip));
    let mut failed = retried(vec![once("a"), once("b")]);
    failed.does(failed.failed("a"));
    failed.does(failed.failed_for_good("b"));
    failed.does(operate("a", Operation::Skip));
    [polling, cancelled, skipped, failed]
}

fn retried(steps: Vec<StepSpec>) -> World {
    let run_retry = Some(RetryPolicy::fixed(2, minutes(1)));
    World::started(Workflow { run_retry, ..graph(steps) })
}

fn differences<S: Copy + Ord + std::fmt::Debug>(
    table: &[Arrow<S>],
    taken: &BTreeSet<Arrow<S>>,
    kind: &str,
) -> Vec<String> {
    let drawn: BTreeSet<Arrow<S>> = table.iter().copied().collect();
    let never = drawn.difference(taken).map(|arrow| format!("never taken: {kind} {arrow:?}"));
    let missing = taken.difference(&drawn).map(|arrow| format!("not drawn: {kind} {arrow:?}"));
    never.chain(missing).collect()
}

#[test]
fn no_arrow_is_drawn_twice_and_none_leaves_an_end() {
    assert_eq!(STEP_ARROWS.iter().collect::<BTreeSet<_>>().len(), STEP_ARROWS.len());
    assert_eq!(RUN_ARROWS.iter().collect::<BTreeSet<_>>().len(), RUN_ARROWS.len());
    assert!(STEP_ARROWS.iter().all(|arrow| !arrow.from.is_terminal()));
    assert!(RUN_ARROWS.iter().all(|arrow| !arrow.from.is_terminal()));
}

#[test]
fn every_status_is_reached_by_some_arrow() {
    for status in StepStatus::ALL.into_iter().filter(|status| *status != StepStatus::Waiting) {
        assert!(STEP_ARROWS.iter().any(|arrow| arrow.to == status), "{status:?}");
    }
    for status in RunStatus::ALL.into_iter().filter(|status| *status != RunStatus::Created) {
        assert!(RUN_ARROWS.iter().any(|arrow| arrow.to == status), "{status:?}");
    }
}
