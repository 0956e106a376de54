//! What an instance says of itself (B-059).

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::Value;
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::shared::Shared;
use crate::timers::SLEEP_MAX;

/// No such moment yet.
const NEVER: i64 = i64::MIN;

/// What an instance says of itself, with every field of B-059.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// it takes work in and decides
    pub running: bool,
    /// its id, new with every start
    pub owner_id: String,
    /// when it started
    pub started_at: String,
    /// how long ago that was
    pub uptime_seconds: f64,
    /// the longest time between two looks at what is due; wake-ups come sooner by themselves
    pub poll_interval: f64,
    /// groups that were committed
    pub cycles: u64,
    /// runs that it took from a queue
    pub jobs_claimed: u64,
    /// runs that it took over from others
    pub jobs_reclaimed: u64,
    /// directives that went to workers
    pub tasks_dispatched: u64,
    /// acks and outcomes that were decided
    pub results_processed: u64,
    /// commits, signs of life and scans that failed
    pub errors: u64,
    /// writes that the store refused because others had taken over
    pub fenced_writes: u64,
    /// when it last gave a sign of life
    pub last_heartbeat_at: Option<String>,
    /// when it last looked for runs that nobody owns
    pub last_orphan_scan_at: Option<String>,
}

/// Counters behind [`Stats`].
pub(crate) struct Counters {
    owner_id: Mutex<String>,
    started_at: Timestamp,
    cycles: AtomicU64,
    jobs_claimed: AtomicU64,
    jobs_reclaimed: AtomicU64,
    tasks_dispatched: AtomicU64,
    results_processed: AtomicU64,
    errors: AtomicU64,
    fenced_writes: AtomicU64,
    last_heartbeat_ms: AtomicI64,
    last_scan_ms: AtomicI64,
}

impl Counters {
    pub(crate) fn new(owner_id: String, started_at: Timestamp) -> Self {
        Self {
            owner_id: Mutex::new(owner_id),
            started_at,
            cycles: AtomicU64::new(0),
            jobs_claimed: AtomicU64::new(0),
            jobs_reclaimed: AtomicU64::new(0),
            tasks_dispatched: AtomicU64::new(0),
            results_processed: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            fenced_writes: AtomicU64::new(0),
            last_heartbeat_ms: AtomicI64::new(NEVER),
            last_scan_ms: AtomicI64::new(NEVER),
        }
    }

    /// It is somebody new: the id under which it goes on.
    pub(crate) fn renew(&self, id: Uuid) -> String {
        let id = id.to_string();
        self.owner_id.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&id);
        id
    }

    pub(crate) fn owner_id(&self) -> String {
        self.owner_id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Groups that were committed.
    pub(crate) fn cycles(&self) -> u64 {
        self.cycles.load(Ordering::Relaxed)
    }

    pub(crate) fn committed(&self, dispatched: usize) {
        self.cycles.fetch_add(1, Ordering::Relaxed);
        add(&self.tasks_dispatched, dispatched);
    }

    pub(crate) fn claimed(&self, runs: usize) {
        add(&self.jobs_claimed, runs);
    }

    pub(crate) fn reclaimed(&self, runs: usize) {
        add(&self.jobs_reclaimed, runs);
    }

    pub(crate) fn decided(&self, results: usize) {
        add(&self.results_processed, results);
    }

    pub(crate) fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fenced(&self, writes: usize) {
        add(&self.fenced_writes, writes);
    }

    pub(crate) fn beaten(&self, at: Timestamp) {
        self.last_heartbeat_ms.store(at.as_millis(), Ordering::Relaxed);
    }

    pub(crate) fn scanned(&self, at: Timestamp) {
        self.last_scan_ms.store(at.as_millis(), Ordering::Relaxed);
    }

    pub(crate) fn to_json(&self, shared: &Shared) -> Value {
        serde_json::to_value(self.stats(shared)).unwrap_or(Value::Null)
    }

    pub(crate) fn stats(&self, shared: &Shared) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            running: !*shared.stopping.borrow() && shared.may_decide(),
            owner_id: self.owner_id(),
            started_at: self.started_at.to_string(),
            uptime_seconds: shared.now().since(self.started_at).as_millis() as f64 / 1000.0,
            poll_interval: SLEEP_MAX.as_millis() as f64 / 1000.0,
            cycles: get(&self.cycles),
            jobs_claimed: get(&self.jobs_claimed),
            jobs_reclaimed: get(&self.jobs_reclaimed),
            tasks_dispatched: get(&self.tasks_dispatched),
            results_processed: get(&self.results_processed),
            errors: get(&self.errors),
            fenced_writes: get(&self.fenced_writes),
            last_heartbeat_at: moment(&self.last_heartbeat_ms),
            last_orphan_scan_at: moment(&self.last_scan_ms),
        }
    }
}

fn add(counter: &AtomicU64, count: usize) {
    counter.fetch_add(count as u64, Ordering::Relaxed);
}

fn moment(millis: &AtomicI64) -> Option<String> {
    let at = millis.load(Ordering::Relaxed);
    (at != NEVER).then(|| Timestamp::from_millis(at).to_string())
}
