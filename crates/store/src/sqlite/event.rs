//! The log of events for others.

use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, Transaction, params};
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;

use super::columns::{Columns, key, limit};
use crate::error::StoreError;
use crate::model::{EventFilter, EventPlace, Events, NewEvent, StoredEvent};

const EVENT_INSERT: &str = include_str!("../../sql/sqlite/event_insert.sql");
const EVENTS: &str = include_str!("../../sql/sqlite/events.sql");
const EVENTS_OF_TENANT: &str = include_str!("../../sql/sqlite/events_of_tenant.sql");
const EVENTS_OF_KIND: &str = include_str!("../../sql/sqlite/events_of_kind.sql");
const EVENTS_OF_RUN: &str = include_str!("../../sql/sqlite/events_of_run.sql");
const EVENT_ENDS: &str = include_str!("../../sql/sqlite/event_ends.sql");
const EVENT_SWEEP: &str = include_str!("../../sql/sqlite/event_sweep.sql");

/// Appends what a decision tells others.
pub(super) fn append(tx: &Transaction<'_>, events: &[NewEvent]) -> Result<(), StoreError> {
    for event in events {
        tx.prepare_cached(EVENT_INSERT)?.execute(params![
            event.tenant.as_str(),
            event.dialect.word(),
            event.run.as_ref().map(key),
            event.kind,
            event.body,
            event.at.as_millis(),
        ])?;
    }
    Ok(())
}

/// Events after a place, oldest first, all as of one moment.
pub(super) fn after(
    db: &Connection,
    filter: &EventFilter,
    after: EventPlace,
    rows: usize,
) -> Result<Events, StoreError> {
    let tx = db.unchecked_transaction()?;
    let mut events = Vec::new();
    for (statement, value) in walks(filter) {
        walk(&tx, statement, value, filter, after, rows, &mut events)?;
    }
    events.sort_unstable_by_key(|event: &StoredEvent| event.place);
    events.truncate(rows);
    let (oldest, newest) = ends(&tx)?;
    let upto = match events.last() {
        Some(last) if events.len() == rows => last.place,
        Some(_) | None => newest.unwrap_or_default().max(after),
    };
    Ok(Events { events, upto, oldest })
}

/// The statements that together find them, each with what it is asked about: an index has the events of
/// one tenant, one run or one kind in their order.
fn walks(filter: &EventFilter) -> Vec<(&'static str, Option<&dyn ToSql>)> {
    if let Some(run) = &filter.run {
        return vec![(EVENTS_OF_RUN, Some(run.0.as_bytes()))];
    }
    if let Some(tenant) = &filter.tenant {
        return vec![(EVENTS_OF_TENANT, Some(&tenant.0))];
    }
    if filter.kinds.is_empty() {
        return vec![(EVENTS, None)];
    }
    filter.kinds.iter().map(|kind| (EVENTS_OF_KIND, Some(kind as &dyn ToSql))).collect()
}

/// One walk, up to as many as are asked for. What no index knows is looked at here, row by row.
fn walk(
    db: &Connection,
    statement: &str,
    value: Option<&dyn ToSql>,
    filter: &EventFilter,
    after: EventPlace,
    rows: usize,
    found: &mut Vec<StoredEvent>,
) -> Result<(), StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let bound: Vec<&dyn ToSql> =
        [Some(&after.0 as &dyn ToSql), value].into_iter().flatten().collect();
    let mut cursor = statement.query(bound.as_slice())?;
    let enough = found.len().saturating_add(rows);
    while found.len() < enough
        && let Some(row) = cursor.next()?
    {
        let event = read(row)?;
        if filter.matches(&event.event) {
            found.push(event);
        }
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<StoredEvent, StoreError> {
    let mut columns = Columns::of(row);
    Ok(StoredEvent {
        place: EventPlace(columns.take()?),
        event: NewEvent {
            tenant: columns.tenant()?,
            dialect: columns.word(Dialect::of_word)?,
            run: columns.run_id_if_any()?,
            kind: columns.take()?,
            body: columns.take()?,
            at: columns.moment()?,
        },
    })
}

/// The oldest and the newest place of the log.
fn ends(db: &Connection) -> Result<(Option<EventPlace>, Option<EventPlace>), StoreError> {
    let mut statement = db.prepare_cached(EVENT_ENDS)?;
    let place = |number: Option<i64>| number.map(EventPlace);
    Ok(statement.query_row([], |row| Ok((place(row.get(0)?), place(row.get(1)?))))?)
}

/// Deletes old events, of so many that were written first.
pub(super) fn sweep(
    tx: &Transaction<'_>,
    before: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    Ok(tx.prepare_cached(EVENT_SWEEP)?.execute(params![before.as_millis(), limit(rows)])?)
}
