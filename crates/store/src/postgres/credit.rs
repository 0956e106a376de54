//! Accounts of credits and their ledger, written in the transaction of whatever moves them.
//!
//! Whoever moves accounts locks them in the order of their tenants before it locks anything else, and
//! holds them to the end: so what it finds there is true until it has committed, the lines of an account
//! are numbered in their order, and nobody waits for somebody who waits for it.

use stepwell_core::credit::{Credits, Movement, MovementKind};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Bound, Columns, Text, column, limit, text};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{Account, Grant, Granted, LedgerLine};
use crate::rows::CreditRows;

pub(super) const ACCOUNT_LOCK: &str = include_str!("../../sql/postgres/account_lock.sql");
pub(super) const CREDIT_MOVE: &str = include_str!("../../sql/postgres/credit_move.sql");
const ACCOUNT: &str = include_str!("../../sql/postgres/account.sql");
const ACCOUNT_OPEN: &str = include_str!("../../sql/postgres/account_open.sql");
const GRANT_FIND: &str = include_str!("../../sql/postgres/grant_find.sql");
const GRANT_BOOK: &str = include_str!("../../sql/postgres/grant_book.sql");
const LEDGER: &str = include_str!("../../sql/postgres/ledger.sql");
const LEDGER_OF_RUN: &str = include_str!("../../sql/postgres/ledger_of_run.sql");

/// What a connection has prepared that commits movements.
pub(super) const STATEMENTS: [&str; 2] = [ACCOUNT_LOCK, CREDIT_MOVE];

/// A movement of a run.
pub(super) struct RunMovement<'a> {
    pub(super) tenant: &'a str,
    run: RunId,
    at: Timestamp,
    movement: &'a Movement,
}

impl<'a> RunMovement<'a> {
    /// What the decisions on a run move, in order.
    pub(super) fn all_of(rows: &'a CreditRows) -> impl Iterator<Item = Self> {
        let CreditRows { tenant, run, at, movements } = rows;
        let of = |movement| Self { tenant: tenant.as_str(), run: *run, at: *at, movement };
        movements.iter().map(of)
    }
}

/// Movements as they are bound.
pub(super) fn moves<'a>(moves: &'a [RunMovement<'a>]) -> Vec<Bound<'a>> {
    vec![
        column(moves, |it| Text(it.tenant)),
        column(moves, |it| it.run.0),
        column(moves, |it| it.movement.kind.word()),
        column(moves, |it| it.movement.balance.0),
        column(moves, |it| it.movement.reserved.0),
        column(moves, |it| it.movement.spent.0),
        column(moves, |it| it.at.as_millis()),
    ]
}

/// The account of a tenant; all zero if nothing ever moved.
pub(super) async fn account(db: &mut Connection, tenant: &Tenant) -> Result<Account, StoreError> {
    let found = db.query(ACCOUNT, &[&Text(tenant.as_str())]).await?;
    found.first().map_or(Ok(Account::default()), |row| read_account(&mut Columns::of(row)))
}

/// Puts credits into an account, or takes them out. What is not booked leaves nothing behind.
pub(super) async fn grant(db: &mut Connection, grant: &Grant) -> Result<Granted, StoreError> {
    let tenant = Text(grant.tenant.as_str());
    db.batch(BEGIN).await?;
    db.execute(ACCOUNT_OPEN, &[&tenant]).await?;
    let locked = db.query(ACCOUNT_LOCK, &[&vec![Text(grant.tenant.as_str())]]).await?;
    let account = locked.first().map_or(Ok(Account::default()), |row| {
        let mut columns = Columns::of(row);
        let _tenant: &str = columns.take()?;
        read_account(&mut columns)
    })?;
    let key = text(grant.key.as_ref());
    let booked = match &key {
        Some(key) => db.query(GRANT_FIND, &[&tenant, key]).await?,
        None => Vec::new(),
    };
    let booked = booked.first().map(|row| {
        let mut columns = Columns::of(row);
        Ok::<_, StoreError>((Credits(columns.take()?), columns.take()?))
    });
    let granted = grant.judge(account, booked.transpose()?);
    if let Granted::Done(_) = granted {
        let (actor, reason) = (Text(&grant.actor), Text(&grant.reason));
        let (amount, at) = (grant.amount.0, grant.at.as_millis());
        db.execute(GRANT_BOOK, &[&tenant, &amount, &actor, &reason, &key, &at]).await?;
        db.batch(COMMIT).await?;
    } else {
        db.batch("ROLLBACK").await?;
    }
    Ok(granted)
}

/// Lines of the ledger of a tenant, newest first, before a line; of a run only, if named.
pub(super) async fn ledger(
    db: &mut Connection,
    tenant: &Tenant,
    run: Option<RunId>,
    before: Option<i64>,
    rows: usize,
) -> Result<Vec<LedgerLine>, StoreError> {
    let tenant = Text(tenant.as_str());
    let (before, rows) = (before.unwrap_or(i64::MAX), limit(rows));
    let found = match run {
        Some(run) => db.query(LEDGER_OF_RUN, &[&tenant, &before, &rows, &run.0]).await?,
        None => db.query(LEDGER, &[&tenant, &before, &rows]).await?,
    };
    found.iter().map(read_line).collect()
}

fn read_line(row: &Row) -> Result<LedgerLine, StoreError> {
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
fn read_account(columns: &mut Columns<'_>) -> Result<Account, StoreError> {
    Ok(Account {
        balance: Credits(columns.take()?),
        reserved: Credits(columns.take()?),
        spent: Credits(columns.take()?),
    })
}
