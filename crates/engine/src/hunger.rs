//! Work goes to where workers wait for it.
//!
//! A worker may poll any instance, and each instance hands out only the work of its own runs. So an
//! instance whose workers find nothing says so, and another one that has such work and nobody to do
//! it hands over the runs. A run that has moved stays: its next steps are dispatched where the
//! workers are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Signal, StoreError};
use tokio::sync::{Notify, mpsc};
use uuid::Uuid;

use crate::shared::{Shared, stopped};

/// Runs that change hands at once.
const RUNS_MAX: usize = 64;

/// How long others are told that workers will wait, and after which share of it they are told again.
const TOLD_FOR_MS: u64 = 30_000;
const TELL_AGAIN_AFTER_MS: u64 = 25_000;

/// Who waits for which work.
#[derive(Default)]
pub(crate) struct Hunger {
    others: Mutex<BTreeMap<String, Vec<(Epoch, Timestamp)>>>,
    /// when others were last told that workers wait here
    told: Mutex<BTreeMap<String, Timestamp>>,
    pub(crate) changed: Notify,
}

/// Runs of a pool that are to go to another instance.
#[derive(Debug)]
pub(crate) struct HandOver {
    pool: String,
    to: Epoch,
    /// at most so many
    runs: usize,
}

impl Hunger {
    /// Workers wait at another instance.
    pub(crate) fn note(&self, pool: String, epoch: Epoch, until: Timestamp) {
        let mut others = lock(&self.others);
        let hungry = others.entry(pool).or_default();
        hungry.retain(|(other, _)| *other != epoch);
        hungry.push((epoch, until));
        drop(others);
        self.changed.notify_one();
    }

    /// Nobody has said that workers wait for anything elsewhere.
    pub(crate) fn is_nowhere(&self) -> bool {
        lock(&self.others).is_empty()
    }

    /// Work went there. If that was not enough its workers say so again: a word that counted for longer
    /// would let the same work go back and forth between instances that all have some.
    fn is_fed(&self, pool: &str, epoch: Epoch) {
        if let Some(hungry) = lock(&self.others).get_mut(pool) {
            hungry.retain(|(other, _)| *other != epoch);
        }
    }

    /// Work came: if it is gone again, others may be told at once.
    pub(crate) fn was_fed(&self) {
        lock(&self.told).clear();
    }

    /// Whether others should be told now that workers wait here.
    fn should_tell(&self, pool: &str, now: Timestamp) -> bool {
        let mut told = lock(&self.told);
        let recently = told
            .get(pool)
            .is_some_and(|at| now.since(*at).as_millis() < TELL_AGAIN_AFTER_MS && *at <= now);
        if !recently {
            told.insert(pool.to_owned(), now);
        }
        !recently
    }

    /// One instance for each pool, in turn; those whose workers have gone are forgotten.
    fn turns(&self, now: Timestamp) -> Vec<HandOver> {
        let mut others = lock(&self.others);
        for hungry in others.values_mut() {
            hungry.retain(|(_, until)| *until > now);
        }
        others.retain(|_, hungry| !hungry.is_empty());
        let turns = others.iter_mut().map(|(pool, hungry)| {
            hungry.rotate_left(1);
            HandOver { pool: pool.clone(), to: hungry[0].0, runs: 0 }
        });
        turns.collect()
    }
}

/// Finds work for which nobody waits here while somebody waits elsewhere, until the engine stops.
pub(crate) async fn hunger(shared: Arc<Shared>, orders: mpsc::Sender<HandOver>) {
    if !shared.store.is_shared() {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.hunger.changed.notified() => {}
        }
        let turns = shared.hunger.turns(shared.now());
        if turns.is_empty() {
            continue;
        }
        // What is ready was not taken by anybody who waits here.
        let Ok(depths) = shared.bus.depth().await else { continue };
        for order in turns {
            let depth = depths.iter().find(|depth| *depth.pool == order.pool);
            // Half of it: workers may come here, too.
            let runs = depth.map_or(0, |depth| depth.ready.div_ceil(2)).min(RUNS_MAX);
            if runs > 0 && orders.send(HandOver { runs, ..order }).await.is_err() {
                return;
            }
        }
    }
}

impl Shared {
    /// Workers found nothing here: say so to the others.
    pub(crate) async fn tell_hunger(&self, pool: &str) {
        if !self.store.is_shared() || !self.hunger.should_tell(pool, self.now()) {
            return;
        }
        let epoch = self.epoch();
        let signal = Signal::Hungry { epoch, pool: pool.to_owned(), for_ms: TOLD_FOR_MS };
        if let Err(error) = self.store.tell(epoch, signal).await {
            tracing::debug!(%error, "hunger_not_told");
        }
    }

    /// Hands runs over. Called only while nothing is being committed, so that no step of theirs is
    /// about to be put on our bus.
    pub(crate) async fn hand_over(&self, order: HandOver) {
        let Some(window) = self.bus.window() else { return };
        let HandOver { pool, to, runs } = order;
        let released = window.release_runs(&pool, runs);
        if released.is_empty() {
            return;
        }
        let runs: Vec<RunId> = released.iter().map(|run| RunId(Uuid::from_u128(*run))).collect();
        let count = runs.len();
        // Whatever comes of it: if the answer is lost, nobody here knows whose they are.
        runs.iter().for_each(|run| self.cache.forget(*run));
        match self.store.hand_over(self.epoch(), runs, to).await {
            Ok(given) => {
                let given: Vec<u128> = given.iter().map(|run| run.as_u128()).collect();
                window.forget_runs(&given);
                tracing::debug!(runs = given.len(), to = to.0, "runs_handed_over");
                self.hunger.is_fed(&pool, to);
                if given.len() == count {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "hand_over_failed");
                if matches!(error, StoreError::Fenced { .. }) {
                    self.lost_ownership(1);
                }
            }
        }
        // Some stayed, or nobody knows: whatever is still ours comes back from the store.
        if let Err(error) = crate::refill::recover(self).await {
            tracing::warn!(%error, "queues_not_read");
        }
        window.refill_from_start(Arc::from(pool));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change leaves the maps sound, so what a panicking holder left can be used.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
