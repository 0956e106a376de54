//! Between memory and store: what leaves a full window, and what refills a low one.

use std::sync::Arc;

use super::pool::Pool;
use super::state::State;
use crate::bus::{Message, Refill};

impl State {
    pub(super) fn wants_refill(&mut self) -> bool {
        // Publishes and returning messages may have filled a pool meanwhile.
        let pools = &self.pools;
        let is_low =
            |name: &Arc<str>| pools.get(name).is_some_and(|pool| pool.refill_limit().is_some());
        self.low_pools.retain(is_low);
        !self.low_pools.is_empty()
    }

    pub(super) fn wanted_refills(&mut self) -> Vec<Refill> {
        let mut refills = Vec::new();
        for name in self.low_pools.clone() {
            let ticket = self.next_number();
            let Some(pool) = self.pools.get_mut(&name) else { continue };
            let (Some(limit), Some(after)) = (pool.refill_limit(), pool.window.horizon()) else {
                continue;
            };
            pool.window.begin_loading(ticket);
            refills.push(Refill { pool: name, after, limit, ticket });
        }
        refills
    }

    pub(super) fn refill(
        &mut self,
        refill: &Refill,
        mut page: Vec<Message>,
        complete: bool,
        now_ms: i64,
    ) -> bool {
        page.sort_unstable_by_key(Message::position);
        let Some(pool) = self.pools.get_mut(&refill.pool) else { return false };
        let page_last = page.last().map(Message::position);
        let Some(is_wanted) = pool.window.finish_loading(refill.ticket, page_last, complete) else {
            return false;
        };
        for message in page {
            if is_wanted(message.position()) && !self.entries.contains_key(&message.id) {
                self.put_ready(message, 0);
            }
        }
        self.note_level(&refill.pool);
        self.serve_waiters(&refill.pool, now_ms);
        true
    }

    pub(super) fn refill_from_start(&mut self, name: &Arc<str>) {
        self.pool_or_new(name).window.forget_horizon();
        self.note_level(name);
    }

    /// Leaves the youngest ready message to the store. Its count of deliveries begins anew there.
    pub(super) fn evict_last(&mut self, name: &Arc<str>) {
        let Some(last) = self.pools.get(name).and_then(Pool::last) else { return };
        self.lift(last.id);
        self.pool_or_new(name).window.defer(last);
        self.note_level(name);
    }

    /// Notes that a pool wants a refill, if it does; called after whatever takes from it.
    pub(super) fn note_level(&mut self, name: &str) {
        let Some((name, pool)) = self.pools.get_key_value(name) else { return };
        if pool.refill_limit().is_some() && self.low_pools.insert(name.clone()) {
            self.signals.refill.notify_one();
        }
    }
}
