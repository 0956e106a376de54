//! Orders that wait in a queue until an instance takes them.

use std::collections::{BTreeMap, HashSet};

use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Bound, Columns, Text, bind, column, limit, small};
use super::connection::Connection;
use super::dead_letter::{self, AllTold, Letter};
use super::pipeline::Pipeline;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{
    Disposition, GivenUp, NewSubmission, Origin, Received, Submission, SubmissionSettlement,
};

const INSERT: &str = include_str!("../../sql/postgres/submission_insert.sql");
const TAKE: &str = include_str!("../../sql/postgres/submissions_take.sql");
const NEXT: &str = include_str!("../../sql/postgres/submissions_next.sql");
const DELETE: &str = include_str!("../../sql/postgres/submission_delete.sql");
const ABANDON: &str = include_str!("../../sql/postgres/submission_abandon.sql");
const GIVE_UP: &str = include_str!("../../sql/postgres/submission_give_up.sql");

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
            Disposition::DeadLetter { tenant, dialect, given_up: why } => {
                given_up.push(Ending { id, deliveries, with: (tenant, *dialect, &**why) });
            }
        }
    }
    db.prepare(&[BEGIN, DELETE, ABANDON, GIVE_UP, COMMIT]).await?;
    db.prepare(&dead_letter::STATEMENTS).await?;
    let mut begun = db.pipeline();
    begun.send(BEGIN, vec![]);
    let letters = take_out(db, &mut begun, &given_up).await?;
    let told = AllTold::of(&letters);
    let mut pipeline = db.pipeline();
    if !done.is_empty() {
        pipeline.send(DELETE, endings(&done));
    }
    if !abandoned.is_empty() {
        let mut bound = endings(&abandoned);
        bound.push(column(&abandoned, |ending| ending.with));
        pipeline.send(ABANDON, bound);
    }
    dead_letter::send(&mut pipeline, &letters, &told);
    pipeline.send(COMMIT, vec![]);
    db.waits_for(begun.wait()).await?;
    db.waits_for(pipeline.wait()).await
}

fn endings<T: Sync>(endings: &[Ending<T>]) -> Vec<Bound<'_>> {
    vec![column(endings, |ending| ending.id), column(endings, |ending| ending.deliveries)]
}

/// An order that is given up: whose it is, and why.
type Why<'a> = (&'a Tenant, Dialect, &'a GivenUp);

/// Takes orders out that are given up, in the order of their settlements. Only here the server is waited
/// for, because only it knows which deliveries are still current.
async fn take_out<'a, 'p>(
    db: &Connection,
    begun: &mut Pipeline<'p>,
    given_up: &'p [Ending<Why<'a>>],
) -> Result<Vec<Letter<'a>>, StoreError> {
    if given_up.is_empty() {
        return Ok(Vec::new());
    }
    let taken_out = begun.send(GIVE_UP, endings(given_up));
    db.waits_for(begun.wait()).await?;
    let mut said = BTreeMap::new();
    for row in begun.rows(Some(taken_out)) {
        let mut columns = Columns::of(row);
        let id: i64 = columns.take()?;
        let (workflow, body): (String, String) = (columns.take()?, columns.take()?);
        said.insert(id, (workflow, body));
    }
    let letters = given_up.iter().filter_map(|Ending { id, with, .. }| {
        let (tenant, dialect, given_up) = *with;
        let (workflow, body) = said.remove(id)?;
        let (tenant, message) = (tenant.clone(), Some(body));
        Some(Letter { origin: Origin { run: None, message, tenant, dialect, workflow }, given_up })
    });
    Ok(letters.collect())
}
