//! The same thing asked for twice at once happens once.

use serde_json::json;
use stepwell_core::batch::{BatchCommand, BatchStatus, PhaseStatus};
use stepwell_core::run::{BatchRole, RunStatus};
use stepwell_store::MemberStatus;

use super::story::{PLAIN, PREPARE_MS, Story, by, names, row, story, well};
use super::world::{RUNBOOK, START_MS, member, phase};

#[test]
fn a_phase_that_two_say_is_due_begins_once() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        let id = told.place.batch(&["ada", "bob"]).await;
        let first = told.get(id).await.phases[0].id;
        let begin = || BatchCommand::BeginPhase { phase: first, by: by() };
        let engine = &told.place.world.engine;
        let (one, other) =
            tokio::join!(engine.command_batch(id, begin()), engine.command_batch(id, begin()));
        one.expect("followed");
        other.expect("followed");
        assert_eq!(names(&told.all().await), ["Create ada", "Create bob"]);
        told.to(PREPARE_MS).await;
        assert!(told.all().await.is_empty(), "its own moment begins it no second time");
        let events = told.place.world.store.batch_events(Some(id), 0, 100).await.expect("reads");
        let begun = events.iter().flat_map(|event| &event.record.entries);
        assert_eq!(begun.filter(|entry| entry.word() == "phase_dispatched").count(), 1);
    });
}

#[test]
fn a_preparation_that_two_ask_for_begins_once() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let engine = &told.place.world.engine;
        let id = engine.create_batch("move", vec![member("ada")], "lead").await.expect("made").id();
        let begin = || BatchCommand::BeginInit { by: by() };
        let (one, other) =
            tokio::join!(engine.command_batch(id, begin()), engine.command_batch(id, begin()));
        one.expect("followed");
        other.expect("followed");
        assert_eq!(names(&told.all().await), ["Announce"]);
        let runs = told.place.world.store.batch_runs(id, Some(BatchRole::Init), None).await;
        assert_eq!(runs.expect("reads").len(), 1);
    });
}

#[test]
fn two_who_advance_a_batch_at_once_advance_it_once() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        let engine = &told.place.world.engine;
        let id = engine.create_batch("move", vec![member("ada")], "lead").await.expect("made").id();
        let advance = || BatchCommand::Advance { by: by() };
        let (one, other) =
            tokio::join!(engine.command_batch(id, advance()), engine.command_batch(id, advance()));
        assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|followed| **followed).count(), 1);
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Dispatched);
        assert_eq!(phase(&batch, "cutover"), PhaseStatus::Pending);
    });
}

#[test]
fn the_same_member_added_twice_at_once_is_added_once() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        let engine = &told.place.world.engine;
        let id = engine.create_batch("move", vec![member("ada")], "lead").await.expect("made").id();
        let add = || engine.add_members(id, vec![member("bob")], "lead");
        let (one, other) = tokio::join!(add(), add());
        assert_eq!([one.is_ok(), other.is_ok()].iter().filter(|added| **added).count(), 1);
        assert_eq!(told.keys(id, MemberStatus::Active).await, ["ada", "bob"]);
        assert_eq!(told.get(id).await.joined, 2);
    });
}

#[test]
fn a_member_removed_twice_at_once_is_undone_once() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let engine = &told.place.world.engine;
        let members = vec![member("ada"), member("bob")];
        let id = engine.create_batch("move", members, "lead").await.expect("made").id();
        let ada = told.member(id, "ada").await.id;
        let remove = || engine.remove_member(id, ada, "lead");
        let (one, other) = tokio::join!(remove(), remove());
        assert!(one.is_ok() && other.is_ok());
        assert_eq!(told.succeed().await, ["Forget ada"]);
        assert_eq!(told.get(id).await.removed, 1);
    });
}

#[test]
fn a_stop_and_a_result_at_once_end_in_one_of_two_ways() {
    // never half of each.
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        let id = told.place.batch(&["ada"]).await;
        told.to(START_MS).await;
        assert_eq!(told.place.world.engine.now().as_millis(), START_MS);
        let create = told.all().await.remove(0);
        told.report(&create, well(&create)).await;
        let switch = told.all().await.remove(0);
        let engine = &told.place.world.engine;
        let (stopped, done) = tokio::join!(
            engine.command_batch(id, BatchCommand::Cancel { by: by() }),
            told.place.world.report(&switch, well(&switch)),
        );
        stopped.expect("it was open");
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Cancelled);
        assert!(batch.is_settled());
        let run = told.run(id, "ada").await;
        let expected = if done.is_ok() { RunStatus::Succeeded } else { RunStatus::Cancelled };
        assert_eq!(run.status, expected);
    });
}

#[test]
fn the_same_version_published_twice_at_once_is_adopted_once() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        let id = told.only_batch().await;
        let newer = PLAIN.replace("function: Create", "function: Create2");
        let more = json!({});
        tokio::join!(
            told.place.publish_with(&newer, &more),
            told.place.publish_with(&newer, &more)
        );
        let batch = told.get(id).await;
        assert_eq!((batch.runbook_version, batch.phases.len()), (2, 4));
        told.to(PREPARE_MS).await;
        assert_eq!(told.succeed().await, ["Create2 ada"]);
    });
}
