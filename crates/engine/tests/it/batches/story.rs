//! Stories in which every wait ends when nobody has anything left to do: what has not happened by
//! then does not happen.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use stepwell_connectors::bus::LaneSet;
use stepwell_core::batch::{Batch, BatchCommand};
use stepwell_core::command::Act;
use stepwell_core::id::BatchId;
use stepwell_core::run::Run;
use stepwell_core::step::Outcome;
use stepwell_core::time::Timestamp;
use stepwell_engine::{
    BatchError, BatchOperation, BatchOrder, BatchOrderResult, OrderFilter, OrderOutcome, Settings,
    Take, Taken,
};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{BatchFilter, Member, MemberStatus, Slice};

use super::quiet::Quiet;
use super::world::{DAY_MS, Place, START_MS, done, kind};
use crate::world::failure;

/// Two phases of one step each, and nothing else.
pub(crate) const PLAIN: &str = r#"
name: move
data_source:
  type: csv
  connection: MOVE_CSV
  primary_key: user
  batch_time_column: start
phases:
  - name: prepare
    offset: T-5d
    steps:
      - {name: create, worker_id: workers, function: Create, params: {user: "{{user}}", size: "{{size}}"}}
  - name: cutover
    offset: T-0
    steps:
      - {name: switch, worker_id: workers, function: Switch, params: {user: "{{user}}", size: "{{size}}"}}
"#;

/// When the first phase of most runbooks here is due.
pub(crate) const PREPARE_MS: i64 = START_MS - 5 * DAY_MS;

/// A place with a signal for its rest.
pub(crate) struct Story {
    pub(crate) place: Place,
    pub(crate) quiet: Quiet,
}

/// Tells a story on a store of its own.
pub(crate) fn story(told: impl AsyncFnOnce(Story)) {
    let quiet = Quiet::default();
    let runtime = quiet.runtime();
    runtime.block_on(async {
        let place = Place::with(Arc::new(MemoryStore::new()), Settings::default()).await;
        told(Story { place, quiet }).await;
    });
    runtime.shutdown_background();
}

/// Who and why.
pub(crate) fn by() -> Act {
    Act::new("lead", "it is time")
}

/// A row of the source.
pub(crate) fn row(key: &str, size: i64, start_ms: i64) -> Map<String, Value> {
    let start = Timestamp::from_millis(start_ms).to_string();
    let row = json!({ "user": key, "size": size, "start": start });
    row.as_object().expect("an object").clone()
}

impl Story {
    /// Waits until nobody has anything left to do.
    pub(crate) async fn rest(&self) {
        self.quiet.comes().await;
    }

    /// Moves the clock to a moment, and lets happen what happens then.
    pub(crate) async fn to(&self, at_ms: i64) {
        self.place.at(at_ms);
        self.rest().await;
    }

    pub(crate) async fn later(&self, minutes: u64) {
        self.place.world.clock.advance(Duration::from_secs(60 * minutes));
        self.rest().await;
    }

    /// What the source has from now on.
    pub(crate) fn rows(&self, rows: Vec<Map<String, Value>>) {
        *self.place.shelf.lock().expect("no panic") = Ok(rows);
    }

    /// Has the source asked.
    pub(crate) async fn pass(&self) {
        self.place.world.engine.ask_sources();
        self.rest().await;
    }

    pub(crate) async fn automate(&self, enabled: bool) {
        let set = self.place.world.engine.set_automation("move", enabled, "lead").await;
        set.expect("the runbook is there");
        self.rest().await;
    }

    pub(crate) async fn batches(&self) -> Vec<Batch> {
        let page = Slice { offset: 0, limit: 100 };
        let listed = self.place.world.store.batches(BatchFilter::default(), page).await;
        let mut batches = listed.expect("the store answers").items;
        batches.reverse();
        batches
    }

    pub(crate) async fn only_batch(&self) -> BatchId {
        let batches = self.batches().await;
        assert_eq!(batches.len(), 1, "one batch is there");
        batches[0].id()
    }

    pub(crate) async fn get(&self, batch: BatchId) -> Batch {
        self.rest().await;
        self.place.get(batch).await
    }

    /// The keys of members that stand there, in the order of their numbers.
    pub(crate) async fn keys(&self, batch: BatchId, status: MemberStatus) -> Vec<String> {
        let members = self.place.members(batch).await;
        let stand = members.into_iter().filter(|member| member.status() == status);
        stand.map(|member| member.key).collect()
    }

    /// The newest member with this key.
    pub(crate) async fn member(&self, batch: BatchId, key: &str) -> Member {
        let members = self.place.members(batch).await;
        members.into_iter().rfind(|member| member.key == key).expect("the member is there")
    }

    /// The newest run of a member.
    pub(crate) async fn run(&self, batch: BatchId, key: &str) -> Arc<Run> {
        self.place.world.run(self.member(batch, key).await.run).await
    }

    /// What is wrong with the runbook, as noted on it.
    pub(crate) async fn last_error(&self) -> Option<String> {
        let found = self.place.world.store.runbook("move".to_owned(), None).await;
        found.expect("the store answers").expect("the runbook is there").last_error
    }

    pub(crate) async fn command(
        &self,
        batch: BatchId,
        command: BatchCommand,
    ) -> Result<Batch, BatchError> {
        let done = self.place.world.engine.command_batch(batch, command).await;
        self.rest().await;
        done
    }

    /// An order for whom the filter means.
    pub(crate) async fn order(
        &self,
        batch: BatchId,
        operation: BatchOperation,
        filter: OrderFilter,
    ) -> Vec<BatchOrderResult> {
        let order = BatchOrder { operation, filter, by: by(), dry_run: false, limit: None };
        let results = self.place.world.engine.operate_batch(batch, &order).await;
        self.rest().await;
        results.expect("the order is carried out")
    }

    /// Everything that workers could do at this moment.
    pub(crate) async fn all(&self) -> Vec<Taken> {
        self.rest().await;
        let ask = Take {
            pool: "workers",
            lanes: LaneSet::ALL,
            max: 1_000,
            wait: Duration::ZERO,
            visibility: Duration::from_secs(365 * 24 * 3600),
        };
        self.place.world.engine.take(ask).await.expect("the bus answers")
    }

    pub(crate) async fn report(&self, taken: &Taken, outcome: Outcome) {
        self.place.world.report(taken, outcome).await.expect("the report counts");
        self.rest().await;
    }

    /// Does everything that can be done; answers what that was, in order.
    pub(crate) async fn work(&self, outcome_of: impl Fn(&Taken) -> Outcome) -> Vec<String> {
        let mut worked = Vec::new();
        loop {
            let mut taken = self.all().await;
            if taken.is_empty() {
                return worked;
            }
            taken.sort_by_key(name);
            for taken in taken {
                worked.push(name(&taken));
                self.report(&taken, outcome_of(&taken)).await;
            }
        }
    }

    /// Does everything that can be done, well.
    pub(crate) async fn succeed(&self) -> Vec<String> {
        self.work(well).await
    }

    /// Fails for good whatever this member is asked for; everybody else does well.
    pub(crate) async fn fail(&self, key: &str) -> Vec<String> {
        self.work(|taken| if user(taken) == key && !undoes(taken) { broken() } else { well(taken) })
            .await
    }
}

/// What a worker says who is done.
pub(crate) fn well(taken: &Taken) -> Outcome {
    done(json!({ "target": format!("t-{}", user(taken)) }))
}

/// What a worker says for whom another try makes no sense.
pub(crate) fn broken() -> Outcome {
    failure(false)
}

fn undoes(taken: &Taken) -> bool {
    taken.run.header.parent.is_some()
}

/// Whom a directive is for.
pub(crate) fn user(taken: &Taken) -> &str {
    taken.run.header.input.get("user").and_then(Value::as_str).unwrap_or_default()
}

/// What is to be done for whom: `Create ada`.
pub(crate) fn name(taken: &Taken) -> String {
    format!("{} {}", kind(taken), user(taken)).trim().to_owned()
}

pub(crate) fn names(taken: &[Taken]) -> Vec<String> {
    let mut names: Vec<String> = taken.iter().map(name).collect();
    names.sort();
    names
}

/// The members with these keys.
pub(crate) fn keyed(keys: &[&str]) -> OrderFilter {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    OrderFilter { keys, ..OrderFilter::default() }
}

/// The stable word of what was refused; empty if it was done.
pub(crate) fn code(result: &BatchOrderResult) -> &str {
    match &result.outcome {
        OrderOutcome::Done => "",
        OrderOutcome::Would => "would",
        OrderOutcome::Refused { code, .. } => code,
    }
}
