//! Work that was given up.

use rusqlite::{Connection, Row, Transaction, params};
use stepwell_core::step::StepError;

use super::columns::{Columns, key, limit};
use crate::error::StoreError;
use crate::model::{DeadLetter, DeadLetterFilter, NewDeadLetter, Settlement};
use crate::rows::{text, value};

const DEAD_LETTER: &str = include_str!("../../sql/sqlite/dead_letter.sql");
const DEAD_LETTERS: &str = include_str!("../../sql/sqlite/dead_letters.sql");
const DEAD_LETTERS_OPEN: &str = include_str!("../../sql/sqlite/dead_letters_open.sql");
const DEAD_LETTERS_OF_RUN: &str = include_str!("../../sql/sqlite/dead_letters_of_run.sql");
const DEAD_LETTERS_OF_TENANT: &str = include_str!("../../sql/sqlite/dead_letters_of_tenant.sql");
const DEAD_LETTER_SETTLE: &str = include_str!("../../sql/sqlite/dead_letter_settle.sql");

/// A page of dead letters, newest first.
pub(super) fn list(
    db: &Connection,
    filter: &DeadLetterFilter,
) -> Result<Vec<DeadLetter>, StoreError> {
    let statement = match filter {
        DeadLetterFilter { id: Some(_), .. } => DEAD_LETTER,
        DeadLetterFilter { run: Some(_), .. } => DEAD_LETTERS_OF_RUN,
        DeadLetterFilter { tenant: Some(_), .. } => DEAD_LETTERS_OF_TENANT,
        DeadLetterFilter { with_settled: false, .. } => DEAD_LETTERS_OPEN,
        DeadLetterFilter { .. } => DEAD_LETTERS,
    };
    let mut statement = db.prepare_cached(statement)?;
    let found = statement.query_and_then(
        params![
            filter.tenant.as_ref().map(|tenant| tenant.as_str()),
            filter.workflow,
            filter.run.as_ref().map(key),
            filter.id,
            filter.with_settled,
            filter.before.unwrap_or(i64::MAX),
            limit(filter.limit_or_own()),
        ],
        read,
    )?;
    found.collect()
}

fn read(row: &Row<'_>) -> Result<DeadLetter, StoreError> {
    let mut columns = Columns::of(row);
    Ok(DeadLetter {
        dialect: None,
        id: columns.take()?,
        run: columns.run_id_if_any()?,
        message: columns.take()?,
        tenant: columns.tenant()?,
        workflow: columns.take()?,
        letter: NewDeadLetter {
            first_error: None,
            reason: columns.take()?,
            step: columns.take()?,
            error: StepError { code: columns.take()?, message: columns.take()? },
            at: columns.moment()?,
        },
        settlement: columns
            .take::<Option<String>>()?
            .map(|json| value("dead_letter.settlement", &json))
            .transpose()?,
    })
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
