//! Somebody who follows the log of events from where they stopped, and must see each of them once.

use std::sync::Arc;

use stepwell_store::{EventFilter, Events, Store};

use crate::chance::Chance;
use crate::door::Door;
use crate::shared::Shared;

/// Events that are read at once: fewer than a world has, so that there are several pages.
const PAGE: usize = 7;

/// Follows the log through whichever instance answers.
pub struct Follower {
    /// what everybody shares
    pub shared: Arc<Shared>,
    /// where it asks
    pub door: Arc<Door>,
}

impl Follower {
    /// Follows for ever.
    pub async fn follow(self) {
        let mut chance = Chance::of(self.shared.plan.seed, "follower");
        loop {
            self.shared.clock.sleep_ms(chance.between(1_000, 60_000)).await;
            let Some(instance) = self.door.any(&mut chance) else { continue };
            let read = read_on(&self.shared, instance.engine.store().as_ref()).await;
            if let Some(events) = read {
                self.shared.oracle().followed(&events);
            }
        }
    }

    /// Reads what is left, and compares with the log as it stands.
    pub async fn finish(shared: &Shared) {
        loop {
            let Some(events) = read_on(shared, shared.memory.as_ref()).await else { return };
            let is_last = events.events.is_empty();
            shared.oracle().followed(&events);
            if is_last {
                break;
            }
        }
        let all = shared.memory.events(EventFilter::default(), Default::default(), usize::MAX);
        if let Ok(all) = all.await {
            shared.oracle().log_was_followed(&all.events);
        }
    }
}

async fn read_on(shared: &Shared, store: &dyn Store) -> Option<Events> {
    let after = shared.oracle().followed_upto();
    store.events(EventFilter::default(), after, PAGE).await.ok()
}
