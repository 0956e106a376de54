//! Runs that are given up, and what is looked up about them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepError};
use stepwell_engine::{Ask, Taken};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{DeadLetterFilter, Store};

use crate::faulty::Faulty;
use crate::world::{THREE_STEPS, World, failure, report};

/// More than two pages of runs whose histories are read at once.
const RUNS: usize = 130;

async fn take_all(world: &World) -> Vec<Taken> {
    let mut taken = Vec::new();
    while taken.len() < RUNS {
        taken.extend(world.take(RUNS - taken.len()).await);
    }
    taken
}

/// Reports the same of all, in one group.
async fn report_all(world: &World, taken: &[Taken], outcome: &Outcome) {
    let ask = |taken: &Taken| {
        let command = report(taken, outcome.clone());
        Ask::Command { run: taken.run.id(), command, at_version: None }
    };
    let answers = world.engine.ask(taken.iter().map(ask).collect()).await.expect("taken in");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

// What first went wrong is read for all who die in a group together, a page at a time.
#[tokio::test]
async fn many_runs_that_die_at_once_cost_a_few_looks_into_their_histories() {
    let store = Faulty::new(Arc::new(MemoryStore::new()));
    let world = World::on(Arc::clone(&store) as Arc<dyn Store>).await;
    world.publish(THREE_STEPS).await;
    for _ in 0..RUNS {
        world.start("three-steps").await;
    }
    let taken = take_all(&world).await;
    report_all(&world, &taken, &failure(true)).await;
    let mut rested = 10;
    for taken in &taken {
        world.after(rested, taken.run.id(), |run| run.status != RunStatus::RetryWait).await;
        rested = 0;
    }
    let taken = take_all(&world).await;
    let looks = store.looks.load(Ordering::SeqCst);
    let error = StepError::new("hopeless", "nothing helps");
    let hopeless = Outcome::Failed { error, retryable: false, retry_after: None };
    report_all(&world, &taken, &hopeless).await;
    assert_eq!(store.looks.load(Ordering::SeqCst) - looks, RUNS.div_ceil(64));
    let all = DeadLetterFilter::default();
    let letters = world.store.dead_letters(all).await.expect("kept");
    assert_eq!(letters.len(), RUNS);
    for dead in letters {
        let first = dead.letter.first_error.as_ref().map(|it| it.code.as_str());
        assert_eq!((first, dead.letter.error.code.as_str()), (Some("broken"), "hopeless"));
    }
}
