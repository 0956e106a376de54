//! Addresses that are told of events, kept in memory: every decision asks for them.
//!
//! They are read at the start, when one of ours has changed, when another instance says so, and from time
//! to time, in case its word was lost. So an event that is committed within moments of a change
//! elsewhere may still go by the list from before.

use std::sync::{Arc, PoisonError, RwLock};

use stepwell_core::duration::Interval;
use stepwell_store::{Signal, StoreError, Subscription};
use tokio::sync::Notify;

use crate::error::EngineError;
use crate::shared::{Shared, stopped};

/// How often to look without a word, in a store that others write too.
const PERIOD: Interval = Interval::from_secs(30);

/// The rest after they could not be read.
const REST: Interval = Interval::from_secs(1);

/// Addresses that are told of events, as last read.
#[derive(Default)]
pub(crate) struct Subscriptions {
    list: RwLock<Arc<[Subscription]>>,
    /// they may have changed
    pub(crate) changed: Notify,
}

impl Subscriptions {
    pub(crate) fn current(&self) -> Arc<[Subscription]> {
        Arc::clone(&self.list.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, list: Vec<Subscription>) {
        *self.list.write().unwrap_or_else(PoisonError::into_inner) = list.into();
    }
}

impl Shared {
    /// Reads them again.
    pub(crate) async fn read_subscriptions(&self) -> Result<(), StoreError> {
        let list = self.store.subscriptions().await?;
        self.subscriptions.set(list);
        Ok(())
    }

    pub(crate) async fn put_subscription(&self, one: Subscription) -> Result<(), EngineError> {
        self.store.put_subscription(one).await?;
        self.subscriptions_changed().await
    }

    pub(crate) async fn delete_subscription(&self, id: String) -> Result<bool, EngineError> {
        let found = self.store.delete_subscription(id).await?;
        self.subscriptions_changed().await?;
        Ok(found)
    }

    async fn subscriptions_changed(&self) -> Result<(), EngineError> {
        self.read_subscriptions().await?;
        if self.store.is_shared() {
            // Others ask again by themselves, only later.
            let _ = self.store.tell(self.epoch(), Signal::Published).await;
        }
        Ok(())
    }
}

/// Reads them until the engine stops.
pub(crate) async fn subscriptions(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let nap = match shared.read_subscriptions().await {
            Ok(()) if shared.store.is_shared() => Some(PERIOD),
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(%error, "subscriptions_not_read");
                Some(REST)
            }
        };
        let wake_at_ms = nap.map_or(i64::MAX, |nap| shared.now().after(nap).as_millis());
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.subscriptions.changed.notified() => {}
            () = shared.clock.sleep_until_ms(wake_at_ms) => {}
        }
    }
}
