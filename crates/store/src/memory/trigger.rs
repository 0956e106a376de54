//! Triggers and their firings.

use std::collections::BTreeMap;

use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;

use super::Tables;
use crate::model::{Firing, FiringOutcome, Trigger, TriggerFilter, TriggerProgress};

/// Whose, and which.
type Name = (Tenant, String);

/// Triggers and their firings.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    triggers: BTreeMap<Name, Trigger>,
    firings: BTreeMap<(Name, String), Firing>,
}

impl Tables {
    pub(super) fn put_trigger(&mut self, trigger: Trigger) -> bool {
        let name = (trigger.tenant.clone(), trigger.name.clone());
        let known = self.triggers.triggers.get(&name).map_or(0, |known| known.version);
        let follows = trigger.version == known + 1;
        if follows {
            self.triggers.triggers.insert(name, trigger);
        }
        follows
    }

    pub(super) fn triggers(&self, filter: TriggerFilter) -> Vec<Trigger> {
        let matches = |trigger: &&Trigger| {
            filter.tenant.as_ref().is_none_or(|tenant| trigger.tenant == *tenant)
                && filter.name.as_ref().is_none_or(|name| trigger.name == *name)
                && filter.kind.is_none_or(|kind| trigger.kind == kind)
                && (trigger.enabled || !filter.enabled_only)
        };
        self.triggers.triggers.values().filter(matches).cloned().collect()
    }

    pub(super) fn delete_trigger(&mut self, tenant: Tenant, name: String) -> bool {
        let name = (tenant, name);
        self.triggers.firings.retain(|(of, _), _| *of != name);
        self.triggers.triggers.remove(&name).is_some()
    }

    pub(super) fn due_triggers(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> (Vec<Trigger>, Option<Timestamp>) {
        let enabled = || self.triggers.triggers.values().filter(|trigger| trigger.enabled);
        let is_due = |trigger: &&Trigger| trigger.next_at.is_some_and(|at| at <= now);
        let mut due: Vec<Trigger> = enabled().filter(is_due).cloned().collect();
        due.sort_by_key(|trigger| trigger.next_at);
        due.truncate(limit);
        let next = enabled().filter_map(|trigger| trigger.next_at).filter(|at| *at > now).min();
        (due, next)
    }

    pub(super) fn progress_triggers(&mut self, progress: Vec<TriggerProgress>) -> Vec<bool> {
        progress.into_iter().map(|progress| self.progress_trigger(progress)).collect()
    }

    fn progress_trigger(&mut self, progress: TriggerProgress) -> bool {
        let name = (progress.tenant, progress.name);
        let known = self.triggers.triggers.get_mut(&name);
        let Some(trigger) = known.filter(|known| known.version == progress.version) else {
            return false;
        };
        trigger.next_at = progress.next_at;
        trigger.fired_until = progress.fired_until;
        trigger.last_error = progress.last_error;
        for firing in progress.firings {
            let key = (name.clone(), firing.key.clone());
            let known = self.triggers.firings.get(&key);
            if known.is_none_or(|known| known.outcome != FiringOutcome::Started) {
                self.triggers.firings.insert(key, firing);
            }
        }
        true
    }

    pub(super) fn firings(
        &self,
        tenant: Tenant,
        trigger: String,
        outcome: Option<FiringOutcome>,
        limit: usize,
    ) -> Vec<Firing> {
        let name = (tenant, trigger);
        let of_trigger = self.triggers.firings.iter().filter(|((of, _), _)| *of == name);
        let mut found: Vec<Firing> = of_trigger
            .map(|(_, firing)| firing)
            .filter(|firing| outcome.is_none_or(|outcome| firing.outcome == outcome))
            .cloned()
            .collect();
        found.sort_by(|one, other| (other.at, &other.key).cmp(&(one.at, &one.key)));
        found.truncate(limit);
        found
    }

    pub(super) fn known_firings(
        &self,
        tenant: Tenant,
        trigger: String,
        keys: Vec<String>,
    ) -> Vec<bool> {
        let name = (tenant, trigger);
        let known = |key| self.triggers.firings.contains_key(&(name.clone(), key));
        keys.into_iter().map(known).collect()
    }

    /// Forgets firings from before a moment, oldest first. Those that wait stay, and so do those of
    /// files, which may still lie there.
    pub(super) fn forget_firings(&mut self, before: Timestamp, limit: usize) -> usize {
        let Triggers { triggers, firings } = &mut self.triggers;
        let lasts = |name: &Name| {
            triggers.get(name).is_some_and(|trigger| trigger.kind == TriggerKind::FileDrop)
        };
        let old = firings.iter().filter(|((name, _), firing)| {
            firing.at < before && firing.outcome != FiringOutcome::Queued && !lasts(name)
        });
        let mut old: Vec<_> = old.map(|(key, firing)| (firing.at, key.clone())).collect();
        old.sort_unstable();
        old.truncate(limit);
        for (_, key) in &old {
            firings.remove(key);
        }
        old.len()
    }
}
