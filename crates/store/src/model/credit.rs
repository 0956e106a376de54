//! Accounts of credits and their ledger.

use serde::{Deserialize, Serialize};
use stepwell_core::credit::{Credits, Movement, MovementKind};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;

/// The account of a tenant: at every instant the sums of its movements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// what may still be promised
    pub balance: Credits,
    /// set aside by runs that have not ended
    pub reserved: Credits,
    /// spent, restored amounts taken off
    pub spent: Credits,
}

impl Account {
    /// What a movement makes of it.
    #[must_use]
    pub fn after(self, movement: &Movement) -> Self {
        Self {
            balance: self.balance + movement.balance,
            reserved: self.reserved + movement.reserved,
            spent: self.spent + movement.spent,
        }
    }
}

/// What a new run must be able to set aside, if that is the first thing it does.
pub(crate) fn reservation(movements: &[Movement]) -> Option<Credits> {
    let first = movements.first().filter(|movement| movement.kind == MovementKind::Reserved)?;
    Some(first.reserved)
}

/// Credits that somebody puts into an account, or takes out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// whose account
    pub tenant: Tenant,
    /// how much; negative takes out, which may not leave less than nothing
    pub amount: Credits,
    /// by whom
    pub actor: String,
    /// in their words
    pub reason: String,
    /// the same grant under the same key is done once
    pub key: Option<String>,
    /// when
    pub at: Timestamp,
}

impl Grant {
    /// As a line of the ledger.
    pub(crate) fn movement(&self) -> Movement {
        Movement {
            kind: MovementKind::Granted,
            balance: self.amount,
            reserved: Credits::ZERO,
            spent: Credits::ZERO,
        }
    }

    /// What becomes of it, where the account is this, and this amount for this reason is what was booked
    /// under its key before.
    pub(crate) fn judge(&self, account: Account, booked: Option<(Credits, &str)>) -> Granted {
        match booked {
            Some((amount, reason)) if amount == self.amount && reason == self.reason => {
                return Granted::Repeated(account);
            }
            Some(_) => return Granted::KeyTaken,
            None => {}
        }
        let after = account.after(&self.movement());
        if self.amount < Credits::ZERO && after.balance < Credits::ZERO {
            return Granted::Short(account);
        }
        Granted::Done(after)
    }
}

/// What became of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// it is booked; the account after it
    Done(Account),
    /// the same grant was booked under this key before; the account as it is
    Repeated(Account),
    /// another grant was booked under this key
    KeyTaken,
    /// so much cannot be taken out; the account as it is
    Short(Account),
}

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerLine {
    /// its number; later lines of an account have higher ones
    pub id: i64,
    /// whose account
    pub tenant: Tenant,
    /// the run that moved them; `None`: somebody granted them, or many runs moved them long ago
    pub run: Option<RunId>,
    /// what moved
    pub movement: Movement,
    /// the account after it
    pub after: Account,
    /// by whom; empty for runs
    pub actor: String,
    /// in their words
    pub reason: String,
    /// when
    pub at: Timestamp,
}

/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 3_600 * 1_000;

impl LedgerLine {
    /// Its day in UTC, as a number.
    #[must_use]
    pub fn day(&self) -> i64 {
        self.at.as_millis().div_euclid(DAY_MS)
    }
}
