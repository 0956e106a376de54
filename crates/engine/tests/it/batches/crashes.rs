//! The process dies in the middle of something: the next one goes on, and nothing is done twice.

use std::sync::Arc;

use serde_json::json;
use stepwell_core::batch::{Batch, BatchCommand, BatchStatus, PhaseStatus};
use stepwell_core::command::Act;
use stepwell_core::id::BatchId;
use stepwell_core::run::{BatchRole, RunStatus};
use stepwell_core::time::Timestamp;
use stepwell_store::Store;

use super::story::PREPARE_MS;
use super::world::{DAY_MS, Place, RUNBOOK, START_MS, kind, member, params, phase};
use crate::world::{sqlite, success};

/// More members than a page of a sweep has, so that a sweep has a middle.
const MANY: usize = 1_500;

/// A place on disk that can die.
struct House {
    dir: tempfile::TempDir,
    place: Place,
}

impl House {
    async fn new() -> Self {
        let dir = tempfile::tempdir().expect("a place");
        let place = Place::on(sqlite(&dir)).await;
        Self { dir, place }
    }

    /// Ends everything where it stands, and begins anew from the disk.
    async fn die(&mut self) {
        self.place.world.engine.crash();
        let old = Arc::clone(&self.place.world.store);
        old.close().await.expect("the file is let go");
        let store: Arc<dyn Store> = sqlite(&self.dir);
        self.place.world.restart(store).await;
    }

    async fn batch_of(&self, count: usize) -> BatchId {
        let members = (0..count).map(|number| member(&format!("m{number}"))).collect();
        let start = Some(Timestamp::from_millis(START_MS));
        let engine = &self.place.world.engine;
        let mode = stepwell_core::batch::BatchMode::Scheduled;
        let made = engine.create_batch_at("move", members, mode, start, "lead").await;
        made.expect("the batch is made").id()
    }

    /// Waits for a state that a crash is to strike in, then strikes.
    async fn die_when(&mut self, id: BatchId, wanted: impl Fn(&Batch) -> bool) {
        self.place.until(id, wanted).await;
        self.die().await;
    }

    /// Does so many pieces of work, well; answers how often each was done.
    async fn work(&self, count: usize) -> std::collections::BTreeMap<String, usize> {
        let mut worked = std::collections::BTreeMap::new();
        let mut left = count;
        while left > 0 {
            for taken in self.place.world.take(left.min(512)).await {
                *worked.entry(kind(&taken)).or_default() += 1;
                self.place.world.report(&taken, success()).await.expect("the report counts");
                left -= 1;
            }
        }
        worked
    }
}

/// Without the init and the polls of the whole runbook.
fn plain() -> String {
    super::story::PLAIN.to_owned()
}

fn by() -> Act {
    Act::new("lead", "it is time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phase_that_was_being_opened_is_opened_for_everybody_once() {
    // the sweep goes on where it stood.
    let mut house = House::new().await;
    house.place.publish(&plain()).await;
    let id = house.batch_of(MANY).await;
    house.place.at(PREPARE_MS);
    house.die_when(id, |batch| phase(batch, "prepare") == PhaseStatus::Dispatched).await;
    let worked = house.work(MANY).await;
    assert_eq!(worked.get("Create"), Some(&MANY));
    let batch = house.place.until(id, |it| phase(it, "prepare") == PhaseStatus::Completed).await;
    assert_eq!(batch.phases[0].tally.succeeded, MANY as i64);
    assert!(house.place.world.take_now().await.is_empty(), "and nothing is left to do");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_was_being_adopted_is_adopted_by_everybody_once() {
    //
    let mut house = House::new().await;
    house.place.publish(&plain()).await;
    let id = house.batch_of(MANY).await;
    house.place.at(PREPARE_MS);
    house.work(MANY).await;
    house.place.until(id, |it| phase(it, "prepare") == PhaseStatus::Completed).await;
    let newer = plain().replace("function: Create", "function: Create2");
    house.place.publish_with(&newer, &json!({ "overdue_behavior": "rerun" })).await;
    house.die_when(id, |batch| batch.runbook_version == 2).await;
    let worked = house.work(MANY).await;
    assert_eq!(worked.get("Create2"), Some(&MANY), "each once: {worked:?}");
    let batch = house.place.until(id, |it| phase(it, "prepare") == PhaseStatus::Completed).await;
    assert_eq!(batch.tally.open, MANY as i64, "each is counted once");
    assert!(house.place.world.take_now().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_that_was_being_carried_out_reaches_everybody() {
    //
    let mut house = House::new().await;
    house.place.publish(&plain()).await;
    let id = house.batch_of(MANY).await;
    let cancel = BatchCommand::Cancel { by: by() };
    house.place.world.engine.command_batch(id, cancel).await.expect("stops");
    house.die().await;
    let batch = house.place.until(id, Batch::is_settled).await;
    assert_eq!(batch.status, BatchStatus::Cancelled);
    let batch = house.place.until(id, |batch| batch.tally.open == 0).await;
    assert_eq!(batch.tally.cancelled, MANY as i64);
}

#[tokio::test]
async fn a_preparation_goes_on_after_a_crash_and_is_not_begun_again() {
    //
    let mut house = House::new().await;
    house.place.publish(RUNBOOK).await;
    let id = house.batch_of(1).await;
    let announce = house.place.take().await;
    house.die().await;
    house.place.world.report(&announce, success()).await.expect("the report counts");
    house.place.until(id, |batch| batch.status == BatchStatus::Active).await;
    house.die().await;
    let runs = house.place.world.store.batch_runs(id, Some(BatchRole::Init), None).await;
    assert_eq!(runs.expect("the store answers").len(), 1);
    assert!(house.place.world.take_now().await.is_empty());
}

#[tokio::test]
async fn a_member_whose_leaving_was_written_is_stopped_and_undone_once() {
    //
    let mut house = House::new().await;
    house.place.publish(RUNBOOK).await;
    let engine = house.place.world.engine.clone();
    let members = vec![member("ada"), member("bob")];
    let id = engine.create_batch("move", members, "lead").await.expect("made").id();
    let ada = house.place.members(id).await.remove(0);
    engine.remove_member(id, ada.id, "lead").await.expect("removed");
    house.die().await;
    let forget = house.place.take().await;
    assert_eq!((kind(&forget), params(&forget)), ("Forget".to_owned(), json!({ "user": "ada" })));
    house.die().await;
    house.place.world.report(&forget, success()).await.expect("the report counts");
    let left = house.place.members(id).await.remove(0);
    assert_eq!(left.run_status, RunStatus::Cancelled);
    let runs = house.place.world.store.batch_runs(id, Some(BatchRole::Removal), None).await;
    assert_eq!(runs.expect("the store answers").len(), 1);
}

#[tokio::test]
async fn a_moment_that_passed_while_nobody_ran_is_made_up_for() {
    //
    let mut house = House::new().await;
    house.place.publish(&plain()).await;
    let id = house.batch_of(1).await;
    house.place.world.engine.crash();
    house.place.world.clock.advance(std::time::Duration::from_millis(
        u64::try_from(PREPARE_MS + DAY_MS - crate::world::NOON_MS).expect("later"),
    ));
    house.die().await;
    house.place.until(id, |batch| phase(batch, "prepare") == PhaseStatus::Dispatched).await;
    assert_eq!(house.work(1).await.get("Create"), Some(&1));
}

#[tokio::test]
async fn what_a_member_has_done_and_set_outlives_a_crash_and_a_retry() {
    // outputs of steps before the crash are there for the run that takes it up again.
    let mut house = House::new().await;
    house.place.publish(RUNBOOK).await;
    let id = house.batch_of(1).await;
    house.work(1).await;
    house.place.until(id, |batch| batch.status == BatchStatus::Active).await;
    house.place.at(PREPARE_MS);
    house.place.does("Create", super::world::done(json!({ "target": "t-1" }))).await;
    house.place.does("Copy", crate::world::failure(false)).await;
    house.place.does("Revert", success()).await;
    house.die().await;
    let filter = super::story::keyed(&["m0"]);
    let operation = stepwell_engine::BatchOperation::Retry;
    let order =
        stepwell_engine::BatchOrder { operation, filter, by: by(), dry_run: false, limit: None };
    let results = house.place.world.engine.operate_batch(id, &order).await.expect("carried out");
    assert_eq!(super::story::code(&results[0]), "");
    let copy = house.place.does("Copy", success()).await;
    assert_eq!(params(&copy), json!({ "to": "t-1" }));
}
