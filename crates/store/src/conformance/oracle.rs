//! The reference as an oracle: the same random life on both stores must look the same in both.

use std::sync::Arc;

use stepwell_core::command::{Act, Command};
use stepwell_core::definition::CancelMode;
use stepwell_core::id::Tenant;
use stepwell_core::run::{Header, Run};
use stepwell_core::step::{Outcome, StepError, StepStatus};

use super::Subject;
use super::lists::stale_report;
use super::world::{
    World, ack, all, at, decided, failure, header, itemized, key, message, pooled, report, run_id,
    started, success, told_of, undoing, woken,
};
use crate::memory::MemoryStore;
use crate::model::{
    Advance, Create, DeadLetterFilter, EventFilter, EventPlace, Filter, Item, NewEvent,
    OutboxSettlement, StoredRun, Verdict,
};

const ROUNDS: u64 = 120;

/// A deterministic source of choices.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    /// A number below `sides`.
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A store and the reference live through the same random groups and answer the same.
pub async fn a_store_agrees_with_the_reference(subject: Subject) {
    let reference = Subject { store: Arc::new(MemoryStore::new()), reopen: None };
    let (world, oracle) = (World::of(&subject).await, World::of(&reference).await);
    let mut dice = Dice(7);
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for round in 0..ROUNDS {
        let items = group(&mut dice, &runs, round);
        let after: Vec<Option<Arc<Run>>> = items.iter().map(written).collect();
        let verdicts = world.commits(items.clone()).await;
        assert_eq!(verdicts, oracle.commits(items).await, "round {round}");
        for (run, verdict) in after.into_iter().zip(verdicts) {
            if let (Some(run), Verdict::Done) = (run, verdict) {
                runs.retain(|known| known.id() != run.id());
                runs.push(run);
            }
        }
        settle_some(&world, &oracle, &mut dice).await;
        if dice.roll(10) == 0 {
            let now = at(dice.roll(400));
            let swept = world.store.sweep(now, 3).await.expect("a sweep");
            assert_eq!(swept, oracle.store.sweep(now, 3).await.expect("a sweep"));
        }
        compare(&world, &oracle, &runs, round).await;
    }
}

fn written(item: &Item) -> Option<Arc<Run>> {
    match item {
        Item::Create(create) => Some(Arc::clone(&create.run)),
        Item::Advance(advance) => Some(Arc::clone(&advance.run)),
        Item::Reschedule { .. } | Item::Audit(_) | Item::Forward(_) | Item::Batch(_) => None,
    }
}

/// A new run or two, and something that happens to some of the others.
fn group(dice: &mut Dice, runs: &[Arc<Run>], round: u64) -> Vec<Item> {
    let mut items: Vec<Item> = (0..dice.roll(3))
        .map(|number| Item::Create(Box::new(creation(dice, 10 * round + number))))
        .collect();
    for run in runs.iter().filter(|run| !run.status.is_terminal()) {
        let happening = match dice.roll(6) {
            0..3 => continue,
            3 => Item::Reschedule { run: run.id(), version: run.version, wake_at: run.wake_at() },
            4 => Item::Audit(crate::model::StaleReport { run: run.id(), ..stale_report(0, 1) }),
            _ => Item::Advance(Box::new(happening(dice, run, round))),
        };
        items.push(happening);
    }
    items
}

fn creation(dice: &mut Dice, number: u64) -> Create {
    let tenant = Tenant::new(["acme", "globex"][usize::from(dice.roll(3) == 0)]);
    let pool = ["mail", "files"][usize::from(dice.roll(2) == 0)];
    let workflow = if dice.roll(3) == 0 { itemized(pool, 3) } else { pooled(pool) };
    let correlation_id = (dice.roll(3) == 0).then(|| "case-7".to_owned());
    let priority = u8::try_from(dice.roll(11)).expect("at most ten");
    let created_at = at(dice.roll(100));
    let header =
        Header { tenant, workflow, correlation_id, priority, created_at, ..header(number) };
    let name = u8::try_from(dice.roll(50)).expect("few keys");
    Create {
        key: (dice.roll(2) == 0).then(|| key(name, b'r')),
        tenant_cap: (dice.roll(2) == 0).then_some(8),
        outbox: vec![message("begun", at(dice.roll(50)))],
        ..started(header)
    }
}

fn happening(dice: &mut Dice, run: &Arc<Run>, round: u64) -> Advance {
    let by = || Act::new("ada", "to see");
    let in_flight = run.steps.iter().any(|step| step.lease.is_some());
    let retryable = |run: &Run| {
        let error = StepError::new("busy", "the mailbox is busy");
        report(run, Outcome::Failed { error, retryable: true, retry_after: None })
    };
    let mut advance = match dice.roll(10) {
        0 => decided(run, &Command::Cancel { mode: Some(CancelMode::Immediate), by: by() }),
        1 if run.paused => decided(run, &Command::Resume { by: by() }),
        1 => decided(run, &Command::Pause { by: by() }),
        2 if in_flight => decided(run, &failure(run)),
        3 if in_flight => decided(run, &retryable(run)),
        4 if in_flight => decided(run, &report(run, Outcome::Incomplete)),
        5 if is_fresh(run) => decided(run, &ack(run)),
        6.. if in_flight => decided(run, &success(run)),
        _ if run.wake_at().is_some() && !run.paused => woken(run),
        _ => decided(run, &Command::Cancel { mode: Some(CancelMode::Immediate), by: by() }),
    };
    if dice.roll(8) == 0 {
        advance.from_version += 1;
    }
    if advance.run.status.is_terminal() {
        advance.expires_at = (dice.roll(2) == 0).then(|| at(100 + dice.roll(300)));
        advance.dead_letter = (dice.roll(2) == 0).then(|| told_of("run_failed"));
        let child = undoing(run.id(), 1_000_000 + 1_000 * round + dice.roll(1_000));
        advance.children = (dice.roll(4) == 0).then(|| started(child)).into_iter().collect();
    }
    advance
}

/// The first step under way has not been acknowledged yet.
fn is_fresh(run: &Run) -> bool {
    let leased = run.steps.iter().find(|step| step.lease.is_some());
    leased.is_some_and(|step| step.status == StepStatus::Dispatched)
}

/// Settles what is due in the outbox, one way or another.
async fn settle_some(world: &World, oracle: &World, dice: &mut Dice) {
    let due = world.outbox(at(dice.roll(60)), 2).await.due;
    let settlements: Vec<OutboxSettlement> = due
        .iter()
        .map(|message| match dice.roll(3) {
            0 => OutboxSettlement::Sent { id: message.id },
            1 => OutboxSettlement::PutOff { id: message.id, due_at: at(55) },
            _ => OutboxSettlement::GivenUp { id: message.id, given_up: told_of("undelivered") },
        })
        .collect();
    world.store.settle_outbox(settlements.clone()).await.expect("settled");
    oracle.store.settle_outbox(settlements).await.expect("settled");
}

/// Everything that can be asked is answered the same by both.
async fn compare(world: &World, oracle: &World, runs: &[Arc<Run>], round: u64) {
    let (one, other) = (&world.store, &oracle.store);
    let ids: Vec<_> = runs.iter().map(|run| run.id()).collect();
    let stored = world.loads(ids.clone()).await;
    assert_eq!(stored, oracle.loads(ids).await, "round {round}");
    for run in stored {
        let known = runs.iter().find(|known| known.id() == run.header.id);
        assert_eq!(Some(run), known.map(|known| StoredRun::of(known)), "round {round}");
    }
    assert_eq!(log(world).await, log(oracle).await, "round {round}");
    let now = at(900 + round);
    let (mine, theirs) = (world.epoch, oracle.epoch);
    let due = one.due(mine, now, 7).await.expect("due");
    assert_eq!(due, other.due(theirs, now, 7).await.expect("due"));
    let pools = one.queued_pools(mine).await.expect("pools");
    assert_eq!(pools, other.queued_pools(theirs).await.expect("pools"));
    for pool in pools {
        let queue = one.queued(mine, pool.clone(), None, 9).await.expect("a queue");
        let known = other.queued(theirs, pool, None, 9).await.expect("a queue");
        assert_eq!(queue, known, "round {round}");
    }
    let everything = Filter { with_compensations: true, ..Filter::default() };
    let of_acme = Filter { tenant: Some(Tenant::new("acme")), ..Filter::default() };
    let correlated = Filter { correlation_id: Some("case-7".to_owned()), ..Filter::default() };
    for filter in [everything, of_acme, correlated] {
        let page = world.summaries(filter.clone(), all()).await;
        assert_eq!(page, oracle.summaries(filter, all()).await, "round {round}");
    }
    let letters = || DeadLetterFilter { with_settled: true, ..DeadLetterFilter::default() };
    let dead = one.dead_letters(letters()).await.expect("letters");
    assert_eq!(dead, other.dead_letters(letters()).await.expect("letters"));
    assert_eq!(world.outbox(at(999), 99).await, oracle.outbox(at(999), 99).await);
    let figures = one.figures().await.expect("figures");
    assert_eq!(figures, other.figures().await.expect("figures"), "round {round}");
    let first = run_id(0);
    let history = one.history(first, 0, 99).await.expect("history");
    assert_eq!(history, other.history(first, 0, 99).await.expect("history"));
}

/// What others were told, in order.
async fn log(world: &World) -> Vec<NewEvent> {
    let all = world.store.events(EventFilter::default(), EventPlace::default(), 9_999).await;
    all.expect("a log").events.into_iter().map(|event| event.event).collect()
}
