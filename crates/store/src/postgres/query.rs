//! What is asked about one run, and about the store as a whole.

use std::collections::BTreeMap;

use stepwell_core::id::{LeaseId, RunId, Tenant};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::columns::{Columns, Text, limit, number};
use super::connection::Connection;
use super::dead_letter;
use crate::error::StoreError;
use crate::model::{Figures, KeyHash, KeyHolder, Record, StaleReport, Stub};
use crate::rows::RecordRow;

const HISTORY: &str = include_str!("../../sql/postgres/history.sql");
const BEGINNINGS: &str = include_str!("../../sql/postgres/beginnings.sql");
const STALE_REPORTS: &str = include_str!("../../sql/postgres/stale_reports.sql");
const STUB: &str = include_str!("../../sql/postgres/stub.sql");
const EXPIRIES: &str = include_str!("../../sql/postgres/expiries.sql");
const FIGURES: &str = include_str!("../../sql/postgres/figures.sql");
const PROBE: &str = include_str!("../../sql/postgres/probe.sql");
const KEY_FIND: &str = include_str!("../../sql/postgres/key_find.sql");

/// The history of a run from a version on, oldest first.
pub(super) async fn history(
    db: &mut Connection,
    run: RunId,
    after_version: u64,
    rows: usize,
) -> Result<Vec<Record>, StoreError> {
    let found = db.query(HISTORY, &[&run.0, &number(after_version), &limit(rows)]).await?;
    found.iter().map(|row| read_record(&mut Columns::of(row))).collect()
}

fn read_record(columns: &mut Columns<'_>) -> Result<Record, StoreError> {
    let record =
        RecordRow { version: columns.count()?, at: columns.moment()?, entries: columns.take()? };
    record.decode()
}

/// The first records of each run's history, in the order asked.
pub(super) async fn beginnings(
    db: &mut Connection,
    runs: &[RunId],
    rows: usize,
) -> Result<Vec<Vec<Record>>, StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.0).collect();
    let found = db.query(BEGINNINGS, &[&ids, &limit(rows)]).await?;
    let mut beginnings = vec![Vec::new(); runs.len()];
    for row in &found {
        let mut columns = Columns::of(row);
        let place: usize = columns.count()?;
        let beginning = beginnings
            .get_mut(place)
            .ok_or_else(|| StoreError::broken("a history that nobody asked for"))?;
        beginning.push(read_record(&mut columns)?);
    }
    Ok(beginnings)
}

/// Reports on a run that changed nothing, oldest first.
pub(super) async fn stale_reports(
    db: &mut Connection,
    run: RunId,
) -> Result<Vec<StaleReport>, StoreError> {
    let found = db.query(STALE_REPORTS, &[&run.0]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok(StaleReport {
            run: columns.run_id()?,
            step: columns.take()?,
            kind: columns.take()?,
            attempt: columns.count()?,
            lease: LeaseId(columns.take()?),
            reason: columns.take()?,
            at: columns.moment()?,
        })
    };
    found.iter().map(read).collect()
}

/// What became of a run that retention has deleted.
pub(super) async fn stub(db: &mut Connection, run: RunId) -> Result<Option<Stub>, StoreError> {
    let found = db.query(STUB, &[&run.0]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok(Stub {
            run: columns.run_id()?,
            tenant: columns.tenant()?,
            workflow: columns.take()?,
            status: columns.word(RunStatus::of_word)?,
            ended_at: columns.moment()?,
            deleted_at: columns.moment()?,
        })
    };
    found.first().map(read).transpose()
}

/// Who holds an idempotency key.
pub(super) async fn key_holder(
    db: &mut Connection,
    tenant: &Tenant,
    hash: &KeyHash,
) -> Result<Option<KeyHolder>, StoreError> {
    let found = db.query(KEY_FIND, &[&Text(tenant.as_str()), &hash.as_slice()]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok(KeyHolder {
            run: columns.run_id()?,
            request_hash: columns.hash()?,
            created_at: columns.moment()?,
        })
    };
    found.first().map(read).transpose()
}

/// When runs may be deleted.
pub(super) async fn expiries(
    db: &mut Connection,
    runs: &[RunId],
) -> Result<Vec<Option<Timestamp>>, StoreError> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.0).collect();
    let found = db.query(EXPIRIES, &[&ids]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok((columns.run_id()?, columns.moment_if_any()?))
    };
    let found = found.iter().map(read).collect::<Result<BTreeMap<_, _>, StoreError>>()?;
    Ok(runs.iter().map(|run| found.get(run).copied().flatten()).collect())
}

/// Figures for metrics and health.
pub(super) async fn figures(db: &mut Connection) -> Result<Figures, StoreError> {
    let found = db.query(FIGURES, &[]).await?;
    let depths = dead_letter::depths(db).await?;
    let Some(row) = found.first() else { return Ok(Figures::default()) };
    let mut columns = Columns::of(row);
    Ok(Figures {
        runs_open: columns.count()?,
        dead_letters: depths.iter().map(|depth| depth.count).sum(),
        dead_letters_by_reason: depths,
        outbox: columns.count()?,
    })
}

/// Writes once, and waits until the disk has it.
pub(super) async fn probe(db: &mut Connection) -> Result<(), StoreError> {
    db.execute(PROBE, &[]).await?;
    Ok(())
}
