//! What all tasks of an engine share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stepwell_connectors::bus::Bus;
use stepwell_core::id::RunId;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Store, StoredRun};
use tokio::sync::{Notify, broadcast, watch};
use uuid::Uuid;

use crate::agreements::Agreements;
use crate::batches::Batches;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::clock::StoreClock;
use crate::error::EngineError;
use crate::hunger::Hunger;
use crate::inputs::Waiters;
use crate::metrics::Metrics;
use crate::settings::Settings;
use crate::standing::Standing;
use crate::stats::Counters;
use crate::subscriptions::Subscriptions;
use crate::triggers::Triggers;

/// A run changed. What changed stands in its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// which
    pub run: RunId,
    /// to which version
    pub version: u64,
    /// where it stands now
    pub status: RunStatus,
}

/// A committed run.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) run: Arc<Run>,
    /// it is ours to decide, or nobody's
    pub(crate) ours: bool,
}

/// What all tasks of an engine share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) clock: StoreClock,
    pub(crate) settings: Settings,
    pub(crate) cache: Cache,
    pub(crate) catalog: Catalog,
    /// what is agreed for tenants
    pub(crate) agreements: Agreements,
    pub(crate) metrics: Metrics,
    pub(crate) changes: broadcast::Sender<Change>,
    /// the earliest moment that a commit has asked to be woken at
    pub(crate) alarm: watch::Sender<Option<Timestamp>>,
    /// a message to the outside was stored
    pub(crate) outbox: Notify,
    pub(crate) stopping: watch::Sender<bool>,
    /// whether we may decide, and as whom
    pub(crate) standing: Standing,
    /// who waits for the word of another instance
    pub(crate) waiters: Waiters,
    /// inputs of others may wait for our runs
    pub(crate) inputs: Notify,
    /// held while they are decided, so that none of them is decided twice
    pub(crate) deciding_inputs: tokio::sync::Mutex<()>,
    /// orders may wait in the queue
    pub(crate) submissions: Notify,
    pub(crate) hunger: Hunger,
    pub(crate) stats: Counters,
    /// who is told of events
    pub(crate) subscriptions: Subscriptions,
    /// what the tasks around batches share
    pub(crate) batches: Batches,
    /// what the tasks around triggers share
    pub(crate) triggers: Triggers,
    fenced: AtomicBool,
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
        clock: StoreClock,
        settings: Settings,
        standing: Standing,
        stats: Counters,
    ) -> Self {
        Self {
            cache: Cache::new(settings.cached_runs_max, settings.cached_bytes_max),
            catalog: Catalog::new(Arc::clone(&store)),
            agreements: Agreements::default(),
            metrics: Metrics::new(),
            changes: broadcast::Sender::new(4096),
            alarm: watch::Sender::new(None),
            outbox: Notify::new(),
            stopping: watch::Sender::new(false),
            fenced: AtomicBool::new(false),
            waiters: Waiters::default(),
            inputs: Notify::new(),
            deciding_inputs: tokio::sync::Mutex::default(),
            submissions: Notify::new(),
            hunger: Hunger::default(),
            subscriptions: Subscriptions::default(),
            batches: Batches::default(),
            triggers: Triggers::default(),
            standing,
            stats,
            store,
            bus,
            clock,
            settings,
        }
    }

    /// The right to write that this engine has now.
    pub(crate) fn epoch(&self) -> Epoch {
        self.standing.epoch()
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now_ms())
    }

    /// A fresh id of this moment.
    pub(crate) fn fresh_id(&self) -> Uuid {
        self.settings.ids.id(self.now())
    }

    /// Committed runs by id, whole. Ids that do not exist are missing.
    pub(crate) async fn runs(
        &self,
        ids: Vec<RunId>,
    ) -> Result<HashMap<RunId, Arc<Run>>, EngineError> {
        let mut found = HashMap::with_capacity(ids.len());
        let missing = self.cached(&ids, |run| {
            let whole = !run.is_one_of_many();
            if whole {
                found.insert(run.id(), Arc::clone(run));
            }
            whole
        });
        if missing.is_empty() {
            return Ok(found);
        }
        for stored in self.store.load(missing).await? {
            let run = self.compiled(stored).await?;
            found.insert(run.id(), Arc::new(run));
        }
        Ok(found)
    }

    /// Offers what is in memory; answers the ids of which nothing was, or was not taken.
    fn cached(&self, ids: &[RunId], mut take: impl FnMut(&Arc<Run>) -> bool) -> Vec<RunId> {
        // Once others may have taken them, nothing in memory can be trusted.
        if !self.may_decide() {
            return ids.to_vec();
        }
        let cached = self.cache.get_all(ids).into_iter();
        let missing =
            ids.iter().zip(cached).filter(|(_, run)| !run.as_ref().is_some_and(&mut take));
        missing.map(|(id, _)| *id).collect()
    }

    /// Committed runs for a decision, from memory or the store, with who may decide them. Whatever is
    /// in memory is ours. What ended steps of a batch's runs were given and returned is left out: those
    /// of 20,000 members would fill the memory with what nobody asks for.
    pub(crate) async fn owned_runs(
        &self,
        ids: Vec<RunId>,
    ) -> Result<HashMap<RunId, Found>, EngineError> {
        let mut found = HashMap::with_capacity(ids.len());
        let missing = self.cached(&ids, |run| {
            found.insert(run.id(), Found { run: Arc::clone(run), ours: true });
            true
        });
        if missing.is_empty() {
            return Ok(found);
        }
        for stored in self.store.load_open(missing).await? {
            // What has ended never changes, so anybody can say no for it.
            let ours = stored.status.is_terminal()
                || stored.owner.is_none_or(|owner| owner == self.epoch());
            let mut run = self.compiled(stored).await?;
            if run.is_one_of_many() {
                run.leave_out_ended();
            }
            found.insert(run.id(), Found { run: Arc::new(run), ours });
        }
        Ok(found)
    }

    /// Brings runs into memory that will be decided soon. If that fails, they are read then.
    pub(crate) async fn read_ahead(&self, ids: &[RunId]) {
        let missing = self.cached(ids, |_| true);
        if missing.is_empty() {
            return;
        }
        if let Ok(found) = self.owned_runs(missing.clone()).await {
            self.keep_in_memory(&missing, &found);
        }
    }

    /// Keeps runs of ours that were read, in this order: the same work leaves the same in memory.
    pub(crate) fn keep_in_memory(&self, ids: &[RunId], found: &HashMap<RunId, Found>) {
        let ours = ids.iter().filter_map(|id| found.get(id)).filter(|found| found.ours);
        self.cache.put_absent(ours.map(|found| &found.run));
    }

    /// A stored run with its workflow put back in.
    async fn compiled(&self, stored: StoredRun) -> Result<Run, EngineError> {
        let compiled = self.catalog.version(&stored.workflow, stored.workflow_version).await?;
        Ok(stored.with_workflow(Arc::clone(&compiled.workflow)))
    }

    /// Wakes the timers no later than at this moment.
    pub(crate) fn wake_at(&self, at: Timestamp) {
        self.alarm.send_if_modified(|alarm| {
            let sooner = alarm.is_none_or(|set| at < set);
            if sooner {
                *alarm = Some(at);
            }
            sooner
        });
    }

    /// Others have taken over: a store of its own ends the engine; in a shared one it begins anew.
    pub(crate) fn lost_ownership(&self, writes: usize) {
        self.stats.fenced(writes);
        if self.store.is_shared() {
            self.standing.holds_until(Timestamp::from_millis(0));
            self.standing.refused.notify_one();
            return;
        }
        if !self.fenced.swap(true, Ordering::SeqCst) {
            tracing::error!("ownership_lost: another process has taken the store over; stopping");
            self.stopping.send_replace(true);
        }
    }

    pub(crate) fn is_fenced(&self) -> bool {
        self.fenced.load(Ordering::SeqCst)
    }
}

/// Resolves when the engine is to stop.
pub(crate) async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // The sender lives in what every task shares, so it outlives this wait.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
