//! Accounts of credits and their ledger.

use std::collections::BTreeMap;

use stepwell_core::credit::Movement;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Run;

use super::Tables;
use crate::model::{Account, Create, Grant, Granted, LedgerLine, Verdict, reservation};

/// Accounts and the movements in them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    accounts: BTreeMap<Tenant, Account>,
    /// oldest first
    lines: Vec<LedgerLine>,
    /// places of the lines of grants that had a key
    keys: BTreeMap<(Tenant, String), usize>,
}

impl Ledger {
    pub(super) fn account(&self, tenant: &Tenant) -> Account {
        self.accounts.get(tenant).copied().unwrap_or_default()
    }

    /// Writes a line, numbered and with the account after it.
    fn book(&mut self, mut line: LedgerLine) -> Account {
        let account = self.accounts.entry(line.tenant.clone()).or_default();
        *account = account.after(&line.movement);
        line.after = *account;
        line.id = i64::try_from(self.lines.len() + 1).expect("lines fit in memory");
        self.lines.push(line);
        *account
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
        let booked = key.as_ref().and_then(|key| self.keys.get(key)).map(|at| &self.lines[*at]);
        let booked = booked.map(|line| (line.movement.balance, line.reason.as_str()));
        let granted = grant.judge(self.account(&grant.tenant), booked);
        if let Granted::Done(_) = granted {
            self.keys.extend(key.map(|key| (key, self.lines.len())));
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
        self.lines.iter().rev().filter(asked_for).take(limit).cloned().collect()
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
