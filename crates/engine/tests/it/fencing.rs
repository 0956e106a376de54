//! What comes too late, twice, or from the wrong attempt changes nothing.

use stepwell_core::command::{Command, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::id::LeaseId;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::RunStatus;
use stepwell_engine::EngineError;

use crate::world::{THREE_STEPS, World, failure, fence, report, sqlite, success};

// D-038, X-139: a late result is recorded for audit and changes no state.
#[tokio::test]
async fn a_result_of_an_earlier_attempt_is_recorded_and_changes_nothing() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let first = world.take_one().await;
    world.report(&first, failure(true)).await.expect("counts");
    world.after(10, run, |run| run.steps[0].attempt == 2).await;
    let before = world.run(run).await;
    let refused = world.report(&first, success()).await.expect_err("attempt 1 is over");
    assert!(matches!(refused, EngineError::Refused(Refusal::AttemptLost { named: 1, current: 2 })));
    assert_eq!(*world.run(run).await, *before);
    let stale = world.store.stale_reports(run).await.expect("the store answers");
    assert_eq!(stale.len(), 1);
    assert_eq!((stale[0].kind.as_str(), stale[0].attempt), ("result", 1));
    assert_eq!(stale[0].reason, "stale_attempt");
}

// D-038: the lease must be the current one, not only the attempt number.
#[tokio::test]
async fn a_result_with_a_made_up_lease_is_refused() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    let mut forged = fence(&taken);
    forged.lease = LeaseId(uuid::Uuid::from_u128(7));
    let step = StepRef::Index(taken.directive.step);
    let command = Command::Report { step, fence: forged, outcome: success(), spent: Credits::ZERO };
    let refused = world.engine.command(run, command).await.expect_err("a made-up lease");
    assert!(matches!(refused, EngineError::Refused(Refusal::LeaseLost { current: 1 })));
}

// D-053: callbacks that arrive after the end do not change a terminal run.
#[tokio::test]
async fn nothing_changes_a_run_that_has_ended() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    world.report(&taken, failure(false)).await.expect("counts");
    let ended = world.run(run).await;
    world.report(&taken, success()).await.expect_err("the step has ended");
    assert_eq!(*world.run(run).await, *ended);
    assert_eq!(ended.status, RunStatus::Failed);
}

// F15: of two copies of a result in one group exactly one is applied.
#[tokio::test]
async fn two_copies_of_a_result_that_arrive_together_count_once() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    let copies =
        (0..5).map(|_| stepwell_engine::Ask::command(run, report(&taken, success()))).collect();
    let answers = world.engine.ask(copies).await.expect("taken in");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let succeeded = world.words(run).await.iter().filter(|word| **word == "step_succeeded").count();
    assert_eq!(succeeded, 1);
    assert_eq!(world.store.stale_reports(run).await.expect("reads").len(), 4);
}

// an ack after the result never regresses the step.
#[tokio::test]
async fn an_ack_after_the_result_does_not_take_the_step_back() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let taken = world.take_one().await;
    world.succeed(&taken).await;
    let ack = Command::Ack { step: StepRef::Index(taken.directive.step), fence: fence(&taken) };
    world.engine.command(run, ack).await.expect_err("the step has ended");
}

// D-031: a command that is conditional on the version its caller saw changes nothing once the run has
// moved on, even if the move is only on its way to the store.
#[tokio::test]
async fn a_command_for_a_version_that_has_passed_changes_nothing() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let run = world.start("three-steps").await;
    let seen = world.run(run).await.version;
    let taken = world.take_one().await;
    let cancel = Command::Cancel { mode: None, by: stepwell_core::command::Act::new("x", "") };
    let asks = vec![
        stepwell_engine::Ask::command(run, report(&taken, success())),
        stepwell_engine::Ask::Command { run, command: cancel, at_version: Some(seen) },
    ];
    let answers = world.engine.ask(asks).await.expect("taken in");
    assert!(answers[0].is_ok());
    let refused = answers[1].as_ref().expect_err("the run has moved on");
    assert!(matches!(refused, EngineError::Changed { version, .. } if *version == seen + 1));
    assert_eq!(world.run(run).await.status, RunStatus::Running);
}
