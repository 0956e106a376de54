//! Sources that hang or fail.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Map, Value};
use stepwell_connectors::egress::Policy;
use stepwell_connectors::source::{Rows, Source, SourceError};
use stepwell_engine::{Settings, Sources};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{BatchFilter, Slice};
use tokio::sync::Notify;

use super::quiet::Quiet;
use super::story::{PLAIN, row};
use super::world::{START_MS, publish};
use crate::world::World;

/// A source that answers when it is told to, and counts who asks.
#[derive(Clone, Default)]
pub(crate) struct Slow {
    pub(crate) asked: Arc<AtomicUsize>,
    at_once: Arc<AtomicUsize>,
    pub(crate) at_once_max: Arc<AtomicUsize>,
    pub(crate) answers: Arc<Notify>,
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

pub(crate) async fn automated(world: &World, yaml: &str, name: &str) {
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
