//! Runs for a decision, the runs that are due, and the queue of the embedded bus.

use std::collections::HashMap;
use std::sync::Arc;

use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, StepIndex};
use stepwell_core::lane::Lane;
use stepwell_core::run::{Dialect, Membership, Parent, Routing, RunStatus};
use stepwell_core::step::{Lease, StepStatus};
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::columns::{Columns, bind, epoch, limit};
use super::connection::Connection;
use super::run_write::ids;
use super::send::COMMIT;
use crate::error::StoreError;
use crate::model::{Due, Epoch, QueueKey, Queued, StoredRun};
use crate::rows::{self, HeaderRow, QueueRow, StateRow, StepRow};

/// One moment holds for everything that is read, so that nothing is read half before and half after a
/// commit.
pub(super) const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

const RUN_LOAD: &str = include_str!("../../sql/postgres/run_load.sql");
const STEP_LOAD: &str = include_str!("../../sql/postgres/step_load.sql");
const STEP_LOAD_OPEN: &str = include_str!("../../sql/postgres/step_load_open.sql");
const DUE: &str = include_str!("../../sql/postgres/due.sql");
const DUE_NEXT: &str = include_str!("../../sql/postgres/due_next.sql");
const QUEUED: &str = include_str!("../../sql/postgres/queued.sql");
const QUEUED_POOLS: &str = include_str!("../../sql/postgres/queued_pools.sql");
const LATEST_CHANGE: &str = include_str!("../../sql/postgres/latest_change.sql");

/// How much of a run is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// all of it
    Whole,
    /// what a decision asks for: not what ended steps of a batch's runs were given and returned
    Open,
}

/// Loads runs in the order asked for; ids that do not exist are missing in the answer.
pub(super) async fn load(
    db: &mut Connection,
    runs: &[RunId],
    depth: Depth,
) -> Result<Vec<StoredRun>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let step_load = match depth {
        Depth::Whole => STEP_LOAD,
        Depth::Open => STEP_LOAD_OPEN,
    };
    db.prepare(&[BEGIN_READ, RUN_LOAD, step_load, COMMIT]).await?;
    let wanted = ids(runs.iter().copied());
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN_READ, vec![]);
    let loaded = pipeline.send(RUN_LOAD, vec![bind(wanted.clone())]);
    let steps = pipeline.send(step_load, vec![bind(wanted)]);
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await?;

    let mut steps_of: HashMap<RunId, Vec<StepRow>> = HashMap::new();
    for row in pipeline.rows(Some(steps)) {
        let (run, step) = read_step(row)?;
        steps_of.entry(run).or_default().push(step);
    }
    let mut found = HashMap::with_capacity(runs.len());
    for row in pipeline.rows(Some(loaded)) {
        let (owner, header, state) = read_run(row)?;
        let steps = steps_of.remove(&header.id).unwrap_or_default();
        let run = StoredRun { owner, ..rows::decode(header, state, steps)? };
        found.insert(run.header.id, run);
    }
    Ok(runs.iter().filter_map(|run| found.remove(run)).collect())
}

fn read_run(row: &Row) -> Result<(Option<Epoch>, HeaderRow, StateRow), StoreError> {
    let mut columns = Columns::of(row);
    let owner = columns.count_if_any()?.map(Epoch);
    let mut header = HeaderRow {
        id: columns.run_id()?,
        tenant: columns.tenant()?,
        dialect: columns.word(Dialect::of_word)?,
        workflow: columns.take()?,
        workflow_version: columns.count()?,
        compensation: columns.take()?,
        parent: read_parent(&mut columns)?,
        correlation_id: columns.take()?,
        created_at: columns.moment()?,
        step_count: columns.count()?,
        // These stand in the other table, after the state.
        resumes: None,
        input: None,
        special: None,
        context: None,
        routing: None,
        priority: 0,
        traceparent: None,
        actor: String::new(),
        membership: None,
        terms: None,
    };
    let state = read_state(&mut columns)?;
    header.resumes = columns.run_id_if_any()?;
    header.input = columns.take()?;
    header.special = columns.take()?;
    header.context = columns.take()?;
    header.routing = read_routing(&mut columns)?;
    header.priority = columns.count()?;
    header.traceparent = columns.take()?;
    header.actor = columns.take()?;
    header.membership = read_membership(&mut columns)?;
    header.terms = columns.take()?;
    Ok((owner, header, state))
}

/// The run and step that a compensation undoes, from the next two columns.
pub(super) fn read_parent(columns: &mut Columns<'_>) -> Result<Option<Parent>, StoreError> {
    let run = columns.run_id_if_any()?;
    let step = columns.count_if_any()?.map(StepIndex);
    Ok(run.zip(step).map(|(run, step)| Parent { run, step }))
}

/// The batch that a run belongs to, from the next four columns.
fn read_membership(columns: &mut Columns<'_>) -> Result<Option<Membership>, StoreError> {
    let batch: Option<i64> = columns.take()?;
    let member: Option<i64> = columns.take()?;
    let role = columns.word_if_any(rows::role_of_word)?;
    let number: Option<i64> = columns.take()?;
    let (Some(batch), Some(role), Some(number)) = (batch, role, number) else { return Ok(None) };
    let (batch, member) = (BatchId(batch), member.map(MemberId));
    Ok(Some(Membership { batch, member, role, number: RunNumber(number) }))
}

fn read_state(columns: &mut Columns<'_>) -> Result<StateRow, StoreError> {
    Ok(StateRow {
        version: columns.count()?,
        status: columns.word(RunStatus::of_word)?,
        attempt: columns.count()?,
        paused: columns.take()?,
        cancel: columns.word_if_any(rows::cancel_of_word)?,
        gates_open: columns.take()?,
        outputs: columns.take()?,
        current_step: columns.take()?,
        error: columns.error_if_any()?.map(Arc::new),
        retry_at: columns.moment_if_any()?,
        wake_at: columns.moment_if_any()?,
        updated_at: columns.moment()?,
        started_at: columns.moment_if_any()?,
        ended_at: columns.moment_if_any()?,
        credits: rows::credit_state(columns.take()?, columns.take()?),
    })
}

fn read_routing(columns: &mut Columns<'_>) -> Result<Option<Routing>, StoreError> {
    let lane: Option<u8> = columns.count_if_any()?;
    let key: Option<String> = columns.take()?;
    let Some((lane, key)) = lane.zip(key) else { return Ok(None) };
    let lane = Lane::try_from(lane)
        .map_err(|cause| StoreError::broken_by("run_header.lane is no lane", cause))?;
    Ok(Some(Routing { lane, key }))
}

fn read_step(row: &Row) -> Result<(RunId, StepRow), StoreError> {
    let mut columns = Columns::of(row);
    let run = columns.run_id()?;
    let position = columns.count()?;
    let status = columns.word(StepStatus::of_word)?;
    let attempt = columns.count()?;
    let step = StepRow {
        position,
        status,
        attempt,
        tries: columns.count()?,
        lease: read_lease(&mut columns, attempt)?,
        queued: read_queue(&mut columns)?,
        kind: columns.take::<Option<&str>>()?.map(Arc::from),
        params: columns.take()?,
        result: columns.take()?,
        detail: columns.take()?,
        error: columns.error_if_any()?.map(Arc::new),
        wake_at: columns.moment_if_any()?,
        dispatched_at: columns.moment_if_any()?,
        ended_at: columns.moment_if_any()?,
    };
    Ok((run, step))
}

/// The lease, from the next three columns. It always belongs to the newest attempt.
fn read_lease(columns: &mut Columns<'_>, attempt: u32) -> Result<Option<Lease>, StoreError> {
    let id = columns.lease_id_if_any()?;
    let stage = columns.word_if_any(rows::stage_of_word)?;
    let expires_at = columns.moment_if_any()?;
    let (Some(id), Some(stage), Some(expires_at)) = (id, stage, expires_at) else {
        return Ok(None);
    };
    // What few leases have stands elsewhere: see `rows`.
    Ok(Some(Lease { id, attempt, expires_at, deadline: None, stage }))
}

fn read_queue(columns: &mut Columns<'_>) -> Result<Option<QueueRow>, StoreError> {
    let pool: Option<String> = columns.take()?;
    let rank: Option<u8> = columns.count_if_any()?;
    let lane: Option<u8> = columns.count_if_any()?;
    let poll_count: u32 = columns.count_if_any()?.unwrap_or(0);
    let (Some(pool), Some(rank), Some(lane)) = (pool, rank, lane) else { return Ok(None) };
    Ok(Some(QueueRow { pool, rank, lane, poll_count }))
}

/// Runs of an owner whose stored moment has come, and the earliest moment that has not.
pub(super) async fn due(
    db: &mut Connection,
    owner: Epoch,
    now: Timestamp,
    rows: usize,
) -> Result<Due, StoreError> {
    db.prepare(&[DUE, DUE_NEXT]).await?;
    let (owner, now) = (epoch(owner), now.as_millis());
    let mut pipeline = db.pipeline();
    let due = pipeline.send(DUE, vec![bind(owner), bind(now), bind(limit(rows))]);
    let next = pipeline.send(DUE_NEXT, vec![bind(owner), bind(now)]);
    db.waits_for(pipeline.wait()).await?;
    let next = pipeline.rows(Some(next)).first();
    let next = next.map(|row| Columns::of(row).moment_if_any()).transpose()?.flatten();
    let due = pipeline.rows(Some(due)).iter().map(|row| Columns::of(row).run_id());
    Ok(Due { runs: due.collect::<Result<_, _>>()?, next })
}

/// A chunk of one pool's queue, after a key.
pub(super) async fn queued(
    db: &mut Connection,
    owner: Epoch,
    pool: &str,
    after: Option<QueueKey>,
    rows: usize,
) -> Result<Vec<Queued>, StoreError> {
    // No step stands at -1, so this is before the first.
    let (rank, run, step) = match &after {
        Some(after) => (i32::from(after.rank), after.run.0, i32::from(after.step.0)),
        None => (0, Uuid::nil(), -1),
    };
    let found = db.query(QUEUED, &[&epoch(owner), &pool, &rank, &run, &step, &limit(rows)]).await?;
    found.iter().map(read_queued).collect()
}

fn read_queued(row: &Row) -> Result<Queued, StoreError> {
    let mut columns = Columns::of(row);
    let key = QueueKey {
        rank: columns.count()?,
        run: columns.run_id()?,
        step: StepIndex(columns.count()?),
    };
    let lease = columns
        .lease_id_if_any()?
        .ok_or_else(|| StoreError::broken("a queued step has no lease"))?;
    Ok(Queued {
        key,
        lease,
        attempt: columns.count()?,
        poll: columns.count()?,
        lane: columns.count()?,
    })
}

/// Pools in which at least one step of an owner's runs is queued.
pub(super) async fn queued_pools(
    db: &mut Connection,
    owner: Epoch,
) -> Result<Vec<String>, StoreError> {
    let rows = db.query(QUEUED_POOLS, &[&epoch(owner)]).await?;
    rows.iter().map(|row| Columns::of(row).take()).collect()
}

/// The latest moment at which a run changed that is still open.
pub(super) async fn latest_change(db: &mut Connection) -> Result<Option<Timestamp>, StoreError> {
    let rows = db.query(LATEST_CHANGE, &[]).await?;
    rows.first().map_or(Ok(None), |row| Columns::of(row).moment_if_any())
}
