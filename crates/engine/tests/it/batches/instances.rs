//! Several instances on one store, and the batches that they keep moving together.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::json;
use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_connectors::egress::Policy;
use stepwell_core::batch::{BatchCommand, BatchMode, BatchStatus};
use stepwell_core::command::Act;
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;
use stepwell_engine::{Settings, Sources};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{BatchFilter, MemberFilter, Slice, Store};
use tokio::sync::Semaphore;

use super::quiet::Quiet;
use super::sources::{Slow, automated};
use super::story::{PLAIN, name};
use super::world::member;
use crate::faulty::Faulty;
use crate::world::{NOON_MS, World, start, success};

/// Instances that share a store, a clock and a source.
struct Town {
    clock: Arc<ManualClock>,
    quiet: Quiet,
    source: Slow,
    worlds: Vec<World>,
}

impl Town {
    async fn of(count: usize, quiet: Quiet) -> Self {
        Self::on(count, quiet, |_, store| store).await
    }

    /// Instances whose stores are made of those that they would have.
    async fn on(
        count: usize,
        quiet: Quiet,
        wrap: impl Fn(usize, Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> Self {
        let clock = Arc::new(ManualClock::new(NOON_MS));
        let hands = Arc::clone(&clock);
        let store = MemoryStore::shared(move || Timestamp::from_millis(hands.now_ms()));
        let source = Slow::default();
        let mut settings = Settings::default();
        let opened = source.clone();
        settings.scheduler.sources = Sources::new(move |_| Ok(Box::new(opened.clone())));
        let mut worlds = Vec::new();
        for number in 0..count {
            let store = wrap(number, Arc::new(store.another()));
            let engine = start(&store, &clock, &settings, Policy::default()).await;
            let (clock, settings) = (Arc::clone(&clock), settings.clone());
            worlds.push(World { engine, store, clock, settings });
        }
        Self { clock, quiet, source, worlds }
    }

    /// Lets time pass in small steps: without signs of life nobody may decide.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds / 5 {
            self.clock.advance(Duration::from_secs(5));
            self.quiet.comes().await;
        }
    }

    async fn batches(&self) -> Vec<String> {
        let page = Slice { offset: 0, limit: 100 };
        let store = &self.worlds[0].store;
        let listed = store.batches(BatchFilter::default(), page).await.expect("reads").items;
        listed.into_iter().map(|batch| batch.header.runbook.clone()).collect()
    }

    /// Everything that the workers of these instances do within a time, by what it is.
    async fn work(&self, at: &[usize], seconds: u64, worked: &mut BTreeMap<String, usize>) {
        for _ in 0..seconds / 5 {
            for world in at.iter().map(|place| &self.worlds[*place]) {
                for taken in world.take_now().await {
                    if world.report(&taken, success()).await.is_ok() {
                        *worked.entry(name(&taken)).or_default() += 1;
                    }
                }
            }
            self.pass(5).await;
        }
    }
}

#[test]
fn two_instances_never_pass_over_one_runbook_at_once() {
    //
    let quiet = Quiet::default();
    quiet.runtime().block_on(async {
        let town = Town::of(2, quiet.clone()).await;
        automated(&town.worlds[0], PLAIN, "move").await;
        for _ in 0..6 {
            town.pass(300).await;
            town.source.answers.notify_waiters();
            town.quiet.comes().await;
        }
        assert_eq!(town.source.at_once_max.load(Ordering::SeqCst), 1);
        assert!(town.source.asked.load(Ordering::SeqCst) >= 3);
        assert_eq!(town.batches().await, ["move"], "made once");
    });
}

async fn batch_of(world: &World, keys: usize) -> BatchId {
    let members = (0..keys).map(|number| member(&format!("m{number}"))).collect();
    let start = Some(Timestamp::from_millis(NOON_MS + 600_000));
    let made = world.engine.create_batch_at("move", members, BatchMode::Scheduled, start, "lead");
    made.await.expect("the batch is made").id()
}

#[test]
fn a_batch_outlives_the_instance_that_made_it() {
    // another instance begins what is due, and nothing is done twice.
    let quiet = Quiet::default();
    quiet.runtime().block_on(async {
        let town = Town::of(2, quiet.clone()).await;
        super::world::publish(&town.worlds[0].engine, PLAIN, &json!({}))
            .await
            .expect("it is published");
        let id = batch_of(&town.worlds[0], 5).await;
        let mut worked = BTreeMap::new();
        town.work(&[0, 1], 30, &mut worked).await;
        assert_eq!(worked.values().sum::<usize>(), 5, "the first phase was past due: {worked:?}");
        town.worlds[0].engine.crash();
        town.work(&[1], 1_200, &mut worked).await;
        assert!(worked.values().all(|times| *times == 1), "{worked:?}");
        assert_eq!(worked.len(), 10, "{worked:?}");
        let batch = town.worlds[1].engine.batch(id).await.expect("it is there");
        assert_eq!(batch.status, BatchStatus::Completed);
        assert_eq!(batch.tally.succeeded, 5);
    });
}

#[test]
fn a_pause_that_was_stored_for_a_dead_owner_does_not_outlive_the_resume() {
    // what waits for a run comes before what is asked of it later, whoever owns it by then.
    let quiet = Quiet::default();
    quiet.runtime().block_on(async {
        let slow = OnceLock::new();
        let wrap = |number, store| match number {
            1 => Arc::clone(slow.get_or_init(|| Faulty::new(store))) as Arc<dyn Store>,
            _ => store,
        };
        let town = Town::on(2, quiet.clone(), wrap).await;
        let published = super::world::publish(&town.worlds[0].engine, PLAIN, &json!({})).await;
        published.expect("it is published");
        let id = batch_of(&town.worlds[0], 3).await;
        town.pass(10).await;
        // The owner of the runs is dead, and nobody knows: what is asked of them is stored.
        town.worlds[0].engine.crash();
        let engine = &town.worlds[1].engine;
        let by = || Act::new("lead", "the window");
        engine.command_batch(id, BatchCommand::Pause { by: by() }).await.expect("paused");
        town.pass(30).await;
        let inputs = &slow.get().expect("two instances").inputs;
        inputs.forget_permits(Semaphore::MAX_PERMITS);
        town.pass(300).await;
        engine.command_batch(id, BatchCommand::Resume { by: by() }).await.expect("it goes on");
        town.pass(60).await;
        // Only now does whoever has taken over come to what was stored.
        inputs.add_permits(1_000);
        town.pass(120).await;
        let batch = engine.batch(id).await.expect("it is there");
        assert!(batch.sweeps.is_empty() && !batch.paused, "{batch:?}");
        let filter = MemberFilter::of(id);
        let page = Slice { offset: 0, limit: 10 };
        let members = town.worlds[1].store.members(filter, page).await.expect("reads").items;
        for member in members {
            let run = engine.run(member.run).await.expect("reads").expect("it is there");
            assert!(!run.paused, "{} would stand still for ever", member.key);
        }
    });
}
