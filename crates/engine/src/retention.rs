//! Deletes what has had its time: ended runs, then stubs, firings and events that are old, a few at a
//! time, so that writers never wait for it. Old lines of ledgers are folded.
//!
//! While others write, it rests fifteen times as long as a page took. That is a sixteenth of the store's
//! time, and with what it pushes out of caches less than a tenth of what others get done. While nobody
//! writes, it goes on at once.

use std::sync::Arc;

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_store::StoreError;

use crate::shared::{Shared, stopped};

/// Runs deleted in one transaction. What they are made of is a few thousand rows, and writers wait for
/// it about as long as for a large group of decisions.
const PAGE: usize = 200;

/// Small rows deleted or folded in one transaction.
const SMALL_PAGE: usize = 1_000;

/// How often to look, when there was nothing to do.
const PERIOD_MS: i64 = 60_000;

/// How often to look for what is small and may as well go later.
const SMALL_PERIOD_MS: i64 = 600_000;

/// How many times as long as a page took to rest after it.
const REST_FACTOR: i64 = 15;

/// The shortest rest while others write.
const REST_MIN_MS: i64 = 10;

/// The longest: a store that hangs for a moment must not put retention off for long.
const REST_MAX_MS: i64 = 5_000;

/// The rest while nobody writes.
const IDLE_REST_MS: i64 = 1;

/// Sweeps until the engine stops.
pub(crate) async fn retention(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    let mut sweeper = Sweeper::default();
    loop {
        let nap = match sweeper.sweep(&shared).await {
            Ok(Some(took_ms)) => sweeper.rest_ms(took_ms, shared.stats.cycles()),
            Ok(None) => PERIOD_MS,
            Err(error) => {
                tracing::warn!(%error, "sweep_failed");
                PERIOD_MS
            }
        };
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.clock.sleep_until_ms(shared.clock.now_ms() + nap) => {}
        }
    }
}

/// How far it has come.
#[derive(Debug, Default)]
struct Sweeper {
    /// groups that had been committed at the last page
    cycles: u64,
    /// when to look for what is small
    small_at_ms: i64,
}

impl Sweeper {
    /// Deletes one page of each kind; answers how long that took if there is more, `None` if there is not.
    async fn sweep(&mut self, shared: &Shared) -> Result<Option<i64>, StoreError> {
        let begun_ms = shared.clock.now_ms();
        let runs = shared.store.sweep(shared.now(), PAGE).await?;
        shared.metrics.swept(runs);
        let mut more = runs == PAGE;
        if !more {
            more = self.sweep_small(shared, begun_ms).await? || shared.store.compact().await?;
        }
        Ok(more.then(|| shared.clock.now_ms() - begun_ms))
    }

    /// Deletes or folds what is small and old; `true` if there is more.
    async fn sweep_small(&mut self, shared: &Shared, now_ms: i64) -> Result<bool, StoreError> {
        if now_ms < self.small_at_ms {
            return Ok(false);
        }
        if shared.store.is_shared() {
            shared.look_at_agreements().await;
        }
        let retention = &shared.settings.retention;
        let before = |keep: Option<Interval>| {
            let kept_ms = keep.map_or(u64::MAX, Interval::as_millis);
            Timestamp::from_millis(shared.now().as_millis().saturating_sub_unsigned(kept_ms))
        };
        let (stubs, firings) = (before(retention.stubs), before(retention.firings));
        let forgotten = shared.store.forget(stubs, firings, SMALL_PAGE).await?;
        let events = shared.store.sweep_events(before(retention.events), SMALL_PAGE).await?;
        let lines = match retention.ledger {
            Some(_) => shared.store.fold_ledger(before(retention.ledger), SMALL_PAGE).await?,
            None => 0,
        };
        let more = [forgotten, events, lines].into_iter().any(|count| count >= SMALL_PAGE);
        if !more {
            self.small_at_ms = now_ms.saturating_add(SMALL_PERIOD_MS);
        }
        Ok(more)
    }

    /// How long to rest after a page that took so long, when so many groups have been committed by now.
    fn rest_ms(&mut self, took_ms: i64, cycles: u64) -> i64 {
        let others_write = std::mem::replace(&mut self.cycles, cycles) != cycles;
        if others_write {
            (took_ms * REST_FACTOR).clamp(REST_MIN_MS, REST_MAX_MS)
        } else {
            IDLE_REST_MS
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_takes_a_share_of_a_busy_store_and_all_of_an_idle_one() {
        let mut sweeper = Sweeper::default();
        assert_eq!(sweeper.rest_ms(20, 7), 300, "others write");
        assert_eq!(sweeper.rest_ms(20, 7), 1, "nobody does");
        assert_eq!(sweeper.rest_ms(0, 8), 10, "too short to be measured");
        assert_eq!(sweeper.rest_ms(60_000, 9), 5_000, "the store hung");
    }
}
