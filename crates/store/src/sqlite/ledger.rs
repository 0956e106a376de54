//! Folding of the ledger: what runs moved on a day long past becomes one line.

use rusqlite::{Row, Transaction, params};
use stepwell_core::time::Timestamp;

use super::columns::{Columns, limit};
use crate::error::StoreError;

const LEDGER_STRETCHES: &str = include_str!("../../sql/sqlite/ledger_stretches.sql");
const LEDGER_CARRY: &str = include_str!("../../sql/sqlite/ledger_carry.sql");
const LEDGER_DROP: &str = include_str!("../../sql/sqlite/ledger_drop.sql");

/// Lines that follow each other and become one.
struct Stretch {
    tenant: String,
    oldest: i64,
    newest: i64,
    balance: i64,
    reserved: i64,
    spent: i64,
    /// those that were not carried before
    folded: usize,
}

/// Folds up to `rows` lines of runs from before a moment.
pub(super) fn fold(
    tx: &Transaction<'_>,
    before: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    let stretches: Vec<Stretch> = tx
        .prepare_cached(LEDGER_STRETCHES)?
        .query_and_then(params![before.as_millis(), limit(rows)], read_stretch)?
        .collect::<Result<_, StoreError>>()?;
    let mut carry = tx.prepare_cached(LEDGER_CARRY)?;
    let mut drop = tx.prepare_cached(LEDGER_DROP)?;
    for it in &stretches {
        carry.execute(params![it.newest, it.balance, it.reserved, it.spent])?;
        drop.execute(params![it.tenant, it.oldest, it.newest])?;
    }
    Ok(stretches.iter().map(|stretch| stretch.folded).sum())
}

fn read_stretch(row: &Row<'_>) -> Result<Stretch, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Stretch {
        tenant: columns.take()?,
        oldest: columns.take()?,
        newest: columns.take()?,
        balance: columns.take()?,
        reserved: columns.take()?,
        spent: columns.take()?,
        folded: columns.count()?,
    })
}
