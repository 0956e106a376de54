//! Retention: an ended run is deleted from every table at once, and a stub of it stays for a while.

use rusqlite::{Transaction, params};
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;

use super::columns::{Columns, key, limit};
use crate::error::StoreError;

const EXPIRED: &str = include_str!("../../sql/sqlite/expired.sql");
const STUB_INSERT: &str = include_str!("../../sql/sqlite/stub_insert.sql");
const KEY_DELETE: &str = include_str!("../../sql/sqlite/key_delete.sql");
const STUBS_FORGET: &str = include_str!("../../sql/sqlite/stubs_forget.sql");
const FIRINGS_FORGET: &str = include_str!("../../sql/sqlite/firings_forget.sql");

/// The rows of a run, in every table that has any. The key goes by itself, before the header that
/// names it, and so does its number.
const DELETES: [&str; 9] = [
    include_str!("../../sql/sqlite/batch_run_delete.sql"),
    "DELETE FROM stale_report WHERE run_id = ?1",
    "DELETE FROM dead_letter WHERE run_id = ?1",
    "DELETE FROM outbox WHERE run_id = ?1",
    "DELETE FROM event WHERE run_id = ?1",
    "DELETE FROM history WHERE run_id = ?1",
    "DELETE FROM step WHERE run_id = ?1",
    "DELETE FROM run_header WHERE run_id = ?1",
    "DELETE FROM run WHERE id = ?1",
];

/// Deletes up to `rows` ended runs whose time has come.
pub(super) fn sweep(
    tx: &Transaction<'_>,
    now: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    let mut runs: Vec<RunId> = tx
        .prepare_cached(EXPIRED)?
        .query_and_then(params![now.as_millis(), limit(rows)], |row| Columns::of(row).run_id())?
        .collect::<Result<_, StoreError>>()?;
    // In the order of their ids and table by table: neighbors lie on the same pages.
    runs.sort_unstable();
    for run in &runs {
        tx.prepare_cached(STUB_INSERT)?.execute(params![key(run), now.as_millis()])?;
        tx.prepare_cached(KEY_DELETE)?.execute([key(run)])?;
    }
    for delete in DELETES {
        let mut delete = tx.prepare_cached(delete)?;
        for run in &runs {
            delete.execute([key(run)])?;
        }
    }
    Ok(runs.len())
}

/// Forgets old stubs and firings.
pub(super) fn forget(
    tx: &Transaction<'_>,
    stubs_before: Timestamp,
    firings_before: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    let mut forgotten = 0;
    for (statement, before) in [(STUBS_FORGET, stubs_before), (FIRINGS_FORGET, firings_before)] {
        forgotten +=
            tx.prepare_cached(statement)?.execute(params![before.as_millis(), limit(rows)])?;
    }
    Ok(forgotten)
}
