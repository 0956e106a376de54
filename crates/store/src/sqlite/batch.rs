//! Batches with their phases, their runs and their history.

use rusqlite::{Connection, Params, Row, Transaction, params};
use stepwell_core::batch::{Batch, BatchMode, BatchStatus, MemberTally, PhaseStatus, PhaseTally};
use stepwell_core::id::{BatchId, MemberId, PhaseId, RunNumber};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;

use super::columns::{Columns, limit, millis};
use crate::error::StoreError;
use crate::model::{BatchEvent, BatchFilter, BatchRun, Listed, Numbered, Slice};
use crate::rows::{BatchRecordRow, BatchRow, PhaseRow, role_of_word, text};

const BATCH_LOAD: &str = include_str!("../../sql/sqlite/batch_load.sql");
const BATCH_PHASES: &str = include_str!("../../sql/sqlite/batch_phases.sql");
const BATCHES_NEWEST: &str = include_str!("../../sql/sqlite/batches_newest.sql");
const BATCHES_BY_RUNBOOK: &str = include_str!("../../sql/sqlite/batches_by_runbook.sql");
const BATCHES_BY_SLOT: &str = include_str!("../../sql/sqlite/batches_by_slot.sql");
const BATCHES_UNSETTLED: &str = include_str!("../../sql/sqlite/batches_unsettled.sql");
const BATCHES_COUNT: &str = include_str!("../../sql/sqlite/batches_count.sql");
const BATCH_RUNS: &str = include_str!("../../sql/sqlite/batch_runs.sql");
const BATCH_RUNS_OF_MEMBER: &str = include_str!("../../sql/sqlite/batch_runs_of_member.sql");
const NUMBERED_RUN: &str = include_str!("../../sql/sqlite/numbered_run.sql");
const BATCH_EVENTS: &str = include_str!("../../sql/sqlite/batch_events.sql");
const BATCH_EVENTS_OF: &str = include_str!("../../sql/sqlite/batch_events_of.sql");
const NUMBER_RESERVE: &str = include_str!("../../sql/sqlite/number_reserve.sql");
const LEASE_TAKE: &str = include_str!("../../sql/sqlite/lease_take.sql");

/// A batch with its phases and counters.
pub(super) fn find(db: &Connection, id: BatchId) -> Result<Option<Batch>, StoreError> {
    let tx = db.unchecked_transaction()?;
    load(&tx, id)
}

/// A part of the batches, newest first.
pub(super) fn list(
    db: &Connection,
    filter: &BatchFilter,
    slice: Slice,
) -> Result<Listed<Batch>, StoreError> {
    let tx = db.unchecked_transaction()?;
    let Listed { items: ids, total } = ids(&tx, filter, slice)?;
    let items = ids.into_iter().filter_map(|id| load(&tx, id).transpose());
    Ok(Listed { items: items.collect::<Result<_, _>>()?, total })
}

/// Where few can be meant, all of them are found and the part is cut here; else the walk stops where
/// the part ends, and the whole is counted in an index.
fn ids(db: &Connection, filter: &BatchFilter, slice: Slice) -> Result<Listed<BatchId>, StoreError> {
    let tenant = filter.tenant.as_ref().map(|tenant| tenant.as_str());
    let words: Vec<&str> = filter.statuses.iter().map(|status| status.word()).collect();
    let statuses = (!words.is_empty()).then(|| text(&words));
    let (mode, slot) = (filter.mode.map(BatchMode::word), millis(filter.slot));
    let restricted = params![tenant, filter.runbook, statuses, mode, slot];
    if filter.runbook.is_some() && slot.is_some() {
        let bound = [restricted, params![filter.unsettled]].concat();
        return Ok(cut(walk(db, BATCHES_BY_SLOT, bound.as_slice())?, slice));
    }
    if filter.unsettled {
        return Ok(cut(walk(db, BATCHES_UNSETTLED, restricted)?, slice));
    }
    let (rows, offset) = (limit(slice.limit), limit(slice.offset));
    let by_runbook = filter.runbook.is_some();
    let statement = if by_runbook { BATCHES_BY_RUNBOOK } else { BATCHES_NEWEST };
    let bound = [restricted, params![rows, offset]].concat();
    let items = walk(db, statement, bound.as_slice())?;
    let total: i64 = db.prepare_cached(BATCHES_COUNT)?.query_row(restricted, |row| row.get(0))?;
    Ok(Listed { items, total: total.unsigned_abs() })
}

fn walk(db: &Connection, statement: &str, bound: impl Params) -> Result<Vec<BatchId>, StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let found = statement.query_map(bound, |row| row.get(0).map(BatchId))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// A part of a list that is there as a whole.
pub(super) fn cut<T>(all: Vec<T>, slice: Slice) -> Listed<T> {
    let total = all.len() as u64;
    Listed { items: all.into_iter().skip(slice.offset).take(slice.limit).collect(), total }
}

fn load(db: &Connection, id: BatchId) -> Result<Option<Batch>, StoreError> {
    let mut statement = db.prepare_cached(BATCH_LOAD)?;
    let mut found = statement.query([id.0])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let batch = read_batch(row)?;
    let mut statement = db.prepare_cached(BATCH_PHASES)?;
    let phases =
        statement.query_and_then([id.0], read_phase)?.collect::<Result<_, StoreError>>()?;
    batch.decode(phases).map(Some)
}

fn read_batch(row: &Row<'_>) -> Result<BatchRow, StoreError> {
    let mut columns = Columns::of(row);
    Ok(BatchRow {
        id: BatchId(columns.take()?),
        tenant: columns.tenant()?,
        runbook: columns.take()?,
        mode: columns.word(BatchMode::of_word)?,
        slot: columns.moment_if_any()?,
        actor: columns.take()?,
        created_at: columns.moment()?,
        version: columns.count()?,
        status: columns.word(BatchStatus::of_word)?,
        paused: columns.take()?,
        runbook_version: columns.count()?,
        start: columns.moment_if_any()?,
        advanced_at: columns.moment_if_any()?,
        init: columns.take()?,
        init_dispatched_at: columns.moment_if_any()?,
        sweeps: columns.take()?,
        current_phase: columns.take()?,
        joined: columns.take()?,
        removed: columns.take()?,
        tally: MemberTally {
            open: columns.take()?,
            succeeded: columns.take()?,
            failed: columns.take()?,
            cancelled: columns.take()?,
        },
        updated_at: columns.moment()?,
        ended_at: columns.moment_if_any()?,
    })
}

fn read_phase(row: &Row<'_>) -> Result<PhaseRow, StoreError> {
    let mut columns = Columns::of(row);
    Ok(PhaseRow {
        id: PhaseId(columns.take()?),
        name: columns.take()?,
        version: columns.count()?,
        gate: columns.take()?,
        offset_minutes: columns.take()?,
        steps: columns.count()?,
        due_at: columns.moment_if_any()?,
        status: columns.word(PhaseStatus::of_word)?,
        dispatched_at: columns.moment_if_any()?,
        completed_at: columns.moment_if_any()?,
        tally: PhaseTally {
            open: columns.take()?,
            succeeded: columns.take()?,
            failed: columns.take()?,
            cancelled: columns.take()?,
            skipped: columns.take()?,
            steps_ended: columns.take()?,
        },
    })
}

/// Runs of a batch, oldest first.
pub(super) fn runs(
    db: &Connection,
    batch: BatchId,
    role: Option<BatchRole>,
    member: Option<MemberId>,
) -> Result<Vec<BatchRun>, StoreError> {
    let tx = db.unchecked_transaction()?;
    let mut runs: Vec<BatchRun> = Vec::new();
    for known in [BatchRole::Init, BatchRole::Member, BatchRole::Removal] {
        if role.is_some_and(|role| role != known) {
            continue;
        }
        runs.extend(match member {
            Some(member) => {
                read_runs(&tx, BATCH_RUNS_OF_MEMBER, params![batch.0, known.word(), member.0])?
            }
            None => read_runs(&tx, BATCH_RUNS, params![batch.0, known.word()])?,
        });
    }
    runs.sort_unstable_by_key(|run| run.number);
    Ok(runs)
}

/// A run of a batch by number.
pub(super) fn numbered_run(
    db: &Connection,
    number: RunNumber,
) -> Result<Option<BatchRun>, StoreError> {
    Ok(read_runs(db, NUMBERED_RUN, [number.0])?.pop())
}

fn read_runs(
    db: &Connection,
    statement: &str,
    bound: impl Params,
) -> Result<Vec<BatchRun>, StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let found = statement.query_and_then(bound, |row| {
        let mut columns = Columns::of(row);
        Ok(BatchRun {
            number: RunNumber(columns.take()?),
            run: columns.run_id()?,
            batch: BatchId(columns.take()?),
            member: columns.take::<Option<i64>>()?.map(MemberId),
            role: columns.word(role_of_word)?,
        })
    })?;
    found.collect()
}

/// The history of a batch, or of all batches, after a place, oldest first.
pub(super) fn events(
    db: &Connection,
    batch: Option<BatchId>,
    after: i64,
    rows: usize,
) -> Result<Vec<BatchEvent>, StoreError> {
    let read = |row: &Row<'_>| {
        let mut columns = Columns::of(row);
        let (id, batch) = (columns.take()?, BatchId(columns.take()?));
        let record = BatchRecordRow {
            version: columns.count()?,
            at: columns.moment()?,
            entries: columns.take()?,
        };
        Ok(BatchEvent { id, batch, record: record.decode()? })
    };
    let rows = limit(rows);
    let found: Result<_, StoreError> = match batch {
        Some(batch) => {
            let mut statement = db.prepare_cached(BATCH_EVENTS_OF)?;
            statement.query_and_then(params![after, rows, batch.0], read)?.collect()
        }
        None => {
            let mut statement = db.prepare_cached(BATCH_EVENTS)?;
            statement.query_and_then(params![after, rows], read)?.collect()
        }
    };
    found
}

/// Takes numbers that nobody had before; answers the first.
pub(super) fn reserve(tx: &Transaction<'_>, kind: Numbered, count: u32) -> Result<i64, StoreError> {
    let mut statement = tx.prepare_cached(NUMBER_RESERVE)?;
    let next: i64 = statement.query_row(params![kind.word(), count], |row| row.get(0))?;
    Ok(next - i64::from(count))
}

/// Takes or keeps the right to do something alone; `false` while somebody else has it.
pub(super) fn lease(
    tx: &Transaction<'_>,
    name: &str,
    holder: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, StoreError> {
    let bound = params![name, holder, now.as_millis(), until.as_millis()];
    Ok(tx.prepare_cached(LEASE_TAKE)?.execute(bound)? == 1)
}
