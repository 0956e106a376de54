//! Folding of the ledger: what runs moved on a day long past becomes one line.

use stepwell_core::time::Timestamp;

use super::columns::{Columns, limit};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;

const LEDGER_FOLD_LOCK: &str = include_str!("../../sql/postgres/ledger_fold_lock.sql");
const LEDGER_FOLD: &str = include_str!("../../sql/postgres/ledger_fold.sql");

/// Folds up to `rows` lines of runs from before a moment; none while another instance does.
pub(super) async fn fold(
    db: &mut Connection,
    before: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    db.batch(BEGIN).await?;
    let locked = db.query(LEDGER_FOLD_LOCK, &[]).await?;
    let mut folded = 0;
    if locked.first().map_or(Ok(false), |row| Columns::of(row).take())? {
        let found = db.query(LEDGER_FOLD, &[&before.as_millis(), &limit(rows)]).await?;
        folded = found.first().map_or(Ok(0), |row| Columns::of(row).count())?;
    }
    db.batch(COMMIT).await?;
    Ok(folded)
}
