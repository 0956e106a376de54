//! Work that was given up.

use stepwell_core::step::StepError;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::columns::{Columns, Text, limit, text as bound};
use super::connection::Connection;
use crate::error::StoreError;
use crate::model::{DeadLetter, DeadLetterFilter, NewDeadLetter, Settlement};
use crate::rows::{text, value};

const DEAD_LETTERS: &str = include_str!("../../sql/postgres/dead_letters.sql");
const DEAD_LETTER_SETTLE: &str = include_str!("../../sql/postgres/dead_letter_settle.sql");

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
            ],
        )
        .await?;
    found.iter().map(read).collect()
}

fn read(row: &Row) -> Result<DeadLetter, StoreError> {
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
            .take::<Option<&str>>()?
            .map(|json| value("dead_letter.settlement", json))
            .transpose()?,
    })
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
