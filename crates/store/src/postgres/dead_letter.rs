//! Work that was given up.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::run::Dialect;
use stepwell_core::step::StepError;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::columns::{Columns, Text, limit, millis, text as bound};
use super::connection::Connection;
use crate::error::StoreError;
use crate::model::{DeadLetter, DeadLetterDepth, DeadLetterFilter, NewDeadLetter, Settlement};
use crate::rows::{text, value};

const DEAD_LETTERS: &str = include_str!("../../sql/postgres/dead_letters.sql");
const DEAD_LETTER_DEPTHS: &str = include_str!("../../sql/postgres/dead_letter_depths.sql");
const DEAD_LETTER_SETTLE: &str = include_str!("../../sql/postgres/dead_letter_settle.sql");
const DEAD_LETTERS_SETTLE: &str = include_str!("../../sql/postgres/dead_letters_settle.sql");

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

/// How many nobody has settled, by reason.
pub(super) async fn depths(db: &mut Connection) -> Result<Vec<DeadLetterDepth>, StoreError> {
    let found = db.query(DEAD_LETTER_DEPTHS, &[]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok(DeadLetterDepth {
            reason: columns.take()?,
            count: columns.count()?,
            oldest_at: columns.moment()?,
        })
    };
    let mut depths = found.iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    depths.sort_by(|one, other| one.reason.cmp(&other.reason));
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
