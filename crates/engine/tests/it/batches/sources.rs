//! Sources that hang or fail, and several instances that ask.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value};
use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_connectors::egress::Policy;
use stepwell_connectors::source::{Rows, Source, SourceError};
use stepwell_core::time::Timestamp;
use stepwell_engine::{Settings, Sources};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{BatchFilter, Slice, Store};
use tokio::sync::Notify;

use super::quiet::Quiet;
use super::story::{PLAIN, row};
use super::world::{START_MS, publish};
use crate::world::{NOON_MS, World, start};

/// A source that answers when it is told to, and counts who asks.
#[derive(Clone, Default)]
struct Slow {
    asked: Arc<AtomicUsize>,
    at_once: Arc<AtomicUsize>,
    at_once_max: Arc<AtomicUsize>,
    answers: Arc<Notify>,
}

impl Source for Slow {
    fn rows(&self) -> Pin<Box<dyn Future<Output = Result<Rows, SourceError>> + Send + '_>> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let at_once = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
            self.at_once_max.fetch_max(at_once, Ordering::SeqCst);
            self.answers.notified().await;
            self.at_once.fetch_sub(1, Ordering::SeqCst);
            Ok(rows(vec![row("ada", 1, START_MS)]))
        })
    }
}

struct Ready(Vec<Map<String, Value>>);

impl Source for Ready {
    fn rows(&self) -> Pin<Box<dyn Future<Output = Result<Rows, SourceError>> + Send + '_>> {
        Box::pin(async { Ok(rows(self.0.clone())) })
    }
}

fn rows(rows: Vec<Map<String, Value>>) -> Rows {
    Rows { columns: Vec::new(), rows }
}

/// The runbook under another name, with another connection.
fn named(name: &str, connection: &str) -> String {
    PLAIN.replace("name: move", &format!("name: {name}")).replace("MOVE_CSV", connection)
}

async fn automated(world: &World, yaml: &str, name: &str) {
    publish(&world.engine, yaml, &serde_json::json!({})).await.expect("it is published");
    world.engine.set_automation(name, true, "lead").await.expect("it is there");
}

async fn batches(world: &World) -> Vec<String> {
    let page = Slice { offset: 0, limit: 100 };
    let listed = world.store.batches(BatchFilter::default(), page).await.expect("reads").items;
    listed.into_iter().map(|batch| batch.header.runbook.clone()).collect()
}

#[test]
fn a_source_that_hangs_or_fails_delays_no_other_and_never_runs_twice() {
    // and a pass that takes longer than its tick never overlaps itself.
    let quiet = Quiet::default();
    quiet.runtime().block_on(async {
        let slow = Slow::default();
        let hanging = slow.clone();
        let mut settings = Settings::default();
        settings.scheduler.sources = Sources::new(move |wanted| match wanted.connection.as_str() {
            "SLOW" => Ok(Box::new(hanging.clone())),
            "GONE" => Err(SourceError::MissingVariable { name: "GONE".to_owned() }),
            _ => Ok(Box::new(Ready(vec![row("bob", 1, START_MS)]))),
        });
        let world = World::with(Arc::new(MemoryStore::new()), settings, Policy::default()).await;
        automated(&world, &named("aaa-slow", "SLOW"), "aaa-slow").await;
        automated(&world, &named("bbb-gone", "GONE"), "bbb-gone").await;
        automated(&world, &named("ccc-good", "GOOD"), "ccc-good").await;
        quiet.comes().await;
        assert_eq!(batches(&world).await, ["ccc-good"]);
        for _ in 0..4 {
            world.clock.advance(Duration::from_secs(300));
            quiet.comes().await;
        }
        assert_eq!(slow.asked.load(Ordering::SeqCst), 1, "it is still being asked");
        slow.answers.notify_one();
        quiet.comes().await;
        assert_eq!(batches(&world).await, ["aaa-slow", "ccc-good"]);
        world.clock.advance(Duration::from_secs(300));
        quiet.comes().await;
        assert_eq!(slow.asked.load(Ordering::SeqCst), 2, "and then again");
        let gone = world.store.runbook("bbb-gone".to_owned(), None).await.expect("reads");
        let error = gone.expect("there").last_error.expect("noted");
        assert!(error.contains("GONE is not set"), "{error}");
    });
}

#[test]
fn two_instances_never_pass_over_one_runbook_at_once() {
    //
    let quiet = Quiet::default();
    quiet.runtime().block_on(async {
        let clock = Arc::new(ManualClock::new(NOON_MS));
        let hands = Arc::clone(&clock);
        let store = MemoryStore::shared(move || Timestamp::from_millis(hands.now_ms()));
        let slow = Slow::default();
        let mut settings = Settings::default();
        let hanging = slow.clone();
        settings.scheduler.sources = Sources::new(move |_| Ok(Box::new(hanging.clone())));
        let mut worlds = Vec::new();
        for _ in 0..2 {
            let (store, settings) = (Arc::new(store.another()) as Arc<dyn Store>, settings.clone());
            let clock = Arc::clone(&clock);
            let engine = start(&store, &clock, &settings, Policy::default()).await;
            worlds.push(World { engine, store, clock, settings });
        }
        automated(&worlds[0], PLAIN, "move").await;
        let seen = Mutex::new(Vec::new());
        for _ in 0..6 {
            // Signs of life are given on the way, or nobody would be allowed to decide.
            for _ in 0..20 {
                clock.advance(Duration::from_secs(15));
                quiet.comes().await;
            }
            slow.answers.notify_waiters();
            quiet.comes().await;
            seen.lock().expect("no panic").push(slow.asked.load(Ordering::SeqCst));
        }
        assert_eq!(slow.at_once_max.load(Ordering::SeqCst), 1, "{seen:?}");
        assert!(slow.asked.load(Ordering::SeqCst) >= 3, "{seen:?}");
        assert_eq!(batches(&worlds[1]).await, ["move"], "made once");
    });
}
