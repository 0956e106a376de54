//! Two instances on one PostgreSQL, each on a thread of its own, so that it can be frozen where it stands.
//!
//! Leases and signs of life go by the clock of PostgreSQL, which no test can move: so time is real here,
//! and schedules are short.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use serde_json::Value;
use stepwell_connectors::bus::embedded::{self, EmbeddedBus};
use stepwell_connectors::clock::SystemClock;
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_dialects::workspaces::trigger;
use stepwell_engine::{Engine, Parts, PutTrigger, Settings};
use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_store::{Filter, Firing, FiringOutcome, Page, Store};
use stepwell_testing::postgres::{self, Server};
use tokio::runtime::{Builder, Runtime};

use crate::triggers::world::tenant;
use crate::world::SECRET;

const WORKFLOW: &str = "name: report\nsteps:\n  - {id: make, type: MAKE, pool: workers}\n";

/// From one look at what has become of it all to the next.
pub(super) const PACE: Duration = Duration::from_millis(50);

/// An instance on a thread of its own.
pub(super) struct Instance {
    pub(super) engine: Engine,
    runtime: Option<Runtime>,
}

impl Instance {
    async fn start(url: &str, settings: Settings) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a thread");
        let url = url.to_owned();
        let started = runtime.spawn(async move {
            let clock = Arc::new(SystemClock::new());
            let bus = EmbeddedBus::new(embedded::Settings::default(), Arc::clone(&clock) as _);
            let parts = Parts {
                store: Arc::new(open(&url).await),
                bus: Arc::new(bus),
                clock,
                egress: Egress::new(Policy::default()).expect("the client can be built"),
                webhook_secret: SECRET.to_vec(),
                settings,
            };
            Engine::start(parts, "test").await.expect("the store can be joined")
        });
        Self { engine: started.await.expect("it starts"), runtime: Some(runtime) }
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("it lives")
    }

    /// Lets the instance do something by itself, frozen or not.
    pub(super) fn does<T: Send + 'static>(
        &self,
        what: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.runtime().spawn(what)
    }

    /// Nothing of it moves until the answer is dropped.
    async fn freeze(&self) -> Frozen {
        let (thaw, stays) = mpsc::channel::<()>();
        let (stands, is_frozen) = tokio::sync::oneshot::channel();
        self.runtime().spawn(async move {
            let _ = stands.send(());
            let _ = stays.recv();
        });
        is_frozen.await.expect("it freezes");
        Frozen { _thaw: thaw }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// An instance that stands still as long as this lives.
pub(super) struct Frozen {
    _thaw: mpsc::Sender<()>,
}

async fn open(url: &str) -> PostgresStore {
    PostgresStore::open(url, Options::default()).await.expect("the database can be opened")
}

/// Two instances on one PostgreSQL.
pub(super) struct Pair {
    pub(super) instances: Vec<Instance>,
    /// what nobody's death takes along
    store: PostgresStore,
    server: &'static Server,
    url: String,
    pub(super) dir: tempfile::TempDir,
}

impl Pair {
    /// `None`, with a word about it, where there is no PostgreSQL.
    pub(super) async fn start() -> Option<Self> {
        let server = postgres::server().ok()?;
        let url = server.database("triggers");
        let store = open(&url).await;
        let dir = tempfile::tempdir().expect("a place");
        let mut pair = Self { instances: Vec::new(), store, server, url, dir };
        for _ in 0..2 {
            pair.join().await;
        }
        let engine = &pair.instances[0].engine;
        let published = engine.publish_workflow(WORKFLOW.to_owned(), "tester".to_owned()).await;
        published.expect("it is published");
        Some(pair)
    }

    /// Somebody new comes.
    async fn join(&mut self) {
        let mut settings = Settings::default();
        settings.ownership.heartbeat = Interval::from_millis(200);
        settings.ownership.silence = Interval::from_millis(1_500);
        settings.ownership.scan = Interval::from_millis(300);
        settings.triggers.directories = vec![self.directory()];
        settings.triggers.poll = Interval::from_millis(100);
        self.instances.push(Instance::start(&self.url, settings).await);
    }

    /// The directory that both of them see.
    pub(super) fn directory(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("it exists")
    }

    pub(super) async fn put(&self, document: Value) -> PutTrigger {
        let document = trigger::of_json(&document).expect("the document is sound");
        let engine = &self.instances[1].engine;
        engine.put_trigger(&tenant(), &document, None, "tester").await.expect("it is made")
    }

    /// The place of the instance that holds a right, once one of them does.
    async fn holder(&self, right: &str) -> usize {
        let sql = format!(
            "select instance.id from stepwell.lease
               join stepwell.instance on instance.epoch::text = lease.holder
              where lease.name = '{right}' and instance.state = 'alive'"
        );
        look_until(async || {
            let holder = self.server.query(&self.url, &sql);
            self.instances.iter().position(|it| holder == [it.engine.stats().owner_id])
        })
        .await
    }

    /// Freezes the one that holds a right.
    pub(super) async fn freeze_holder(&self, right: &str) -> Frozen {
        let holder = self.holder(right).await;
        self.instances[holder].freeze().await
    }

    /// Kills the one that holds a right; somebody new comes in its place.
    pub(super) async fn kill_holder(&mut self, right: &str) {
        let holder = self.holder(right).await;
        self.instances.remove(holder).engine.crash();
        self.join().await;
    }

    pub(super) async fn firings(&self, name: &str) -> Vec<Firing> {
        let firings = self.store.firings(tenant(), name.to_owned(), None, 1_000).await;
        let mut firings = firings.expect("the store answers");
        firings.sort_by_key(|firing| (firing.scheduled_for.unwrap_or(firing.at), firing.at));
        firings
    }

    async fn started(&self, name: &str) -> Vec<Firing> {
        let mut firings = self.firings(name).await;
        firings.retain(|firing| firing.outcome == FiringOutcome::Started);
        firings
    }

    /// Waits until a trigger has made so many more jobs.
    pub(super) async fn fires(&self, name: &str, more: usize) {
        let count = self.started(name).await.len() + more;
        self.has_fired(name, count).await;
    }

    /// Waits until a trigger has made so many jobs in all.
    pub(super) async fn has_fired(&self, name: &str, count: usize) {
        look_until(async || (self.started(name).await.len() >= count).then_some(())).await;
    }

    /// Stops both; every job belongs to one firing that has made it, and every such firing to one job.
    pub(super) async fn judge(self, names: &[&str]) {
        for instance in &self.instances {
            instance.engine.stop().await;
        }
        let page = Page { before: None, limit: 1_000 };
        let runs = self.store.runs(Filter::default(), page).await.expect("the store answers");
        let runs: BTreeSet<RunId> = runs.iter().map(|run| run.id).collect();
        let mut made = Vec::new();
        for name in names {
            made.extend(self.started(name).await.iter().filter_map(|firing| firing.run));
        }
        assert_eq!(made.len(), runs.len(), "as many firings as jobs");
        assert_eq!(made.into_iter().collect::<BTreeSet<_>>(), runs, "each made its own");
    }
}

/// Asks until there is an answer. Nobody tells a test what happens in two instances.
pub(super) async fn look_until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut pace = tokio::time::interval(PACE);
    loop {
        pace.tick().await;
        if let Some(found) = look().await {
            return found;
        }
    }
}
