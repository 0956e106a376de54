//! The embedded store: one SQLite file, one writer thread, a few readers.
//!
//! The file belongs to one process at a time. Every write goes through one thread, so that commits
//! which wait for each other can share an fsync; every read has its own connection and sees what is
//! committed. The statements stand in `sql/sqlite`, the schema in `migrations/sqlite`.

mod batch;
mod batch_write;
mod ceiling;
mod columns;
mod commit;
mod compact;
mod connection;
mod credit;
mod dead_letter;
mod document;
mod error;
mod event;
mod files;
mod ledger;
mod list;
mod load;
mod lock;
mod member;
mod migrate;
mod outbox;
mod query;
mod readers;
mod retention;
mod run_write;
mod runbook;
mod store;
mod submission;
mod subscription;
mod tenant_policy;
mod token;
#[cfg(feature = "postgres")]
mod transfer;
mod trigger;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, Transaction};
use stepwell_core::time::Timestamp;
use tokio::sync::{mpsc, oneshot};

use crate::error::StoreError;
use crate::model::{Group, Verdict};
use crate::rows::GroupRows;
use readers::Readers;
use writer::{Commit, Job};

pub use crate::ceiling::Ceiling;
pub use ceiling::ceiling;
#[cfg(feature = "postgres")]
pub(crate) use transfer::Source;

/// A file larger than this is not checked at start, because that reads all of it.
const CHECKED_AT_START_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How the file is used. The defaults are right; tests make the waits shorter.
#[derive(Clone, Debug)]
pub struct Options {
    /// how long to wait for another program's lock on the file
    pub busy_timeout: Duration,
    /// how long one read may take
    pub read_limit: Duration,
    /// how many reads go on at once
    pub readers_max: usize,
    /// how many bytes the file may have; `None`: as many as the disk
    pub bytes_max: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            busy_timeout: Duration::from_secs(5),
            read_limit: Duration::from_secs(5),
            readers_max: 3,
            bytes_max: None,
        }
    }
}

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    /// `None` only while it is dropped
    jobs: Option<mpsc::Sender<Job>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    readers: Readers,
}

impl SqliteStore {
    /// Opens the file, makes it if there is none, and brings its schema up to date.
    ///
    /// # Errors
    /// `Refused` if another process uses the file, or a newer release or another program wrote it;
    /// `Broken` if it is damaged.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        files::prepare(&path)?;
        let lock = lock::Lock::take(&path)?;
        let mut db = connection::open_writer(&path, &options)?;
        migrate::migrate(&mut db, &path)?;
        check_after_crash(&db, &path)?;
        let (jobs, thread) = writer::start(db, lock).map_err(|cause| StoreError::Unavailable {
            reason: "the writer thread cannot be started".to_owned(),
            source: Some(Box::new(cause)),
        })?;
        Ok(Self {
            readers: Readers::new(path.clone(), options),
            path,
            jobs: Some(jobs),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the whole file, however long that takes, and says what is wrong with it; nothing, if it
    /// is sound.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn check(&self) -> Result<Vec<String>, StoreError> {
        self.readers.read_at_leisure(quick_check).await
    }

    /// The latest moment at which a run changed that is still open; `None` if none is.
    ///
    /// A clock that starts behind it would keep every timer of such a run waiting for the difference.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub async fn latest_change(&self) -> Result<Option<Timestamp>, StoreError> {
        self.readers.read_at_leisure(load::latest_change).await
    }

    /// Runs a write transaction on the writer thread.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.send(Job::Write(Box::new(move |writer| {
            // A caller that no longer waits has its write all the same.
            let _ = answer.send(writer.transact(work));
        })))
        .await?;
        self.answer(answered).await?
    }

    /// Encodes a group here, in the caller's task, and hands it to the writer thread.
    async fn commit_group(&self, group: Group) -> Result<Vec<Verdict>, StoreError> {
        let (answer, answered) = oneshot::channel();
        let rows = GroupRows::encode(group);
        self.send(Job::Commit(Commit { rows, answer })).await?;
        self.answer(answered).await?
    }

    async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs().send(job).await.map_err(|_| closed())
    }

    /// What the writer thread answers. A job that came into the channel in the moment the thread went
    /// is taken out by nobody, so to wait for its answer alone would be to wait for ever.
    async fn answer<T>(&self, mut answered: oneshot::Receiver<T>) -> Result<T, StoreError> {
        tokio::select! {
            biased;
            answer = &mut answered => answer.map_err(|_| closed()),
            () = self.jobs().closed() => answered.try_recv().map_err(|_| closed()),
        }
    }

    fn jobs(&self) -> &mpsc::Sender<Job> {
        self.jobs.as_ref().expect("the channel is only taken when the store is dropped")
    }

    async fn close_all(&self) {
        self.readers.close().await;
        let (answer, answered) = oneshot::channel();
        if self.send(Job::Close(answer)).await.is_ok() {
            // An error means that somebody else's close was first.
            let _ = self.answer(answered).await;
        }
    }
}

impl Drop for SqliteStore {
    /// Waits for the writer, so that the file is free when the store is gone.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Ok(mut thread) = self.thread.lock()
            && let Some(thread) = thread.take()
        {
            let _ = thread.join();
        }
    }
}

fn closed() -> StoreError {
    StoreError::unavailable("the store is closed")
}

/// After a crash a small file is checked before it is used; a large one would take too long, and
/// SQLite finds most damage on its own when it meets it.
fn check_after_crash(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let clean: bool = db.query_row("SELECT clean FROM meta WHERE id = 1", [], |row| row.get(0))?;
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    if !clean && bytes < CHECKED_AT_START_BYTES_MAX {
        let faults = quick_check(db)?;
        if let Some(fault) = faults.first() {
            return Err(StoreError::broken(format!(
                "{} is damaged ({fault}); restore it from a backup",
                path.display()
            )));
        }
    }
    db.execute_batch("UPDATE meta SET clean = 0 WHERE id = 1 AND clean = 1")?;
    Ok(())
}

fn quick_check(db: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare("PRAGMA quick_check(20)")?;
    let lines: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").collect())
}
