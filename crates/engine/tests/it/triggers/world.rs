//! An engine with a workflow and triggers, and the few words that tests speak.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_connectors::egress::Policy;
use stepwell_core::command::{Act, Command};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment;
use stepwell_dialects::workspaces::trigger;
use stepwell_engine::{PutTrigger, Settings, TriggerError};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{Filter, Firing, FiringOutcome, Page, Store, Trigger};

use crate::world::{World, start};

const WORKFLOW: &str = "
name: report
steps:
  - {id: make, type: MAKE, pool: workers}
";

/// An engine with a workflow and triggers.
pub(crate) struct Place {
    pub(crate) world: World,
}

pub(crate) fn tenant() -> Tenant {
    Tenant::new("acme")
}

pub(crate) fn at(text: &str) -> Timestamp {
    moment::parse(text).expect(text).0
}

impl Place {
    /// In memory, at a moment.
    pub(crate) async fn new(now: &str) -> Self {
        Self::on(Arc::new(MemoryStore::new()), now).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>, now: &str) -> Self {
        Self::with(store, Settings::default(), now).await
    }

    pub(crate) async fn with(store: Arc<dyn Store>, settings: Settings, now: &str) -> Self {
        let clock = Arc::new(ManualClock::new(at(now).as_millis()));
        let engine = start(&store, &clock, &settings, Policy::default()).await;
        let world = World { engine, store, clock, settings };
        world.publish(WORKFLOW).await;
        Self { world }
    }

    pub(crate) async fn put(&self, document: Value) -> PutTrigger {
        self.try_put(document).await.expect("the trigger is made")
    }

    pub(crate) async fn try_put(&self, document: Value) -> Result<PutTrigger, TriggerError> {
        let document = trigger::of_json(&document).expect("the document is sound");
        self.world.engine.put_trigger(&tenant(), &document, None, "tester").await
    }

    pub(crate) async fn trigger(&self, name: &str) -> Trigger {
        self.world.engine.trigger(&tenant(), name).await.expect("the trigger exists")
    }

    /// Firings, in the order in which they were meant or made.
    pub(crate) async fn firings(&self, name: &str) -> Vec<Firing> {
        let firings = self.world.store.firings(tenant(), name.to_owned(), None, 1000).await;
        let mut firings = firings.expect("the store answers");
        firings.sort_by_key(|firing| (firing.scheduled_for.unwrap_or(firing.at), firing.at));
        firings
    }

    /// Firings as lines: the moment they were meant for, and what became of them.
    pub(crate) async fn lines(&self, name: &str) -> Vec<String> {
        let firings = self.firings(name).await;
        let line = |firing: &Firing| {
            let meant_for = firing.scheduled_for.unwrap_or(firing.at).to_string();
            format!("{} {}", &meant_for[..16], firing.outcome.word())
        };
        firings.iter().map(line).collect()
    }

    /// All runs there are.
    pub(crate) async fn runs(&self) -> Vec<RunId> {
        let page = Page { before: None, limit: 1000 };
        let runs = self.world.store.runs(Filter::default(), page).await;
        runs.expect("the store answers").iter().map(|run| run.id).collect()
    }

    pub(crate) async fn run_of(&self, firing: &Firing) -> Arc<Run> {
        self.world.run(firing.run.expect("it has made a run")).await
    }

    /// Moves the clock to a moment.
    pub(crate) fn move_to(&self, moment: Timestamp) {
        let left = moment.as_millis() - self.world.clock.now_ms();
        self.world.clock.advance(Duration::from_millis(left.try_into().expect("not back")));
    }

    /// Moves the clock to when a trigger fires next, and waits until it is looking further ahead.
    pub(crate) async fn next(&self, name: &str) {
        let next = self.trigger(name).await.next_at.expect("it fires again");
        self.move_to(next);
        self.until_looked(name).await;
    }

    /// Waits until a trigger has been looked at, and looks ahead.
    pub(crate) async fn until_looked(&self, name: &str) {
        until(async || {
            let next = self.trigger(name).await.next_at;
            next.is_none_or(|next| next > self.world.engine.now()).then_some(())
        })
        .await;
    }

    /// Waits until so many firings have an outcome.
    pub(crate) async fn until_outcomes(&self, name: &str, outcome: FiringOutcome, count: usize) {
        until(async || {
            let firings = self.firings(name).await;
            let found = firings.iter().filter(|firing| firing.outcome == outcome).count();
            (found >= count).then_some(())
        })
        .await;
    }

    /// Ends a run.
    pub(crate) async fn end(&self, run: RunId) {
        let by = Act { actor: "tester".to_owned(), reason: "a test".to_owned() };
        let ended = self.world.engine.command(run, Command::Cancel { mode: None, by }).await;
        assert!(ended.expect("it can be ended").status.is_terminal());
    }
}

/// A schedule of the workflow.
pub(crate) fn schedule(cron: &str, zone: &str, more: Value) -> Value {
    let mut schedule = json!({"cron": cron, "time_zone": zone});
    merge(&mut schedule, more);
    json!({"name": "nightly", "kind": "schedule", "workflow_id": "report", "schedule": schedule})
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

/// Asks until there is an answer, letting everybody else go on in between.
pub(crate) async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::task::yield_now().await;
    }
}

/// Lets everybody do what they can.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}
