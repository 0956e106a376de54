//! Orders that wait in a queue until an instance takes them.

use std::collections::HashSet;

use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Bound, Columns, Text, bind, column, limit, small, text};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{
    Disposition, NewDeadLetter, NewSubmission, Received, Submission, SubmissionSettlement,
};

const INSERT: &str = include_str!("../../sql/postgres/submission_insert.sql");
const TAKE: &str = include_str!("../../sql/postgres/submissions_take.sql");
const NEXT: &str = include_str!("../../sql/postgres/submissions_next.sql");
const DELETE: &str = include_str!("../../sql/postgres/submission_delete.sql");
const ABANDON: &str = include_str!("../../sql/postgres/submission_abandon.sql");
const DEAD_LETTER: &str = include_str!("../../sql/postgres/dead_letter_of_submission.sql");

/// Puts orders in their queues; `false` for each whose message id waits there already.
pub(super) async fn submit(
    db: &mut Connection,
    submissions: &[NewSubmission],
) -> Result<Vec<bool>, StoreError> {
    db.prepare(&[INSERT]).await?;
    let mut pipeline = db.pipeline();
    let inserted = pipeline.send(INSERT, orders(submissions));
    db.waits_for(pipeline.wait()).await?;
    let mut taken_in = HashSet::new();
    for row in pipeline.rows(Some(inserted)) {
        let mut columns = Columns::of(row);
        let key: (&str, &str) = (columns.take()?, columns.take()?);
        taken_in.insert(key);
    }
    // Of two with the same id in one call, the first is taken in.
    let keys = submissions.iter().map(|it| (it.queue.as_str(), it.message_id.as_str()));
    Ok(keys.map(|key| taken_in.remove(&key)).collect())
}

fn orders(submissions: &[NewSubmission]) -> Vec<Bound<'_>> {
    vec![
        column(submissions, |it| Text(&it.queue)),
        column(submissions, |it| Text(&it.message_id)),
        column(submissions, |it| Text(&it.workflow)),
        column(submissions, |it| i32::from(it.priority)),
        column(submissions, |it| Text(&it.body)),
        column(submissions, |it| it.enqueued_at.as_millis()),
        column(submissions, |it| it.expires_at.as_millis()),
        column(submissions, |it| it.place().as_millis()),
    ]
}

/// Takes the first orders of a queue that nobody has, and keeps them from others for a while.
pub(super) async fn receive(
    db: &mut Connection,
    queue: &str,
    now: Timestamp,
    keep: Interval,
    rows: usize,
) -> Result<Received, StoreError> {
    db.prepare(&[TAKE, NEXT]).await?;
    let (now_ms, until_ms) = (now.as_millis(), now.after(keep).as_millis());
    let mut pipeline = db.pipeline();
    let taken = vec![bind(Text(queue)), bind(now_ms), bind(until_ms), bind(limit(rows))];
    let taken = pipeline.send(TAKE, taken);
    let next = pipeline.send(NEXT, vec![bind(Text(queue)), bind(now_ms)]);
    db.waits_for(pipeline.wait()).await?;
    let next = pipeline.rows(Some(next)).first();
    let next = next.map(|row| Columns::of(row).moment_if_any()).transpose()?.flatten();
    let mut messages =
        pipeline.rows(Some(taken)).iter().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    messages.sort_by_key(|taken| (taken.message.place(), taken.id));
    Ok(Received { messages, next })
}

fn read(row: &Row) -> Result<Submission, StoreError> {
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

/// A delivery that ends.
struct Ending<T> {
    id: i64,
    deliveries: i32,
    with: T,
}

/// Ends deliveries. One that is no longer current is left alone.
pub(super) async fn settle(
    db: &mut Connection,
    settlements: &[SubmissionSettlement],
) -> Result<(), StoreError> {
    let (mut done, mut abandoned, mut given_up) = (Vec::new(), Vec::new(), Vec::new());
    for settlement in settlements {
        let (id, deliveries) = (settlement.id, small(settlement.deliveries));
        match &settlement.disposition {
            Disposition::Complete => done.push(Ending { id, deliveries, with: () }),
            Disposition::Abandon { until } => {
                abandoned.push(Ending { id, deliveries, with: until.as_millis() });
            }
            Disposition::DeadLetter(letter) => {
                given_up.push(Ending { id, deliveries, with: letter });
            }
        }
    }
    db.prepare(&[BEGIN, DELETE, ABANDON, DEAD_LETTER, COMMIT]).await?;
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    if !done.is_empty() {
        pipeline.send(DELETE, endings(&done));
    }
    if !abandoned.is_empty() {
        let mut bound = endings(&abandoned);
        bound.push(column(&abandoned, |ending| ending.with));
        pipeline.send(ABANDON, bound);
    }
    if !given_up.is_empty() {
        pipeline.send(DEAD_LETTER, letters(&given_up));
    }
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await
}

fn endings<T: Sync>(endings: &[Ending<T>]) -> Vec<Bound<'_>> {
    vec![column(endings, |ending| ending.id), column(endings, |ending| ending.deliveries)]
}

fn letters<'a>(given_up: &'a [Ending<&'a NewDeadLetter>]) -> Vec<Bound<'a>> {
    let mut bound = endings(given_up);
    bound.extend([
        column(given_up, |ending| Text(&ending.with.reason)),
        column(given_up, |ending| text(ending.with.step.as_ref())),
        column(given_up, |ending| Text(&ending.with.error.code)),
        column(given_up, |ending| Text(&ending.with.error.message)),
        column(given_up, |ending| ending.with.at.as_millis()),
        bind(Tenant::default_tenant().as_str().to_owned()),
        bind(Dialect::Platform.word()),
    ]);
    bound
}
