//! The log of events for others.
//!
//! Places are numbers of a sequence, given while a transaction runs; transactions end in another order.
//! So a reader may see a place while a lower one is still to come. To make writers wait for each other
//! would put every commit of every instance in one row for the disk; to order by transaction would make
//! places depend on a counter of the server, which starts anew when the database moves to another one.
//! Instead, each writer marks from which place on it writes, with a lock that nobody waits for and that
//! goes when its rows can be seen; and a reader looks no further than the lowest mark.

use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{Bound, Columns, Text, column, limit};
use super::connection::Connection;
use super::run_write::Of;
use crate::error::StoreError;
use crate::model::{EventFilter, EventPlace, Events, NewEvent, StoredEvent};

pub(super) const EVENT_ENTER: &str = include_str!("../../sql/postgres/event_enter.sql");
pub(super) const EVENT_INSERT: &str = include_str!("../../sql/postgres/event_insert.sql");
const EVENT_GIVEN: &str = include_str!("../../sql/postgres/event_given.sql");
const EVENT_WRITERS: &str = include_str!("../../sql/postgres/event_writers.sql");
const EVENTS: &str = include_str!("../../sql/postgres/events.sql");
const EVENT_OLDEST: &str = include_str!("../../sql/postgres/event_oldest.sql");
const EVENT_SWEEP: &str = include_str!("../../sql/postgres/event_sweep.sql");

/// What a connection has prepared that commits events.
pub(super) const STATEMENTS: [&str; 2] = [EVENT_ENTER, EVENT_INSERT];

/// Marks say the lower 31 bits of a place.
const MARKS: i64 = 1 << 31;

/// What decisions tell others, as it is bound.
pub(super) fn events<'a>(events: &'a [Of<'a, NewEvent>]) -> Vec<Bound<'a>> {
    vec![
        column(events, |it| it.run.0),
        column(events, |it| Text(it.row.tenant.as_str())),
        column(events, |it| it.row.dialect.word()),
        column(events, |it| it.row.run.map(|run| run.0)),
        column(events, |it| Text(&it.row.kind)),
        column(events, |it| Text(&it.row.body)),
        column(events, |it| it.row.at.as_millis()),
    ]
}

/// Events after a place, oldest first: no lower place becomes visible later.
pub(super) async fn after(
    db: &mut Connection,
    filter: &EventFilter,
    after: EventPlace,
    rows: usize,
) -> Result<Events, StoreError> {
    let horizon = horizon(db).await?;
    let mut events = Vec::new();
    for kind in kinds(filter) {
        events.extend(walk(db, filter, kind, after, horizon, rows).await?);
    }
    events.sort_unstable_by_key(|event| event.place);
    events.truncate(rows);
    let upto = match events.last() {
        Some(last) if events.len() == rows => last.place,
        Some(_) | None => horizon.max(after),
    };
    let oldest = db.query(EVENT_OLDEST, &[]).await?;
    let oldest = oldest.first().map(|row| Columns::of(row).take().map(EventPlace)).transpose()?;
    Ok(Events { events, upto, oldest: oldest.filter(|oldest| *oldest <= horizon) })
}

/// The place up to which a statement that comes after sees everything.
async fn horizon(db: &mut Connection) -> Result<EventPlace, StoreError> {
    db.prepare(&[EVENT_GIVEN, EVENT_WRITERS]).await?;
    let mut pipeline = db.pipeline();
    let given = pipeline.send(EVENT_GIVEN, vec![]);
    let writers = pipeline.send(EVENT_WRITERS, vec![]);
    db.waits_for(pipeline.wait()).await?;
    let given = pipeline.rows(Some(given)).first();
    let given: i64 = given.map_or(Ok(0), |row| Columns::of(row).take())?;
    let mut horizon = given;
    for row in pipeline.rows(Some(writers)) {
        horizon = horizon.min(marked(given, Columns::of(row).take()?));
    }
    Ok(EventPlace(horizon))
}

/// The place that a mark means, near the last one that was given.
fn marked(given: i64, mark: i64) -> i64 {
    let behind = (given - mark).rem_euclid(MARKS);
    // A writer that came a moment later may well stand further on.
    if behind < MARKS / 2 { given - behind } else { given - behind + MARKS }
}

/// The kinds that are walked one by one, because only so an index has them in order; `None`: another
/// index has, or all are asked for.
fn kinds(filter: &EventFilter) -> Vec<Option<&str>> {
    if filter.kinds.is_empty() || filter.tenant.is_some() || filter.run.is_some() {
        return vec![None];
    }
    filter.kinds.iter().map(|kind| Some(kind.as_str())).collect()
}

/// One walk, planned for these very values.
async fn walk(
    db: &Connection,
    filter: &EventFilter,
    kind: Option<&str>,
    after: EventPlace,
    horizon: EventPlace,
    rows: usize,
) -> Result<Vec<StoredEvent>, StoreError> {
    let tenant = filter.tenant.as_ref().map(|tenant| Text(tenant.as_str()));
    let run = filter.run.map(|run| run.0);
    let words: Vec<&str> = filter.dialects.iter().map(|dialect| dialect.word()).collect();
    let dialects = (!words.is_empty()).then_some(words);
    let several: Vec<Text<'_>> = filter.kinds.iter().map(|kind| Text(kind)).collect();
    let several = (kind.is_none() && !several.is_empty()).then_some(several);
    let kind = kind.map(Text);
    let rows = limit(rows);
    let bound: [(&(dyn ToSql + Sync), Type); 8] = [
        (&after.0, Type::INT8),
        (&horizon.0, Type::INT8),
        (&tenant, Type::TEXT),
        (&run, Type::UUID),
        (&kind, Type::TEXT),
        (&several, Type::TEXT_ARRAY),
        (&dialects, Type::TEXT_ARRAY),
        (&rows, Type::INT8),
    ];
    db.query_planned(EVENTS, &bound).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<StoredEvent, StoreError> {
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

/// Deletes old events, of so many that were written first.
pub(super) async fn sweep(
    db: &mut Connection,
    before: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    let deleted = db.execute(EVENT_SWEEP, &[&before.as_millis(), &limit(rows)]).await?;
    Ok(usize::try_from(deleted).unwrap_or(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_means_the_nearest_place() {
        assert_eq!(marked(10, 10), 10);
        assert_eq!(marked(10, 7), 7);
        assert_eq!(marked(10, 12), 12);
        assert_eq!(marked(MARKS + 3, 5), MARKS + 5);
        assert_eq!(marked(MARKS + 3, MARKS - 2), MARKS - 2);
        assert_eq!(marked(5 * MARKS - 1, 0), 5 * MARKS);
    }
}
