//! Work that was given up.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::columns::{Bound, Columns, Text, column, limit, millis, text as bound};
use super::connection::Connection;
use super::event::EVENT_ENTER;
use super::pipeline::Pipeline;
use crate::error::StoreError;
use crate::model::{
    DeadLetter, DeadLetterDepth, DeadLetterFilter, GivenUp, NewDeadLetter, NewEvent, NewMessage,
    Origin, Settlement,
};
use crate::rows::{text, value};

const DEAD_LETTERS: &str = include_str!("../../sql/postgres/dead_letters.sql");
const DEAD_LETTER_DEPTHS: &str = include_str!("../../sql/postgres/dead_letter_depths.sql");
const DEAD_LETTER_APPEND: &str = include_str!("../../sql/postgres/dead_letter_append.sql");
const EVENT_APPEND: &str = include_str!("../../sql/postgres/event_append.sql");
const OUTBOX_APPEND: &str = include_str!("../../sql/postgres/outbox_append.sql");
const DEAD_LETTER_SETTLE: &str = include_str!("../../sql/postgres/dead_letter_settle.sql");
const DEAD_LETTERS_SETTLE: &str = include_str!("../../sql/postgres/dead_letters_settle.sql");

/// What a connection has prepared that gives work up beside a decision.
pub(super) const STATEMENTS: [&str; 4] =
    [DEAD_LETTER_APPEND, EVENT_ENTER, EVENT_APPEND, OUTBOX_APPEND];

/// Work that is given up beside a decision.
pub(super) struct Letter<'a> {
    pub(super) origin: Origin,
    pub(super) given_up: &'a GivenUp,
}

/// What is told of work that is given up.
struct Of<'a, T> {
    origin: &'a Origin,
    row: &'a T,
}

/// What others are told of letters, in order.
#[derive(Default)]
pub(super) struct AllTold<'a> {
    events: Vec<&'a NewEvent>,
    messages: Vec<Of<'a, NewMessage>>,
}

impl<'a> AllTold<'a> {
    pub(super) fn of(letters: &'a [Letter<'a>]) -> Self {
        let mut all = Self::default();
        for Letter { origin, given_up } in letters {
            all.events.extend(&given_up.told.events);
            all.messages.extend(given_up.told.messages.iter().map(|row| Of { origin, row }));
        }
        all
    }
}

/// Gives work up: the letters, and what others are told of them.
pub(super) fn send<'a>(
    pipeline: &mut Pipeline<'a>,
    letters: &'a [Letter<'a>],
    told: &'a AllTold<'a>,
) {
    if !letters.is_empty() {
        pipeline.send(DEAD_LETTER_APPEND, appended(letters));
    }
    if !told.messages.is_empty() {
        pipeline.send(OUTBOX_APPEND, promised(&told.messages));
    }
    // Last: whoever reads events looks no further than where this begins.
    if !told.events.is_empty() {
        pipeline.send(EVENT_ENTER, vec![]);
        pipeline.send(EVENT_APPEND, logged(&told.events));
    }
}

fn appended<'a>(letters: &'a [Letter<'a>]) -> Vec<Bound<'a>> {
    let first = |it: &'a Letter<'a>| it.given_up.letter.first_error.as_ref();
    vec![
        column(letters, |it| it.origin.run.map(|run| run.0)),
        column(letters, |it| bound(it.origin.message.as_ref())),
        column(letters, |it| Text(it.origin.tenant.as_str())),
        column(letters, |it| it.origin.dialect.word()),
        column(letters, |it| Text(&it.origin.workflow)),
        column(letters, |it| Text(&it.given_up.letter.reason)),
        column(letters, |it| bound(it.given_up.letter.step.as_ref())),
        column(letters, |it| Text(&it.given_up.letter.error.code)),
        column(letters, |it| Text(&it.given_up.letter.error.message)),
        column(letters, |it| first(it).map(|error| Text(&error.code))),
        column(letters, |it| first(it).map(|error| Text(&error.message))),
        column(letters, |it| it.given_up.letter.at.as_millis()),
    ]
}

fn logged<'a>(events: &'a [&'a NewEvent]) -> Vec<Bound<'a>> {
    vec![
        column(events, |it| Text(it.tenant.as_str())),
        column(events, |it| it.dialect.word()),
        column(events, |it| it.run.map(|run| run.0)),
        column(events, |it| Text(&it.kind)),
        column(events, |it| Text(&it.body)),
        column(events, |it| it.at.as_millis()),
    ]
}

fn promised<'a>(messages: &'a [Of<'a, NewMessage>]) -> Vec<Bound<'a>> {
    vec![
        column(messages, |it| it.origin.run.map(|run| run.0)),
        column(messages, |it| it.origin.unless_of_run().map(|(tenant, _)| Text(tenant.as_str()))),
        column(messages, |it| it.origin.unless_of_run().map(|(_, dialect)| dialect.word())),
        column(messages, |it| Text(&it.row.kind)),
        column(messages, |it| Text(&it.row.destination)),
        column(messages, |it| Text(&it.row.body)),
        column(messages, |it| it.row.due_at.as_millis()),
    ]
}

/// A page of dead letters, newest first.
pub(super) async fn list(
    db: &mut Connection,
    filter: &DeadLetterFilter,
) -> Result<Vec<DeadLetter>, StoreError> {
    let found = db
        .query_planned(
            DEAD_LETTERS,
            &[
                (&filter.tenant.as_ref().map(|tenant| Text(tenant.as_str())), Type::TEXT),
                (&bound(filter.workflow.as_ref()), Type::TEXT),
                (&filter.run.map(|run| run.0), Type::UUID),
                (&filter.id, Type::INT8),
                (&filter.with_settled, Type::BOOL),
                (&filter.before.unwrap_or(i64::MAX), Type::INT8),
                (&limit(filter.limit_or_own()), Type::INT8),
                (&filter.dialect.map(Dialect::word), Type::TEXT),
                (&bound(filter.reason.as_ref()), Type::TEXT),
                (&bound(filter.error_code.as_ref()), Type::TEXT),
                (&millis(filter.from), Type::INT8),
                (&millis(filter.until), Type::INT8),
            ],
        )
        .await?;
    found.iter().map(read).collect()
}

fn read(row: &Row) -> Result<DeadLetter, StoreError> {
    let mut columns = Columns::of(row);
    Ok(DeadLetter {
        id: columns.take()?,
        run: columns.run_id_if_any()?,
        message: columns.take()?,
        tenant: columns.tenant()?,
        dialect: columns.word_if_any(Dialect::of_word)?,
        workflow: columns.take()?,
        letter: NewDeadLetter {
            reason: columns.take()?,
            step: columns.take()?,
            error: StepError { code: columns.take()?, message: columns.take()? },
            first_error: columns.error_if_any()?,
            at: columns.moment()?,
        },
        settlement: columns
            .take::<Option<&str>>()?
            .map(|json| value("dead_letter.settlement", json))
            .transpose()?,
    })
}

/// How many nobody has settled, by reason and dialect.
pub(super) async fn depths(db: &mut Connection) -> Result<Vec<DeadLetterDepth>, StoreError> {
    let found = db.query(DEAD_LETTER_DEPTHS, &[]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok(DeadLetterDepth {
            reason: columns.take()?,
            dialect: columns.word_if_any(Dialect::of_word)?,
            count: columns.count()?,
            oldest_at: columns.moment()?,
        })
    };
    let mut depths = found.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    depths.sort_by(DeadLetterDepth::order);
    Ok(depths)
}

/// Notes what became of a dead letter; `false` if there is none, or something was noted before.
pub(super) async fn settle(
    db: &mut Connection,
    id: i64,
    settlement: &Settlement,
) -> Result<bool, StoreError> {
    let rows = db.execute(DEAD_LETTER_SETTLE, &[&text(settlement), &id]).await?;
    Ok(rows == 1)
}

/// The same for many, in one statement. Of one that is named twice the first word counts.
pub(super) async fn settle_all(
    db: &mut Connection,
    settlements: &[(i64, Settlement)],
) -> Result<Vec<bool>, StoreError> {
    let mut first = BTreeMap::new();
    for (id, settlement) in settlements {
        first.entry(*id).or_insert_with(|| text(settlement));
    }
    let (ids, texts): (Vec<i64>, Vec<String>) = first.into_iter().unzip();
    let found = db.query(DEAD_LETTERS_SETTLE, &[&ids, &texts]).await?;
    let settled = found.iter().map(|row| Columns::of(row).take());
    let mut settled = settled.collect::<Result<BTreeSet<i64>, StoreError>>()?;
    Ok(settlements.iter().map(|(id, _)| settled.remove(id)).collect())
}
