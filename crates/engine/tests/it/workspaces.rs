//! Jobs with attempts, on real stores and the real bus: one message and one worker an attempt.

mod attempts;
mod credits;
mod faults;
mod restarts;
mod several;
mod timeouts;
mod told;

use std::sync::Arc;

use serde_json::{Value, json};
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::{CreditTerms, Credits, Restore};
use stepwell_core::duration::Interval;
use stepwell_core::effect::Directive;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::run::{Dialect, Header, Run};
use stepwell_core::step::Outcome;
use stepwell_core::terms::{Keeping, Terms};
use stepwell_engine::{Answered, Ask, EngineError, Kept, Reply, SignOfLife, Start, Taken};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{EventFilter, EventPlace, Store};

use crate::world::{World, sqlite};

/// Three steps of one pool.
const REPORT: &str = "
name: report
steps:
  - {id: collect, type: COLLECT, pool: workers}
  - {id: render, type: RENDER, pool: workers}
  - {id: send, type: SEND, pool: workers}
";

/// From one sign of life to the next.
const LEASE_SECS: u64 = 60;

/// What a job is granted: the ladder of the seed without jitter.
fn terms(attempts_max: u32) -> Terms {
    let delays = [30, 120, 600, 1800].map(Interval::from_secs).to_vec();
    Terms {
        run_retry: Some(RetryPolicy {
            attempts_max,
            delay: Delay::List(delays),
            jitter_percent: 0,
        }),
        keeping: Some(Keeping {
            lease: Interval::from_secs(LEASE_SECS),
            unclaimed: Interval::from_secs(3_600),
        }),
        credits: None,
    }
}

fn priced(estimate: i64, restore: Restore) -> Terms {
    let estimate = Credits::whole(estimate);
    Terms { credits: Some(CreditTerms { estimate, restore, charged: true }), ..terms(2) }
}

/// The stores that every story is told on.
fn stores(place: &tempfile::TempDir) -> [Arc<dyn Store>; 2] {
    [Arc::new(MemoryStore::new()), sqlite(place)]
}

/// A world in which the workflow of the jobs is published.
async fn world_on(store: Arc<dyn Store>) -> World {
    let world = World::on(store).await;
    world.publish(REPORT).await;
    world
}

fn acme() -> Tenant {
    Tenant::new("acme")
}

async fn try_create(world: &World, terms: Terms) -> Answered {
    let header = Header {
        dialect: Dialect::Workspaces,
        terms: Some(Arc::new(terms)),
        ..world.header("report", "acme").await
    };
    let start =
        Start { header: Arc::new(header), carried: Vec::new(), key: None, tenant_cap: None };
    world.engine.ask_one(Ask::Start(Box::new(start))).await
}

async fn create(world: &World, terms: Terms) -> RunId {
    match try_create(world, terms).await {
        Ok(Reply::Started(run)) => run.id(),
        other => panic!("not created: {other:?}"),
    }
}

/// What a worker that keeps an attempt has in its hands.
#[derive(Clone, Copy, Debug)]
struct Work {
    run: RunId,
    directive: Directive,
}

impl Work {
    fn of(taken: &Taken) -> Self {
        Self { run: taken.run.id(), directive: taken.directive }
    }

    fn fence(self) -> Fence {
        Fence { attempt: self.directive.attempt, lease: self.directive.lease }
    }

    fn step(self) -> StepRef {
        StepRef::Index(self.directive.step)
    }

    fn ack(self) -> Command {
        Command::Ack { step: self.step(), fence: self.fence() }
    }

    fn report(self, outcome: Outcome, spent: i64) -> Command {
        let (step, fence) = (self.step(), self.fence());
        Command::Report { step, fence, outcome, spent: Credits::whole(spent) }
    }

    fn alive(self) -> SignOfLife {
        SignOfLife { run: self.run, step: self.step(), fence: self.fence() }
    }

    /// What it goes on with.
    fn next(self, run: &Run) -> Option<Self> {
        let directive = run.continuation(self.directive.lease)?;
        Some(Self { directive, ..self })
    }
}

/// Takes the message that is there, and says so.
async fn take(world: &World) -> Work {
    let work = Work::of(&world.take_one().await);
    world.engine.command(work.run, work.ack()).await.expect("it is in force");
    work
}

/// Reports a step done; what the worker goes on with.
async fn done(world: &World, work: Work, spent: i64) -> (Arc<Run>, Option<Work>) {
    let outcome = Outcome::Succeeded { result: Value::Null };
    let run = world.engine.command(work.run, work.report(outcome, spent)).await;
    let run = run.expect("the report counts");
    let next = work.next(&run);
    (run, next)
}

async fn one_sign(world: &World, work: Work) -> Kept {
    let mut answers = world.engine.extend_attempts(vec![work.alive()]).await.expect("taken in");
    answers.pop().expect("one sign, one answer").expect("the engine answers")
}

/// The kinds of the events of a run, in order.
async fn kinds(world: &World, run: RunId) -> Vec<String> {
    let filter = EventFilter { run: Some(run), ..EventFilter::default() };
    let events = world.store.events(filter, EventPlace::default(), 1_000).await;
    events.expect("the store answers").events.into_iter().map(|it| it.event.kind).collect()
}

/// The end of a run as it is told.
async fn told_end(world: &World, run: RunId) -> Value {
    let filter = EventFilter {
        run: Some(run),
        kinds: vec!["workflow_run_completed".to_owned()],
        ..EventFilter::default()
    };
    let told = world.store.events(filter, EventPlace::default(), 10).await;
    let told = told.expect("the store answers").events;
    assert_eq!(told.len(), 1, "an end is told once");
    let event: Value = serde_json::from_str(&told[0].event.body).expect("a CloudEvent");
    json!({ "success": event["data"]["success"], "outcome": event["data"]["outcome"] })
}

fn is_stale(error: &EngineError) -> bool {
    matches!(error, EngineError::Refused(refusal) if refusal.is_stale())
}
