//! An engine with everything it needs, and the few words that tests speak.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use stepwell_connectors::bus::LaneSet;
use stepwell_connectors::bus::embedded::{self, EmbeddedBus};
use stepwell_connectors::clock::ManualClock;
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::definition::Part;
use stepwell_core::entry::Entry;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Header, Run, RunStatus};
use stepwell_core::step::{Outcome, StepError};
use stepwell_engine::{
    Answered, Ask, Engine, EngineError, Parts, Reply, Settings, Start, Take, Taken,
};
use stepwell_store::memory::MemoryStore;
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Key, Record, Store};

/// Noon of some day.
pub(crate) const NOON_MS: i64 = 1_741_608_000_000;

/// What webhooks are signed with.
pub(crate) const SECRET: &[u8] = b"a secret of thirty-two bytes ....";

/// Three steps, one after the other.
pub(crate) const THREE_STEPS: &str = "
name: three-steps
request_type: three.steps
timeout: 15m
retry: {max_attempts: 3, interval: 10s}
steps:
  - {id: first, type: FIRST, pool: workers}
  - {id: second, type: SECOND, pool: workers}
  - {id: third, type: THIRD, pool: workers}
";

/// An engine with everything it needs.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) settings: Settings,
}

impl World {
    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        Self::with(store, Settings::default(), Policy::default()).await
    }

    pub(crate) async fn in_memory() -> Self {
        Self::on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn with(store: Arc<dyn Store>, settings: Settings, policy: Policy) -> Self {
        let clock = Arc::new(ManualClock::new(NOON_MS));
        let engine = start(&store, &clock, &settings, policy).await;
        Self { engine, store, clock, settings }
    }

    /// Publishes a document.
    pub(crate) async fn publish(&self, source: &str) {
        let published = self.engine.publish_workflow(source.to_owned(), "author".to_owned()).await;
        published.expect("the document is sound");
    }

    /// Starts a run of the newest version.
    pub(crate) async fn start(&self, workflow: &str) -> RunId {
        match self.try_start(workflow, "acme", None, None).await {
            Ok(Reply::Started(run)) => run.id(),
            other => panic!("not started: {other:?}"),
        }
    }

    pub(crate) async fn try_start(
        &self,
        workflow: &str,
        tenant: &str,
        key: Option<Key>,
        tenant_cap: Option<u32>,
    ) -> Answered {
        let header = Arc::new(self.header(workflow, tenant).await);
        let start = Start { header, carried: Vec::new(), key, tenant_cap };
        self.engine.ask_one(Ask::Start(Box::new(start))).await
    }

    pub(crate) async fn header(&self, workflow: &str, tenant: &str) -> Header {
        let compiled = self.engine.workflow(workflow).await.expect("the store answers");
        Header {
            id: self.engine.fresh_run_id(),
            tenant: Tenant::new(tenant),
            dialect: Dialect::Commands,
            workflow: Arc::clone(&compiled.expect("the workflow was published").workflow),
            part: Part::Main,
            parent: None,
            resumes: None,
            input: Map::from_iter([("document".to_owned(), json!("d-1"))]),
            special: Map::new(),
            context: Map::new(),
            routing: None,
            priority: 0,
            correlation_id: None,
            traceparent: None,
            actor: "tester".to_owned(),
            created_at: self.engine.now(),
            membership: None,
            terms: None,
        }
    }

    /// Takes directives that are there; waits for the first.
    pub(crate) async fn take(&self, max: usize) -> Vec<Taken> {
        take_of(&self.engine, max).await
    }

    pub(crate) async fn take_one(&self) -> Taken {
        self.take(1).await.pop().expect("a directive is there")
    }

    /// What is there right now, without waiting.
    pub(crate) async fn take_now(&self) -> Vec<Taken> {
        self.try_take().await.expect("the bus answers")
    }

    pub(crate) async fn try_take(&self) -> Result<Vec<Taken>, EngineError> {
        let ask = Take {
            pool: "workers",
            lanes: LaneSet::ALL,
            max: 64,
            wait: Duration::ZERO,
            visibility: Duration::from_secs(60),
        };
        self.engine.take(ask).await
    }

    pub(crate) async fn report(
        &self,
        taken: &Taken,
        outcome: Outcome,
    ) -> Result<Arc<Run>, EngineError> {
        self.engine.command(taken.run.id(), report(taken, outcome)).await
    }

    pub(crate) async fn succeed(&self, taken: &Taken) -> Arc<Run> {
        self.report(taken, success()).await.expect("the report counts")
    }

    /// Works until the run has ended.
    pub(crate) async fn work_off(&self, run: RunId) -> RunStatus {
        loop {
            let status = self.run(run).await.status;
            if status.is_terminal() {
                return status;
            }
            for taken in self.take(8).await {
                let _ = self.report(&taken, success()).await;
            }
        }
    }

    pub(crate) async fn run(&self, id: RunId) -> Arc<Run> {
        self.engine.run(id).await.expect("the store answers").expect("the run exists")
    }

    pub(crate) async fn history(&self, run: RunId) -> Vec<Record> {
        self.store.history(run, 0, 1000).await.expect("the store answers")
    }

    /// The history as words: what happened, in order.
    pub(crate) async fn words(&self, run: RunId) -> Vec<&'static str> {
        let history = self.history(run).await;
        history.iter().flat_map(|record| record.entries.iter().map(Entry::word)).collect()
    }

    /// Moves the clock, and waits until a run is where the test wants it.
    pub(crate) async fn after(&self, seconds: u64, run: RunId, until: impl Fn(&Run) -> bool) {
        let mut changes = self.engine.changes();
        self.clock.advance(Duration::from_secs(seconds));
        while !until(&*self.run(run).await) {
            changes.recv().await.expect("the engine runs");
        }
    }

    /// Stops the engine and starts another on the same store.
    pub(crate) async fn restart(&mut self, store: Arc<dyn Store>) {
        self.engine = start(&store, &self.clock, &self.settings, Policy::default()).await;
        self.store = store;
    }
}

pub(crate) async fn start(
    store: &Arc<dyn Store>,
    clock: &Arc<ManualClock>,
    settings: &Settings,
    policy: Policy,
) -> Engine {
    let bus = EmbeddedBus::new(embedded::Settings::default(), Arc::clone(clock) as _);
    let parts = Parts {
        store: Arc::clone(store),
        bus: Arc::new(bus),
        clock: Arc::clone(clock) as _,
        egress: Egress::new(policy).expect("the client can be built"),
        webhook_secret: SECRET.to_vec(),
        settings: settings.clone(),
    };
    Engine::start(parts, "test").await.expect("the store can be taken over")
}

/// Takes directives of an engine that are there; waits for the first.
pub(crate) async fn take_of(engine: &Engine, max: usize) -> Vec<Taken> {
    let ask = Take {
        pool: "workers",
        lanes: LaneSet::ALL,
        max,
        wait: Duration::from_secs(3600),
        visibility: Duration::from_secs(60),
    };
    engine.take(ask).await.expect("the bus answers")
}

/// A SQLite store in a place of its own.
pub(crate) fn sqlite(place: &tempfile::TempDir) -> Arc<dyn Store> {
    let path = place.path().join("stepwell.db");
    Arc::new(SqliteStore::open(path, Options::default()).expect("the file can be opened"))
}

pub(crate) fn fence(taken: &Taken) -> Fence {
    Fence { attempt: taken.directive.attempt, lease: taken.directive.lease }
}

pub(crate) fn report(taken: &Taken, outcome: Outcome) -> Command {
    let step = StepRef::Index(taken.directive.step);
    Command::Report { step, fence: fence(taken), outcome, spent: Credits::ZERO }
}

pub(crate) fn success() -> Outcome {
    Outcome::Succeeded { result: Value::Null }
}

pub(crate) fn failure(retryable: bool) -> Outcome {
    let error = StepError::new("broken", "the tool broke");
    Outcome::Failed { error, retryable, retry_after: None }
}
