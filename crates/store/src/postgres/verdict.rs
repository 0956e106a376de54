//! What the server's answers say about each item of a group.

use std::collections::{HashMap, HashSet};

use stepwell_core::credit::Credits;
use stepwell_core::id::{BatchId, RunId};
use uuid::Uuid;

use super::columns::Columns;
use super::judge::Judgment;
use super::listen::Word;
use super::pipeline::Pipeline;
use super::send::{SentFirst, SentRest};
use crate::error::StoreError;
use crate::model::{Epoch, KeyHash, KeyHolder, Signal, Verdict};
use crate::rows::{CreateRows, GroupRows, ItemRows};

/// What the server's answers say, by run.
#[derive(Default)]
pub(super) struct Facts {
    /// balances of accounts that move, before this group; one that is missing is empty
    pub(super) balances: HashMap<String, Credits>,
    /// open runs of tenants that have a cap, before this group
    pub(super) open: HashMap<String, i64>,
    /// runs that moved, with their tenant where that got room by it
    pub(super) advanced: HashMap<RunId, Option<String>>,
    rescheduled: HashSet<RunId>,
    /// runs that got the key they were asked for under
    keys_taken: HashSet<RunId>,
    key_holders: HashMap<(String, KeyHash), KeyHolder>,
    /// where batches stand that are to be decided about
    pub(super) batch_versions: HashMap<BatchId, u64>,
    /// of the runs of which it is judged here whether they begin, those that are there already
    pub(super) runs_known: HashSet<RunId>,
    /// members who are to join a batch, each with one who is there already
    pub(super) members_known: HashMap<BatchId, Vec<(i64, i64)>>,
    judgment: Judgment,
    created: HashSet<RunId>,
    /// runs that exist, with their owners
    owners: HashMap<RunId, Epoch>,
    struck_off: HashSet<Uuid>,
}

impl Facts {
    /// What is known where a tenant's room is to be counted.
    pub(super) fn of_first(pipeline: &Pipeline<'_>, sent: &SentFirst) -> Result<Self, StoreError> {
        let mut facts = Self::default();
        for row in pipeline.rows(sent.accounts) {
            let mut columns = Columns::of(row);
            facts.balances.insert(columns.take()?, Credits(columns.take()?));
        }
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
        facts.add_batches(pipeline, sent)?;
        Ok(facts)
    }

    fn add_batches(&mut self, pipeline: &Pipeline<'_>, sent: &SentFirst) -> Result<(), StoreError> {
        for row in pipeline.rows(sent.batch_versions) {
            let mut columns = Columns::of(row);
            self.batch_versions.insert(BatchId(columns.take()?), columns.count()?);
        }
        for row in pipeline.rows(sent.runs_known) {
            self.runs_known.insert(Columns::of(row).run_id()?);
        }
        for row in pipeline.rows(sent.members_known) {
            let mut columns = Columns::of(row);
            let batch = BatchId(columns.take()?);
            let known = (columns.take()?, columns.take()?);
            self.members_known.entry(batch).or_default().push(known);
        }
        Ok(())
    }

    /// What is known in the end.
    pub(super) fn and_rest(
        mut self,
        pipeline: &Pipeline<'_>,
        sent: &SentRest,
        judgment: Judgment,
    ) -> Result<Self, StoreError> {
        self.judgment = judgment;
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

    pub(super) fn has_its_key(&self, create: &CreateRows) -> bool {
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
            ItemRows::Batch(write) => self.judgment.of_batch(write.batch.id),
        };
        group.items.iter().map(verdict).collect()
    }

    fn of_creation(&self, create: &CreateRows) -> Verdict {
        let id = create.header.id;
        if let Some(refusal) = self.judgment.refused.get(&id) {
            return refusal.clone();
        }
        if self.created.contains(&id) {
            return Verdict::Done;
        }
        match self.key_holder(create) {
            // Whoever was first in this very group was refused, so this one is too.
            Some(holder) => match self.judgment.refused.get(&holder.run) {
                Some(refusal) => refusal.clone(),
                None => Verdict::Duplicate(holder),
            },
            // It is there already; or its key was freed a moment ago.
            None => Verdict::Stale,
        }
    }

    /// Who holds the key that a run was asked for under and did not get.
    pub(super) fn key_holder(&self, create: &CreateRows) -> Option<KeyHolder> {
        let key = create.key.as_ref().filter(|_| !self.has_its_key(create))?;
        let tenant = create.header.tenant.as_str().to_owned();
        self.key_holders.get(&(tenant, key.hash)).copied()
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
