//! What a person does to a batch as a whole: stop it, hold it, move its T-0.

use stepwell_core::batch::{BatchCommand, BatchStatus, PhaseStatus};
use stepwell_core::id::BatchId;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_core::time::Timestamp;
use stepwell_engine::{BatchError, EngineError};
use stepwell_store::MemberStatus;

use super::story::{PLAIN, PREPARE_MS, Story, by, names, story, well};
use super::world::{DAY_MS, RUNBOOK, START_MS, params, phase};
use crate::world::{NOON_MS, failure};

async fn made(told: &Story, yaml: &str, keys: &[&str]) -> BatchId {
    told.place.publish(yaml).await;
    let id = told.place.batch(keys).await;
    told.rest().await;
    id
}

fn moved(start_ms: i64) -> BatchCommand {
    BatchCommand::Move { start: Timestamp::from_millis(start_ms), by: by() }
}

#[test]
fn a_batch_that_is_stopped_stops_everybody_and_undoes_nothing() {
    //
    story(async |told: Story| {
        let id = made(&told, RUNBOOK, &["ada", "bob"]).await;
        told.work(well).await;
        told.to(PREPARE_MS).await;
        let creates = told.all().await;
        told.report(&creates[0], well(&creates[0])).await;
        let copy = told.all().await.remove(0);
        told.report(&copy, failure(false)).await;
        assert_eq!(names(&told.all().await).len(), 1, "its rollback is under way");
        told.command(id, BatchCommand::Cancel { by: by() }).await.expect("stops");
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Cancelled);
        assert_eq!(
            phase(&batch, "prepare"),
            PhaseStatus::Failed,
            "settled by what its members did"
        );
        assert_eq!(phase(&batch, "cutover"), PhaseStatus::Skipped);
        assert!(batch.is_settled());
        let late = told.place.world.report(&creates[1], well(&creates[1])).await;
        assert!(matches!(late, Err(EngineError::Refused(_))), "{late:?}");
        told.to(START_MS + DAY_MS).await;
        assert!(told.all().await.is_empty(), "no rollback for the stopped, nothing for a leaving");
        assert_eq!(told.keys(id, MemberStatus::Removed).await, [""; 0]);
        told.command(id, BatchCommand::Cancel { by: by() }).await.expect("again, without effect");
        let refused = told.command(id, BatchCommand::Pause { by: by() }).await;
        assert!(matches!(refused, Err(BatchError::Refused(_))), "{refused:?}");
    });
}

#[test]
fn a_batch_is_stopped_while_it_is_prepared() {
    //
    story(async |told: Story| {
        let id = made(&told, RUNBOOK, &["ada"]).await;
        let announce = told.all().await.remove(0);
        told.command(id, BatchCommand::Cancel { by: by() }).await.expect("stops");
        let late = told.place.world.report(&announce, well(&announce)).await;
        assert!(late.is_err(), "init is stopped too");
        assert_eq!(told.get(id).await.status, BatchStatus::Cancelled);
        assert_eq!(told.run(id, "ada").await.status, RunStatus::Cancelled);
    });
}

#[test]
fn a_retry_that_waits_dies_with_its_batch() {
    //
    story(async |told: Story| {
        let id = made(&told, RUNBOOK, &["ada"]).await;
        told.succeed().await;
        told.to(START_MS).await;
        told.work(|taken| {
            if names(std::slice::from_ref(taken)) == ["Switch ada"] {
                failure(true)
            } else {
                well(taken)
            }
        })
        .await;
        assert_eq!(told.run(id, "ada").await.steps[2].status, StepStatus::RetryWait);
        told.command(id, BatchCommand::Cancel { by: by() }).await.expect("stops");
        told.later(10).await;
        assert!(told.all().await.is_empty());
        assert_eq!(told.run(id, "ada").await.steps[2].status, StepStatus::Cancelled);
    });
}

#[test]
fn in_a_paused_batch_nothing_begins_and_what_fell_due_begins_after_it() {
    //
    story(async |told: Story| {
        let id = made(&told, PLAIN, &["ada", "bob"]).await;
        told.to(PREPARE_MS).await;
        let creates = told.all().await;
        told.command(id, BatchCommand::Pause { by: by() }).await.expect("pauses");
        told.report(&creates[0], well(&creates[0])).await;
        told.to(START_MS).await;
        assert!(told.all().await.is_empty());
        assert_eq!(phase(&told.get(id).await, "cutover"), PhaseStatus::Pending);
        told.command(id, BatchCommand::Resume { by: by() }).await.expect("goes on");
        assert_eq!(names(&told.all().await).len(), 1, "whoever is ready switches");
        told.report(&creates[1], well(&creates[1])).await;
        assert_eq!(names(&told.all().await).len(), 1);
    });
}

#[test]
fn a_moved_start_moves_what_has_not_begun_and_nothing_else() {
    //
    story(async |told: Story| {
        let id = made(&told, RUNBOOK, &["ada"]).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        told.succeed().await;
        let before = told.get(id).await;
        told.command(id, moved(START_MS + 2 * DAY_MS)).await.expect("moves");
        let after = told.get(id).await;
        assert_eq!(after.phases[0], before.phases[0], "it had begun");
        assert_eq!(after.phases[1].due_at.expect("due").as_millis(), START_MS + 2 * DAY_MS);
        told.to(START_MS + 2 * DAY_MS - 1).await;
        assert!(told.all().await.is_empty(), "not at the old moment, nor a moment too early");
        told.to(START_MS + 2 * DAY_MS).await;
        let switch = told.all().await.remove(0);
        assert_eq!(params(&switch)["at"], "2025-03-22T12:00:00.000Z", "steps are told the new one");
        told.report(&switch, well(&switch)).await;
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
        assert!(told.command(id, moved(START_MS)).await.is_err(), "it has ended");
    });
}

#[test]
fn a_start_moved_into_the_past_begins_everything_in_order() {
    //
    story(async |told: Story| {
        let id = made(&told, PLAIN, &["ada"]).await;
        told.command(id, moved(NOON_MS - DAY_MS)).await.expect("moves");
        assert_eq!(told.succeed().await, ["Create ada", "Switch ada"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn a_due_phase_begins_at_its_moment_whatever_the_tick_does() {
    // T-0 is at a moment at which no tick falls.
    story(async |told: Story| {
        let id = made(&told, PLAIN, &["ada"]).await;
        told.command(id, moved(START_MS + 61_000)).await.expect("moves");
        told.to(PREPARE_MS + 60_999).await;
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Pending);
        told.to(PREPARE_MS + 61_000).await;
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Dispatched);
        assert_eq!(batch.phases[0].dispatched_at.expect("begun").as_millis(), PREPARE_MS + 61_000);
    });
}
