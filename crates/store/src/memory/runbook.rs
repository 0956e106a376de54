//! Runbooks: their versions, whether they make batches by themselves, and which keys they have seen.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::time::Timestamp;

use crate::model::{Automation, NewRunbook, RunbookDocument};

/// Everything about runbooks.
#[derive(Debug, Default)]
pub(super) struct Runbooks {
    /// in the order in which they were published
    versions: Vec<RunbookDocument>,
    automation: BTreeMap<String, Automation>,
    seen: BTreeSet<(String, String)>,
}

impl Runbooks {
    pub(super) fn publish(&mut self, document: NewRunbook) -> RunbookDocument {
        if let Some(active) = self.find(&document.name, None).filter(|it| document.is_as(it)) {
            return active;
        }
        let version = self.of(&document.name).map(|it| it.version).max().unwrap_or(0) + 1;
        for earlier in self.versions.iter_mut().filter(|it| it.name == document.name) {
            earlier.is_active = false;
        }
        let id = i64::try_from(self.versions.len()).expect("few runbooks") + 1;
        let stored = document.with_version(id, version);
        self.versions.push(stored.clone());
        stored
    }

    fn of(&self, name: &str) -> impl Iterator<Item = &RunbookDocument> {
        self.versions.iter().filter(move |document| document.name == name)
    }

    pub(super) fn find(&self, name: &str, version: Option<u32>) -> Option<RunbookDocument> {
        let is_it =
            |it: &&RunbookDocument| version.map_or(it.is_active, |version| it.version == version);
        self.of(name).find(is_it).cloned()
    }

    pub(super) fn list(&self, name: Option<&str>) -> Vec<RunbookDocument> {
        if let Some(name) = name {
            let mut versions: Vec<RunbookDocument> = self.of(name).cloned().collect();
            versions.reverse();
            return versions;
        }
        let mut active: Vec<RunbookDocument> =
            self.versions.iter().filter(|it| it.is_active).cloned().collect();
        active.sort_by(|one, other| one.name.cmp(&other.name));
        active
    }

    pub(super) fn deactivate(&mut self, name: &str, version: u32) -> bool {
        let is_it = |it: &&mut RunbookDocument| it.name == name && it.version == version;
        self.versions.iter_mut().find(is_it).map(|it| it.is_active = false).is_some()
    }

    pub(super) fn note(&mut self, id: i64, error: Option<String>, at: Timestamp) {
        if let Some(document) = self.versions.iter_mut().find(|it| it.id == id) {
            document.last_error_at = error.is_some().then_some(at);
            document.last_error = error;
        }
    }

    pub(super) fn overdue_applied(&mut self, id: i64) {
        if let Some(document) = self.versions.iter_mut().find(|it| it.id == id) {
            document.overdue_applied = true;
        }
    }

    pub(super) fn automation(&self, runbook: &str) -> Option<Automation> {
        self.automation.get(runbook).cloned()
    }

    pub(super) fn set_automation(
        &mut self,
        runbook: String,
        enabled: bool,
        actor: String,
        at: Timestamp,
    ) -> Automation {
        let entry = self.automation.entry(runbook.clone());
        let automation = entry.or_insert_with(|| Automation {
            runbook,
            enabled,
            enabled_at: None,
            enabled_by: None,
            disabled_at: None,
            disabled_by: None,
        });
        automation.enabled = enabled;
        let (switched_at, switched_by) = if enabled {
            (&mut automation.enabled_at, &mut automation.enabled_by)
        } else {
            (&mut automation.disabled_at, &mut automation.disabled_by)
        };
        *switched_at = Some(at);
        *switched_by = Some(actor);
        automation.clone()
    }

    pub(super) fn seen_keys(&mut self, runbook: &str, present: Vec<String>) -> Vec<String> {
        let wanted: BTreeSet<&str> = present.iter().map(String::as_str).collect();
        self.seen.retain(|(of, key)| of != runbook || wanted.contains(key.as_str()));
        let known = |key: &String| self.seen.contains(&(runbook.to_owned(), key.clone()));
        present.into_iter().filter(known).collect()
    }

    pub(super) fn note_keys(&mut self, runbook: &str, keys: Vec<String>) {
        self.seen.extend(keys.into_iter().map(|key| (runbook.to_owned(), key)));
    }
}
