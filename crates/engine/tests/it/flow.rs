//! A command goes in, workers do its steps, it ends.

use stepwell_core::command::{Act, Command, Operation, StepRef};
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_store::Filter;

use crate::world::{THREE_STEPS, World, failure, sqlite, success};

// D-040 … D-042, D-045: attempt and lease are recorded before the worker can see the directive, each
// success starts the next step, the last one ends the run.
#[tokio::test]
async fn a_run_goes_from_its_first_step_to_its_end() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    for step in ["first", "second", "third"] {
        let taken = world.take_one().await;
        assert_eq!(taken.run.spec(taken.directive.step).id, step);
        let stored = world.store.load(vec![run]).await.expect("loads").remove(0);
        let lease = stored.steps[taken.directive.step.position()].lease.expect("recorded");
        assert_eq!((lease.id, lease.attempt), (taken.directive.lease, 1));
        world.succeed(&taken).await;
    }
    assert_eq!(world.run(run).await.status, RunStatus::Succeeded);
    assert_eq!(
        world.words(run).await,
        [
            "run_started",
            "step_dispatched",
            "step_succeeded",
            "step_dispatched",
            "step_succeeded",
            "step_dispatched",
            "step_succeeded",
            "run_succeeded"
        ]
    );
}

// D-043: a final failure ends the run; later steps never start.
#[tokio::test]
async fn a_final_failure_ends_the_run_and_leaves_a_dead_letter() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    let ended = world.report(&taken, failure(false)).await.expect("the report counts");
    assert_eq!(ended.status, RunStatus::Failed);
    assert_eq!(ended.steps[1].status, StepStatus::Skipped);
    assert!(world.take_now().await.is_empty(), "nothing else was dispatched");
    let letters = world.store.dead_letters(Default::default()).await.expect("the store answers");
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].run, letters[0].letter.step.as_deref()), (Some(run), Some("first")));
}

// D-051, D-052, X-138: cancel drains the step under way; its outcome is recorded, nothing new starts.
#[tokio::test]
async fn a_cancelled_run_lets_the_step_under_way_end() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    let by = Act::new("operator", "wrong file");
    let cancel = Command::Cancel { mode: None, by };
    let cancelling = world.engine.command(run, cancel.clone()).await.expect("cancels");
    assert_eq!(cancelling.status, RunStatus::Cancelling);
    world.engine.command(run, cancel).await.expect("cancelling again is no fault");
    let ended = world.succeed(&taken).await;
    assert_eq!(ended.status, RunStatus::Cancelled);
    assert_eq!(ended.steps[0].status, StepStatus::Succeeded);
    assert!(world.take_now().await.is_empty());
}

#[tokio::test]
async fn a_paused_run_dispatches_nothing_until_it_is_resumed() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    let by = Act::new("operator", "");
    world.engine.command(run, Command::Pause { by: by.clone() }).await.expect("pauses");
    world.succeed(&taken).await;
    assert!(world.take_now().await.is_empty());
    world.engine.command(run, Command::Resume { by }).await.expect("resumes");
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

#[tokio::test]
async fn a_step_that_an_operator_retries_gets_a_new_attempt_and_the_old_one_is_refused() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let stuck = world.take_one().await;
    let step = StepRef::Id("first".to_owned());
    let by = Act::new("operator", "stuck");
    let retry = Command::Operate { step, operation: Operation::Retry, by };
    world.engine.command(run, retry).await.expect("retries");
    let again = world.take_one().await;
    assert_eq!(again.directive.attempt, 2);
    world.report(&stuck, success()).await.expect_err("attempt 1 no longer counts");
    world.succeed(&again).await;
}

const UNDO: &str = "
name: with-undo
steps:
  - {id: provision, type: NEW, pool: workers, on_failure: clean-up, retry: {max_attempts: 1}}
compensations:
  clean-up:
    - {id: revert, type: REVERT, pool: workers}
    - {id: notify, type: NOTIFY, pool: workers}
";

// the compensation is a run of its own, in listed order; the failed run does not wait for it.
#[tokio::test]
async fn a_failed_step_is_undone_by_a_run_of_its_own() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(UNDO).await;
    let run = world.start("with-undo").await;
    let taken = world.take_one().await;
    let failed = world.report(&taken, failure(false)).await.expect("counts");
    assert_eq!(failed.status, RunStatus::Failed, "the run has ended before its undo has begun");
    let undo = failed.steps[0].compensation.expect("an undo was started");
    for kind in ["REVERT", "NOTIFY"] {
        let taken = world.take_one().await;
        assert_eq!(taken.run.id(), undo);
        assert_eq!(taken.run.spec(taken.directive.step).kind, kind);
        world.succeed(&taken).await;
    }
    let compensations = world.store.compensations(run).await.expect("the store answers");
    assert_eq!(compensations[0].status, RunStatus::Succeeded);
    let listed =
        world.store.runs(Filter::default(), stepwell_store::Page { before: None, limit: 9 });
    assert_eq!(listed.await.expect("lists").len(), 1, "an undo is not in the list of jobs");
}
