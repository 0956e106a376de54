//! A batch, its workers and its source, and the few words that tests speak.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use stepwell_connectors::bus::LaneSet;
use stepwell_connectors::egress::Policy;
use stepwell_connectors::source::{Rows, Source, SourceError};
use stepwell_core::batch::{Batch, BatchMode, PhaseStatus};
use stepwell_core::id::BatchId;
use stepwell_core::step::Outcome;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::accept::publication;
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_engine::{BatchError, Engine, Published, Settings, Sources, Take, Taken};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{Member, MemberFilter, Slice, Store};

use crate::world::{NOON_MS, World};

/// T-0 of most batches: ten days after noon.
pub(crate) const START_MS: i64 = NOON_MS + 10 * DAY_MS;

pub(crate) const DAY_MS: i64 = 24 * 3600 * 1000;

/// Init, two phases of two steps, a poll, a rollback, something for whoever leaves.
pub(crate) const RUNBOOK: &str = r#"
name: move
data_source:
  type: csv
  connection: MOVE_CSV
  primary_key: user
  batch_time_column: start
init:
  - {name: announce, worker_id: workers, function: Announce, params: {batch: "{{_batch_id}}"}}
phases:
  - name: prepare
    offset: T-5d
    steps:
      - {name: create, worker_id: workers, function: Create, params: {user: "{{user}}", size: "{{size}}"}, output_params: {Target: target}}
      - {name: copy, worker_id: workers, function: Copy, params: {to: "{{Target}}"}, poll: {interval: 1m, timeout: 1h}, on_failure: undo}
  - name: cutover
    offset: T-0
    steps:
      - {name: switch, worker_id: workers, function: Switch, params: {user: "{{user}}", size: "{{size}}", at: "{{_batch_start_time}}"}, retry: {max_retries: 1, interval: 5m}, on_failure: undo}
on_member_removed:
  - {name: forget, worker_id: workers, function: Forget, params: {user: "{{user}}"}}
rollbacks:
  undo:
    - {name: revert, worker_id: workers, function: Revert, params: {user: "{{user}}"}}
"#;

/// What the source has at this moment.
pub(crate) type Shelf = Arc<Mutex<Result<Vec<Map<String, Value>>, SourceError>>>;

struct Fixed(Shelf);

impl Source for Fixed {
    fn rows(
        &self,
    ) -> std::pin::Pin<Box<dyn Future<Output = Result<Rows, SourceError>> + Send + '_>> {
        let rows = self.0.lock().expect("no test panics with it").clone();
        Box::pin(async move { Ok(Rows { columns: Vec::new(), rows: rows? }) })
    }
}

/// An engine with a source.
pub(crate) struct Place {
    pub(crate) world: World,
    pub(crate) shelf: Shelf,
}

impl Place {
    pub(crate) async fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>) -> Self {
        Self::with(store, Settings::default()).await
    }

    pub(crate) async fn with(store: Arc<dyn Store>, mut settings: Settings) -> Self {
        let shelf: Shelf = Arc::new(Mutex::new(Ok(Vec::new())));
        let opened = Arc::clone(&shelf);
        settings.scheduler.sources = Sources::new(move |_| Ok(Box::new(Fixed(opened.clone()))));
        let world = World::with(store, settings, Policy::default()).await;
        Self { world, shelf }
    }

    pub(crate) async fn publish(&self, yaml: &str) -> Published {
        self.publish_with(yaml, &json!({})).await
    }

    pub(crate) async fn publish_with(&self, yaml: &str, more: &Value) -> Published {
        let published = publish(&self.world.engine, yaml, more).await;
        published.expect("it is published")
    }

    /// A batch with T-0, as its source would make it.
    pub(crate) async fn batch(&self, keys: &[&str]) -> BatchId {
        let start = Some(Timestamp::from_millis(START_MS));
        let members = keys.iter().map(|key| member(key)).collect();
        let engine = &self.world.engine;
        let made = engine.create_batch_at("move", members, BatchMode::Scheduled, start, "lead");
        made.await.expect("the batch is made").id()
    }

    pub(crate) async fn get(&self, batch: BatchId) -> Batch {
        self.world.engine.batch(batch).await.expect("the batch is there")
    }

    pub(crate) async fn members(&self, batch: BatchId) -> Vec<Member> {
        let slice = Slice { offset: 0, limit: 1000 };
        let listed = self.world.store.members(MemberFilter::of(batch), slice).await;
        listed.expect("the store answers").items
    }

    /// Waits until the batch is as the test wants it.
    pub(crate) async fn until(&self, batch: BatchId, wanted: impl Fn(&Batch) -> bool) -> Batch {
        let mut changes = self.world.engine.batch_changes();
        let patience = tokio::time::timeout(Duration::from_secs(20), async {
            loop {
                let now = self.get(batch).await;
                if wanted(&now) {
                    return now;
                }
                // Words may be lost: a batch that was touched while it was looked at says no second one.
                let word = tokio::time::timeout(Duration::from_millis(50), changes.recv()).await;
                drop(word);
            }
        });
        match patience.await {
            Ok(batch) => batch,
            Err(_) => panic!("the batch stays as it is: {:#?}", self.get(batch).await),
        }
    }

    /// Moves the clock to a moment.
    pub(crate) fn at(&self, at_ms: i64) {
        let now = self.world.engine.now().as_millis();
        let ahead = u64::try_from(at_ms - now).expect("time goes on");
        self.world.clock.advance(Duration::from_millis(ahead));
    }

    /// The next directive of the only pool.
    pub(crate) async fn take(&self) -> Taken {
        let ask = Take {
            pool: "workers",
            lanes: LaneSet::ALL,
            max: 1,
            wait: Duration::from_secs(3600),
            visibility: Duration::from_secs(60),
        };
        let taken = tokio::time::timeout(Duration::from_secs(20), self.world.engine.take(ask));
        let taken = taken.await.expect("work comes").expect("the bus answers");
        taken.into_iter().next().expect("a directive is there")
    }

    /// Does the next piece of work, which must be this one.
    pub(crate) async fn does(&self, function: &str, outcome: Outcome) -> Taken {
        let taken = self.take().await;
        assert_eq!(kind(&taken), function);
        self.world.report(&taken, outcome).await.expect("the report counts");
        taken
    }
}

/// Publishes a version of a runbook.
pub(crate) async fn publish(
    engine: &Engine,
    yaml: &str,
    more: &Value,
) -> Result<Published, BatchError> {
    let name = yaml.lines().find_map(|line| line.strip_prefix("name: "));
    let mut body = json!({ "name": name, "yaml_content": yaml });
    for (key, value) in more.as_object().expect("an object") {
        body[key] = value.clone();
    }
    let body = publication(body.to_string().as_bytes()).expect("the document is sound");
    engine.publish_runbook(body, "author").await
}

pub(crate) fn kind(taken: &Taken) -> String {
    taken.run.spec(taken.directive.step).kind.clone()
}

pub(crate) fn params(taken: &Taken) -> Value {
    let step = &taken.run.steps[taken.directive.step.position()];
    step.params.as_deref().cloned().unwrap_or_default()
}

pub(crate) fn member(key: &str) -> MemberRow {
    let data = json!({ "user": key, "size": 1, "start": "2025-03-20T12:00:00Z" });
    MemberRow { key: key.to_owned(), data: data.as_object().expect("an object").clone() }
}

pub(crate) fn done(result: Value) -> Outcome {
    Outcome::Succeeded { result }
}

pub(crate) fn phase(batch: &Batch, name: &str) -> PhaseStatus {
    let mut phases = batch.current_phases();
    phases.find(|phase| phase.name == name).expect("the phase is there").status
}
