//! The door: limits, keys, and what happens when too much is asked.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::id::RunId;
use stepwell_engine::{Ask, EngineError, Reply, Start};
use stepwell_store::{Filter, Key, Page};

use crate::world::{THREE_STEPS, World, sqlite};

fn key(hash: u8, request: u8) -> Option<Key> {
    Some(Key { hash: [hash; 32], request_hash: [request; 32] })
}

async fn count(world: &World) -> usize {
    let page = Page { before: None, limit: 100 };
    world.store.runs(Filter::default(), page).await.expect("lists").len()
}

// D-032, X-133: the same request again answers the same run and starts nothing; another request under
// the same key is refused.
#[tokio::test]
async fn a_repeated_request_gets_the_run_it_made_before() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let Ok(Reply::Started(first)) = world.try_start("three-steps", "acme", key(1, 1), None).await
    else {
        panic!("the first request starts a run");
    };
    let repeated = world.try_start("three-steps", "acme", key(1, 1), None).await;
    assert!(matches!(repeated, Ok(Reply::Repeated(run)) if run == first.id()));
    let other = world.try_start("three-steps", "acme", key(1, 2), None).await;
    assert!(matches!(other, Err(EngineError::KeyReused { run }) if run == first.id()));
    assert_eq!(count(&world).await, 1);
}

// D-032: ten copies of one request in one batch make one run.
#[tokio::test]
async fn copies_of_a_request_that_arrive_together_make_one_run() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let mut asks = Vec::new();
    for _ in 0..10 {
        let header = Arc::new(world.header("three-steps", "acme").await);
        let start = Start { header, carried: Vec::new(), key: key(9, 9), tenant_cap: None };
        asks.push(Ask::Start(Box::new(start)));
    }
    let answers = world.engine.ask(asks).await.expect("taken in");
    let started = answers.iter().filter(|answer| matches!(answer, Ok(Reply::Started(_)))).count();
    assert_eq!(started, 1);
    assert_eq!(count(&world).await, 1);
}

// D-050, X-143: the cap is counted in the creating transaction; over it nothing is created; an ended
// run makes room.
#[tokio::test]
async fn a_tenant_has_no_more_open_runs_than_it_may() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let Ok(Reply::Started(first)) = world.try_start("three-steps", "acme", None, Some(2)).await
    else {
        panic!("there is room");
    };
    world.try_start("three-steps", "acme", None, Some(2)).await.expect("there is room");
    let full = world.try_start("three-steps", "acme", None, Some(2)).await;
    assert!(matches!(full, Err(EngineError::TenantFull { open: 2, cap: 2 })));
    world.try_start("three-steps", "other", None, Some(2)).await.expect("another tenant has room");
    assert_eq!(count(&world).await, 3);
    world.work_off(first.id()).await;
    world.try_start("three-steps", "acme", None, Some(2)).await.expect("room again");
}

#[tokio::test]
async fn a_command_for_a_run_that_does_not_exist_says_so() {
    let world = World::in_memory().await;
    let nobody = RunId(uuid::Uuid::from_u128(1));
    let answer = world.engine.command(nobody, Command::Wake).await;
    assert!(matches!(answer, Err(EngineError::NotFound(run)) if run == nobody));
}

#[tokio::test]
async fn an_engine_that_has_stopped_takes_nothing_in() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let header = Arc::new(world.header("three-steps", "acme").await);
    world.engine.stop().await;
    let start = Start { header, carried: Vec::new(), key: None, tenant_cap: None };
    let answer = world.engine.ask_one(Ask::Start(Box::new(start))).await;
    assert!(matches!(answer, Err(EngineError::Stopped)));
}
