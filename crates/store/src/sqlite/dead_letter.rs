//! Work that was given up.

use rusqlite::{Connection, Row, Transaction, params};
use stepwell_core::id::RunId;
use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;

use super::columns::{Columns, key, limit, millis};
use super::{event, outbox};
use crate::error::StoreError;
use crate::model::{
    DeadLetter, DeadLetterDepth, DeadLetterFilter, GivenUp, NewDeadLetter, Origin, Settlement,
};
use crate::rows::{text, value};

const DEAD_LETTER: &str = include_str!("../../sql/sqlite/dead_letter.sql");
const DEAD_LETTERS: &str = include_str!("../../sql/sqlite/dead_letters.sql");
const DEAD_LETTERS_OPEN: &str = include_str!("../../sql/sqlite/dead_letters_open.sql");
const DEAD_LETTERS_OF_RUN: &str = include_str!("../../sql/sqlite/dead_letters_of_run.sql");
const DEAD_LETTERS_OF_TENANT: &str = include_str!("../../sql/sqlite/dead_letters_of_tenant.sql");
const DEAD_LETTERS_OF_CODE: &str = include_str!("../../sql/sqlite/dead_letters_of_code.sql");
const DEAD_LETTERS_OF_REASON: &str = include_str!("../../sql/sqlite/dead_letters_of_reason.sql");
const DEAD_LETTERS_OF_WORKFLOW: &str =
    include_str!("../../sql/sqlite/dead_letters_of_workflow.sql");
const DEAD_LETTERS_SINCE: &str = include_str!("../../sql/sqlite/dead_letters_since.sql");
const DEAD_LETTER_DEPTHS: &str = include_str!("../../sql/sqlite/dead_letter_depths.sql");
const DEAD_LETTER_INSERT: &str = include_str!("../../sql/sqlite/dead_letter_insert.sql");
const DEAD_LETTER_ORIGIN: &str = include_str!("../../sql/sqlite/dead_letter_origin.sql");
const DEAD_LETTER_SETTLE: &str = include_str!("../../sql/sqlite/dead_letter_settle.sql");

/// Gives work up: the letter, and what others are told of it.
pub(super) fn give_up(
    tx: &Transaction<'_>,
    origin: &Origin,
    given_up: &GivenUp,
) -> Result<(), StoreError> {
    let GivenUp { letter, told } = given_up;
    let first = letter.first_error.as_ref();
    tx.prepare_cached(DEAD_LETTER_INSERT)?.execute(params![
        origin.run.as_ref().map(key),
        origin.message,
        origin.tenant.as_str(),
        origin.dialect.word(),
        origin.workflow,
        letter.reason,
        letter.step,
        letter.error.code,
        letter.error.message,
        first.map(|error| &error.code),
        first.map(|error| &error.message),
        letter.at.as_millis(),
    ])?;
    event::append(tx, &told.events)?;
    outbox::promise(tx, origin.run.as_ref(), origin.unless_of_run(), &told.messages)
}

/// Whose work it is that is given up with a run.
pub(super) fn origin(tx: &Transaction<'_>, run: &RunId) -> Result<Origin, StoreError> {
    let mut statement = tx.prepare_cached(DEAD_LETTER_ORIGIN)?;
    let mut found = statement.query([key(run)])?;
    let Some(row) = found.next()? else {
        return Err(StoreError::broken(format!("run {run} is given up, but is not stored")));
    };
    let mut columns = Columns::of(row);
    Ok(Origin {
        run: Some(*run),
        message: None,
        tenant: columns.tenant()?,
        dialect: columns.word(Dialect::of_word)?,
        workflow: columns.take()?,
    })
}

/// The statement that looks at the fewest letters, going by what restricts most.
fn statement_for(filter: &DeadLetterFilter) -> &'static str {
    match filter {
        DeadLetterFilter { id: Some(_), .. } => DEAD_LETTER,
        DeadLetterFilter { run: Some(_), .. } => DEAD_LETTERS_OF_RUN,
        DeadLetterFilter { tenant: Some(_), .. } => DEAD_LETTERS_OF_TENANT,
        DeadLetterFilter { error_code: Some(_), .. } => DEAD_LETTERS_OF_CODE,
        DeadLetterFilter { workflow: Some(_), .. } => DEAD_LETTERS_OF_WORKFLOW,
        DeadLetterFilter { from: Some(_), .. } => DEAD_LETTERS_SINCE,
        DeadLetterFilter { reason: Some(_), with_settled: false, .. } => DEAD_LETTERS_OF_REASON,
        DeadLetterFilter { with_settled: false, .. } => DEAD_LETTERS_OPEN,
        DeadLetterFilter { .. } => DEAD_LETTERS,
    }
}

/// A page of dead letters, newest first.
pub(super) fn list(
    db: &Connection,
    filter: &DeadLetterFilter,
) -> Result<Vec<DeadLetter>, StoreError> {
    let mut statement = db.prepare_cached(statement_for(filter))?;
    let found = statement.query_and_then(
        params![
            filter.tenant.as_ref().map(|tenant| tenant.as_str()),
            filter.workflow,
            filter.run.as_ref().map(key),
            filter.id,
            filter.with_settled,
            filter.before.unwrap_or(i64::MAX),
            limit(filter.limit_or_own()),
            filter.dialect.map(Dialect::word),
            filter.reason,
            filter.error_code,
            millis(filter.from),
            millis(filter.until),
        ],
        read,
    )?;
    found.collect()
}

fn read(row: &Row<'_>) -> Result<DeadLetter, StoreError> {
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
            .take::<Option<String>>()?
            .map(|json| value("dead_letter.settlement", &json))
            .transpose()?,
    })
}

/// How many nobody has settled, by reason and dialect.
pub(super) fn depths(db: &Connection) -> Result<Vec<DeadLetterDepth>, StoreError> {
    let mut statement = db.prepare_cached(DEAD_LETTER_DEPTHS)?;
    let found = statement.query_and_then([], |row| {
        let mut columns = Columns::of(row);
        Ok(DeadLetterDepth {
            reason: columns.take()?,
            dialect: columns.word_if_any(Dialect::of_word)?,
            count: columns.count()?,
            oldest_at: columns.moment()?,
        })
    })?;
    let mut depths = found.collect::<Result<Vec<_>, StoreError>>()?;
    depths.sort_by(DeadLetterDepth::order);
    Ok(depths)
}

/// Notes what became of a dead letter; `false` if there is none, or something was noted before.
pub(super) fn settle(
    tx: &Transaction<'_>,
    id: i64,
    settlement: &Settlement,
) -> Result<bool, StoreError> {
    let rows = tx.prepare_cached(DEAD_LETTER_SETTLE)?.execute(params![text(settlement), id])?;
    Ok(rows == 1)
}

/// The same for many.
pub(super) fn settle_all(
    tx: &Transaction<'_>,
    settlements: &[(i64, Settlement)],
) -> Result<Vec<bool>, StoreError> {
    settlements.iter().map(|(id, settlement)| settle(tx, *id, settlement)).collect()
}
