//! Batches that a person makes, and moves from phase to phase.

use serde_json::json;
use stepwell_core::batch::{
    Batch, BatchCommand, BatchMode, BatchRefusal, BatchStatus, PhaseStatus,
};
use stepwell_core::id::BatchId;
use stepwell_engine::BatchError;
use stepwell_store::MemberStatus;

use super::story::{PLAIN, PREPARE_MS, Story, broken, by, names, story};
use super::world::{DAY_MS, RUNBOOK, START_MS, member, params, phase};

async fn made(told: &Story, yaml: &str, keys: &[&str]) -> BatchId {
    told.place.publish(yaml).await;
    let members = keys.iter().map(|key| member(key)).collect();
    let made = told.place.world.engine.create_batch("move", members, "lead").await;
    let batch = made.expect("the batch is made");
    told.rest().await;
    batch.id()
}

async fn advance(told: &Story, id: BatchId) -> Result<Batch, BatchRefusal> {
    match told.command(id, BatchCommand::Advance { by: by() }).await {
        Ok(batch) => Ok(batch),
        Err(BatchError::Refused(refusal)) => Err(refusal),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_batch_made_by_hand_waits_for_a_person_at_every_phase() {
    //
    story(async |told: Story| {
        let id = made(&told, RUNBOOK, &["ada"]).await;
        let batch = told.get(id).await;
        assert_eq!((batch.header.mode, batch.status), (BatchMode::Manual, BatchStatus::Detected));
        assert_eq!(batch.header.actor, "lead");
        assert!(batch.start.is_none() && batch.phases.iter().all(|phase| phase.due_at.is_none()));
        told.to(START_MS + DAY_MS).await;
        assert!(told.all().await.is_empty(), "no moment begins anything");

        advance(&told, id).await.expect("to its preparation");
        assert_eq!(advance(&told, id).await, Err(BatchRefusal::UnderWay("init".to_owned())));
        assert_eq!(told.succeed().await, ["Announce"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Active);
        assert!(told.all().await.is_empty(), "active, and still waiting");

        advance(&told, id).await.expect("to its first phase");
        let refused = advance(&told, id).await;
        assert_eq!(refused, Err(BatchRefusal::UnderWay("phase \"prepare\"".to_owned())));
        assert_eq!(told.succeed().await, ["Create ada", "Copy ada"]);
        told.later(60).await;
        let batch = advance(&told, id).await.expect("to its second phase");
        assert_eq!(batch.current_phase.as_deref(), Some("cutover"));
        let switch = told.all().await.remove(0);
        let first_advance = "2025-03-21T12:00:00.000Z";
        assert_eq!(params(&switch)["at"], json!(first_advance), "the first advance is its start");
        assert_eq!(batch.start, None, "and yet it has no T-0");
        told.report(&switch, super::story::well(&switch)).await;
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
        assert!(matches!(advance(&told, id).await, Err(BatchRefusal::Ended(_))));
    });
}

#[test]
fn without_a_preparation_the_first_advance_begins_the_first_phase() {
    //
    story(async |told: Story| {
        let id = made(&told, PLAIN, &["ada"]).await;
        let batch = advance(&told, id).await.expect("advances");
        assert_eq!(batch.status, BatchStatus::Active);
        assert_eq!(names(&told.all().await), ["Create ada"]);
    });
}

#[test]
fn a_batch_made_by_hand_keeps_its_version() {
    //
    story(async |told: Story| {
        let id = made(&told, PLAIN, &["ada"]).await;
        let newer = PLAIN.replace("function: Create", "function: Create2");
        let rerun = json!({ "overdue_behavior": "rerun" });
        assert!(told.place.publish_with(&newer, &rerun).await.batches.is_empty());
        told.pass().await;
        advance(&told, id).await.expect("advances");
        assert_eq!(told.succeed().await, ["Create ada"]);
    });
}

#[test]
fn members_are_added_and_removed_by_hand() {
    // a late one does what has begun, and leaving twice is leaving once.
    story(async |told: Story| {
        let id = made(&told, RUNBOOK, &["ada"]).await;
        advance(&told, id).await.expect("init");
        told.succeed().await;
        advance(&told, id).await.expect("prepare");
        told.succeed().await;
        let engine = &told.place.world.engine;
        let added = engine.add_members(id, vec![member("bob")], "lead").await.expect("added");
        let taken = engine.add_members(id, vec![member("bob")], "lead").await;
        assert!(
            matches!(&taken, Err(BatchError::KeysTaken(keys)) if keys == &["bob"]),
            "{taken:?}"
        );
        assert_eq!(told.succeed().await, ["Create bob", "Copy bob"]);
        for _ in 0..2 {
            let left = engine.remove_member(id, added[0].0, "lead").await.expect("removed");
            assert_eq!(left.status(), MemberStatus::Removed);
        }
        assert_eq!(told.succeed().await, ["Forget bob"]);
        assert_eq!(told.get(id).await.removed, 1);
    });
}

#[test]
fn whose_members_come_from_a_source_is_not_changed_by_hand() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        let id = told.place.batch(&["ada"]).await;
        let engine = &told.place.world.engine;
        let added = engine.add_members(id, vec![member("bob")], "lead").await;
        assert!(matches!(added, Err(BatchError::Automated(_))), "{added:?}");
        let ada = told.member(id, "ada").await.id;
        let removed = engine.remove_member(id, ada, "lead").await;
        assert!(matches!(removed, Err(BatchError::Automated(_))), "{removed:?}");
        assert_eq!(advance(&told, id).await, Err(BatchRefusal::NotManual));
    });
}

#[test]
fn a_phase_that_nobody_is_left_for_is_passed_over_by_an_advance() {
    //
    story(async |told: Story| {
        let id = made(&told, PLAIN, &["ada"]).await;
        advance(&told, id).await.expect("prepare");
        told.work(|_| broken()).await;
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Failed);
        advance(&told, id).await.expect("passes over");
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "cutover"), PhaseStatus::Skipped);
        assert_eq!(batch.status, BatchStatus::Failed);
        assert_ne!(told.place.world.engine.now().as_millis(), PREPARE_MS);
    });
}
