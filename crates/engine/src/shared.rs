//! What all tasks of an engine share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stepwell_connectors::bus::Bus;
use stepwell_core::id::RunId;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Store};
use tokio::sync::{Notify, broadcast, watch};
use uuid::Uuid;

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
    /// orders may wait in the queue
    pub(crate) submissions: Notify,
    pub(crate) hunger: Hunger,
    pub(crate) stats: Counters,
    /// what the tasks around batches share
    pub(crate) batches: Batches,
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
            metrics: Metrics::new(),
            changes: broadcast::Sender::new(4096),
            alarm: watch::Sender::new(None),
            outbox: Notify::new(),
            stopping: watch::Sender::new(false),
            fenced: AtomicBool::new(false),
            waiters: Waiters::default(),
            inputs: Notify::new(),
            submissions: Notify::new(),
            hunger: Hunger::default(),
            batches: Batches::default(),
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

    /// Committed runs by id, from memory or the store. Ids that do not exist are missing.
    pub(crate) async fn runs(
        &self,
        ids: Vec<RunId>,
    ) -> Result<HashMap<RunId, Arc<Run>>, EngineError> {
        let found = self.owned_runs(ids).await?;
        Ok(found.into_iter().map(|(id, Found { run, .. })| (id, run)).collect())
    }

    /// The same, with who may decide them. Whatever is in memory is ours.
    pub(crate) async fn owned_runs(
        &self,
        ids: Vec<RunId>,
    ) -> Result<HashMap<RunId, Found>, EngineError> {
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        // Once others may have taken them, nothing in memory can be trusted.
        let cached = if self.may_decide() { self.cache.get_all(&ids) } else { Vec::new() };
        for (place, id) in ids.iter().enumerate() {
            match cached.get(place).cloned().flatten() {
                Some(run) => drop(found.insert(*id, Found { run, ours: true })),
                None => missing.push(*id),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        for stored in self.store.load(missing).await? {
            let compiled = self.catalog.version(&stored.workflow, stored.workflow_version).await?;
            // What has ended never changes, so anybody can say no for it.
            let ours = stored.status.is_terminal()
                || stored.owner.is_none_or(|owner| owner == self.epoch());
            let run = Arc::new(stored.with_workflow(Arc::clone(&compiled.workflow)));
            found.insert(run.id(), Found { run, ours });
        }
        Ok(found)
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
