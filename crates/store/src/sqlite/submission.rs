//! Orders that wait in a queue until an instance takes them.

use rusqlite::{Row, Transaction, params};
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;

use super::columns::{Columns, limit};
use super::dead_letter;
use crate::error::StoreError;
use crate::model::{
    Disposition, NewSubmission, Origin, Received, Submission, SubmissionSettlement,
};

const INSERT: &str = include_str!("../../sql/sqlite/submission_insert.sql");
const TAKE: &str = include_str!("../../sql/sqlite/submissions_take.sql");
const NEXT: &str = include_str!("../../sql/sqlite/submissions_next.sql");
const DELETE: &str = include_str!("../../sql/sqlite/submission_delete.sql");
const ABANDON: &str = include_str!("../../sql/sqlite/submission_abandon.sql");

/// Puts orders in their queues; `false` for each whose message id waits there already.
pub(super) fn submit(
    tx: &Transaction<'_>,
    submissions: &[NewSubmission],
) -> Result<Vec<bool>, StoreError> {
    let mut statement = tx.prepare_cached(INSERT)?;
    let inserted = submissions.iter().map(|submission| {
        let rows = statement.execute(params![
            submission.queue,
            submission.message_id,
            submission.workflow,
            submission.priority,
            submission.body,
            submission.enqueued_at.as_millis(),
            submission.expires_at.as_millis(),
            submission.place().as_millis(),
        ])?;
        Ok(rows == 1)
    });
    inserted.collect()
}

/// Takes the first orders of a queue that nobody has, and keeps them from others for a while.
pub(super) fn receive(
    tx: &Transaction<'_>,
    queue: &str,
    now: Timestamp,
    keep: Interval,
    rows: usize,
) -> Result<Received, StoreError> {
    let mut statement = tx.prepare_cached(TAKE)?;
    let (now_ms, until_ms) = (now.as_millis(), now.after(keep).as_millis());
    let mut messages = statement
        .query_and_then(params![queue, now_ms, until_ms, limit(rows)], read)?
        .collect::<Result<Vec<_>, StoreError>>()?;
    messages.sort_by_key(|taken| (taken.message.place(), taken.id));
    let next: Option<i64> =
        tx.prepare_cached(NEXT)?.query_row(params![queue, now_ms], |row| row.get(0))?;
    Ok(Received { messages, next: next.map(Timestamp::from_millis) })
}

fn read(row: &Row<'_>) -> Result<Submission, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Submission {
        id: columns.take()?,
        deliveries: columns.count()?,
        message: NewSubmission {
            queue: columns.take()?,
            message_id: columns.take()?,
            workflow: columns.take()?,
            priority: columns.count()?,
            body: columns.take()?,
            enqueued_at: columns.moment()?,
            expires_at: columns.moment()?,
        },
    })
}

/// Ends deliveries. One that is no longer current is left alone.
pub(super) fn settle(
    tx: &Transaction<'_>,
    settlements: &[SubmissionSettlement],
) -> Result<(), StoreError> {
    for settlement in settlements {
        let SubmissionSettlement { id, deliveries, disposition } = settlement;
        match disposition {
            Disposition::Complete => {
                tx.prepare_cached(DELETE)?.query(params![id, deliveries])?.next()?;
            }
            Disposition::Abandon { until } => {
                tx.prepare_cached(ABANDON)?.execute(params![id, deliveries, until.as_millis()])?;
            }
            Disposition::DeadLetter { tenant, dialect, given_up } => {
                if let Some((workflow, body)) = take_out(tx, *id, *deliveries)? {
                    let (tenant, dialect, message) = (tenant.clone(), *dialect, Some(body));
                    let origin = Origin { run: None, message, tenant, dialect, workflow };
                    dead_letter::give_up(tx, &origin, given_up)?;
                }
            }
        }
    }
    Ok(())
}

/// Takes an order out that is given up; its workflow, and what it said.
fn take_out(
    tx: &Transaction<'_>,
    id: i64,
    deliveries: u32,
) -> Result<Option<(String, String)>, StoreError> {
    let mut statement = tx.prepare_cached(DELETE)?;
    let mut deleted = statement.query(params![id, deliveries])?;
    let Some(row) = deleted.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    Ok(Some((columns.take()?, columns.take()?)))
}
