//! Accounts of credits and their ledger.

use std::collections::BTreeMap;

use stepwell_core::credit::{Movement, MovementKind};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

use super::Tables;
use crate::model::{Account, Create, Grant, Granted, LedgerLine, Verdict, reservation};

/// Accounts and the movements in them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<Tenant, Account>,
    lines: BTreeMap<i64, LedgerLine>,
    /// the number of the newest line, which stays the newest when lines are folded
    newest: i64,
    /// the lines of grants that had a key
    keys: BTreeMap<(Tenant, String), i64>,
}

impl Ledger {
    pub(super) fn account(&self, tenant: &Tenant) -> Account {
        self.accounts.get(tenant).copied().unwrap_or_default()
    }

    /// Writes a line, numbered and with the account after it.
    fn book(&mut self, mut line: LedgerLine) {
        let account = self.accounts.entry(line.tenant.clone()).or_default();
        *account = account.after(&line.movement);
        line.after = *account;
        self.newest += 1;
        line.id = self.newest;
        self.lines.insert(line.id, line);
    }

    /// Writes what a decision moves in the account of its tenant.
    pub(super) fn follow(&mut self, run: &Run, movements: &[Movement]) {
        for movement in movements {
            self.book(LedgerLine {
                id: 0,
                tenant: run.header.tenant.clone(),
                run: Some(run.id()),
                movement: *movement,
                after: Account::default(),
                actor: String::new(),
                reason: String::new(),
                at: run.updated_at,
            });
        }
    }

    pub(super) fn grant(&mut self, grant: Grant) -> Granted {
        let key = grant.key.clone().map(|key| (grant.tenant.clone(), key));
        let booked = key.as_ref().and_then(|key| self.keys.get(key)).map(|id| &self.lines[id]);
        let booked = booked.map(|line| (line.movement.balance, line.reason.as_str()));
        let granted = grant.judge(self.account(&grant.tenant), booked);
        if let Granted::Done(_) = granted {
            self.book(LedgerLine {
                id: 0,
                movement: grant.movement(),
                tenant: grant.tenant,
                run: None,
                after: Account::default(),
                actor: grant.actor,
                reason: grant.reason,
                at: grant.at,
            });
            self.keys.extend(key.map(|key| (key, self.newest)));
        }
        granted
    }

    /// Lines of a tenant, newest first, before a line.
    pub(super) fn page(
        &self,
        tenant: &Tenant,
        run: Option<RunId>,
        before: Option<i64>,
        limit: usize,
    ) -> Vec<LedgerLine> {
        let asked_for = |line: &&LedgerLine| {
            line.tenant == *tenant
                && run.is_none_or(|run| line.run == Some(run))
                && before.is_none_or(|before| line.id < before)
        };
        self.lines.values().rev().filter(asked_for).take(limit).cloned().collect()
    }

    /// Folds lines of runs from before a moment, oldest first.
    pub(super) fn fold(&mut self, before: Timestamp, limit: usize) -> usize {
        let is_old = |line: &&LedgerLine| line.run.is_some() && line.at < before;
        let old = self.lines.values().filter(is_old);
        let mut old: Vec<_> = old.map(|line| (line.at, line.id)).collect();
        old.sort_unstable();
        old.truncate(limit);
        for (_, id) in &old {
            self.carry(*id);
        }
        old.len()
    }

    /// Makes a line a carried one, and one with those beside it.
    fn carry(&mut self, id: i64) {
        let Some(line) = self.lines.get_mut(&id) else { return };
        (line.run, line.movement.kind) = (None, MovementKind::Carried);
        let tenant = line.tenant.clone();
        let is_theirs = |(_, line): &(&i64, &LedgerLine)| line.tenant == tenant;
        let previous = self.lines.range(..id).rev().find(is_theirs).map(|(id, _)| *id);
        let next = self.lines.range(id + 1..).find(is_theirs).map(|(id, _)| *id);
        if let Some(previous) = previous {
            self.join(previous, id);
        }
        if let Some(next) = next {
            self.join(id, next);
        }
    }

    /// Makes two lines that follow each other one, if both are carried and of the same day.
    fn join(&mut self, first: i64, second: i64) {
        let (one, other) = (&self.lines[&first], &self.lines[&second]);
        let is_carried = |line: &LedgerLine| line.movement.kind == MovementKind::Carried;
        if !is_carried(one) || !is_carried(other) || one.day() != other.day() {
            return;
        }
        let movement = one.movement.carried_with(&other.movement);
        self.lines.remove(&first);
        self.lines.entry(second).and_modify(|line| line.movement = movement);
    }
}

impl Tables {
    /// That the account does not cover what a new run sets aside.
    pub(super) fn is_short_for(&self, create: &Create) -> Option<Verdict> {
        let balance = self.ledger.account(&create.run.header.tenant).balance;
        let wanted = reservation(&create.credits).filter(|wanted| *wanted > balance);
        wanted.map(|_| Verdict::CreditsShort { balance })
    }
}
