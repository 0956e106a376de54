//! Room that deleted rows have left. New rows use it first; what is too much of it is given back to the
//! disk, a little at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::writer::Job;
use super::{SqliteStore, closed};
use crate::error::StoreError;

/// Pages given back in one go; they may have to be moved first, and writers wait for that.
const PAGES: i64 = 256;

/// The share of the file that is left to new rows.
const SPARE_SHARE: i64 = 4;

/// As much is left in any case.
const SPARE_MIN: i64 = 2_048;

/// A write-ahead log longer than this is folded into the file whatever readers do. The automatic way
/// needs a moment in which nobody reads, and under a constant load of questions there may be none.
const LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long writers wait for readers then.
const LOG_PATIENCE: Duration = Duration::from_millis(100);

impl SqliteStore {
    /// Gives a little room back; `true` if there is more.
    pub(super) async fn compact_a_little(&self) -> Result<bool, StoreError> {
        let (answer, answered) = oneshot::channel();
        let log = log_of(self.path());
        self.send(Job::Write(Box::new(move |writer| {
            // A caller that no longer waits has it done all the same.
            let _ = answer.send(writer.between_transactions(|db| compact(db, &log)));
        })))
        .await?;
        answered.await.map_err(|_| closed())?
    }
}

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn compact(db: &Connection, log: &Path) -> Result<bool, StoreError> {
    let more = give_back(db)?;
    if std::fs::metadata(log).is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
        fold_log(db)?;
    }
    Ok(more)
}

fn give_back(db: &Connection) -> Result<bool, StoreError> {
    let number = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let spare = (number("page_count")? / SPARE_SHARE).max(SPARE_MIN);
    let surplus = number("freelist_count")? - spare;
    if surplus <= 0 {
        return Ok(false);
    }
    // Each row of the answer is a page given back; a file of an earlier release has none to give.
    let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
    let mut pages = statement.query([])?;
    let mut given = 0;
    while pages.next()?.is_some() {
        given += 1;
    }
    Ok(given > 0 && surplus > PAGES)
}

fn fold_log(db: &Connection) -> Result<(), StoreError> {
    let usual: u32 = db.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
    db.busy_timeout(LOG_PATIENCE)?;
    // Whether somebody was in the way is the first column; then it is tried again some other time.
    let folded = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    db.busy_timeout(Duration::from_millis(usual.into()))?;
    Ok(folded?)
}
