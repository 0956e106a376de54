//! Accounts of credits and their ledger, written in the transaction of whatever moves them.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use stepwell_core::credit::{Credits, Movement, MovementKind};
use stepwell_core::id::{RunId, Tenant};

use super::columns::{Columns, key, limit};
use crate::error::StoreError;
use crate::model::{Account, Grant, Granted, LedgerLine, Verdict};
use crate::rows::{CreateRows, CreditRows};

const ACCOUNT: &str = include_str!("../../sql/sqlite/account.sql");
const ACCOUNT_MOVE: &str = include_str!("../../sql/sqlite/account_move.sql");
const MOVEMENT_INSERT: &str = include_str!("../../sql/sqlite/movement_insert.sql");
const GRANT_FIND: &str = include_str!("../../sql/sqlite/grant_find.sql");
const LEDGER: &str = include_str!("../../sql/sqlite/ledger.sql");
const LEDGER_OF_RUN: &str = include_str!("../../sql/sqlite/ledger_of_run.sql");
const RUN_EXISTS: &str = include_str!("../../sql/sqlite/run_exists.sql");

/// The account of a tenant; all zero if nothing ever moved.
pub(super) fn account(db: &Connection, tenant: &Tenant) -> Result<Account, StoreError> {
    let mut statement = db.prepare_cached(ACCOUNT)?;
    let mut found = statement.query([tenant.as_str()])?;
    let Some(row) = found.next()? else { return Ok(Account::default()) };
    read_account(&mut Columns::of(row))
}

/// That the account does not cover what a new run sets aside. One that is there already has done so.
pub(super) fn short(
    tx: &Transaction<'_>,
    create: &CreateRows,
) -> Result<Option<Verdict>, StoreError> {
    let Some(wanted) = create.credits.as_ref().and_then(|credits| credits.reservation()) else {
        return Ok(None);
    };
    let Account { balance, .. } = account(tx, &create.header.tenant)?;
    if wanted <= balance || tx.prepare_cached(RUN_EXISTS)?.exists([key(&create.header.id)])? {
        return Ok(None);
    }
    Ok(Some(Verdict::CreditsShort { balance }))
}

/// Writes what a decision moves.
pub(super) fn follow(tx: &Transaction<'_>, rows: Option<&CreditRows>) -> Result<(), StoreError> {
    let Some(CreditRows { tenant, run, at, movements }) = rows else { return Ok(()) };
    for movement in movements {
        book(
            tx,
            &Line {
                tenant,
                run: Some(run),
                movement,
                actor: "",
                reason: "",
                key: None,
                at: at.as_millis(),
            },
        )?;
    }
    Ok(())
}

/// Puts credits into an account, or takes them out.
pub(super) fn grant(tx: &Transaction<'_>, grant: &Grant) -> Result<Granted, StoreError> {
    let Grant { tenant, actor, reason, key, at, .. } = grant;
    let booked = key.as_ref().map(|key| booked_under(tx, tenant, key)).transpose()?.flatten();
    let booked = booked.as_ref().map(|(amount, reason)| (*amount, reason.as_str()));
    let granted = grant.judge(account(tx, tenant)?, booked);
    if let Granted::Done(_) = granted {
        let (movement, key) = (&grant.movement(), key.as_deref());
        book(tx, &Line { tenant, run: None, movement, actor, reason, key, at: at.as_millis() })?;
    }
    Ok(granted)
}

/// What was granted under a key.
fn booked_under(
    tx: &Transaction<'_>,
    tenant: &Tenant,
    key: &str,
) -> Result<Option<(Credits, String)>, StoreError> {
    let mut statement = tx.prepare_cached(GRANT_FIND)?;
    let found = statement
        .query_row([tenant.as_str(), key], |row| Ok((Credits(row.get(0)?), row.get(1)?)))
        .optional()?;
    Ok(found)
}

/// A line of the ledger before it is written.
struct Line<'a> {
    tenant: &'a Tenant,
    run: Option<&'a RunId>,
    movement: &'a Movement,
    actor: &'a str,
    reason: &'a str,
    key: Option<&'a str>,
    at: i64,
}

fn book(tx: &Transaction<'_>, line: &Line<'_>) -> Result<(), StoreError> {
    let Movement { kind, balance, reserved, spent } = line.movement;
    let after = tx
        .prepare_cached(ACCOUNT_MOVE)?
        .query_row(params![line.tenant.as_str(), balance.0, reserved.0, spent.0], |row| {
            Ok(read_account(&mut Columns::of(row)))
        })??;
    tx.prepare_cached(MOVEMENT_INSERT)?.execute(params![
        line.tenant.as_str(),
        line.run.map(key),
        kind.word(),
        balance.0,
        reserved.0,
        spent.0,
        after.balance.0,
        after.reserved.0,
        after.spent.0,
        line.actor,
        line.reason,
        line.key,
        line.at,
    ])?;
    Ok(())
}

/// Lines of the ledger of a tenant, newest first, before a line; of a run only, if named.
pub(super) fn ledger(
    db: &Connection,
    tenant: &Tenant,
    run: Option<RunId>,
    before: Option<i64>,
    rows: usize,
) -> Result<Vec<LedgerLine>, StoreError> {
    let (tenant, before, rows) = (tenant.as_str(), before.unwrap_or(i64::MAX), limit(rows));
    match run {
        Some(run) => db
            .prepare_cached(LEDGER_OF_RUN)?
            .query_and_then(params![tenant, before, rows, key(&run)], read_line)?
            .collect(),
        None => db
            .prepare_cached(LEDGER)?
            .query_and_then(params![tenant, before, rows], read_line)?
            .collect(),
    }
}

fn read_line(row: &Row<'_>) -> Result<LedgerLine, StoreError> {
    let mut columns = Columns::of(row);
    Ok(LedgerLine {
        id: columns.take()?,
        tenant: columns.tenant()?,
        run: columns.run_id_if_any()?,
        movement: Movement {
            kind: columns.word(MovementKind::of_word)?,
            balance: Credits(columns.take()?),
            reserved: Credits(columns.take()?),
            spent: Credits(columns.take()?),
        },
        after: read_account(&mut columns)?,
        actor: columns.take()?,
        reason: columns.take()?,
        at: columns.moment()?,
    })
}

/// An account, from the next three columns.
fn read_account(columns: &mut Columns<'_, '_>) -> Result<Account, StoreError> {
    Ok(Account {
        balance: Credits(columns.take()?),
        reserved: Credits(columns.take()?),
        spent: Credits(columns.take()?),
    })
}
