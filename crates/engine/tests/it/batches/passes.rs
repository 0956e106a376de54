//! What a source says becomes batches: made, brought up to date, and left alone.

use serde_json::json;
use stepwell_connectors::source::SourceError;
use stepwell_core::batch::{BatchMode, BatchStatus, PhaseStatus};
use stepwell_store::MemberStatus;

use super::story::{PLAIN, PREPARE_MS, Story, names, row, story};
use super::world::{DAY_MS, RUNBOOK, START_MS, params, phase};
use crate::world::NOON_MS;

/// A source with these members, and the batch that was made of them.
async fn made_of(told: &Story, keys: &[&str]) -> stepwell_core::id::BatchId {
    told.place.publish(PLAIN).await;
    told.rows(keys.iter().map(|key| row(key, 1, START_MS)).collect());
    told.automate(true).await;
    told.only_batch().await
}

#[test]
fn rows_of_one_moment_become_one_batch_once() {
    // whole with members and phases, and not again when the rows come again.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let other_ms = START_MS + DAY_MS;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, other_ms), row("cy", 1, START_MS)]);
        told.automate(true).await;
        told.pass().await;
        let batches = told.batches().await;
        assert_eq!(batches.len(), 2);
        let batch = &batches[0];
        assert_eq!(batch.start.expect("T-0").as_millis(), START_MS);
        assert_eq!(batch.header.mode, BatchMode::Scheduled);
        let due: Vec<i64> =
            batch.phases.iter().map(|it| it.due_at.expect("due").as_millis()).collect();
        assert_eq!(due, [PREPARE_MS, START_MS]);
        assert!(batch.phases.iter().all(|it| it.status == PhaseStatus::Pending && it.version == 1));
        assert_eq!(told.keys(batch.id(), MemberStatus::Active).await, ["ada", "cy"]);
        assert_eq!(told.keys(batches[1].id(), MemberStatus::Active).await, ["bob"]);
    });
}

#[test]
fn without_a_switch_or_switched_off_no_source_is_asked() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.pass().await;
        assert!(told.batches().await.is_empty(), "nobody has switched it on");
        told.automate(true).await;
        let batch = told.only_batch().await;
        told.automate(false).await;
        told.rows(vec![row("bob", 1, START_MS), row("cy", 1, START_MS + DAY_MS)]);
        told.pass().await;
        assert_eq!(told.batches().await.len(), 1);
        assert_eq!(
            told.keys(batch, MemberStatus::Active).await,
            ["ada"],
            "nobody came, nobody left"
        );
        told.to(PREPARE_MS).await;
        assert_eq!(told.succeed().await, ["Create ada"], "what is under way goes on");
    });
}

#[test]
fn a_version_out_of_use_makes_no_batches_and_its_batches_go_on() {
    //
    story(async |told: Story| {
        let batch = made_of(&told, &["ada"]).await;
        told.place.world.engine.deactivate_runbook("move", 1).await.expect("it is there");
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS + DAY_MS)]);
        told.pass().await;
        assert_eq!(told.batches().await.len(), 1);
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Create ada", "Switch ada"]);
        assert_eq!(told.get(batch).await.status, BatchStatus::Completed);
    });
}

#[test]
fn later_phases_see_what_the_source_says_by_then() {
    // what was sent keeps what it was sent with.
    story(async |told: Story| {
        made_of(&told, &["ada"]).await;
        told.to(PREPARE_MS).await;
        let create = told.all().await.remove(0);
        told.rows(vec![row("ada", 7, START_MS)]);
        told.pass().await;
        assert_eq!(params(&create)["size"], 1);
        told.report(&create, super::story::well(&create)).await;
        told.to(START_MS).await;
        let switch = told.all().await.remove(0);
        assert_eq!(params(&switch), json!({ "user": "ada", "size": 7 }));
    });
}

#[test]
fn an_empty_answer_removes_nobody_and_is_noted_until_a_clean_pass() {
    //
    story(async |told: Story| {
        let batch = made_of(&told, &["ada", "bob"]).await;
        told.rows(Vec::new());
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["ada", "bob"]);
        let error = told.last_error().await.expect("it is noted");
        assert!(error.contains("no rows; nobody was removed"), "{error}");
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.last_error().await, None);
    });
}

#[test]
fn a_source_that_fails_changes_nothing_and_is_noted() {
    //
    story(async |told: Story| {
        let batch = made_of(&told, &["ada"]).await;
        let failing = SourceError::Unreachable { reason: "the view is being rebuilt".to_owned() };
        *told.place.shelf.lock().expect("no panic") = Err(failing);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["ada"]);
        let error = told.last_error().await.expect("it is noted");
        assert!(error.contains("the view is being rebuilt"), "{error}");
    });
}

#[test]
fn a_source_that_fails_at_first_makes_nothing_until_it_answers() {
    // a variable that is not set, a query that is wrong, a server that nobody
    // vouches for, more rows than the limit: each in its own words, and nothing half-made.
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        told.automate(true).await;
        let faults = [
            SourceError::MissingVariable { name: "MOVE_CSV".to_owned() },
            SourceError::Query { message: "no such table: mailboxes".to_owned() },
            SourceError::Untrusted { reason: "its certificate is nobody's".to_owned() },
            SourceError::TooManyRows { rows_max: 1_000_000 },
        ];
        for fault in faults {
            *told.place.shelf.lock().expect("no panic") = Err(fault.clone());
            told.pass().await;
            assert_eq!(told.batches().await, [], "{fault}");
            let error = told.last_error().await.expect("it is noted");
            assert!(error.contains(&fault.to_string()), "{error}");
        }
        told.rows(vec![row("ada", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.batches().await.len(), 1);
        assert_eq!(told.last_error().await, None);
    });
}

#[test]
fn rows_without_the_key_column_make_nothing() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        let mut nameless = row("ada", 1, START_MS);
        let key = nameless.remove("user").expect("a key");
        nameless.insert("mail".to_owned(), key);
        told.rows(vec![nameless]);
        told.automate(true).await;
        told.pass().await;
        assert_eq!(told.batches().await, []);
        let error = told.last_error().await.expect("it is noted");
        assert!(error.contains("user"), "the column is named: {error}");
    });
}

#[test]
fn whoever_is_new_joins_and_whoever_is_gone_leaves() {
    // even if the whole group is gone, as long as there are rows at all.
    story(async |told: Story| {
        let batch = made_of(&told, &["ada", "bob"]).await;
        told.rows(vec![row("bob", 1, START_MS), row("cy", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["bob", "cy"]);
        assert_eq!(told.keys(batch, MemberStatus::Removed).await, ["ada"]);
        told.rows(vec![row("dee", 1, START_MS + DAY_MS)]);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Removed).await, ["ada", "bob", "cy"]);
        assert_eq!(told.batches().await.len(), 2);
    });
}

#[test]
fn a_member_with_another_moment_moves_to_that_batch() {
    //
    story(async |told: Story| {
        let batch = made_of(&told, &["ada", "bob"]).await;
        told.rows(vec![row("ada", 1, START_MS + DAY_MS), row("bob", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Removed).await, ["ada"]);
        let other = told.batches().await.pop().expect("a second batch").id();
        assert_eq!(told.keys(other, MemberStatus::Active).await, ["ada"]);
    });
}

#[test]
fn whoever_comes_back_is_somebody_new_and_does_everything_again() {
    // the removal undid the earlier work.
    story(async |told: Story| {
        let batch = made_of(&told, &["ada", "bob"]).await;
        told.to(PREPARE_MS).await;
        assert_eq!(told.succeed().await, ["Create ada", "Create bob"]);
        told.rows(vec![row("bob", 1, START_MS)]);
        told.pass().await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.pass().await;
        told.pass().await;
        assert_eq!(told.succeed().await, ["Create ada"], "once, however often it is asked");
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["bob", "ada"]);
        assert_eq!(told.keys(batch, MemberStatus::Removed).await, ["ada"]);
    });
}

#[test]
fn whoever_failed_stays_failed_when_the_source_drops_it() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.automate(true).await;
        told.succeed().await;
        let batch = told.only_batch().await;
        told.to(PREPARE_MS).await;
        told.fail("ada").await;
        told.rows(vec![row("bob", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Failed).await, ["ada"]);
        assert!(names(&told.all().await).is_empty(), "nothing is done for its leaving");
    });
}

#[test]
fn rows_for_a_batch_that_has_ended_are_ignored_and_noted() {
    //
    story(async |told: Story| {
        let batch = made_of(&told, &["ada"]).await;
        told.to(START_MS).await;
        told.succeed().await;
        assert_eq!(told.get(batch).await.status, BatchStatus::Completed);
        told.rows(vec![row("ada", 1, START_MS), row("late", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.only_batch().await, batch);
        assert_eq!(told.place.members(batch).await.len(), 1);
        let error = told.last_error().await.expect("it is noted");
        assert!(error.contains("that batch has ended"), "{error}");
    });
}

#[test]
fn rows_that_cannot_be_used_are_left_out_and_say_that_nobody_left() {
    //
    story(async |told: Story| {
        let batch = made_of(&told, &["ada", "bob"]).await;
        let mut unusable = row("bob", 1, START_MS);
        unusable.insert("start".to_owned(), json!("next week"));
        told.rows(vec![row("ada", 1, START_MS), unusable, row("ada", 9, START_MS)]);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["ada", "bob"]);
        let error = told.last_error().await.expect("it is noted");
        assert!(error.contains("2 of 3 rows"), "{error}");
    });
}

#[test]
fn the_tick_asks_every_five_minutes_at_the_full_mark() {
    //
    story(async |told: Story| {
        told.to(NOON_MS + 60_000).await;
        made_of(&told, &["ada"]).await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        let batch = told.only_batch().await;
        told.later(3).await;
        assert_eq!(told.place.members(batch).await.len(), 1, "12:04");
        told.later(1).await;
        assert_eq!(told.place.members(batch).await.len(), 2, "12:05");
    });
}

#[test]
fn a_batch_found_after_its_phases_were_due_does_them_in_order() {
    //
    story(async |told: Story| {
        told.to(START_MS + DAY_MS).await;
        let batch = made_of(&told, &["ada"]).await;
        let batch = told.get(batch).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Dispatched);
        assert_eq!(phase(&batch, "cutover"), PhaseStatus::Dispatched);
        assert_eq!(names(&told.all().await), ["Create ada"], "one step at a time");
    });
}

#[test]
fn members_that_come_while_a_batch_is_paused_wait_until_it_goes_on() {
    // the next pass after the pause lets them in.
    story(async |told: Story| {
        let batch = made_of(&told, &["ada"]).await;
        let pause = stepwell_core::batch::BatchCommand::Pause { by: super::story::by() };
        told.command(batch, pause).await.expect("it is paused");
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["ada"]);
        assert!(told.last_error().await.expect("noted").contains("is paused"));
        let resume = stepwell_core::batch::BatchCommand::Resume { by: super::story::by() };
        told.command(batch, resume).await.expect("it goes on");
        told.pass().await;
        assert_eq!(told.keys(batch, MemberStatus::Active).await, ["ada", "bob"]);
        assert_eq!(told.last_error().await, None);
    });
}
