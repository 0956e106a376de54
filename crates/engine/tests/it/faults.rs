//! The store fails at the worst moment.

use std::sync::Arc;

use stepwell_core::run::RunStatus;
use stepwell_engine::{Ask, EngineError, Reply, Start};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{Key, Store};

use crate::faulty::{Fault, Faulty};
use crate::world::{THREE_STEPS, World, report, success};

async fn faulty_world() -> (World, Arc<Faulty>) {
    let store = Faulty::new(Arc::new(MemoryStore::new()));
    let world = World::on(Arc::clone(&store) as Arc<dyn Store>).await;
    world.publish(THREE_STEPS).await;
    (world, store)
}

// F01: a commit that did not happen leaves nothing; the same report again counts.
#[tokio::test]
async fn a_report_whose_commit_failed_counts_when_it_comes_again() {
    let (world, store) = faulty_world().await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    store.fail_next(&[Fault::Lost]);
    let lost = world.report(&taken, success()).await.expect_err("the store failed");
    assert!(matches!(lost, EngineError::Unavailable(_)));
    world.report(&taken, success()).await.expect("now it counts");
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

// F05: a commit whose outcome is unknown is looked up, never assumed: the report is not applied twice,
// and the step it dispatched is not lost.
#[tokio::test]
async fn a_report_that_was_written_without_our_knowing_is_not_applied_twice() {
    let (world, store) = faulty_world().await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    store.fail_next(&[Fault::WrittenButUnknown]);
    world.report(&taken, success()).await.expect_err("the store did not say");
    world.report(&taken, success()).await.expect_err("it had been applied");
    let words = world.words(run).await;
    assert_eq!(words.iter().filter(|word| **word == "step_succeeded").count(), 1);
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

// F02: a creation that was written without our knowing is found by its key.
#[tokio::test]
async fn a_creation_that_was_written_without_our_knowing_is_found_by_its_key() {
    let (world, store) = faulty_world().await;
    let key = Some(Key { hash: [1; 32], request_hash: [1; 32] });
    store.fail_next(&[Fault::WrittenButUnknown]);
    world.try_start("three-steps", "acme", key, None).await.expect_err("the store did not say");
    let again = world.try_start("three-steps", "acme", key, None).await;
    let Ok(Reply::Repeated(run)) = again else { panic!("one run exists: {again:?}") };
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

// A decision made ahead of a commit that fails is made again from what is really stored: the second
// copy of a report, refused because the first had succeeded in a state that never came to be, counts.
#[tokio::test]
async fn a_refusal_that_rests_on_a_failed_commit_is_taken_back() {
    let (world, store) = faulty_world().await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    let permits = store.gate.available_permits();
    store.gate.forget_permits(permits);
    store.fail_next(&[Fault::Lost]);
    let mut arrived = store.arrived.subscribe();
    arrived.mark_unchanged();
    let ask = |command| {
        let engine = world.engine.clone();
        tokio::spawn(async move { engine.command(run, command).await })
    };
    let first = ask(report(&taken, success()));
    arrived.changed().await.expect("the first report reaches the store, and waits there");
    let second = ask(report(&taken, success()));
    // The runtime has one thread: when this task runs again, the handler has decided the second.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    store.gate.add_permits(permits);
    let first = first.await.expect("no panic");
    let second = second.await.expect("no panic");
    assert!(matches!(first, Err(EngineError::Unavailable(_))));
    assert!(second.is_ok(), "nothing had been applied before it: {second:?}");
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

// F12: many asks while commits fail now and then: whoever was told yes is there, nobody else.
#[tokio::test]
async fn whoever_is_told_yes_is_in_the_store_and_nobody_else() {
    let (world, store) = faulty_world().await;
    store.fail_next(&[Fault::Lost, Fault::Lost]);
    let mut accepted = 0;
    for _ in 0..10 {
        let mut asks = Vec::new();
        for _ in 0..20 {
            let header = Arc::new(world.header("three-steps", "acme").await);
            let start = Start { header, carried: Vec::new(), key: None, tenant_cap: None };
            asks.push(Ask::Start(Box::new(start)));
        }
        let answers = world.engine.ask(asks).await.expect("taken in");
        accepted += answers.iter().filter(|answer| answer.is_ok()).count();
    }
    assert_eq!(accepted, 160, "two groups of twenty were refused");
    assert_eq!(world.store.figures().await.expect("reads").runs_open, 160);
}

// One ask that cannot be stored does not take its neighbors down: the group is taken apart.
#[tokio::test]
async fn a_group_that_cannot_be_stored_is_committed_one_by_one() {
    let (world, store) = faulty_world().await;
    // The group as a whole breaks, then the second of its asks alone.
    let permits = store.gate.available_permits();
    store.gate.forget_permits(permits);
    store.fail_next(&[Fault::Broken]);
    let mut asks = Vec::new();
    for _ in 0..4 {
        let header = Arc::new(world.header("three-steps", "acme").await);
        let start = Start { header, carried: Vec::new(), key: None, tenant_cap: None };
        asks.push(Ask::Start(Box::new(start)));
    }
    let mut arrived = store.arrived.subscribe();
    arrived.mark_unchanged();
    let engine = world.engine.clone();
    let answers = tokio::spawn(async move { engine.ask(asks).await });
    let mut commits = 0;
    while commits < 5 {
        arrived.changed().await.expect("a commit arrives");
        if commits == 2 {
            store.fail_next(&[Fault::Broken]);
        }
        commits += 1;
        store.gate.add_permits(1);
    }
    let answers = answers.await.expect("no panic").expect("taken in");
    let stored: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(stored, [true, false, true, true]);
    assert_eq!(world.store.figures().await.expect("reads").runs_open, 3);
}
