//! What is asked about one run, and about the store as a whole.

use rusqlite::{Connection, OptionalExtension, params};
use stepwell_core::id::{LeaseId, RunId};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use super::columns::{Columns, key, limit, number};
use super::dead_letter;
use crate::error::StoreError;
use crate::model::{Figures, Record, StaleReport, Stub};
use crate::rows::RecordRow;

const HISTORY: &str = include_str!("../../sql/sqlite/history.sql");
const STALE_REPORTS: &str = include_str!("../../sql/sqlite/stale_reports.sql");
const STUB: &str = include_str!("../../sql/sqlite/stub.sql");
const EXPIRY: &str = include_str!("../../sql/sqlite/expiry.sql");
const FIGURES: &str = include_str!("../../sql/sqlite/figures.sql");

/// The history of a run from a version on, oldest first.
pub(super) fn history(
    db: &Connection,
    run: RunId,
    after_version: u64,
    rows: usize,
) -> Result<Vec<Record>, StoreError> {
    let mut statement = db.prepare_cached(HISTORY)?;
    let bound = params![key(&run), number(after_version), limit(rows)];
    let found = statement.query_and_then(bound, |row| {
        let mut columns = Columns::of(row);
        let record = RecordRow {
            version: columns.count()?,
            at: columns.moment()?,
            entries: columns.take()?,
        };
        record.decode()
    })?;
    found.collect()
}

/// The first records of each run's history, in the order asked.
pub(super) fn beginnings(
    db: &Connection,
    runs: &[RunId],
    rows: usize,
) -> Result<Vec<Vec<Record>>, StoreError> {
    runs.iter().map(|run| history(db, *run, 0, rows)).collect()
}

/// Reports on a run that changed nothing, oldest first.
pub(super) fn stale_reports(db: &Connection, run: RunId) -> Result<Vec<StaleReport>, StoreError> {
    let mut statement = db.prepare_cached(STALE_REPORTS)?;
    let found = statement.query_and_then([key(&run)], |row| {
        let mut columns = Columns::of(row);
        Ok(StaleReport {
            run: columns.run_id()?,
            step: columns.take()?,
            kind: columns.take()?,
            attempt: columns.count()?,
            lease: LeaseId(Uuid::from_bytes(columns.take()?)),
            reason: columns.take()?,
            at: columns.moment()?,
        })
    })?;
    found.collect()
}

/// What became of a run that retention has deleted.
pub(super) fn stub(db: &Connection, run: RunId) -> Result<Option<Stub>, StoreError> {
    let mut statement = db.prepare_cached(STUB)?;
    let mut found = statement.query([key(&run)])?;
    let Some(row) = found.next()? else { return Ok(None) };
    let mut columns = Columns::of(row);
    Ok(Some(Stub {
        run: columns.run_id()?,
        tenant: columns.tenant()?,
        workflow: columns.take()?,
        status: columns.word(RunStatus::of_word)?,
        ended_at: columns.moment()?,
        deleted_at: columns.moment()?,
    }))
}

/// When runs may be deleted.
pub(super) fn expiries(
    db: &Connection,
    runs: &[RunId],
) -> Result<Vec<Option<Timestamp>>, StoreError> {
    let mut statement = db.prepare_cached(EXPIRY)?;
    let expiries = runs.iter().map(|run| {
        let found = statement.query_row([key(run)], |row| row.get::<_, Option<i64>>(0));
        Ok(found.optional()?.flatten().map(Timestamp::from_millis))
    });
    expiries.collect()
}

/// Figures for metrics and health.
pub(super) fn figures(db: &Connection) -> Result<Figures, StoreError> {
    let mut statement = db.prepare_cached(FIGURES)?;
    let mut found = statement.query([])?;
    let Some(row) = found.next()? else { return Ok(Figures::default()) };
    let mut columns = Columns::of(row);
    let depths = dead_letter::depths(db)?;
    Ok(Figures {
        runs_open: columns.count()?,
        dead_letters: depths.iter().map(|depth| depth.count).sum(),
        dead_letters_by_reason: depths,
        outbox: columns.count()?,
    })
}
