//! Batches with their phases and counters, their runs, and what was decided about them.

use std::collections::HashMap;

use stepwell_core::batch::{Batch, BatchMode, BatchStatus, MemberTally, PhaseStatus, PhaseTally};
use stepwell_core::id::{BatchId, MemberId, PhaseId, RunNumber};
use stepwell_core::run::BatchRole;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{Columns, Text, limit, millis, text};
use super::connection::Connection;
use super::load::BEGIN_READ;
use super::send::COMMIT;
use crate::error::StoreError;
use crate::model::{BatchEvent, BatchFilter, BatchRun, Listed, Slice};
use crate::rows::{BatchRecordRow, BatchRow, PhaseRow, role_of_word};

const BATCH_LOAD: &str = include_str!("../../sql/postgres/batch_load.sql");
const BATCH_PHASES: &str = include_str!("../../sql/postgres/batch_phases.sql");
const BATCHES: &str = include_str!("../../sql/postgres/batches.sql");
const BATCHES_COUNT: &str = include_str!("../../sql/postgres/batches_count.sql");
const BATCH_RUN: &str = include_str!("../../sql/postgres/batch_run.sql");
const BATCH_RUNS: &str = include_str!("../../sql/postgres/batch_runs.sql");
const BATCH_RUNS_OF_MEMBER: &str = include_str!("../../sql/postgres/batch_runs_of_member.sql");
const BATCH_EVENTS: &str = include_str!("../../sql/postgres/batch_events.sql");
const BATCH_EVENTS_OF_BATCH: &str = include_str!("../../sql/postgres/batch_events_of_batch.sql");

/// A batch with its phases and counters.
pub(super) async fn find(db: &mut Connection, id: BatchId) -> Result<Option<Batch>, StoreError> {
    db.prepare(&[BEGIN_READ, BATCH_LOAD, BATCH_PHASES, COMMIT]).await?;
    db.batch(BEGIN_READ).await?;
    let found = db.query(BATCH_LOAD, &[&vec![id.0]]).await?;
    let mut batches = with_phases(db, &found).await?;
    db.batch(COMMIT).await?;
    Ok(batches.pop())
}

/// A part of the batches, newest first, and how many there are: all as of one moment.
pub(super) async fn list(
    db: &mut Connection,
    filter: &BatchFilter,
    slice: Slice,
) -> Result<Listed<Batch>, StoreError> {
    let tenant = filter.tenant.as_ref().map(|tenant| Text(tenant.as_str()));
    let runbook = text(filter.runbook.as_ref());
    let words: Vec<&str> = filter.statuses.iter().map(|status| status.word()).collect();
    let statuses = (!words.is_empty()).then_some(words);
    let mode = filter.mode.map(BatchMode::word);
    let slot = millis(filter.slot);
    let (offset, rows) = (limit(slice.offset), limit(slice.limit));
    let bound: [(&(dyn ToSql + Sync), Type); 8] = [
        (&tenant, Type::TEXT),
        (&runbook, Type::TEXT),
        (&statuses, Type::TEXT_ARRAY),
        (&mode, Type::TEXT),
        (&slot, Type::INT8),
        (&filter.unsettled, Type::BOOL),
        (&offset, Type::INT8),
        (&rows, Type::INT8),
    ];
    db.batch(BEGIN_READ).await?;
    let found = db.query_planned(BATCHES, &bound).await?;
    let counted = db.query_planned(BATCHES_COUNT, &bound[..6]).await?;
    let items = with_phases(db, &found).await?;
    db.batch(COMMIT).await?;
    let total = counted.first().map_or(Ok(0), |row| Columns::of(row).count())?;
    Ok(Listed { items, total })
}

/// Batches in the order of their rows, each with its phases.
async fn with_phases(db: &mut Connection, found: &[Row]) -> Result<Vec<Batch>, StoreError> {
    let batches = found.iter().map(read_batch).collect::<Result<Vec<_>, _>>()?;
    let ids: Vec<i64> = batches.iter().map(|batch| batch.id.0).collect();
    let mut phases_of: HashMap<BatchId, Vec<PhaseRow>> = HashMap::new();
    for row in db.query(BATCH_PHASES, &[&ids]).await? {
        let (batch, phase) = read_phase(&row)?;
        phases_of.entry(batch).or_default().push(phase);
    }
    let decode = |batch: BatchRow| {
        let phases = phases_of.remove(&batch.id).unwrap_or_default();
        batch.decode(phases)
    };
    batches.into_iter().map(decode).collect()
}

fn read_batch(row: &Row) -> Result<BatchRow, StoreError> {
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

fn read_phase(row: &Row) -> Result<(BatchId, PhaseRow), StoreError> {
    let mut columns = Columns::of(row);
    let batch = BatchId(columns.take()?);
    let phase = PhaseRow {
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
    };
    Ok((batch, phase))
}

/// Runs of a batch by what they do, oldest first; or every run of one member.
pub(super) async fn runs(
    db: &mut Connection,
    batch: BatchId,
    role: Option<BatchRole>,
    member: Option<MemberId>,
) -> Result<Vec<BatchRun>, StoreError> {
    let any = [BatchRole::Init, BatchRole::Member, BatchRole::Removal];
    let roles = any.into_iter().filter(|it| role.is_none_or(|role| role == *it));
    let roles: Vec<&str> = roles.map(BatchRole::word).collect();
    let found = match member {
        Some(member) => db.query(BATCH_RUNS_OF_MEMBER, &[&batch.0, &roles, &member.0]).await?,
        None => db.query(BATCH_RUNS, &[&batch.0, &roles]).await?,
    };
    found.iter().map(read_run).collect()
}

/// A run of a batch by number.
pub(super) async fn numbered(
    db: &mut Connection,
    number: RunNumber,
) -> Result<Option<BatchRun>, StoreError> {
    db.query(BATCH_RUN, &[&number.0]).await?.first().map(read_run).transpose()
}

fn read_run(row: &Row) -> Result<BatchRun, StoreError> {
    let mut columns = Columns::of(row);
    Ok(BatchRun {
        number: RunNumber(columns.take()?),
        run: columns.run_id()?,
        batch: BatchId(columns.take()?),
        member: columns.take::<Option<i64>>()?.map(MemberId),
        role: columns.word(role_of_word)?,
    })
}

/// The history of a batch, or of all batches, after a place, oldest first.
pub(super) async fn events(
    db: &mut Connection,
    batch: Option<BatchId>,
    after: i64,
    rows: usize,
) -> Result<Vec<BatchEvent>, StoreError> {
    let found = match batch {
        Some(batch) => db.query(BATCH_EVENTS_OF_BATCH, &[&after, &limit(rows), &batch.0]).await?,
        None => db.query(BATCH_EVENTS, &[&after, &limit(rows)]).await?,
    };
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        let (id, batch) = (columns.take()?, BatchId(columns.take()?));
        let record = BatchRecordRow {
            version: columns.count()?,
            at: columns.moment()?,
            entries: columns.take()?,
        };
        Ok(BatchEvent { id, batch, record: record.decode()? })
    };
    found.iter().map(read).collect()
}
