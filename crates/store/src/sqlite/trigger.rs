//! Triggers and their firings.

use rusqlite::{Connection, Row, Transaction, params};
use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;

use super::columns::{Columns, limit, millis};
use crate::error::StoreError;
use crate::model::{Firing, FiringOutcome, Trigger, TriggerFilter, TriggerProgress};
use crate::rows::{text, value};

const TRIGGER_PUT: &str = include_str!("../../sql/sqlite/trigger_put.sql");
const TRIGGERS: &str = include_str!("../../sql/sqlite/triggers.sql");
const TRIGGERS_OF_TENANT: &str = include_str!("../../sql/sqlite/triggers_of_tenant.sql");
const TRIGGER_DELETE: &str = include_str!("../../sql/sqlite/trigger_delete.sql");
const TRIGGERS_DUE: &str = include_str!("../../sql/sqlite/triggers_due.sql");
const TRIGGERS_DUE_NEXT: &str = include_str!("../../sql/sqlite/triggers_due_next.sql");
const TRIGGER_PROGRESS: &str = include_str!("../../sql/sqlite/trigger_progress.sql");
const FIRING_PUT: &str = include_str!("../../sql/sqlite/firing_put.sql");
const FIRINGS: &str = include_str!("../../sql/sqlite/firings.sql");
const FIRINGS_BY_OUTCOME: &str = include_str!("../../sql/sqlite/firings_by_outcome.sql");
const FIRING_KNOWN: &str = include_str!("../../sql/sqlite/firing_known.sql");
const FIRINGS_DELETE: &str = include_str!("../../sql/sqlite/firings_delete.sql");

/// Stores a trigger; `false` if it is not at the version before.
pub(super) fn put(tx: &Transaction<'_>, trigger: &Trigger) -> Result<bool, StoreError> {
    let rows = tx.prepare_cached(TRIGGER_PUT)?.execute(params![
        trigger.tenant.as_str(),
        trigger.name,
        trigger.kind.word(),
        trigger.workflow,
        text(&trigger.document),
        trigger.enabled,
        trigger.version,
        millis(trigger.next_at),
        millis(trigger.fired_until),
        trigger.last_error,
        trigger.actor,
        trigger.created_at.as_millis(),
        trigger.updated_at.as_millis(),
    ])?;
    Ok(rows == 1)
}

/// Triggers by tenant and name.
pub(super) fn list(db: &Connection, filter: &TriggerFilter) -> Result<Vec<Trigger>, StoreError> {
    let statement = if filter.tenant.is_some() { TRIGGERS_OF_TENANT } else { TRIGGERS };
    let mut statement = db.prepare_cached(statement)?;
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let kind = filter.kind.map(TriggerKind::word);
    let bound = params![tenant, filter.name, kind, filter.enabled_only];
    statement.query_and_then(bound, read)?.collect()
}

/// Forgets a trigger and its firings; `false` if there is none.
pub(super) fn delete(
    tx: &Transaction<'_>,
    tenant: &Tenant,
    name: &str,
) -> Result<bool, StoreError> {
    tx.prepare_cached(FIRINGS_DELETE)?.execute(params![tenant.as_str(), name])?;
    let rows = tx.prepare_cached(TRIGGER_DELETE)?.execute(params![tenant.as_str(), name])?;
    Ok(rows == 1)
}

/// Enabled triggers whose next moment has come, and the earliest that has not.
pub(super) fn due(
    db: &Connection,
    now: Timestamp,
    rows: usize,
) -> Result<(Vec<Trigger>, Option<Timestamp>), StoreError> {
    let mut statement = db.prepare_cached(TRIGGERS_DUE)?;
    let due = statement
        .query_and_then(params![now.as_millis(), limit(rows)], read)?
        .collect::<Result<_, StoreError>>()?;
    let mut next = db.prepare_cached(TRIGGERS_DUE_NEXT)?;
    let next: Option<i64> = next.query_row([now.as_millis()], |row| row.get(0))?;
    Ok((due, next.map(Timestamp::from_millis)))
}

fn read(row: &Row<'_>) -> Result<Trigger, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Trigger {
        tenant: columns.tenant()?,
        name: columns.take()?,
        kind: columns.word(TriggerKind::of_word)?,
        workflow: columns.take()?,
        document: value("trigger.document", &columns.take::<String>()?)?,
        enabled: columns.take()?,
        version: columns.count()?,
        next_at: columns.moment_if_any()?,
        fired_until: columns.moment_if_any()?,
        last_error: columns.take()?,
        actor: columns.take()?,
        created_at: columns.moment()?,
        updated_at: columns.moment()?,
    })
}

/// Writes what became of triggers; `false` for each that has changed since it was read.
pub(super) fn progress(
    tx: &Transaction<'_>,
    progress: &[TriggerProgress],
) -> Result<Vec<bool>, StoreError> {
    progress.iter().map(|progress| progress_one(tx, progress)).collect()
}

fn progress_one(tx: &Transaction<'_>, progress: &TriggerProgress) -> Result<bool, StoreError> {
    let rows = tx.prepare_cached(TRIGGER_PROGRESS)?.execute(params![
        progress.tenant.as_str(),
        progress.name,
        progress.version,
        millis(progress.next_at),
        millis(progress.fired_until),
        progress.last_error,
    ])?;
    if rows == 0 {
        return Ok(false);
    }
    let mut put = tx.prepare_cached(FIRING_PUT)?;
    for firing in &progress.firings {
        put.execute(params![
            progress.tenant.as_str(),
            progress.name,
            firing.key,
            millis(firing.scheduled_for),
            firing.at.as_millis(),
            firing.run.as_ref().map(super::columns::key),
            firing.outcome.word(),
            firing.reason,
        ])?;
    }
    Ok(true)
}

/// Firings of a trigger, newest first.
pub(super) fn firings(
    db: &Connection,
    tenant: &Tenant,
    trigger: &str,
    outcome: Option<FiringOutcome>,
    rows: usize,
) -> Result<Vec<Firing>, StoreError> {
    let (tenant, rows) = (tenant.as_str(), limit(rows));
    match outcome {
        None => {
            let mut statement = db.prepare_cached(FIRINGS)?;
            statement.query_and_then(params![tenant, trigger, rows], read_firing)?.collect()
        }
        Some(outcome) => {
            let mut statement = db.prepare_cached(FIRINGS_BY_OUTCOME)?;
            let bound = params![tenant, trigger, rows, outcome.word()];
            statement.query_and_then(bound, read_firing)?.collect()
        }
    }
}

fn read_firing(row: &Row<'_>) -> Result<Firing, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Firing {
        tenant: columns.tenant()?,
        trigger: columns.take()?,
        key: columns.take()?,
        scheduled_for: columns.moment_if_any()?,
        at: columns.moment()?,
        run: columns.run_id_if_any()?,
        outcome: columns.word(FiringOutcome::of_word)?,
        reason: columns.take()?,
    })
}

/// Whether firings with these keys are noted.
pub(super) fn known(
    db: &Connection,
    tenant: &Tenant,
    trigger: &str,
    keys: &[String],
) -> Result<Vec<bool>, StoreError> {
    let mut statement = db.prepare_cached(FIRING_KNOWN)?;
    let known = keys.iter().map(|key| statement.exists(params![tenant.as_str(), trigger, key]));
    Ok(known.collect::<Result<_, _>>()?)
}
