//! Messages to the outside: due ones, and what became of them.

use std::collections::BTreeMap;

use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Columns, bind, column, limit};
use super::connection::Connection;
use super::dead_letter::{self, AllTold, Letter};
use super::pipeline::Pipeline;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{GivenUp, NewMessage, Origin, OutboxMessage, OutboxSettlement, Outgoing};

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
            OutboxSettlement::GivenUp { id, given_up: why } => given_up.push((*id, &**why)),
        }
    }
    db.prepare(&[BEGIN, OUTBOX_DELETE, OUTBOX_PUT_OFF, OUTBOX_GIVE_UP, COMMIT]).await?;
    db.prepare(&dead_letter::STATEMENTS).await?;
    let mut begun = db.pipeline();
    begun.send(BEGIN, vec![]);
    let letters = take_out(db, &mut begun, &given_up).await?;
    let told = AllTold::of(&letters);
    let mut pipeline = db.pipeline();
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
    dead_letter::send(&mut pipeline, &letters, &told);
    pipeline.send(COMMIT, vec![]);
    db.waits_for(begun.wait()).await?;
    db.waits_for(pipeline.wait()).await
}

/// Takes messages out that are given up, in the order of their settlements. One that belongs to no run is kept
/// in its letter. Only here the server is waited for, because only it knows what is still there.
async fn take_out<'a, 'p>(
    db: &Connection,
    begun: &mut Pipeline<'p>,
    given_up: &[(i64, &'a GivenUp)],
) -> Result<Vec<Letter<'a>>, StoreError> {
    if given_up.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<i64> = given_up.iter().map(|(id, _)| *id).collect();
    let mut origins = BTreeMap::new();
    let taken_out = begun.send(OUTBOX_GIVE_UP, vec![bind(ids)]);
    db.waits_for(begun.wait()).await?;
    for row in begun.rows(Some(taken_out)) {
        let mut columns = Columns::of(row);
        let id: i64 = columns.take()?;
        let run = columns.run_id_if_any()?;
        let origin = Origin {
            run,
            tenant: columns.tenant()?,
            dialect: columns.word(Dialect::of_word)?,
            workflow: columns.take()?,
            message: Some(columns.take()?).filter(|_| run.is_none()),
        };
        origins.insert(id, origin);
    }
    let letters = given_up
        .iter()
        .filter_map(|(id, given_up)| Some(Letter { origin: origins.remove(id)?, given_up }));
    Ok(letters.collect())
}
