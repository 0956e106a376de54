//! Runbooks: their versions, whether they make batches by themselves, and which keys they have seen.

use std::collections::BTreeSet;

use rusqlite::{Connection, Params, Row, Transaction, params};
use stepwell_core::time::Timestamp;

use super::columns::Columns;
use crate::error::StoreError;
use crate::model::{Automation, NewRunbook, RunbookDocument};
use crate::rows::{overdue_of_word, overdue_word};

const VERSION: &str = include_str!("../../sql/sqlite/runbook_version.sql");
const ACTIVE: &str = include_str!("../../sql/sqlite/runbook_active.sql");
const VERSIONS: &str = include_str!("../../sql/sqlite/runbook_versions.sql");
const ALL_ACTIVE: &str = include_str!("../../sql/sqlite/runbooks.sql");
const INSERT: &str = include_str!("../../sql/sqlite/runbook_insert.sql");
const RETIRE: &str = include_str!("../../sql/sqlite/runbook_retire.sql");
const DEACTIVATE: &str = include_str!("../../sql/sqlite/runbook_deactivate.sql");
const NOTE: &str = include_str!("../../sql/sqlite/runbook_note.sql");
const OVERDUE_APPLIED: &str = include_str!("../../sql/sqlite/runbook_overdue_applied.sql");
const AUTOMATION: &str = include_str!("../../sql/sqlite/automation.sql");
const AUTOMATION_ENABLE: &str = include_str!("../../sql/sqlite/automation_enable.sql");
const AUTOMATION_DISABLE: &str = include_str!("../../sql/sqlite/automation_disable.sql");
const SEEN_KEYS: &str = include_str!("../../sql/sqlite/seen_keys.sql");
const SEEN_KEY_FORGET: &str = include_str!("../../sql/sqlite/seen_key_forget.sql");
const SEEN_KEY_NOTE: &str = include_str!("../../sql/sqlite/seen_key_note.sql");

/// Stores the next version and makes it the active one; what the active version already says is not
/// stored again.
pub(super) fn publish(
    tx: &Transaction<'_>,
    document: NewRunbook,
) -> Result<RunbookDocument, StoreError> {
    if let Some(active) = find(tx, &document.name, None)?.filter(|it| document.is_as(it)) {
        return Ok(active);
    }
    tx.prepare_cached(RETIRE)?.execute([&document.name])?;
    let mut statement = tx.prepare_cached(INSERT)?;
    let bound = params![
        document.name,
        document.source,
        overdue_word(document.overdue),
        document.rerun_init,
        document.created_at.as_millis(),
        document.created_by,
    ];
    let (id, version) = statement.query_row(bound, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(document.with_version(id, version))
}

/// One version, or the active one.
pub(super) fn find(
    db: &Connection,
    name: &str,
    version: Option<u32>,
) -> Result<Option<RunbookDocument>, StoreError> {
    let mut found = match version {
        Some(version) => read_all(db, VERSION, params![name, version])?,
        None => read_all(db, ACTIVE, [name])?,
    };
    Ok(found.pop())
}

/// Every version of one, newest first; or the active versions of all, by name.
pub(super) fn list(
    db: &Connection,
    name: Option<&str>,
) -> Result<Vec<RunbookDocument>, StoreError> {
    match name {
        Some(name) => read_all(db, VERSIONS, [name]),
        None => read_all(db, ALL_ACTIVE, []),
    }
}

/// Takes a version out of use; `false` if there is none such.
pub(super) fn deactivate(
    tx: &Transaction<'_>,
    name: &str,
    version: u32,
) -> Result<bool, StoreError> {
    Ok(tx.prepare_cached(DEACTIVATE)?.execute(params![name, version])? == 1)
}

/// Notes how the last pass over a version ended.
pub(super) fn note(
    tx: &Transaction<'_>,
    id: i64,
    error: Option<&str>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let at = error.map(|_| at.as_millis());
    tx.prepare_cached(NOTE)?.execute(params![id, error, at])?;
    Ok(())
}

/// Notes that what was past due was passed over.
pub(super) fn overdue_applied(tx: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    tx.prepare_cached(OVERDUE_APPLIED)?.execute([id])?;
    Ok(())
}

/// Whether batches are made of a runbook; `None` if nobody ever said.
pub(super) fn automation(db: &Connection, runbook: &str) -> Result<Option<Automation>, StoreError> {
    let mut statement = db.prepare_cached(AUTOMATION)?;
    let mut found = statement.query([runbook])?;
    found.next()?.map(read_automation).transpose()
}

/// Switches that.
pub(super) fn set_automation(
    tx: &Transaction<'_>,
    runbook: &str,
    enabled: bool,
    actor: &str,
    at: Timestamp,
) -> Result<Automation, StoreError> {
    let statement = if enabled { AUTOMATION_ENABLE } else { AUTOMATION_DISABLE };
    let bound = params![runbook, at.as_millis(), actor];
    tx.prepare_cached(statement)?.query_row(bound, |row| Ok(read_automation(row)))?
}

/// Forgets the keys that are absent; answers those present that were known.
pub(super) fn seen_keys(
    tx: &Transaction<'_>,
    runbook: &str,
    present: Vec<String>,
) -> Result<Vec<String>, StoreError> {
    let mut statement = tx.prepare_cached(SEEN_KEYS)?;
    let seen: BTreeSet<String> =
        statement.query_map([runbook], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let wanted: BTreeSet<&str> = present.iter().map(String::as_str).collect();
    let mut statement = tx.prepare_cached(SEEN_KEY_FORGET)?;
    for absent in seen.iter().filter(|key| !wanted.contains(key.as_str())) {
        statement.execute([runbook, absent])?;
    }
    Ok(present.into_iter().filter(|key| seen.contains(key)).collect())
}

/// Notes keys that were made members.
pub(super) fn note_keys(
    tx: &Transaction<'_>,
    runbook: &str,
    keys: &[String],
) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(SEEN_KEY_NOTE)?;
    for key in keys {
        statement.execute([runbook, key])?;
    }
    Ok(())
}

fn read_all(
    db: &Connection,
    statement: &str,
    bound: impl Params,
) -> Result<Vec<RunbookDocument>, StoreError> {
    db.prepare_cached(statement)?.query_and_then(bound, read)?.collect()
}

fn read(row: &Row<'_>) -> Result<RunbookDocument, StoreError> {
    let mut columns = Columns::of(row);
    Ok(RunbookDocument {
        id: columns.take()?,
        name: columns.take()?,
        version: columns.count()?,
        source: columns.take()?,
        is_active: columns.take()?,
        overdue: columns.word(overdue_of_word)?,
        overdue_applied: columns.take()?,
        rerun_init: columns.take()?,
        created_at: columns.moment()?,
        created_by: columns.take()?,
        last_error: columns.take()?,
        last_error_at: columns.moment_if_any()?,
    })
}

fn read_automation(row: &Row<'_>) -> Result<Automation, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Automation {
        runbook: columns.take()?,
        enabled: columns.take()?,
        enabled_at: columns.moment_if_any()?,
        enabled_by: columns.take()?,
        disabled_at: columns.moment_if_any()?,
        disabled_by: columns.take()?,
    })
}
