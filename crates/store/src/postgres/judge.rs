//! What can be done, where that is counted here rather than by the server: room in a tenant, credits in
//! its account, and decisions on batches, which are done whole or not at all.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use stepwell_core::credit::Credits;
use stepwell_core::id::{BatchId, RunId};

use super::run_write::NewRun;
use super::verdict::Facts;
use crate::model::Verdict;
use crate::rows::{BatchWriteRows, CreateRows, CreditRows, GroupRows, ItemRows};

/// What can be done of a group.
#[derive(Default)]
pub(super) struct Judgment {
    /// runs that their tenant has no room or no credits for
    pub(super) refused: BTreeMap<RunId, Verdict>,
    /// what becomes of each decision on a batch
    batches: BTreeMap<BatchId, Verdict>,
}

impl Judgment {
    /// Whether a run does not begin, for a reason that is known before it is tried.
    pub(super) fn refuses(&self, new: &NewRun<'_>) -> bool {
        self.refused.contains_key(&new.rows.header.id)
            || new.batch.is_some_and(|batch| !self.is_done(batch))
    }

    /// Whether the decision on a batch can be done.
    pub(super) fn is_done(&self, batch: BatchId) -> bool {
        self.batches.get(&batch) == Some(&Verdict::Done)
    }

    /// What becomes of the decision on a batch.
    pub(super) fn of_batch(&self, batch: BatchId) -> Verdict {
        self.batches.get(&batch).cloned().unwrap_or(Verdict::Stale)
    }
}

impl Facts {
    /// Judges in the order of the items: what ends makes room for what comes after it.
    pub(super) fn judge(&self, group: &GroupRows) -> Judgment {
        let mut room = Room { open: self.open.clone() };
        let mut purse = Purse { balances: self.balances.clone() };
        let mut judgment = Judgment::default();
        for item in &group.items {
            match item {
                ItemRows::Advance(advance) => {
                    let Some(freed) = self.advanced.get(&advance.run) else { continue };
                    freed.iter().for_each(|tenant| room.add(tenant, -1));
                    purse.take(advance.credits.as_deref());
                }
                ItemRows::Create(create) if self.has_its_key(create) => {
                    match self.refusal(create, &room, &purse) {
                        Some(refusal) => drop(judgment.refused.insert(create.header.id, refusal)),
                        None if self.runs_known.contains(&create.header.id) => {}
                        None => {
                            room.take(create);
                            purse.take(create.credits.as_deref());
                        }
                    }
                }
                ItemRows::Batch(write) => {
                    let verdict = self.judge_batch(write, &room);
                    if verdict == Verdict::Done {
                        write.creates().for_each(|create| room.take(create));
                    }
                    judgment.batches.insert(write.batch.id, verdict);
                }
                ItemRows::Create(_)
                | ItemRows::Reschedule { .. }
                | ItemRows::Audit(_)
                | ItemRows::Forward(_) => {}
            }
        }
        judgment
    }

    /// Why a run does not begin. One that is there already has set aside what it must.
    fn refusal(&self, create: &CreateRows, room: &Room, purse: &Purse) -> Option<Verdict> {
        if let Some(open) = room.refuses(create, 0) {
            return Some(Verdict::TenantFull { open });
        }
        let balance = purse.refuses(create)?;
        let is_new = !self.runs_known.contains(&create.header.id);
        is_new.then_some(Verdict::CreditsShort { balance })
    }

    /// The first thing that is in the way of a decision on a batch.
    fn judge_batch(&self, write: &BatchWriteRows, room: &Room) -> Verdict {
        if self.batch_versions.get(&write.batch.id).copied() != write.from_version {
            return Verdict::Stale;
        }
        let mut begun = 0;
        for create in write.creates() {
            if !self.has_its_key(create) {
                return self.key_holder(create).map_or(Verdict::Stale, Verdict::Duplicate);
            }
            if let Some(open) = room.refuses(create, begun) {
                return Verdict::TenantFull { open };
            }
            if self.runs_known.contains(&create.header.id) {
                return Verdict::Stale;
            }
            begun += i64::from(create.takes_room());
        }
        if self.has_room_for_members(write) { Verdict::Done } else { Verdict::Stale }
    }

    /// Nobody who stays has the number or the key of somebody who joins.
    fn has_room_for_members(&self, write: &BatchWriteRows) -> bool {
        let leaves: BTreeSet<i64> = write.removed.iter().map(|it| it.member.0).collect();
        let stays = |(new, known): &(i64, i64)| new == known || !leaves.contains(known);
        let in_the_way = self.members_known.get(&write.batch.id);
        let (mut ids, mut keys) = (BTreeSet::new(), BTreeSet::new());
        !in_the_way.is_some_and(|known| known.iter().any(stays))
            && write.joined.iter().all(|it| ids.insert(it.id) && keys.insert(it.key.as_str()))
    }
}

/// Open runs of tenants that have a cap.
struct Room {
    open: HashMap<String, i64>,
}

impl Room {
    fn add(&mut self, tenant: &str, change: i64) {
        if let Some(count) = self.open.get_mut(tenant) {
            *count += change;
        }
    }

    fn take(&mut self, create: &CreateRows) {
        if create.takes_room() {
            self.add(create.header.tenant.as_str(), 1);
        }
    }

    /// What is open, if that is too much for a run that comes after so many others.
    fn refuses(&self, create: &CreateRows, begun_before: i64) -> Option<u32> {
        let cap = create.tenant_cap.filter(|_| create.takes_room())?;
        let open = self.open.get(create.header.tenant.as_str())? + begun_before;
        let open = u32::try_from(open).unwrap_or(0);
        (open >= cap).then_some(open)
    }
}

/// Balances of accounts.
struct Purse {
    balances: HashMap<String, Credits>,
}

impl Purse {
    fn take(&mut self, moved: Option<&CreditRows>) {
        let Some(CreditRows { tenant, movements, .. }) = moved else { return };
        let balance = self.balances.entry(tenant.as_str().to_owned()).or_default();
        for movement in movements {
            *balance = *balance + movement.balance;
        }
    }

    /// The balance, if it does not cover what a run sets aside.
    fn refuses(&self, create: &CreateRows) -> Option<Credits> {
        let wanted = create.credits.as_ref()?.reservation()?;
        let balance = self.balances.get(create.header.tenant.as_str()).copied();
        let balance = balance.unwrap_or_default();
        (wanted > balance).then_some(balance)
    }
}
