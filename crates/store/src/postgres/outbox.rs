//! Messages to the outside: due ones, and what became of them.

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Bound, Columns, Text, bind, column, limit, text};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{NewDeadLetter, NewMessage, OutboxMessage, OutboxSettlement, Outgoing};

const OUTBOX: &str = include_str!("../../sql/postgres/outbox.sql");
const OUTBOX_NEXT: &str = include_str!("../../sql/postgres/outbox_next.sql");
const OUTBOX_DELETE: &str = include_str!("../../sql/postgres/outbox_delete.sql");
const OUTBOX_PUT_OFF: &str = include_str!("../../sql/postgres/outbox_put_off.sql");
const OUTBOX_GIVE_UP: &str = include_str!("../../sql/postgres/outbox_give_up.sql");

/// Messages that are due, oldest first, kept from other instances for a while.
pub(super) async fn due(
    db: &mut Connection,
    now: Timestamp,
    keep: Interval,
    rows: usize,
) -> Result<Outgoing, StoreError> {
    db.prepare(&[OUTBOX, OUTBOX_NEXT]).await?;
    let (now_ms, until_ms) = (now.as_millis(), now.after(keep).as_millis());
    let mut pipeline = db.pipeline();
    // Before this instance keeps some: what it has now is not what it waits for.
    let next = pipeline.send(OUTBOX_NEXT, vec![bind(now_ms)]);
    let due = pipeline.send(OUTBOX, vec![bind(now_ms), bind(until_ms), bind(limit(rows))]);
    db.waits_for(pipeline.wait()).await?;
    let next = pipeline.rows(Some(next)).first();
    let next = next.map(|row| Columns::of(row).moment_if_any()).transpose()?.flatten();
    let mut due =
        pipeline.rows(Some(due)).iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    due.sort_unstable_by_key(|message| (message.message.due_at, message.id));
    Ok(Outgoing { due, next })
}

fn read(row: &Row) -> Result<OutboxMessage, StoreError> {
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
}

/// Strikes messages off, puts them off, or gives them up. One that is gone already is passed over.
pub(super) async fn settle(
    db: &mut Connection,
    settlements: &[OutboxSettlement],
) -> Result<(), StoreError> {
    let (mut sent, mut put_off, mut given_up) = (Vec::new(), Vec::new(), Vec::new());
    for settlement in settlements {
        match settlement {
            OutboxSettlement::Sent { id } => sent.push(*id),
            OutboxSettlement::PutOff { id, due_at } => put_off.push((*id, *due_at)),
            OutboxSettlement::GivenUp { id, letter } => given_up.push((*id, letter)),
        }
    }
    db.prepare(&[BEGIN, OUTBOX_DELETE, OUTBOX_PUT_OFF, OUTBOX_GIVE_UP, COMMIT]).await?;
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    if !sent.is_empty() {
        pipeline.send(OUTBOX_DELETE, vec![bind(sent)]);
    }
    if !put_off.is_empty() {
        let bound = vec![
            column(&put_off, |(id, _)| *id),
            column(&put_off, |(_, due_at)| due_at.as_millis()),
        ];
        pipeline.send(OUTBOX_PUT_OFF, bound);
    }
    if !given_up.is_empty() {
        pipeline.send(OUTBOX_GIVE_UP, letters(&given_up));
    }
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await
}

/// What is given up, each with its letter.
fn letters<'a>(given_up: &'a [(i64, &'a NewDeadLetter)]) -> Vec<Bound<'a>> {
    vec![
        column(given_up, |(id, _)| *id),
        column(given_up, |(_, letter)| Text(&letter.reason)),
        column(given_up, |(_, letter)| text(letter.step.as_ref())),
        column(given_up, |(_, letter)| Text(&letter.error.code)),
        column(given_up, |(_, letter)| Text(&letter.error.message)),
        column(given_up, |(_, letter)| letter.at.as_millis()),
    ]
}
