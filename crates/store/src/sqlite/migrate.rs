//! Brings a database file to the schema of this release.
//!
//! Each migration is one transaction that also moves `user_version`, so an interrupted one leaves
//! nothing behind and simply runs again. Published migrations are never edited.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// In order; a file's `user_version` says how many it has seen.
const MIGRATIONS: [&str; 9] = [
    include_str!("../../migrations/sqlite/0001_runs_and_history.sql"),
    include_str!("../../migrations/sqlite/0002_submissions.sql"),
    include_str!("../../migrations/sqlite/0003_expanded_steps.sql"),
    include_str!("../../migrations/sqlite/0004_batches.sql"),
    include_str!("../../migrations/sqlite/0005_runbook_views.sql"),
    include_str!("../../migrations/sqlite/0006_credits_and_events.sql"),
    include_str!("../../migrations/sqlite/0007_triggers_and_policies.sql"),
    include_str!("../../migrations/sqlite/0008_carried_lines.sql"),
    include_str!("../../migrations/sqlite/0009_messages_without_runs.sql"),
];

/// "SWEL": tells our files from other programs' databases.
const APPLICATION_ID: i64 = 0x5357_454C;

/// "SWMV": a file whose contents were taken to another store.
const MOVED_ID: i64 = 0x5357_4D56;

/// What the migrations of this release do, in order.
pub(super) fn ddl() -> String {
    MIGRATIONS.join("\n")
}

/// Runs the migrations that the file has not seen.
///
/// # Errors
/// `Refused` if a newer release, or another program, wrote the file.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    recognize(db, path)?;
    let (version, known) = (schema_version(db)?, known());
    if version > known {
        return Err(StoreError::Refused {
            reason: format!(
                "{} was written by a newer release (schema {version}, this release knows up to \
                 {known}); run that release, or restore a backup made before the upgrade",
                path.display()
            ),
        });
    }
    for (number, migration) in (1_i64..).zip(MIGRATIONS) {
        if number > version {
            run(db, number, migration)?;
        }
    }
    Ok(())
}

/// Refuses a file that has not exactly the schema of this release.
#[cfg(feature = "postgres")]
pub(super) fn check_current(db: &Connection, path: &Path) -> Result<(), StoreError> {
    recognize(db, path)?;
    let (version, known) = (schema_version(db)?, known());
    if version == known {
        return Ok(());
    }
    Err(StoreError::Refused {
        reason: format!(
            "{} has schema {version} and this release {known}; start and stop a server of this release \
             on it first",
            path.display()
        ),
    })
}

/// Marks a file whose contents were taken to another store: nobody opens it by mistake.
#[cfg(feature = "postgres")]
pub(super) fn mark_as_moved(db: &Connection) -> Result<(), StoreError> {
    db.pragma_update(None, "application_id", MOVED_ID)?;
    Ok(())
}

fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Refuses a file that is a database of another program, rather than adding our tables to it.
fn recognize(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let application: i64 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application == MOVED_ID {
        return Err(StoreError::Refused {
            reason: format!(
                "{} was moved to PostgreSQL by `stepwell store move`; start with --store postgres://…, \
                 where its jobs go on. As a last resort, `PRAGMA application_id = {APPLICATION_ID}` in \
                 sqlite3 makes it usable again as it was then",
                path.display()
            ),
        });
    }
    if application == APPLICATION_ID || (application == 0 && tables == 0) {
        return Ok(());
    }
    Err(StoreError::Refused {
        reason: format!("{} is a database of another program; name another file", path.display()),
    })
}

fn schema_version(db: &Connection) -> Result<i64, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn run(db: &mut Connection, number: i64, migration: &str) -> Result<(), StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch(migration)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", number)?;
    tx.commit()?;
    Ok(())
}
