//! Runs for a decision, the runs that are due, and the queue of the embedded bus.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, StepIndex};
use stepwell_core::lane::Lane;
use stepwell_core::run::{Dialect, Membership, Parent, Routing, RunStatus};
use stepwell_core::step::{Lease, StepStatus};
use stepwell_core::time::Timestamp;

use super::columns::{Columns, key, limit};
use crate::error::StoreError;
use crate::model::{Due, QueueKey, Queued, StoredRun};
use crate::rows::{self, HeaderRow, QueueRow, StateRow, StepRow};

pub(super) const RUN_LOAD: &str = include_str!("../../sql/sqlite/run_load.sql");
pub(super) const STEP_LOAD: &str = include_str!("../../sql/sqlite/step_load.sql");
pub(super) const STEP_LOAD_OPEN: &str = include_str!("../../sql/sqlite/step_load_open.sql");
pub(super) const DUE: &str = include_str!("../../sql/sqlite/due.sql");
pub(super) const DUE_NEXT: &str = include_str!("../../sql/sqlite/due_next.sql");
pub(super) const QUEUED: &str = include_str!("../../sql/sqlite/queued.sql");
pub(super) const QUEUED_POOLS: &str = include_str!("../../sql/sqlite/queued_pools.sql");
const LATEST_CHANGE: &str = include_str!("../../sql/sqlite/latest_change.sql");

/// Loads runs; ids that do not exist are missing in the answer.
///
/// One read transaction holds for all, so that a run is never read half before and half after a
/// commit.
pub(super) fn load(
    db: &Connection,
    runs: &[RunId],
    depth: Depth,
) -> Result<Vec<StoredRun>, StoreError> {
    let tx = db.unchecked_transaction()?;
    let mut found = Vec::with_capacity(runs.len());
    for run in runs {
        found.extend(load_one(&tx, run, depth)?);
    }
    Ok(found)
}

/// How much of a run is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// all of it
    Whole,
    /// what a decision asks for: not what ended steps of a batch's runs were given and returned
    Open,
}

fn load_one(db: &Connection, run: &RunId, depth: Depth) -> Result<Option<StoredRun>, StoreError> {
    let mut statement = db.prepare_cached(RUN_LOAD)?;
    let mut found = statement.query([key(run)])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let (header, state) = read_run(row)?;
    // Other runs may have steps with items, whose results are gathered.
    let steps = match depth {
        Depth::Open if header.membership.is_some() => STEP_LOAD_OPEN,
        Depth::Open | Depth::Whole => STEP_LOAD,
    };
    let mut statement = db.prepare_cached(steps)?;
    let steps =
        statement.query_and_then([key(run)], read_step)?.collect::<Result<Vec<_>, StoreError>>()?;
    rows::decode(header, state, steps).map(Some)
}

fn read_run(row: &Row<'_>) -> Result<(HeaderRow, StateRow), StoreError> {
    let mut columns = Columns::of(row);
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
    Ok((header, state))
}

/// The run and step that a compensation undoes, from the next two columns.
pub(super) fn read_parent(columns: &mut Columns<'_, '_>) -> Result<Option<Parent>, StoreError> {
    let run = columns.run_id_if_any()?;
    let step = columns.count_if_any()?.map(StepIndex);
    Ok(run.zip(step).map(|(run, step)| Parent { run, step }))
}

fn read_state(columns: &mut Columns<'_, '_>) -> Result<StateRow, StoreError> {
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

fn read_routing(columns: &mut Columns<'_, '_>) -> Result<Option<Routing>, StoreError> {
    let lane: Option<u8> = columns.count_if_any()?;
    let key: Option<String> = columns.take()?;
    let Some((lane, key)) = lane.zip(key) else { return Ok(None) };
    let lane = Lane::try_from(lane)
        .map_err(|cause| StoreError::broken_by("run_header.lane is no lane", cause))?;
    Ok(Some(Routing { lane, key }))
}

/// The batch that a run belongs to, from the next four columns.
fn read_membership(columns: &mut Columns<'_, '_>) -> Result<Option<Membership>, StoreError> {
    let batch = columns.take::<Option<i64>>()?.map(BatchId);
    let member = columns.take::<Option<i64>>()?.map(MemberId);
    let role = columns.word_if_any(rows::role_of_word)?;
    let number = columns.take::<Option<i64>>()?.map(RunNumber);
    let (Some(batch), Some(role), Some(number)) = (batch, role, number) else {
        return Ok(None);
    };
    Ok(Some(Membership { batch, member, role, number }))
}

fn read_step(row: &Row<'_>) -> Result<StepRow, StoreError> {
    let mut columns = Columns::of(row);
    let position = columns.count()?;
    let status = columns.word(StepStatus::of_word)?;
    let attempt = columns.count()?;
    Ok(StepRow {
        position,
        status,
        attempt,
        tries: columns.count()?,
        lease: read_lease(&mut columns, attempt)?,
        queued: read_queue(&mut columns)?,
        kind: columns.take()?,
        params: columns.take()?,
        result: columns.take()?,
        detail: columns.take()?,
        error: columns.error_if_any()?.map(Arc::new),
        wake_at: columns.moment_if_any()?,
        dispatched_at: columns.moment_if_any()?,
        ended_at: columns.moment_if_any()?,
    })
}

/// The lease, from the next three columns. It always belongs to the newest attempt.
fn read_lease(columns: &mut Columns<'_, '_>, attempt: u32) -> Result<Option<Lease>, StoreError> {
    let id = columns.lease_id_if_any()?;
    let stage = columns.word_if_any(rows::stage_of_word)?;
    let expires_at = columns.moment_if_any()?;
    let (Some(id), Some(stage), Some(expires_at)) = (id, stage, expires_at) else {
        return Ok(None);
    };
    // What few leases have stands elsewhere: see `rows`.
    Ok(Some(Lease { id, attempt, expires_at, deadline: None, stage }))
}

fn read_queue(columns: &mut Columns<'_, '_>) -> Result<Option<QueueRow>, StoreError> {
    let pool: Option<String> = columns.take()?;
    let rank: Option<u8> = columns.count_if_any()?;
    let lane: Option<u8> = columns.count_if_any()?;
    let poll_count: u32 = columns.count_if_any()?.unwrap_or(0);
    let (Some(pool), Some(rank), Some(lane)) = (pool, rank, lane) else { return Ok(None) };
    Ok(Some(QueueRow { pool, rank, lane, poll_count }))
}

/// Runs whose stored moment has come, and the earliest moment that has not.
pub(super) fn due(db: &Connection, now: Timestamp, rows: usize) -> Result<Due, StoreError> {
    let tx = db.unchecked_transaction()?;
    let mut statement = tx.prepare_cached(DUE)?;
    let runs = statement
        .query_and_then(params![now.as_millis(), limit(rows)], |row| Columns::of(row).run_id())?
        .collect::<Result<_, StoreError>>()?;
    let next: Option<i64> =
        tx.prepare_cached(DUE_NEXT)?.query_row([now.as_millis()], |row| row.get(0))?;
    Ok(Due { runs, next: next.map(Timestamp::from_millis) })
}

/// A chunk of one pool's queue, after a key.
pub(super) fn queued(
    db: &Connection,
    pool: &str,
    after: Option<QueueKey>,
    rows: usize,
) -> Result<Vec<Queued>, StoreError> {
    let mut statement = db.prepare_cached(QUEUED)?;
    // An empty id stands before every id.
    let (rank, run, step) = match &after {
        Some(after) => (after.rank, key(&after.run), i64::from(after.step.0)),
        None => (0, [].as_slice(), -1),
    };
    let found = statement.query_and_then(params![pool, rank, run, step, limit(rows)], |row| {
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
    })?;
    found.collect()
}

/// Pools in which at least one step is queued.
pub(super) fn queued_pools(db: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare_cached(QUEUED_POOLS)?;
    let pools = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(pools)
}

/// The latest moment at which a run changed that is still open.
pub(super) fn latest_change(db: &Connection) -> Result<Option<Timestamp>, StoreError> {
    db.query_row(LATEST_CHANGE, [], |row| Ok(Columns::of(row).moment_if_any()))?
}
