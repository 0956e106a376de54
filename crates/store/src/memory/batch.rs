//! Batches and their members on plain maps: what is written with a decision on a batch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::batch::{Batch, Phase, Tally};
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

use super::Tables;
use crate::model::{
    BatchEvent, BatchRun, BatchWrite, Create, DataHash, Epoch, Member, NewMember, Removal, Verdict,
};

/// Everything about batches but the runs themselves.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// with counters that only tallies move
    pub(super) batches: BTreeMap<BatchId, Batch>,
    pub(super) members: BTreeMap<MemberId, MemberEntry>,
    pub(super) runs: BTreeMap<RunNumber, BatchRun>,
    pub(super) events: Vec<BatchEvent>,
    /// the next number of each kind
    pub(super) numbers: BTreeMap<&'static str, i64>,
    /// who has the right to do something alone, and until when
    pub(super) leases: BTreeMap<String, (String, Timestamp)>,
}

/// A member of a batch.
#[derive(Debug)]
pub(super) struct MemberEntry {
    batch: BatchId,
    pub(super) key: String,
    data_hash: DataHash,
    run: RunId,
    added_at: Timestamp,
    pub(super) removed: Option<Removal>,
    pub(super) removal_dispatched_at: Option<Timestamp>,
}

impl Tables {
    /// Writes a decision on a batch with all that belongs to it, or nothing.
    pub(super) fn write_batch(&mut self, owner: Option<Epoch>, write: BatchWrite) -> Verdict {
        let id = write.batch.id();
        if self.batches.batches.get(&id).map(|batch| batch.version) != write.from_version {
            return Verdict::Stale;
        }
        if let Some(hindrance) = self.hindrance(&write) {
            return hindrance;
        }
        self.replace_batch(&write.batch);
        self.remove_members(id, write.removed);
        for member in write.joined {
            self.join(id, owner, member);
        }
        for create in write.retaken {
            self.retake(&create.run);
            self.insert(owner, create);
        }
        for create in write.runs {
            self.insert(owner, create);
        }
        for (member, data_hash) in write.refreshed {
            if let Some(entry) = self.batches.member_of(id, member) {
                entry.data_hash = data_hash;
            }
        }
        if let Some(record) = write.record {
            let place = i64::try_from(self.batches.events.len()).expect("few events") + 1;
            self.batches.events.push(BatchEvent { id: place, batch: id, record });
        }
        Verdict::Done
    }

    /// Why nothing of it can be written: a run of it cannot begin, or a member of it is there already.
    fn hindrance(&self, write: &BatchWrite) -> Option<Verdict> {
        let mut begun = 0;
        let joined = write.joined.iter().map(|member| &member.run);
        for create in joined.chain(&write.retaken).chain(&write.runs) {
            let hindrance = self.hindrance_of(create, begun);
            if hindrance.is_some() {
                return hindrance;
            }
            begun += u32::from(create.run.header.parent.is_none());
        }
        let leaves = |id: &MemberId| write.removed.iter().any(|removal| removal.member == *id);
        let members = self.batches.of(write.batch.id());
        let staying = members.filter(|(id, entry)| entry.removed.is_none() && !leaves(id));
        let mut keys: BTreeSet<&str> = staying.map(|(_, entry)| entry.key.as_str()).collect();
        let is_new = |member: &NewMember| !self.batches.members.contains_key(&member.id);
        let mut all_new = write.joined.iter().map(|it| is_new(it) && keys.insert(&it.key));
        (!all_new.all(|is_new| is_new)).then_some(Verdict::Stale)
    }

    /// Takes the batch over as it was decided, except for its counters.
    fn replace_batch(&mut self, decided: &Arc<Batch>) {
        let known = self.batches.batches.get(&decided.id());
        let mut batch = Batch::clone(decided);
        batch.tally = known.map(|known| known.tally).unwrap_or_default();
        for phase in &mut batch.phases {
            let is_it = |it: &&Phase| it.id == phase.id;
            let known = known.and_then(|known| known.phases.iter().find(is_it));
            phase.tally = known.map(|known| known.tally).unwrap_or_default();
        }
        self.batches.batches.insert(batch.id(), batch);
    }

    fn remove_members(&mut self, batch: BatchId, removals: Vec<Removal>) {
        for removal in removals {
            let entry = self.batches.member_of(batch, removal.member);
            if let Some(entry) = entry.filter(|entry| entry.removed.is_none()) {
                entry.removed = Some(removal);
            }
        }
    }

    fn join(&mut self, batch: BatchId, owner: Option<Epoch>, member: NewMember) {
        let entry = MemberEntry {
            batch,
            key: member.key,
            data_hash: member.data_hash,
            run: member.run.run.id(),
            added_at: member.added_at,
            removed: None,
            removal_dispatched_at: None,
        };
        self.batches.members.insert(member.id, entry);
        self.insert(owner, member.run);
    }

    /// Makes a run its member's newest.
    fn retake(&mut self, run: &Run) {
        let Some(membership) = run.header.membership else { return };
        let Some(member) = membership.member else { return };
        if let Some(entry) = self.batches.member_of(membership.batch, member) {
            entry.run = run.id();
        }
    }

    /// Gives a run of a batch its number. What undoes a step shares that of the run it undoes.
    pub(super) fn number_run(&mut self, create: &Create) {
        let header = &create.run.header;
        let Some(membership) = header.membership.filter(|_| header.parent.is_none()) else {
            return;
        };
        let run = BatchRun {
            number: membership.number,
            run: header.id,
            batch: membership.batch,
            member: membership.member,
            role: membership.role,
        };
        self.batches.runs.insert(run.number, run);
    }

    /// Moves the counters of a batch. What has no counter there, such as a phase that is gone, moves none.
    pub(super) fn count(&mut self, tally: Option<&Tally>) {
        let Some(tally) = tally else { return };
        let Some(batch) = self.batches.batches.get_mut(&tally.batch) else { return };
        batch.tally = batch.tally.plus(tally.members);
        for (gate, moved) in &tally.phases {
            if let Some(phase) = batch.phases.iter_mut().find(|phase| phase.gate == *gate) {
                phase.tally = phase.tally.plus(*moved);
            }
        }
    }

    /// Something is still to be done in the batch that a run belongs to.
    pub(super) fn is_needed(&self, run: &Run) -> bool {
        let batch = run.header.membership.and_then(|it| self.batches.batches.get(&it.batch));
        batch.is_some_and(|batch| !batch.is_settled())
    }

    /// A member with where its newest run stands; what retention has deleted is known by its stub.
    pub(super) fn member(&self, id: MemberId, entry: &MemberEntry) -> Option<Member> {
        let run = self.runs.get(&entry.run).map(|known| &known.run);
        let stub = self.stubs.get(&entry.run);
        let current = run.and_then(|run| Some(run.spec(run.current_step()?).id.clone()));
        Some(Member {
            id,
            batch: entry.batch,
            key: entry.key.clone(),
            data_hash: entry.data_hash,
            run: entry.run,
            run_status: run.map(|run| run.status).or(stub.map(|stub| stub.status))?,
            current_step: current,
            added_at: entry.added_at,
            ended_at: run.map_or(stub.map(|stub| stub.ended_at), |run| run.ended_at),
            removed_at: entry.removed.as_ref().map(|removal| removal.at),
            removed_by: entry.removed.as_ref().map(|removal| removal.actor.clone()),
            removal_dispatched_at: entry.removal_dispatched_at,
        })
    }
}

impl Batches {
    /// The members of a batch, by number.
    pub(super) fn of(&self, batch: BatchId) -> impl Iterator<Item = (&MemberId, &MemberEntry)> {
        self.members.iter().filter(move |(_, entry)| entry.batch == batch)
    }

    fn member_of(&mut self, batch: BatchId, member: MemberId) -> Option<&mut MemberEntry> {
        self.members.get_mut(&member).filter(|entry| entry.batch == batch)
    }
}
