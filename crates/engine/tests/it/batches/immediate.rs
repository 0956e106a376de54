//! Batches that start when their members are first seen.

use stepwell_core::batch::{BatchMode, BatchStatus};
use stepwell_store::MemberStatus;

use super::story::{PLAIN, Story, row, story};
use super::world::{DAY_MS, START_MS};
use crate::world::NOON_MS;

fn immediate() -> String {
    PLAIN.replace("batch_time_column: start", "batch_time: immediate")
}

const MINUTE_MS: i64 = 60_000;

async fn seen(told: &Story, keys: &[&str]) {
    told.rows(keys.iter().map(|key| row(key, 1, START_MS)).collect());
    told.pass().await;
}

#[test]
fn a_batch_starts_at_the_nearest_mark() {
    // 12:03 is nearer to 12:05, and a moment ahead is waited for.
    story(async |told: Story| {
        told.to(NOON_MS + 3 * MINUTE_MS).await;
        told.place.publish(&immediate()).await;
        told.automate(true).await;
        seen(&told, &["ada"]).await;
        let batch = told.batches().await.remove(0);
        assert_eq!(batch.header.mode, BatchMode::Immediate);
        assert_eq!(batch.start.expect("T-0").as_millis(), NOON_MS + 5 * MINUTE_MS);
        assert_eq!(told.succeed().await, ["Create ada"], "five days before T-0 was long ago");
        told.to(NOON_MS + 5 * MINUTE_MS).await;
        assert_eq!(told.succeed().await, ["Switch ada"]);
    });
}

#[test]
fn whoever_is_in_a_batch_is_not_seen_as_new_and_nobody_leaves() {
    // the rows of an immediate batch are not its members' leaving.
    story(async |told: Story| {
        told.place.publish(&immediate()).await;
        told.automate(true).await;
        seen(&told, &["ada"]).await;
        let first = told.only_batch().await;
        told.later(20).await;
        seen(&told, &["bob"]).await;
        let batches = told.batches().await;
        assert_eq!(batches.len(), 2, "bob came twenty minutes later");
        assert_eq!(told.keys(first, MemberStatus::Active).await, ["ada"], "ada has not left");
        assert_eq!(told.keys(batches[1].id(), MemberStatus::Active).await, ["bob"]);
        seen(&told, &["ada", "bob", "cy"]).await;
        assert_eq!(told.batches().await.len(), 2, "cy joins the batch of this mark");
        assert_eq!(told.keys(batches[1].id(), MemberStatus::Active).await, ["bob", "cy"]);
    });
}

#[test]
fn whoever_is_done_is_not_begun_again_before_it_was_away_once() {
    // for members that failed too.
    story(async |told: Story| {
        told.place.publish(&immediate()).await;
        told.automate(true).await;
        seen(&told, &["ada", "bob"]).await;
        told.fail("bob").await;
        let batch = told.only_batch().await;
        assert_eq!(told.get(batch).await.status, BatchStatus::Completed);
        told.to(NOON_MS + DAY_MS).await;
        seen(&told, &["ada", "bob"]).await;
        assert_eq!(told.batches().await.len(), 1);
        seen(&told, &["bob"]).await;
        seen(&told, &["ada", "bob"]).await;
        let again = told.batches().await.pop().expect("a batch").id();
        assert_ne!(again, batch);
        assert_eq!(told.keys(again, MemberStatus::Active).await, ["ada"]);
    });
}
