//! Station 4, commit: a group of decisions in one transaction, one fsync for all of them.
//!
//! Each run's state, steps, history, messages and counters land together. A run that moved since it
//! was loaded is left out and reported as stale, so that one lost race never costs its neighbors
//! their commit.

use rusqlite::{OptionalExtension, Transaction, params};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;

use super::columns::{Columns, key, lease_key, millis, number};
use super::{batch_write, credit, dead_letter, event, outbox, run_write};
use crate::error::StoreError;
use crate::model::{
    Epoch, GivenUp, Key, KeyHash, KeyHolder, NewMessage, STALE_REPORTS_MAX, StaleReport, Verdict,
};
use crate::rows::{AdvanceRows, CreateRows, GroupRows, ItemRows, Tallies};

const EPOCH: &str = include_str!("../../sql/sqlite/epoch.sql");
const KEY_FIND: &str = include_str!("../../sql/sqlite/key_find.sql");
const KEY_INSERT: &str = include_str!("../../sql/sqlite/key_insert.sql");
const TENANT_OPEN: &str = include_str!("../../sql/sqlite/tenant_open.sql");
const TENANT_BEGIN: &str = include_str!("../../sql/sqlite/tenant_begin.sql");
const TENANT_END: &str = include_str!("../../sql/sqlite/tenant_end.sql");
const RUN_EXISTS: &str = include_str!("../../sql/sqlite/run_exists.sql");
const RUN_RESCHEDULE: &str = include_str!("../../sql/sqlite/run_reschedule.sql");
const STALE_REPORT_INSERT: &str = include_str!("../../sql/sqlite/stale_report_insert.sql");

/// Writes a group inside a transaction that has begun, and answers for each item in order.
///
/// # Errors
/// `Fenced` if the caller's epoch has passed: then nothing was written, and the transaction may go
/// on with another group. After any other error it must be rolled back.
pub(super) fn write(tx: &Transaction<'_>, group: &GroupRows) -> Result<Vec<Verdict>, StoreError> {
    fence(tx, group.epoch)?;
    let mut verdicts = Vec::with_capacity(group.items.len());
    let mut tallies = Tallies::default();
    for item in &group.items {
        let verdict = write_item(tx, item)?;
        if verdict == Verdict::Done {
            tallies.add_item(item);
        }
        verdicts.push(verdict);
    }
    batch_write::move_counters(tx, &tallies)?;
    Ok(verdicts)
}

fn fence(tx: &Transaction<'_>, mine: Epoch) -> Result<(), StoreError> {
    let current = tx.prepare_cached(EPOCH)?.query_row([], |row| row.get::<_, i64>(0))?;
    if number(mine.0) == current {
        return Ok(());
    }
    Err(StoreError::Fenced { mine: mine.0, current: current.unsigned_abs() })
}

fn write_item(tx: &Transaction<'_>, item: &ItemRows) -> Result<Verdict, StoreError> {
    match item {
        ItemRows::Create(create) => write_single_create(tx, create),
        ItemRows::Advance(advance) => write_advance(tx, advance),
        ItemRows::Reschedule { run, version, wake_at } => reschedule(tx, run, *version, *wake_at),
        ItemRows::Audit(report) => audit(tx, report),
        // Every run is this process's own, so there is nobody to forward to.
        ItemRows::Forward(_) => Ok(Verdict::Stale),
        ItemRows::Batch(write) => batch_write::write(tx, write),
    }
}

fn write_single_create(tx: &Transaction<'_>, create: &CreateRows) -> Result<Verdict, StoreError> {
    if let Some(workflow) = &create.workflow {
        batch_write::note_spec(tx, workflow)?;
    }
    let hindrance = match hindrance(tx, create)? {
        None => credit::short(tx, create)?,
        found => found,
    };
    hindrance.map_or_else(|| begin(tx, create), Ok)
}

/// Writes a run that begins with a batch, if its key and its tenant let it.
pub(super) fn write_create(
    tx: &Transaction<'_>,
    create: &CreateRows,
) -> Result<Verdict, StoreError> {
    hindrance(tx, create)?.map_or_else(|| begin(tx, create), Ok)
}

/// Why a run cannot begin.
fn hindrance(tx: &Transaction<'_>, create: &CreateRows) -> Result<Option<Verdict>, StoreError> {
    let tenant = &create.header.tenant;
    // The key goes first: a repeated request gets its answer even from a tenant that is full.
    if let Some(wanted) = &create.key
        && let Some(holder) = key_holder(tx, tenant, &wanted.hash)?
    {
        return Ok(Some(Verdict::Duplicate(holder)));
    }
    if let Some(cap) = create.tenant_cap
        && create.was_asked_for()
        && !create.state.status.is_terminal()
    {
        let open = open_runs(tx, tenant)?;
        if open >= cap {
            return Ok(Some(Verdict::TenantFull { open }));
        }
    }
    Ok(None)
}

fn begin(tx: &Transaction<'_>, create: &CreateRows) -> Result<Verdict, StoreError> {
    Ok(if insert_run(tx, create)? { Verdict::Done } else { Verdict::Stale })
}

/// Inserts a run with all that belongs to it; `false` if the run exists.
fn insert_run(tx: &Transaction<'_>, create: &CreateRows) -> Result<bool, StoreError> {
    let run = &create.header.id;
    if !run_write::insert(tx, create)? {
        return Ok(false);
    }
    if let Some(taken) = &create.key {
        take_key(tx, create, taken)?;
    }
    if create.is_numbered() {
        batch_write::number_run(tx, &create.header)?;
    }
    if !create.state.status.is_terminal() {
        count_run(tx, TENANT_BEGIN, &create.header.tenant, create.was_asked_for())?;
    }
    credit::follow(tx, create.credits.as_deref())?;
    event::append(tx, &create.events)?;
    write_followers(tx, run, &create.outbox, create.dead_letter.as_deref())?;
    insert_children(tx, &create.children)?;
    Ok(true)
}

/// Inserts the runs that a decision created, with the decision or not at all.
///
/// The cap is not asked: a compensation must run, however busy its tenant is.
fn insert_children(tx: &Transaction<'_>, children: &[CreateRows]) -> Result<(), StoreError> {
    for child in children {
        if !insert_run(tx, child)? {
            let id = child.header.id;
            return Err(StoreError::broken(format!("run {id} was to be created, but exists")));
        }
    }
    Ok(())
}

fn write_advance(tx: &Transaction<'_>, advance: &AdvanceRows) -> Result<Verdict, StoreError> {
    if !run_write::advance(tx, advance)? {
        let Some(before) = run_write::before(tx, &advance.run, advance.from_version)? else {
            return Ok(Verdict::Stale);
        };
        run_write::move_run(tx, advance, &before)?;
        if !before.ended && advance.state.status.is_terminal() {
            count_run(tx, TENANT_END, &before.tenant, !before.is_compensation)?;
        }
    }
    if let Some(new) = &advance.header {
        batch_write::note_spec(tx, &new.workflow)?;
        run_write::replace_header(tx, new)?;
    }
    for step in &advance.steps {
        run_write::write_step(tx, &advance.run, step)?;
    }
    for record in &advance.records {
        run_write::append_history(tx, &advance.run, record)?;
    }
    credit::follow(tx, advance.credits.as_deref())?;
    event::append(tx, &advance.events)?;
    write_followers(tx, &advance.run, &advance.outbox, advance.dead_letter.as_deref())?;
    insert_children(tx, &advance.children)?;
    Ok(Verdict::Done)
}

/// Writes what follows a decision beside its run: messages to the outside, and a dead letter.
fn write_followers(
    tx: &Transaction<'_>,
    run: &RunId,
    outbox: &[NewMessage],
    given_up: Option<&GivenUp>,
) -> Result<(), StoreError> {
    outbox::promise(tx, Some(run), None, outbox)?;
    let Some(given_up) = given_up else { return Ok(()) };
    dead_letter::give_up(tx, &dead_letter::origin(tx, run)?, given_up)
}

fn reschedule(
    tx: &Transaction<'_>,
    run: &RunId,
    version: u64,
    wake_at: Option<Timestamp>,
) -> Result<Verdict, StoreError> {
    let rows = tx.prepare_cached(RUN_RESCHEDULE)?.execute(params![
        millis(wake_at),
        key(run),
        number(version)
    ])?;
    Ok(if rows == 0 { Verdict::Stale } else { Verdict::Done })
}

fn audit(tx: &Transaction<'_>, report: &StaleReport) -> Result<Verdict, StoreError> {
    if !tx.prepare_cached(RUN_EXISTS)?.exists([key(&report.run)])? {
        return Ok(Verdict::Stale);
    }
    tx.prepare_cached(STALE_REPORT_INSERT)?.execute(params![
        key(&report.run),
        report.step,
        report.kind,
        report.attempt,
        lease_key(&report.lease),
        report.reason,
        report.at.as_millis(),
        super::columns::limit(STALE_REPORTS_MAX),
    ])?;
    Ok(Verdict::Done)
}

fn take_key(tx: &Transaction<'_>, create: &CreateRows, taken: &Key) -> Result<(), StoreError> {
    tx.prepare_cached(KEY_INSERT)?.execute(params![
        create.header.tenant.as_str(),
        taken.hash,
        key(&create.header.id),
        taken.request_hash,
        create.header.created_at.as_millis(),
    ])?;
    Ok(())
}

/// Who holds an idempotency key.
pub(super) fn key_holder(
    db: &rusqlite::Connection,
    tenant: &Tenant,
    hash: &KeyHash,
) -> Result<Option<KeyHolder>, StoreError> {
    let mut statement = db.prepare_cached(KEY_FIND)?;
    let mut rows = statement.query(params![tenant.as_str(), hash])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    Ok(Some(KeyHolder {
        run: columns.run_id()?,
        request_hash: columns.take()?,
        created_at: columns.moment()?,
    }))
}

fn open_runs(tx: &Transaction<'_>, tenant: &Tenant) -> Result<u32, StoreError> {
    let open: Option<u32> = tx
        .prepare_cached(TENANT_OPEN)?
        .query_row([tenant.as_str()], |row| row.get(0))
        .optional()?;
    Ok(open.unwrap_or(0))
}

/// Counts a run that begins or ends among the open ones of its tenant.
fn count_run(
    tx: &Transaction<'_>,
    statement: &str,
    tenant: &Tenant,
    was_asked_for: bool,
) -> Result<(), StoreError> {
    let (open, compensations) = if was_asked_for { (1, 0) } else { (0, 1) };
    tx.prepare_cached(statement)?.execute(params![tenant.as_str(), open, compensations])?;
    Ok(())
}
