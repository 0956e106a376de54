//! The reference store: plain maps behind one lock. Obviously right, deterministic, and not durable.
//!
//! It is the oracle of the conformance suite and the store of simulated worlds, so it prefers being
//! easy to check over being fast: lists walk everything and filter.

mod batch;
mod batch_query;
mod commit;
mod credit;
mod dead_letter;
mod event;
mod outbox;
mod ownership;
mod retention;
mod runbook;
mod store;
mod submission;
mod tenant_policy;
mod trigger;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use stepwell_core::id::{RunId, StepIndex, Tenant};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

use crate::error::StoreError;
use crate::model::{
    DeadLetter, Epoch, Figures, Filter, KeyHash, KeyHolder, OutboxMessage, Record, StaleReport,
    Stub, Subscription, TenantPolicy, TokenRecord, WorkflowDocument,
};

/// A store that forgets everything when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: Arc<Mutex<Tables>>,
    /// this door to it
    closed: AtomicBool,
}

/// Everything that is stored.
#[derive(Debug, Default)]
struct Tables {
    epoch: u64,
    runs: BTreeMap<RunId, RunEntry>,
    keys: BTreeMap<(Tenant, KeyHash), KeyHolder>,
    dead_letters: BTreeMap<i64, DeadLetter>,
    dead_letters_ever: i64,
    outbox: BTreeMap<i64, OutboxMessage>,
    outbox_ever: i64,
    /// messages to the outside that an instance is sending, in a shared store
    outbox_kept: BTreeMap<i64, Timestamp>,
    submissions: BTreeMap<i64, submission::Waiting>,
    submissions_ever: i64,
    /// in the order in which they were published
    workflows: Vec<WorkflowDocument>,
    tokens: BTreeMap<String, TokenRecord>,
    secrets: BTreeMap<String, Vec<u8>>,
    stubs: BTreeMap<RunId, Stub>,
    /// stubs by which a batch knows what became of its runs
    lasting_stubs: BTreeSet<RunId>,
    triggers: trigger::Triggers,
    policies: BTreeMap<Tenant, TenantPolicy>,
    batches: batch::Batches,
    runbooks: runbook::Runbooks,
    ledger: credit::Ledger,
    events: event::EventLog,
    subscriptions: BTreeMap<String, Subscription>,
    /// several instances write side by side
    sharing: Option<ownership::Sharing>,
}

/// A run with all that is deleted with it.
#[derive(Debug)]
struct RunEntry {
    run: Arc<Run>,
    /// who may decide it, in a shared store
    owner: Option<Epoch>,
    /// may be earlier than the run's true moment, never later
    wake_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
    history: Vec<Record>,
    stale_reports: Vec<StaleReport>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that several instances share, with a clock of its own.
    #[must_use]
    pub fn shared(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        let sharing = Some(ownership::Sharing::new(Box::new(now)));
        let tables = Tables { sharing, ..Tables::default() };
        Self { tables: Arc::new(Mutex::new(tables)), closed: AtomicBool::new(false) }
    }

    /// Another door to the same store, as another process would have.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { tables: Arc::clone(&self.tables), closed: AtomicBool::new(false) }
    }

    fn tables(&self) -> Result<MutexGuard<'_, Tables>, StoreError> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(StoreError::unavailable("the store is closed"));
        }
        self.tables.lock().map_err(|_| StoreError::broken("a caller panicked mid-write"))
    }
}

impl Tables {
    /// Runs of a tenant that have not ended; compensations take no place under a cap.
    fn open_runs(&self, tenant: &Tenant) -> u32 {
        let open = self.runs.values().filter(|entry| {
            entry.run.header.tenant == *tenant
                && entry.run.header.parent.is_none()
                && !entry.run.status.is_terminal()
        });
        u32::try_from(open.count()).unwrap_or(u32::MAX)
    }

    fn newest_workflow(&self, name: &str) -> Option<&WorkflowDocument> {
        self.workflows.iter().rev().find(|document| document.name == name)
    }

    fn history(&self, run: RunId, after_version: u64, limit: usize) -> Vec<Record> {
        let history = self.runs.get(&run).map(|entry| entry.history.as_slice()).unwrap_or_default();
        let later = history.iter().filter(|record| record.version > after_version);
        later.take(limit).cloned().collect()
    }

    fn figures(&self) -> Figures {
        let open = self.runs.values().filter(|entry| !entry.run.status.is_terminal()).count();
        let depths = self.depths();
        Figures {
            runs_open: open as u64,
            dead_letters: depths.iter().map(|depth| depth.count).sum(),
            dead_letters_by_reason: depths,
            outbox: self.outbox.len() as u64,
        }
    }

    /// Whether an instance may decide a run: it is its own, or nobody's.
    fn owns(&self, epoch: Epoch, entry: &RunEntry) -> bool {
        self.sharing.is_none() || entry.owner == Some(epoch)
    }
}

impl RunEntry {
    /// Its steps that are with the embedded bus.
    fn queued(&self) -> impl Iterator<Item = (StepIndex, crate::rows::QueueRow)> {
        self.run.indexed().filter_map(|(index, _)| {
            Some((index, crate::rows::QueueRow::encode(&self.run, index)?))
        })
    }

    fn matches(&self, filter: &Filter) -> bool {
        let header = &self.run.header;
        filter.tenant.as_ref().is_none_or(|tenant| header.tenant == *tenant)
            && filter.dialect.is_none_or(|dialect| header.dialect == dialect)
            && (filter.statuses.is_empty() || filter.statuses.contains(&self.run.status))
            && filter.workflow.as_ref().is_none_or(|name| header.workflow.name == *name)
            && (filter.correlation_id.is_none() || header.correlation_id == filter.correlation_id)
            && filter.created_from.is_none_or(|from| header.created_at >= from)
            && filter.created_until.is_none_or(|until| header.created_at < until)
            && (filter.with_compensations || header.parent.is_none())
    }
}
