//! Connections to the database file: one that writes, a few that read.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::Options;
use crate::error::StoreError;

/// How many prepared statements a connection keeps: all we have, so that none is ever prepared twice.
const STATEMENTS_KEPT: usize = 192;

/// As the first of the statements below sets it.
const PAGE_BYTES: u64 = 4096;

/// Opens the connection that writes.
pub(super) fn open_writer(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(options.busy_timeout)?;
    keep_statements(&db)?;
    // The page size and the way room is given back count only while the file is empty, so they stand
    // first. `FULL` makes a commit wait for the disk: with `NORMAL` a power cut could take back what was
    // answered as accepted.
    db.execute_batch(
        "PRAGMA page_size = 4096;
         PRAGMA auto_vacuum = INCREMENTAL;
         PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16384;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 67108864;
         PRAGMA trusted_schema = OFF;",
    )?;
    if let Some(bytes) = options.bytes_max {
        let pages = i64::try_from(bytes / PAGE_BYTES).unwrap_or(i64::MAX);
        db.pragma_update(None, "max_page_count", pages)?;
    }
    Ok(db)
}

/// Opens a connection that reads.
pub(super) fn open_reader(path: &Path, options: &Options) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(options.busy_timeout)?;
    keep_statements(&db)?;
    db.execute_batch(
        "PRAGMA query_only = ON;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -2048;
         PRAGMA trusted_schema = OFF;",
    )?;
    Ok(db)
}

/// Prepares each statement once.
///
/// Without the guarantee, SQLite prepares a statement again whenever another value is bound that its
/// plan might depend on, as with a partial index on the same table. Loading a run by its id would take
/// three times as long for a plan that is always the same.
fn keep_statements(db: &Connection) -> Result<(), StoreError> {
    db.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}
