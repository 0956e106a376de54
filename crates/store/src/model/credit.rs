//! Accounts of credits and their ledger.

use serde::{Deserialize, Serialize};
use stepwell_core::credit::{Credits, Movement};
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
    /// the run that moved them; `None`: somebody granted them
    pub run: Option<RunId>,
    /// what moved
    pub movement: Movement,
    /// the account after it
    pub after: Account,
    /// by whom; empty for a run
    pub actor: String,
    /// in their words
    pub reason: String,
    /// when
    pub at: Timestamp,
}
