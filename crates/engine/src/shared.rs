//! What all tasks of an engine share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stepwell_connectors::bus::Bus;
use stepwell_connectors::clock::Clock;
use stepwell_core::id::RunId;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Store};
use tokio::sync::{Notify, broadcast, watch};

use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::error::EngineError;
use crate::metrics::Metrics;
use crate::settings::Settings;

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

/// What all tasks of an engine share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) clock: Arc<dyn Clock>,
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
    fenced: AtomicBool,
    epoch: Epoch,
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        bus: Arc<dyn Bus>,
        clock: Arc<dyn Clock>,
        settings: Settings,
        epoch: Epoch,
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
            store,
            bus,
            clock,
            settings,
            epoch,
        }
    }

    /// The right to write that this engine took at its start.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now_ms())
    }

    /// Committed runs by id, from memory or the store. Ids that do not exist are missing.
    pub(crate) async fn runs(
        &self,
        ids: Vec<RunId>,
    ) -> Result<HashMap<RunId, Arc<Run>>, EngineError> {
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        for (id, cached) in ids.iter().zip(self.cache.get_all(&ids)) {
            match cached {
                Some(run) => drop(found.insert(*id, run)),
                None => missing.push(*id),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let mut loaded = Vec::with_capacity(missing.len());
        for stored in self.store.load(missing).await? {
            let compiled = self.catalog.version(&stored.workflow, stored.workflow_version).await?;
            loaded.push(Arc::new(stored.with_workflow(Arc::clone(&compiled.workflow))));
        }
        found.extend(loaded.iter().map(|run| (run.id(), Arc::clone(run))));
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

    /// Another process has taken the store over: decide nothing more.
    pub(crate) fn lost_ownership(&self) {
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
