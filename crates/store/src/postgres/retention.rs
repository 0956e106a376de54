//! Retention: an ended run is deleted from every table at once, and a stub of it stays for
//! a while.

use stepwell_core::time::Timestamp;
use uuid::Uuid;

use super::columns::{Columns, bind, limit};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;

const EXPIRED: &str = include_str!("../../sql/postgres/expired.sql");
const STUB_INSERT: &str = include_str!("../../sql/postgres/stub_insert.sql");
const KEY_DELETE: &str = include_str!("../../sql/postgres/key_delete.sql");
const STUBS_FORGET: &str = include_str!("../../sql/postgres/stubs_forget.sql");
const FIRINGS_FORGET: &str = include_str!("../../sql/postgres/firings_forget.sql");
const BATCH_RUN_DELETE: &str = include_str!("../../sql/postgres/batch_run_delete.sql");

/// The rows of a run, in every table that has any. Its key and its number go by themselves, before the
/// header that names them.
const DELETES: [&str; 9] = [
    "DELETE FROM stale_report WHERE run_id = ANY($1)",
    "DELETE FROM dead_letter WHERE run_id = ANY($1)",
    "DELETE FROM outbox WHERE run_id = ANY($1)",
    "DELETE FROM event WHERE run_id = ANY($1)",
    "DELETE FROM input WHERE run_id = ANY($1)",
    "DELETE FROM history WHERE run_id = ANY($1)",
    "DELETE FROM step WHERE run_id = ANY($1)",
    "DELETE FROM run_header WHERE run_id = ANY($1)",
    "DELETE FROM run WHERE id = ANY($1)",
];

/// Deletes up to `rows` ended runs whose time has come.
pub(super) async fn sweep(
    db: &mut Connection,
    now: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    db.prepare(&[STUB_INSERT, KEY_DELETE, BATCH_RUN_DELETE, COMMIT]).await?;
    db.prepare(&DELETES).await?;
    db.batch(BEGIN).await?;
    let found = db.query(EXPIRED, &[&now.as_millis(), &limit(rows)]).await?;
    let runs: Vec<Uuid> =
        found.iter().map(|row| Columns::of(row).take()).collect::<Result<_, StoreError>>()?;
    let mut pipeline = db.pipeline();
    if !runs.is_empty() {
        pipeline.send(STUB_INSERT, vec![bind(&runs), bind(now.as_millis())]);
        pipeline.send(KEY_DELETE, vec![bind(&runs)]);
        pipeline.send(BATCH_RUN_DELETE, vec![bind(&runs)]);
        for delete in DELETES {
            pipeline.send(delete, vec![bind(&runs)]);
        }
    }
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await?;
    Ok(runs.len())
}

/// Forgets old stubs and firings.
pub(super) async fn forget(
    db: &mut Connection,
    stubs_before: Timestamp,
    firings_before: Timestamp,
    rows: usize,
) -> Result<usize, StoreError> {
    let stubs = db.execute(STUBS_FORGET, &[&stubs_before.as_millis(), &limit(rows)]).await?;
    let firings = db.execute(FIRINGS_FORGET, &[&firings_before.as_millis(), &limit(rows)]).await?;
    Ok(usize::try_from(stubs + firings).unwrap_or(usize::MAX))
}
