//! Runbooks as they were published, and what the scheduler knows about each.

use std::collections::HashSet;

use stepwell_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Columns, Text, bind, column, millis, small, text};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{Automation, NewRunbook, RunbookDocument};
use crate::rows::{overdue_of_word, overdue_word};

const RUNBOOK_LOCK: &str = include_str!("../../sql/postgres/runbook_lock.sql");
const RUNBOOK_ACTIVE: &str = include_str!("../../sql/postgres/runbook_active.sql");
const RUNBOOK_VERSION: &str = include_str!("../../sql/postgres/runbook_version.sql");
const RUNBOOK_VERSIONS: &str = include_str!("../../sql/postgres/runbook_versions.sql");
const RUNBOOKS: &str = include_str!("../../sql/postgres/runbooks.sql");
const RUNBOOK_RETIRE: &str = include_str!("../../sql/postgres/runbook_retire.sql");
const RUNBOOK_INSERT: &str = include_str!("../../sql/postgres/runbook_insert.sql");
const RUNBOOK_DEACTIVATE: &str = include_str!("../../sql/postgres/runbook_deactivate.sql");
const RUNBOOK_NOTE: &str = include_str!("../../sql/postgres/runbook_note.sql");
const RUNBOOK_OVERDUE_APPLIED: &str =
    include_str!("../../sql/postgres/runbook_overdue_applied.sql");
const AUTOMATION: &str = include_str!("../../sql/postgres/automation.sql");
const AUTOMATION_SET: &str = include_str!("../../sql/postgres/automation_set.sql");
const SEEN_KEYS: &str = include_str!("../../sql/postgres/seen_keys.sql");
const SEEN_KEYS_FORGET: &str = include_str!("../../sql/postgres/seen_keys_forget.sql");
const SEEN_KEYS_NOTE: &str = include_str!("../../sql/postgres/seen_keys_note.sql");

/// Stores the next version and makes it the active one, unless the active one is the same.
pub(super) async fn publish(
    db: &mut Connection,
    document: NewRunbook,
) -> Result<RunbookDocument, StoreError> {
    let name = Text(&document.name);
    db.batch(BEGIN).await?;
    db.query(RUNBOOK_LOCK, &[&name]).await?;
    let active = one(db, RUNBOOK_ACTIVE, &[&name]).await?;
    if let Some(active) = active.filter(|active| document.is_as(active)) {
        db.batch(COMMIT).await?;
        return Ok(active);
    }
    db.execute(RUNBOOK_RETIRE, &[&name]).await?;
    let bound: [&(dyn ToSql + Sync); 6] = [
        &name,
        &Text(&document.source),
        &overdue_word(document.overdue),
        &document.rerun_init,
        &document.created_at.as_millis(),
        &Text(&document.created_by),
    ];
    let stored = one(db, RUNBOOK_INSERT, &bound).await?;
    db.batch(COMMIT).await?;
    stored.ok_or_else(|| StoreError::broken("a version that was stored was not answered"))
}

/// One version of a runbook, or the active one.
pub(super) async fn find(
    db: &mut Connection,
    name: &str,
    version: Option<u32>,
) -> Result<Option<RunbookDocument>, StoreError> {
    match version {
        Some(version) => one(db, RUNBOOK_VERSION, &[&Text(name), &small(version)]).await,
        None => one(db, RUNBOOK_ACTIVE, &[&Text(name)]).await,
    }
}

/// Every version of a runbook, newest first; of `None`, the active versions of all, by name.
pub(super) async fn list(
    db: &mut Connection,
    name: Option<&str>,
) -> Result<Vec<RunbookDocument>, StoreError> {
    let found = match name {
        Some(name) => db.query(RUNBOOK_VERSIONS, &[&Text(name)]).await?,
        None => db.query(RUNBOOKS, &[]).await?,
    };
    found.iter().map(read).collect()
}

/// Takes a version out of use; `false` if there is none such.
pub(super) async fn deactivate(
    db: &mut Connection,
    name: &str,
    version: u32,
) -> Result<bool, StoreError> {
    Ok(db.execute(RUNBOOK_DEACTIVATE, &[&Text(name), &small(version)]).await? > 0)
}

/// Notes how the scheduler's last pass over a version ended.
pub(super) async fn note(
    db: &mut Connection,
    id: i64,
    error: Option<&str>,
    at: Timestamp,
) -> Result<(), StoreError> {
    let at = millis(error.map(|_| at));
    db.execute(RUNBOOK_NOTE, &[&id, &text(error), &at]).await?;
    Ok(())
}

/// Notes that what was past due was passed over in every batch under way.
pub(super) async fn overdue_applied(db: &mut Connection, id: i64) -> Result<(), StoreError> {
    db.execute(RUNBOOK_OVERDUE_APPLIED, &[&id]).await?;
    Ok(())
}

/// Whether the scheduler makes batches of a runbook.
pub(super) async fn automation(
    db: &mut Connection,
    runbook: &str,
) -> Result<Option<Automation>, StoreError> {
    let found = db.query(AUTOMATION, &[&Text(runbook)]).await?;
    found.first().map(read_automation).transpose()
}

/// Switches that.
pub(super) async fn set_automation(
    db: &mut Connection,
    runbook: &str,
    enabled: bool,
    actor: &str,
    at: Timestamp,
) -> Result<Automation, StoreError> {
    let bound: [&(dyn ToSql + Sync); 4] = [&Text(runbook), &enabled, &Text(actor), &at.as_millis()];
    let stored = db.query(AUTOMATION_SET, &bound).await?;
    let row = stored.first().ok_or_else(|| StoreError::broken("a switch was not answered"))?;
    read_automation(row)
}

/// Which of the keys that are present a runbook knew before; those that are absent are forgotten.
pub(super) async fn seen_keys(
    db: &mut Connection,
    runbook: &str,
    present: &[String],
) -> Result<Vec<String>, StoreError> {
    db.prepare(&[BEGIN, SEEN_KEYS_FORGET, SEEN_KEYS, COMMIT]).await?;
    let bound = || vec![bind(Text(runbook)), column(present, |key| Text(key))];
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    pipeline.send(SEEN_KEYS_FORGET, bound());
    let known = pipeline.send(SEEN_KEYS, bound());
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await?;
    let known = pipeline.rows(Some(known)).iter().map(|row| Columns::of(row).take());
    let known = known.collect::<Result<HashSet<&str>, StoreError>>()?;
    Ok(present.iter().filter(|key| known.contains(key.as_str())).cloned().collect())
}

/// Notes keys that a runbook has made members of.
pub(super) async fn note_keys(
    db: &mut Connection,
    runbook: &str,
    keys: &[String],
) -> Result<(), StoreError> {
    let keys: Vec<Text<'_>> = keys.iter().map(|key| Text(key)).collect();
    db.execute(SEEN_KEYS_NOTE, &[&Text(runbook), &keys]).await?;
    Ok(())
}

async fn one(
    db: &mut Connection,
    statement: &'static str,
    bound: &[&(dyn ToSql + Sync)],
) -> Result<Option<RunbookDocument>, StoreError> {
    db.query(statement, bound).await?.first().map(read).transpose()
}

fn read(row: &Row) -> Result<RunbookDocument, StoreError> {
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

fn read_automation(row: &Row) -> Result<Automation, StoreError> {
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
