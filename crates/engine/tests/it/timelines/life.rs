//! One timeline, minute by minute.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use stepwell_connectors::bus::LaneSet;
use stepwell_core::batch::{Batch, BatchCommand};
use stepwell_core::command::Act;
use stepwell_core::id::BatchId;
use stepwell_core::step::{Outcome, StepError};
use stepwell_core::time::Timestamp;
use stepwell_engine::{
    BatchError, BatchOperation, BatchOrder, Engine, EngineError, IdSource, OrderFilter, Settings,
    Take, Taken,
};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{BatchFilter, MemberStatus, Slice};

use super::chance::Chance;
use super::log::{Job, Log};
use super::oracle::{self, Watch};
use super::plan::{Document, Event, Plan, TROUBLE_MINUTES};
use crate::batches::quiet::Quiet;
use crate::batches::world::{Place, Shelf, publish};
use crate::world::NOON_MS;

const MINUTE_MS: i64 = 60_000;

/// No timeline lasts longer, whatever happens on it.
const MINUTES_MAX: u64 = 1_000;

/// How a timeline is told if it ends badly.
type Broken = String;

/// Lives through the timeline of a seed.
pub(crate) fn live(seed: u64) -> Result<(), Broken> {
    let (quiet, plan) = (Quiet::default(), Plan::draw(seed));
    let runtime = quiet.runtime();
    let told = runtime.block_on(async {
        let mut life = Life::begin(&plan, quiet).await;
        let lived = life.live().await;
        lived.map_err(|why| {
            let story = life.story.join("\n");
            format!("seed {seed}: {why}\n\n{plan:#?}\n\n{story}")
        })
    });
    runtime.shutdown_background();
    told
}

/// Work in the hands of a worker.
struct InHand {
    until: u64,
    taken: Taken,
    job: Job,
    outcome: Outcome,
}

struct Life<'a> {
    plan: &'a Plan,
    quiet: Quiet,
    place: Place,
    batch: BatchId,
    minute: u64,
    in_hand: Vec<InHand>,
    log: Log,
    watch: Watch,
    story: Vec<String>,
}

fn row(key: &str, start_ms: i64) -> Map<String, Value> {
    let start = Timestamp::from_millis(start_ms).to_string();
    let row = json!({ "user": key, "start": start });
    row.as_object().expect("an object").clone()
}

pub(super) fn at_minute(minute: i64) -> i64 {
    NOON_MS + minute * MINUTE_MS
}

impl<'a> Life<'a> {
    async fn begin(plan: &'a Plan, quiet: Quiet) -> Self {
        let ids = std::sync::Mutex::new(Chance::of(plan.seed, "ids"));
        let draw = move || ids.lock().expect("no panic").bytes();
        let settings = Settings { ids: IdSource::new(draw), ..Settings::default() };
        let place = Place::with(Arc::new(MemoryStore::new()), settings).await;
        let start_ms = at_minute(plan.start);
        let rows = plan.members.iter().map(|key| row(key, start_ms)).collect();
        *place.shelf.lock().expect("no panic") = Ok(rows);
        place.publish_with(&plan.document.yaml(), &settings_of(&plan.document)).await;
        let engine = &place.world.engine;
        engine.set_automation("move", true, "lead").await.expect("it is there");
        quiet.comes().await;
        let page = Slice { offset: 0, limit: 2 };
        let batches = place.world.store.batches(BatchFilter::default(), page).await;
        let batches = batches.expect("the store answers").items;
        assert_eq!(batches.len(), 1, "the pass has made one batch");
        let watch = Watch::new(start_ms, plan.document.clone());
        let (in_hand, log, story) = (Vec::new(), Log::default(), Vec::new());
        let batch = batches[0].id();
        Self { plan, quiet, place, batch, minute: 0, in_hand, log, watch, story }
    }

    fn now_ms(&self) -> i64 {
        at_minute(i64::try_from(self.minute).expect("small"))
    }

    fn tell(&mut self, what: &str) {
        self.story.push(format!("{:>4} {what}", self.minute));
    }

    async fn live(&mut self) -> Result<(), Broken> {
        self.settle().await?;
        loop {
            let batch = self.place.get(self.batch).await;
            let is_over = batch.is_settled() && self.in_hand.is_empty();
            if is_over && self.minute > TROUBLE_MINUTES {
                return oracle::judge(&self.place, &batch, &self.log, &self.watch).await;
            }
            if self.minute > MINUTES_MAX {
                return Err(format!("it never ends: {batch:#?}"));
            }
            self.minute += 1;
            self.place.world.clock.advance(Duration::from_secs(60));
            self.settle().await?;
            let events = self.plan.events.get(&self.minute);
            let mut events = events.into_iter().flatten().cloned();
            while let Some(event) = events.next() {
                self.tell(&format!("{event:?}"));
                match event {
                    Event::Crash { turns, with_workers } => {
                        self.crash(turns, with_workers, events.next()).await?;
                    }
                    event => self.act(event).await?,
                }
                // Half of the time workers speak while the event is still being followed.
                if Chance::of(self.plan.seed, &format!("haste {}", self.minute)).percent(50) {
                    self.report_until(self.minute + 3).await?;
                }
                self.settle().await?;
            }
        }
    }

    /// Lets everything happen that can, and looks at it.
    async fn settle(&mut self) -> Result<(), Broken> {
        loop {
            self.quiet.comes().await;
            let batch = self.place.get(self.batch).await;
            self.watch.look(&batch, self.now_ms())?;
            let taken = self.take_all(&batch).await?;
            if taken + self.report_until(self.minute).await? == 0 {
                return Ok(());
            }
        }
    }

    async fn act(&mut self, event: Event) -> Result<(), Broken> {
        let engine = self.place.world.engine.clone();
        let shelf = Arc::clone(&self.place.shelf);
        let slot_ms = at_minute(self.plan.start);
        let done = act(engine, shelf, self.batch, slot_ms, event.clone()).await;
        self.acted(&event, done)
    }

    /// Notes what the oracle must know of an event that was followed.
    fn acted(&mut self, event: &Event, done: Result<Acted, BatchError>) -> Result<(), Broken> {
        match (event, done) {
            (Event::Publish(document), Ok(Acted::Published(version))) => {
                self.watch.published(version, document.clone());
            }
            (Event::Move(start), Ok(_)) => self.watch.moved(at_minute(*start)),
            (Event::Cancel, Ok(_)) => self.watch.cancelled(),
            (_, Ok(_) | Err(BatchError::Refused(_))) => {}
            (_, Err(error)) => return Err(format!("{event:?}: {error}")),
        }
        Ok(())
    }

    /// The process dies while an event is being followed; whoever asked for it asks again.
    async fn crash(
        &mut self,
        turns: u64,
        with_workers: bool,
        event: Option<Event>,
    ) -> Result<(), Broken> {
        let engine = self.place.world.engine.clone();
        let shelf = Arc::clone(&self.place.shelf);
        let slot_ms = at_minute(self.plan.start);
        let acting = event
            .clone()
            .map(|event| tokio::spawn(act(engine.clone(), shelf, self.batch, slot_ms, event)));
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        engine.crash();
        if let Some(acting) = acting {
            acting.abort();
        }
        self.quiet.comes().await;
        if with_workers {
            self.in_hand.clear();
        }
        let store = Arc::clone(&self.place.world.store);
        self.place.world.restart(store).await;
        if let Some(event) = event {
            self.tell(&format!("again {event:?}"));
            self.act(event).await?;
        }
        Ok(())
    }

    /// Takes everything that is there; answers how much that was.
    async fn take_all(&mut self, batch: &Batch) -> Result<usize, Broken> {
        let ask = Take {
            pool: "workers",
            lanes: LaneSet::ALL,
            max: 1_000,
            wait: Duration::ZERO,
            visibility: Duration::from_secs(365 * 24 * 3600),
        };
        let taken = self.place.world.engine.take(ask).await.map_err(|error| error.to_string())?;
        let count = taken.len();
        for taken in taken {
            let job = Job::of(&taken);
            if self.log.take(self.now_ms(), &job) {
                self.watch.may_be_done(batch, &job)?;
            }
            let is_same = |held: &InHand| held.job.lease == job.lease && held.job.poll == job.poll;
            if self.in_hand.iter().any(is_same) {
                continue;
            }
            let (outcome, minutes) = self.draw_outcome(&taken, &job);
            self.tell(&format!("{} takes {} ({minutes} min)", self.who(&job), job.step));
            self.in_hand.push(InHand { until: self.minute + minutes, taken, job, outcome });
        }
        Ok(count)
    }

    fn who(&self, job: &Job) -> String {
        let undoes = if job.undoes { " undoes" } else { "" };
        format!("{} {}{undoes}", job.role.word(), job.user)
    }

    /// What comes of a job, and how long it takes; what undoes always works.
    fn draw_outcome(&self, taken: &Taken, job: &Job) -> (Outcome, u64) {
        let resumed = taken.run.header.resumes.is_some();
        let name = format!("{} {} {resumed} {} {}", self.who(job), job.step, job.attempt, job.poll);
        let chance = &mut Chance::of(self.plan.seed, &name);
        let minutes = if chance.percent(60) { 0 } else { chance.between(1, 6) };
        let polls = taken.run.spec(taken.directive.step).poll.is_some();
        let failure = |retryable| Outcome::Failed {
            error: StepError::new("broken", "the tool broke"),
            retryable,
            retry_after: None,
        };
        let outcome = if job.undoes || !job.is_way() && chance.percent(90) {
            Outcome::Succeeded { result: json!({ "seen": job.result() }) }
        } else if polls && chance.percent(45) {
            Outcome::Incomplete
        } else if chance.percent(12) {
            failure(true)
        } else if chance.percent(1) {
            failure(false)
        } else {
            Outcome::Succeeded { result: json!({ "seen": job.result() }) }
        };
        (outcome, minutes)
    }

    /// Workers report what they are done with by this minute; answers how many did.
    async fn report_until(&mut self, minute: u64) -> Result<usize, Broken> {
        let mut count = 0;
        while let Some(place) = self.in_hand.iter().position(|held| held.until <= minute) {
            let InHand { taken, job, outcome, .. } = self.in_hand.remove(place);
            count += 1;
            let is_success = matches!(outcome, Outcome::Succeeded { .. });
            let word = match &outcome {
                Outcome::Succeeded { .. } => "succeeds",
                Outcome::Incomplete => "is not finished",
                Outcome::Failed { .. } => "fails",
            };
            let reported = self.place.world.report(&taken, outcome).await;
            let counts = match reported {
                Ok(_) => true,
                Err(EngineError::Refused(_)) => false,
                Err(error) => return Err(format!("a report was lost: {error}")),
            };
            let late = if counts { "" } else { ", too late" };
            self.tell(&format!("{} {word} {}{late}", self.who(&job), job.step));
            if counts && is_success {
                self.log.succeed(self.now_ms(), job);
            }
        }
        Ok(count)
    }
}

fn settings_of(document: &Document) -> Value {
    let overdue = if document.reruns { "rerun" } else { "ignore" };
    json!({ "overdue_behavior": overdue, "rerun_init": document.reruns_init })
}

/// What came of an event.
enum Acted {
    Published(u32),
    Otherwise,
}

async fn act(
    engine: Engine,
    shelf: Shelf,
    batch: BatchId,
    slot_ms: i64,
    event: Event,
) -> Result<Acted, BatchError> {
    let by = Act::new("lead", "as planned");
    let command = match event {
        Event::Join(key) => {
            replace_row(&shelf, &key, Some(row(&key, slot_ms)));
            engine.ask_sources();
            return Ok(Acted::Otherwise);
        }
        Event::Leave(key) => {
            replace_row(&shelf, &key, None);
            engine.ask_sources();
            return Ok(Acted::Otherwise);
        }
        Event::Publish(document) => {
            let published = publish(&engine, &document.yaml(), &settings_of(&document)).await?;
            return Ok(Acted::Published(published.document.version));
        }
        Event::RetryFailed => {
            let filter = OrderFilter {
                member_statuses: vec![MemberStatus::Failed],
                ..OrderFilter::default()
            };
            let operation = BatchOperation::Retry;
            let order = BatchOrder { operation, filter, by, dry_run: false, limit: None };
            engine.operate_batch(batch, &order).await?;
            return Ok(Acted::Otherwise);
        }
        Event::Move(start) => {
            BatchCommand::Move { start: Timestamp::from_millis(at_minute(start)), by }
        }
        Event::Pause => BatchCommand::Pause { by },
        Event::Resume => BatchCommand::Resume { by },
        Event::Cancel => BatchCommand::Cancel { by },
        Event::Crash { .. } => return Ok(Acted::Otherwise),
    };
    engine.command_batch(batch, command).await.map(|_| Acted::Otherwise)
}

/// The source has this row for the key from now on, or none.
fn replace_row(shelf: &Shelf, key: &str, row: Option<Map<String, Value>>) {
    if let Ok(rows) = &mut *shelf.lock().expect("no panic") {
        rows.retain(|row| row["user"] != key);
        rows.extend(row);
    }
}
