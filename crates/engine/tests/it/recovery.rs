//! The process goes away and comes back.

use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use crate::world::{THREE_STEPS, World, failure, sqlite, success};

// D-045: a restart at any point resumes the run without losing or repeating a recorded decision.
#[tokio::test]
async fn a_restart_after_every_step_loses_and_repeats_nothing() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    for _ in 0..3 {
        world.engine.stop().await;
        world.restart(sqlite(&place)).await;
        let taken = world.take_one().await;
        assert_eq!(taken.directive.attempt, 1, "the attempt is the one that was recorded");
        world.succeed(&taken).await;
    }
    assert_eq!(world.run(run).await.status, RunStatus::Succeeded);
    let dispatched =
        world.words(run).await.iter().filter(|word| **word == "step_dispatched").count();
    assert_eq!(dispatched, 3);
}

// D-045: a worker that took its directive before the restart may report after it.
#[tokio::test]
async fn a_result_for_a_directive_from_before_the_restart_counts() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    world.start("three-steps").await;
    let taken = world.take_one().await;
    world.engine.stop().await;
    world.restart(sqlite(&place)).await;
    let kept = world.engine.extend(vec![taken.held], std::time::Duration::from_secs(60)).await;
    assert_eq!(kept.expect("answers"), [true], "its lease is still in force");
    let run = world.report(&taken, success()).await.expect("counts");
    assert_eq!(run.steps[0].status, StepStatus::Succeeded);
}

// a timer that fell due while nobody ran fires after the restart.
#[tokio::test]
async fn a_moment_that_passed_while_nobody_ran_is_made_up_for() {
    let place = tempfile::tempdir().expect("a place");
    let mut world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    world.report(&taken, failure(true)).await.expect("counts");
    world.engine.stop().await;
    world.clock.advance(std::time::Duration::from_secs(3600));
    world.restart(sqlite(&place)).await;
    world.after(0, run, |run| run.steps[0].attempt == 2).await;
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

// F30, D-031: whoever was replaced writes nothing more.
#[tokio::test]
async fn an_engine_that_was_replaced_is_fenced_out() {
    let store: std::sync::Arc<dyn stepwell_store::Store> =
        std::sync::Arc::new(stepwell_store::memory::MemoryStore::new());
    let old = World::on(std::sync::Arc::clone(&store)).await;
    old.publish(THREE_STEPS).await;
    let run = old.start("three-steps").await;
    let taken = old.take_one().await;
    let new = World::on(store).await;
    let refused = old.report(&taken, success()).await.expect_err("its epoch has passed");
    assert!(matches!(refused, stepwell_engine::EngineError::Stopped));
    assert!(old.engine.is_fenced());
    assert_eq!(new.run(run).await.steps[0].status, StepStatus::Dispatched, "nothing was written");
    assert_eq!(new.work_off(run).await, RunStatus::Succeeded);
}

// D-004, X-158: the history is the truth; the rows that reads and lists show are its fold.
#[tokio::test]
async fn the_stored_state_is_the_fold_of_the_history() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    world.report(&taken, failure(true)).await.expect("counts");
    world.after(10, run, |run| run.steps[0].attempt == 2).await;
    world.work_off(run).await;
    let header = std::sync::Arc::clone(&world.run(run).await.header);
    let mut folded = stepwell_core::run::Run::new(header);
    for record in world.history(run).await {
        stepwell_core::evolve::replay(&mut folded, &record);
    }
    let stored = world.store.load(vec![run]).await.expect("loads").remove(0);
    assert_eq!(stored.with_workflow(std::sync::Arc::clone(&folded.header.workflow)), folded);
}
