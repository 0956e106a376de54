//! The right to look after triggers: one instance at a time.

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Signal};

use crate::error::EngineError;
use crate::shared::Shared;

/// How long an instance is the one that looks, unless it says so again. When it is declared dead its
/// right ends with that: this is for one that lives and looks no more.
const LEASE: Interval = Interval::from_secs(30);

/// It says so again after this, not on every turn.
const SAID_AGAIN: Interval = Interval::from_secs(10);

/// The rest when the store is away.
pub(super) const REST: Interval = Interval::from_secs(5);

/// The longest sleep: a word that was lost costs no more. Among several instances words come from
/// elsewhere, that of a death too.
pub(super) fn sleep_max(shared: &Shared) -> Interval {
    if shared.store.is_shared() { SAID_AGAIN } else { Interval::from_secs(60) }
}

/// The right to do something alone.
pub(super) struct Lease {
    name: &'static str,
    until: Timestamp,
    /// who we were when we took it: whoever comes back from the dead has nothing left
    epoch: Option<Epoch>,
}

impl Lease {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, until: Timestamp::from_millis(0), epoch: None }
    }

    /// Takes or keeps the right; `false` while it is somebody else's. In a store of its own there is
    /// nobody else, and what a crash has left there must not keep its successor waiting.
    pub(super) async fn take(&mut self, shared: &Shared) -> Result<bool, EngineError> {
        if !shared.may_decide() {
            return Ok(false);
        }
        if !shared.store.is_shared() {
            return Ok(true);
        }
        let (now, epoch) = (shared.now(), Some(shared.epoch()));
        let until = now.after(LEASE);
        if self.epoch == epoch && until.since(self.until) < SAID_AGAIN {
            return Ok(true);
        }
        let is_ours = self.ask(shared, until).await?;
        self.until = if is_ours { until } else { Timestamp::from_millis(0) };
        self.epoch = epoch;
        Ok(is_ours)
    }

    /// Nobody has to wait until it is over.
    pub(super) async fn give_back(&self, shared: &Shared) {
        if self.until > shared.now() {
            // If that fails, whoever waits for it waits a little longer.
            let _ = self.ask(shared, Timestamp::from_millis(0)).await;
            let _ = shared.store.tell(shared.epoch(), Signal::LookAgain).await;
        }
    }

    async fn ask(&self, shared: &Shared, until: Timestamp) -> Result<bool, EngineError> {
        let (name, holder) = (self.name.to_owned(), shared.epoch().0.to_string());
        Ok(shared.store.lease(name, holder, shared.now(), until).await?)
    }
}
