//! Whether this instance may decide, and as whom.

use std::sync::atomic::{AtomicI64, Ordering};

use stepwell_core::time::Timestamp;
use stepwell_store::Epoch;
use tokio::sync::{Notify, watch};

/// Whether this instance may decide, and as whom.
pub(crate) struct Standing {
    epoch: watch::Sender<Epoch>,
    /// by our own clock: from then on others may have taken our runs
    until_ms: AtomicI64,
    /// the store has refused us: somebody declared us dead
    pub(crate) refused: Notify,
    /// runs may belong to nobody
    pub(crate) free: Notify,
}

impl Standing {
    pub(crate) fn new(epoch: Epoch) -> Self {
        Self {
            epoch: watch::Sender::new(epoch),
            until_ms: AtomicI64::new(i64::MAX),
            refused: Notify::new(),
            free: Notify::new(),
        }
    }

    /// The right to write.
    pub(crate) fn epoch(&self) -> Epoch {
        *self.epoch.borrow()
    }

    /// Tells when the right to write is another one.
    pub(crate) fn epochs(&self) -> watch::Receiver<Epoch> {
        self.epoch.subscribe()
    }

    pub(crate) fn enter(&self, epoch: Epoch) {
        self.epoch.send_replace(epoch);
    }

    /// Others will leave our runs alone until this reading of our own clock.
    pub(crate) fn holds_until(&self, own: Timestamp) {
        self.until_ms.store(own.as_millis(), Ordering::SeqCst);
    }

    pub(crate) fn holds_at(&self, own: Timestamp) -> bool {
        own.as_millis() < self.until_ms.load(Ordering::SeqCst)
    }
}
