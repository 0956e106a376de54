//! Messages to the outside: due ones, and what became of them.

use rusqlite::{Connection, Transaction, params};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;

use super::columns::{Columns, key, limit};
use super::dead_letter;
use crate::error::StoreError;
use crate::model::{NewMessage, Origin, OutboxMessage, OutboxSettlement, Outgoing};

const OUTBOX: &str = include_str!("../../sql/sqlite/outbox.sql");
const OUTBOX_NEXT: &str = include_str!("../../sql/sqlite/outbox_next.sql");
const OUTBOX_INSERT: &str = include_str!("../../sql/sqlite/outbox_insert.sql");
const OUTBOX_DELETE: &str = include_str!("../../sql/sqlite/outbox_delete.sql");
const OUTBOX_PUT_OFF: &str = include_str!("../../sql/sqlite/outbox_put_off.sql");

/// Messages that are due, oldest first.
pub(super) fn due(db: &Connection, now: Timestamp, rows: usize) -> Result<Outgoing, StoreError> {
    let next: Option<i64> =
        db.prepare_cached(OUTBOX_NEXT)?.query_row([now.as_millis()], |row| row.get(0))?;
    let mut statement = db.prepare_cached(OUTBOX)?;
    let found = statement.query_and_then(params![now.as_millis(), limit(rows)], |row| {
        let mut columns = Columns::of(row);
        Ok(OutboxMessage {
            id: columns.take()?,
            run: columns.run_id_if_any()?,
            tenant: columns.tenant()?,
            dialect: columns.word(Dialect::of_word)?,
            tries: columns.count()?,
            message: NewMessage {
                kind: columns.take()?,
                destination: columns.take()?,
                body: columns.take()?,
                due_at: columns.moment()?,
            },
        })
    })?;
    let due = found.collect::<Result<_, StoreError>>()?;
    Ok(Outgoing { due, next: next.map(Timestamp::from_millis) })
}

/// Strikes messages off, puts them off, or gives them up. One that is gone already is passed over.
pub(super) fn settle(
    tx: &Transaction<'_>,
    settlements: &[OutboxSettlement],
) -> Result<(), StoreError> {
    for settlement in settlements {
        match settlement {
            OutboxSettlement::Sent { id } => {
                tx.prepare_cached(OUTBOX_DELETE)?.query([id])?.next()?;
            }
            OutboxSettlement::PutOff { id, due_at } => {
                tx.prepare_cached(OUTBOX_PUT_OFF)?.execute(params![due_at.as_millis(), id])?;
            }
            OutboxSettlement::GivenUp { id, given_up } => {
                if let Some(origin) = take_out(tx, *id)? {
                    dead_letter::give_up(tx, &origin, given_up)?;
                }
            }
        }
    }
    Ok(())
}

/// Takes a message out that is given up; says whose it was. Without a run, the letter keeps what it said.
fn take_out(tx: &Transaction<'_>, id: i64) -> Result<Option<Origin>, StoreError> {
    let mut statement = tx.prepare_cached(OUTBOX_DELETE)?;
    let mut deleted = statement.query([id])?;
    let Some(row) = deleted.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    if let Some(run) = columns.run_id_if_any()? {
        return dead_letter::origin(tx, &run).map(Some);
    }
    Ok(Some(Origin {
        run: None,
        tenant: columns.tenant()?,
        dialect: columns.word(Dialect::of_word)?,
        message: columns.take()?,
        workflow: String::new(),
    }))
}

/// Promises messages to the outside: of a run, or else of a tenant in a dialect.
pub(super) fn promise(
    tx: &Transaction<'_>,
    run: Option<&RunId>,
    unless_of_run: Option<(&Tenant, Dialect)>,
    messages: &[NewMessage],
) -> Result<(), StoreError> {
    for message in messages {
        tx.prepare_cached(OUTBOX_INSERT)?.execute(params![
            run.map(key),
            unless_of_run.map(|(tenant, _)| tenant.as_str()),
            unless_of_run.map(|(_, dialect)| dialect.word()),
            message.kind,
            message.destination,
            message.body,
            message.due_at.as_millis(),
        ])?;
    }
    Ok(())
}
