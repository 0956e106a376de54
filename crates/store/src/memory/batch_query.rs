//! What is asked about batches, and what is noted beside them.

use stepwell_core::batch::Batch;
use stepwell_core::id::{BatchId, MemberId};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;

use super::Tables;
use crate::model::{
    BatchEvent, BatchFilter, BatchRun, Listed, Member, MemberFilter, Numbered, Slice,
};

impl Tables {
    pub(super) fn reserve(&mut self, kind: Numbered, count: u32) -> i64 {
        let next = self.batches.numbers.entry(kind.word()).or_insert(1);
        let first = *next;
        *next += i64::from(count);
        first
    }

    pub(super) fn lease(
        &mut self,
        name: String,
        holder: String,
        now: Timestamp,
        until: Timestamp,
    ) -> bool {
        let is_gone = |it: &str| self.sharing.as_ref().is_some_and(|sharing| sharing.is_gone(it));
        let held = self.batches.leases.get(&name);
        let theirs =
            held.is_some_and(|(other, until)| *other != holder && *until > now && !is_gone(other));
        if theirs || is_gone(&holder) {
            return false;
        }
        self.batches.leases.insert(name, (holder, until));
        true
    }

    pub(super) fn list_batches(&self, filter: &BatchFilter, slice: Slice) -> Listed<Batch> {
        let newest_first = self.batches.batches.values().rev();
        let found: Vec<&Batch> = newest_first.filter(|batch| filter.matches(batch)).collect();
        let items = found.iter().skip(slice.offset).take(slice.limit);
        Listed { items: items.map(|batch| Batch::clone(batch)).collect(), total: length(&found) }
    }

    pub(super) fn list_members(&self, filter: &MemberFilter, slice: Slice) -> Listed<Member> {
        let members = self.batches.of(filter.batch);
        let members = members.filter_map(|(id, entry)| self.member(*id, entry));
        let found: Vec<Member> = members.filter(|member| filter.matches(member)).collect();
        let total = length(&found);
        let items: Vec<Member> = found.into_iter().skip(slice.offset).take(slice.limit).collect();
        let total = if filter.after.is_some() { length(&items) } else { total };
        Listed { items, total }
    }

    pub(super) fn removals_dispatched(&mut self, members: &[MemberId], at: Timestamp) {
        for member in members {
            if let Some(entry) = self.batches.members.get_mut(member)
                && entry.removed.is_some()
            {
                entry.removal_dispatched_at.get_or_insert(at);
            }
        }
    }

    pub(super) fn keys_in_batches(&self, runbook: &str) -> Vec<(String, BatchId)> {
        let batches = self.batches.batches.values();
        let open =
            batches.filter(|batch| batch.header.runbook == runbook && !batch.status.is_terminal());
        let keys = open.flat_map(|batch| {
            let members = self.batches.of(batch.id());
            let staying = members.filter(|(_, entry)| entry.removed.is_none());
            staying.map(move |(_, entry)| (entry.key.clone(), batch.id()))
        });
        keys.collect()
    }

    pub(super) fn batch_runs(
        &self,
        batch: BatchId,
        role: Option<BatchRole>,
        member: Option<MemberId>,
    ) -> Vec<BatchRun> {
        let of_batch = self.batches.runs.values().filter(|run| run.batch == batch);
        let wanted = of_batch
            .filter(|run| role.is_none_or(|role| run.role == role))
            .filter(|run| member.is_none() || run.member == member);
        wanted.copied().collect()
    }

    pub(super) fn batch_events(
        &self,
        batch: Option<BatchId>,
        after: i64,
        limit: usize,
    ) -> Vec<BatchEvent> {
        let later = self.batches.events.iter().filter(|event| event.id > after);
        let wanted = later.filter(|event| batch.is_none_or(|batch| event.batch == batch));
        wanted.take(limit).cloned().collect()
    }
}

fn length<T>(list: &[T]) -> u64 {
    list.len() as u64
}
