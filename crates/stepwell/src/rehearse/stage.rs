//! The rehearsal itself: the real engine on a store in memory, with a clock and workers of our own.

use std::sync::{Arc, Mutex, PoisonError};

use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings as BusSettings};
use stepwell_connectors::chance::Chance;
use stepwell_connectors::clock::{Clock, VirtualClock};
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_core::batch::{Batch, BatchMode};
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::Reading;
use stepwell_dialects::runbooks::accept::{OverdueBehavior, Publication};
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_engine::{Engine, IdSource, Parts, Scheduler, Settings};
use stepwell_store::memory::MemoryStore;

use super::ledger::{Book, Ledger};
use super::script::Script;
use super::workers::Workers;
use crate::exit::Exit;
use crate::failure::Failure;

/// The batch is detected so long before its first phase, so that its init can run.
const LEAD_MS: i64 = 60 * 60 * 1_000;

/// How often to look at the batch if nothing makes it known that it moved.
const GLANCE_MS: u64 = 60_000;

/// A batch that is not over so long after its last phase never will be.
const AFTERWARDS_MAX_MS: i64 = 90 * 24 * 60 * 60 * 1_000;

const ACTOR: &str = "rehearsal";

/// What is rehearsed.
pub(super) struct Piece {
    pub(super) source: String,
    pub(super) reading: Reading,
    pub(super) members: Vec<MemberRow>,
    pub(super) script: Script,
    /// T-0
    pub(super) start: Timestamp,
    pub(super) speed: Option<f64>,
}

/// What came of it.
pub(super) struct Played {
    pub(super) batch: Batch,
    pub(super) ledger: Ledger,
    /// everything ended, or was found to be stuck
    pub(super) is_over: bool,
}

impl Piece {
    /// Plays it to its end; `look` is shown the batch from time to time. Blocks the thread.
    pub(super) fn play(self, look: impl FnMut(&Batch)) -> Result<Played, Failure> {
        let clock = VirtualClock::new(self.first_due_ms() - LEAD_MS, self.speed);
        let sleeping = Arc::clone(&clock);
        let runtime = tokio::runtime::Builder::new_current_thread()
            // Only when nobody has anything to do does time pass.
            .on_thread_park(move || sleeping.advance())
            .build()
            .map_err(|error| broken(&error))?;
        let played = runtime.block_on(self.perform(clock, look));
        drop(runtime);
        played
    }

    async fn perform(
        self,
        clock: Arc<VirtualClock>,
        look: impl FnMut(&Batch),
    ) -> Result<Played, Failure> {
        let parts = parts(Arc::clone(&clock) as _, self.script.seed())?;
        let engine = Engine::start(parts, ACTOR).await.map_err(|error| broken(&error))?;
        let end_ms = self.last_due_ms() + AFTERWARDS_MAX_MS;
        let (runbook, book) = (Arc::new(self.reading.runbook.clone()), Arc::<Book>::default());
        let publication = Publication {
            source: self.source,
            reading: self.reading,
            overdue_behavior: OverdueBehavior::default(),
            rerun_init: false,
        };
        let failed = |error| broken(&error);
        engine.publish_runbook(publication, ACTOR).await.map_err(failed)?;
        Workers {
            engine: engine.clone(),
            clock: Arc::clone(&clock),
            script: Arc::new(self.script),
            runbook: Arc::clone(&runbook),
            book: Arc::clone(&book),
        }
        .start();
        let (mode, start) = (BatchMode::Scheduled, Some(self.start));
        let created = engine.create_batch_at(&runbook.name, self.members, mode, start, ACTOR);
        let id = created.await.map_err(failed)?.id();
        let (batch, is_over) = follow(&engine, &clock, id, end_ms, look).await?;
        Ok(Played { batch, ledger: book.close(), is_over })
    }

    fn first_due_ms(&self) -> i64 {
        self.due_ms().min().unwrap_or_else(|| self.start.as_millis())
    }

    fn last_due_ms(&self) -> i64 {
        self.due_ms().max().unwrap_or_else(|| self.start.as_millis())
    }

    fn due_ms(&self) -> impl Iterator<Item = i64> {
        let phases = self.reading.runbook.phases.iter();
        phases.map(|phase| phase.offset.due_at(self.start).as_millis())
    }
}

/// Looks at the batch until it is over and so is everything that followed from it.
async fn follow(
    engine: &Engine,
    clock: &VirtualClock,
    id: BatchId,
    end_ms: i64,
    mut look: impl FnMut(&Batch),
) -> Result<(Batch, bool), Failure> {
    let mut changes = engine.batch_changes();
    loop {
        let batch = engine.batch(id).await.map_err(|error| broken(&error))?;
        look(&batch);
        // Rollbacks are runs of their own, and the batch does not wait for them.
        if batch.is_settled() {
            let figures = engine.store().figures().await.map_err(|error| broken(&error))?;
            if figures.runs_open == 0 {
                return Ok((batch, true));
            }
        }
        if clock.now_ms() > end_ms {
            return Ok((batch, false));
        }
        tokio::select! {
            biased;
            _ = changes.recv() => {}
            () = clock.sleep_ms(GLANCE_MS) => {}
        }
    }
}

fn parts(clock: Arc<dyn Clock>, seed: u64) -> Result<Parts, Failure> {
    Ok(Parts {
        store: Arc::new(MemoryStore::new()),
        bus: Arc::new(EmbeddedBus::new(BusSettings::default(), Arc::clone(&clock))),
        clock,
        egress: Egress::new(Policy::default()).map_err(|error| broken(&error))?,
        webhook_secret: Vec::new(),
        settings: Settings {
            ids: ids(seed),
            // The members are given; no source is asked.
            scheduler: Scheduler { enabled: false, ..Scheduler::default() },
            ..Settings::default()
        },
    })
}

/// Ids that the seed determines, so that everything that is ordered by them is too.
fn ids(seed: u64) -> IdSource {
    let chance = Mutex::new(Chance::of(seed, "ids"));
    IdSource::new(move || {
        let mut chance = chance.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&chance.bits().to_be_bytes());
        bytes[8..].copy_from_slice(&chance.bits().to_be_bytes()[..2]);
        bytes
    })
}

fn broken(error: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Failure, "rehearsal_broken", format!("the rehearsal broke off: {error}"))
}
