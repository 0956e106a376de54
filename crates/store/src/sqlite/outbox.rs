//! Messages to the outside: due ones, and what became of them.

use rusqlite::{Connection, Transaction, params};
use stepwell_core::time::Timestamp;

use super::columns::{Columns, limit};
use super::dead_letter;
use crate::error::StoreError;
use crate::model::{NewMessage, OutboxMessage, OutboxSettlement, Outgoing};

const OUTBOX: &str = include_str!("../../sql/sqlite/outbox.sql");
const OUTBOX_NEXT: &str = include_str!("../../sql/sqlite/outbox_next.sql");
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
            run: columns.run_id()?,
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
            OutboxSettlement::GivenUp { id, letter } => {
                let mut statement = tx.prepare_cached(OUTBOX_DELETE)?;
                let mut deleted = statement.query([id])?;
                if let Some(row) = deleted.next()? {
                    dead_letter::insert(tx, &Columns::of(row).run_id()?, letter)?;
                }
            }
        }
    }
    Ok(())
}
