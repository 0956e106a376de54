//! What everybody in a world shares.

use std::fmt::Display;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepwell_connectors::clock::Clock;
use stepwell_core::batch::BatchEntry;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use stepwell_store::BatchEvent;
use stepwell_store::memory::MemoryStore;
use tokio::sync::Notify;

use crate::bugs::Bug;
use crate::clock::{NOON_MS, VirtualClock};
use crate::faults::{Faults, Kind};
use crate::life::Life;
use crate::oracle::Oracle;
use crate::oracle::rules::NO_SPIN;
use crate::plan::Plan;
use crate::runbooks::Shape;
use crate::source::Shelf;
use crate::trace::Trace;

/// More than all tasks of an instance and all its callers ask at one moment.
const CALLS_MAX: u32 = 5_000;

/// What everybody in a world shares.
pub struct Shared {
    /// as it was drawn
    pub plan: Plan,
    /// the truth
    pub clock: Arc<VirtualClock>,
    /// what goes wrong
    pub faults: Faults,
    /// the log
    pub trace: Trace,
    /// what is stored, for all instances
    pub memory: Arc<MemoryStore>,
    /// an instance died where it stood
    pub died: Notify,
    shelf: Mutex<Shelf>,
    oracle: Mutex<Oracle>,
}

impl Shared {
    /// A world in which nothing has happened yet.
    #[must_use]
    pub fn new(plan: Plan, clock: Arc<VirtualClock>, trace: bool) -> Arc<Self> {
        let (memory, mut oracle) = (MemoryStore::new(), Oracle::new(plan.skew_max_ms));
        oracle.has_removal(Shape::draw(plan.seed).removal);
        let memory = if plan.instances > 1 {
            oracle.is_shared();
            let truth = Arc::clone(&clock);
            MemoryStore::shared(move || Timestamp::from_millis(truth.now_ms()))
        } else {
            memory
        };
        Arc::new(Self {
            faults: Faults::new(plan.seed, &plan.rates, plan.faults_max),
            oracle: Mutex::new(oracle),
            trace: Trace::new(trace),
            memory: Arc::new(memory),
            died: Notify::new(),
            shelf: Mutex::new(Shelf::draw(&plan)),
            plan,
            clock,
        })
    }

    /// Whoever watches.
    pub fn oracle(&self) -> MutexGuard<'_, Oracle> {
        self.oracle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the source of the runbook has now.
    pub fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The true time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now_ms())
    }

    /// Notes an event.
    pub fn note(&self, who: impl Display, what: impl Display) {
        self.trace.note(self.clock.now_ms() - NOON_MS, who, what);
    }

    /// Whether a fault strikes now; if so, it is noted.
    pub fn strikes(&self, kind: Kind, who: impl Display) -> bool {
        let strikes = self.faults.strikes(kind);
        if strikes {
            self.note(who, format_args!("! {}", kind.word()));
        }
        strikes
    }

    /// Notes what was decided.
    pub fn note_records(&self, run: RunId, records: &[Record]) {
        for record in records {
            let words: Vec<&str> = record.entries.iter().map(Entry::word).collect();
            self.note("history", format_args!("{run} v{} {}", record.version, words.join(" ")));
        }
    }

    /// Notes what was decided for a batch.
    pub fn note_batch(&self, event: &BatchEvent) {
        let words: Vec<&str> = event.record.entries.iter().map(BatchEntry::word).collect();
        let (batch, version) = (event.batch, event.record.version);
        self.note("history", format_args!("batch {batch} v{version} {}", words.join(" ")));
    }

    /// Waits while an instance stands still, then says whether what it asks is out of its reach:
    /// because it is dead, because of an outage, or because this one call fails.
    pub async fn is_out_of_reach(&self, life: &Life, outage: Kind, failure: Kind) -> bool {
        life.pass().await;
        self.keep_pace(life).await;
        let now_ms = self.clock.now_ms();
        let until_ms = life.outage(outage);
        let mut away = now_ms < until_ms.load(Ordering::SeqCst) && !self.faults.have_ended();
        if !away && !life.is_dead() && self.strikes(outage, life) {
            until_ms.store(now_ms + 1_000 + now_ms % 59_000, Ordering::SeqCst);
            away = true;
        }
        life.is_dead() || away || self.strikes(failure, life)
    }

    /// Whoever asks again and again at one moment waits for ever, and so does everybody once a rule is
    /// broken: that ends a world which would otherwise never let time pass.
    async fn keep_pace(&self, life: &Life) {
        if life.note_call(self.clock.now_ms()) > CALLS_MAX {
            let detail = format!("{life} asked {CALLS_MAX} times at one moment");
            self.oracle().judge(Err(NO_SPIN.broken(detail)));
        }
        let broken = self.oracle().violation().is_some();
        if broken {
            std::future::pending::<()>().await;
        }
    }

    /// Whether this bug is planted.
    #[must_use]
    pub fn has(&self, bug: Bug) -> bool {
        self.plan.bug == Some(bug)
    }

    /// The rest of the world may stop: a rule was broken, or the faults have ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.faults.have_ended() || self.oracle().violation().is_some()
    }
}
