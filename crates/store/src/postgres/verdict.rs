//! What the server's answers say about each item of a group.

use std::collections::{BTreeMap, HashMap, HashSet};

use stepwell_core::id::RunId;
use uuid::Uuid;

use super::columns::Columns;
use super::listen::Word;
use super::pipeline::Pipeline;
use super::send::{SentFirst, SentRest};
use crate::error::StoreError;
use crate::model::{Epoch, KeyHash, KeyHolder, Signal, Verdict};
use crate::rows::{CreateRows, GroupRows, ItemRows};

/// What the server's answers say, by run.
#[derive(Default)]
pub(super) struct Facts {
    /// open runs of tenants that have a cap, before this group
    open: HashMap<String, i64>,
    /// runs that moved, with their tenant where that got room by it
    advanced: HashMap<RunId, Option<String>>,
    rescheduled: HashSet<RunId>,
    /// runs that got the key they were asked for under
    keys_taken: HashSet<RunId>,
    key_holders: HashMap<(String, KeyHash), KeyHolder>,
    /// runs that their tenant has no room for, with what is open there
    refused: BTreeMap<RunId, u32>,
    created: HashSet<RunId>,
    /// runs that exist, with their owners
    owners: HashMap<RunId, Epoch>,
    struck_off: HashSet<Uuid>,
}

impl Facts {
    /// What is known where a tenant's room is to be counted.
    pub(super) fn of_first(pipeline: &Pipeline<'_>, sent: &SentFirst) -> Result<Self, StoreError> {
        let mut facts = Self::default();
        for row in pipeline.rows(sent.open) {
            let mut columns = Columns::of(row);
            facts.open.insert(columns.take()?, columns.take()?);
        }
        for row in pipeline.rows(sent.advanced) {
            let mut columns = Columns::of(row);
            facts.advanced.insert(columns.run_id()?, columns.take()?);
        }
        for row in pipeline.rows(sent.rescheduled) {
            facts.rescheduled.insert(Columns::of(row).run_id()?);
        }
        for row in pipeline.rows(sent.keys_taken) {
            facts.keys_taken.insert(Columns::of(row).run_id()?);
        }
        for row in pipeline.rows(sent.key_holders) {
            let mut columns = Columns::of(row);
            let key = (columns.take()?, columns.hash()?);
            let holder = KeyHolder {
                run: columns.run_id()?,
                request_hash: columns.hash()?,
                created_at: columns.moment()?,
            };
            facts.key_holders.insert(key, holder);
        }
        Ok(facts)
    }

    /// What is known in the end.
    pub(super) fn and_rest(
        mut self,
        pipeline: &Pipeline<'_>,
        sent: &SentRest,
        refused: BTreeMap<RunId, u32>,
    ) -> Result<Self, StoreError> {
        self.refused = refused;
        for row in pipeline.rows(sent.created) {
            self.created.insert(Columns::of(row).run_id()?);
        }
        for row in pipeline.rows(sent.owners) {
            let mut columns = Columns::of(row);
            self.owners.insert(columns.run_id()?, columns.epoch()?);
        }
        for row in pipeline.rows(sent.struck_off) {
            self.struck_off.insert(Columns::of(row).take()?);
        }
        Ok(self)
    }

    /// Runs that their tenant has no room for, counted in the order of the items: what ends makes room for
    /// what comes after it.
    pub(super) fn refused(&self, group: &GroupRows) -> BTreeMap<RunId, u32> {
        let mut open = self.open.clone();
        let mut refused = BTreeMap::new();
        for item in &group.items {
            match item {
                ItemRows::Advance(advance) => {
                    let tenant = self.advanced.get(&advance.run).and_then(Option::as_ref);
                    if let Some(count) = tenant.and_then(|tenant| open.get_mut(tenant)) {
                        *count -= 1;
                    }
                }
                ItemRows::Create(create) if self.has_its_key(create) && create.takes_room() => {
                    let Some(count) = open.get_mut(create.header.tenant.as_str()) else { continue };
                    let found = u32::try_from(*count).unwrap_or(0);
                    if create.tenant_cap.is_some_and(|cap| found >= cap) {
                        refused.insert(create.header.id, found);
                    } else {
                        *count += 1;
                    }
                }
                ItemRows::Create(_)
                | ItemRows::Reschedule { .. }
                | ItemRows::Audit(_)
                | ItemRows::Forward(_)
                | ItemRows::Batch(_) => {}
            }
        }
        refused
    }

    fn has_its_key(&self, create: &CreateRows) -> bool {
        create.key.is_none() || self.keys_taken.contains(&create.header.id)
    }

    /// What became of each item, in order.
    pub(super) fn verdicts(&self, group: &GroupRows) -> Vec<Verdict> {
        let done = |is_done: bool| if is_done { Verdict::Done } else { Verdict::Stale };
        let verdict = |item: &ItemRows| match item {
            ItemRows::Create(create) => self.of_creation(create),
            ItemRows::Advance(advance) => done(self.advanced.contains_key(&advance.run)),
            ItemRows::Reschedule { run, .. } => done(self.rescheduled.contains(run)),
            ItemRows::Audit(report) => done(self.owners.contains_key(&report.run)),
            ItemRows::Forward(input) => done(self.owners.contains_key(&input.run)),
            ItemRows::Batch(_) => Verdict::Stale,
        };
        group.items.iter().map(verdict).collect()
    }

    fn of_creation(&self, create: &CreateRows) -> Verdict {
        let id = create.header.id;
        if let Some(open) = self.refused.get(&id) {
            return Verdict::TenantFull { open: *open };
        }
        if self.created.contains(&id) {
            return Verdict::Done;
        }
        let Some(key) = create.key.as_ref().filter(|_| !self.has_its_key(create)) else {
            return Verdict::Stale;
        };
        match self.key_holders.get(&(create.header.tenant.as_str().to_owned(), key.hash)) {
            // Whoever was first in this very group found no room, so this one does not either.
            Some(holder) if self.refused.contains_key(&holder.run) => {
                Verdict::TenantFull { open: self.refused[&holder.run] }
            }
            Some(holder) => Verdict::Duplicate(*holder),
            // It was freed a moment ago.
            None => Verdict::Stale,
        }
    }

    /// What others are told now that the group stands.
    pub(super) fn words(&self, group: &GroupRows) -> Vec<Word> {
        let from = group.epoch;
        let mut words = Vec::new();
        let mut owners: Vec<Epoch> = group
            .items
            .iter()
            .filter_map(|item| match item {
                ItemRows::Forward(input) => self.owners.get(&input.run).copied(),
                _ => None,
            })
            .collect();
        owners.sort_unstable();
        owners.dedup();
        words.extend(owners.into_iter().map(|owner| Word::to(owner, from, Signal::Inputs)));
        for answer in &group.answers {
            if self.struck_off.contains(&answer.input) {
                let (input, body) = (answer.input, answer.body.clone());
                words.push(Word::to(answer.to, from, Signal::Answered { input, body }));
            }
        }
        if group.free && !self.created.is_empty() {
            words.push(Word::to_all(Some(from), Signal::Free));
        }
        words
    }
}
