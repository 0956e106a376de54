//! The one thread that writes. It owns the connection, so nobody can begin a second write
//! transaction, and a read can never turn into a write.

use std::thread::JoinHandle;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::commit;
use super::lock::Lock;
use crate::error::StoreError;
use crate::model::Verdict;
use crate::rows::GroupRows;

/// How many jobs may wait. When they do, the caller waits: memory must not grow with the backlog.
const JOBS_MAX: usize = 256;

/// How many waiting commits share one transaction.
const COMMITS_MERGED_MAX: usize = 32;

/// One thing for the writer to do. Each answers after its transaction, never before.
pub(super) enum Job {
    /// a group of decisions; several that wait share a transaction
    Commit(Commit),
    /// any other write
    Write(Box<dyn FnOnce(&mut Writer) + Send>),
    /// let go of the file
    Close(oneshot::Sender<()>),
}

/// A group of decisions, and who waits for it.
pub(super) struct Commit {
    pub(super) rows: GroupRows,
    pub(super) answer: oneshot::Sender<Result<Vec<Verdict>, StoreError>>,
}

/// The write connection.
pub(super) struct Writer {
    db: Connection,
    /// a flush failed, so what the disk holds is unknown until the file is opened again
    flush_failed: bool,
}

/// Starts the thread. It ends when told to, or when the last sender is gone.
pub(super) fn start(
    db: Connection,
    lock: Lock,
) -> std::io::Result<(mpsc::Sender<Job>, JoinHandle<()>)> {
    let (sender, jobs) = mpsc::channel(JOBS_MAX);
    let writer = Writer { db, flush_failed: false };
    let thread = std::thread::Builder::new()
        .name("store-writer".to_owned())
        .spawn(move || writer.run(jobs, lock))?;
    Ok((sender, thread))
}

impl Writer {
    fn run(mut self, mut jobs: mpsc::Receiver<Job>, lock: Lock) {
        let mut put_back = None;
        let asked_to_close = loop {
            match put_back.take().or_else(|| jobs.blocking_recv()) {
                Some(Job::Commit(first)) => {
                    let mut commits = vec![first];
                    put_back = gather(&mut jobs, &mut commits);
                    self.commit(commits);
                }
                Some(Job::Write(write)) => write(&mut self),
                Some(Job::Close(answer)) => break Some(answer),
                None => break None,
            }
        };
        self.close();
        // Whoever waits for the end may open the file again at once, so the lock goes first.
        drop(lock);
        if let Some(answer) = asked_to_close {
            let _ = answer.send(());
        }
    }

    /// Runs one transaction and waits until the disk has it.
    ///
    /// Begins `IMMEDIATE`: the write lock is taken, and waited for, before anything is read. A
    /// transaction that reads first and writes later fails at once if another writer came between,
    /// and no busy timeout helps it.
    pub(super) fn transact<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.flush_failed {
            return Err(StoreError::broken(
                "an earlier write was not confirmed by the disk; check the disk, then restart",
            ));
        }
        let tx = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let answer = work(&tx)?;
        if let Err(error) = tx.commit() {
            self.flush_failed = super::error::is_flush_failure(&error);
            return Err(error.into());
        }
        Ok(answer)
    }

    /// Does what is not done inside a transaction.
    pub(super) fn between_transactions<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work(&self.db)
    }

    fn commit(&mut self, commits: Vec<Commit>) {
        if let [_, _, ..] = commits.as_slice()
            && let Ok(answers) = self.transact(|tx| write_all(tx, &commits))
        {
            for (commit, answer) in commits.into_iter().zip(answers) {
                // A caller that no longer waits has its commit all the same.
                let _ = commit.answer.send(answer);
            }
            return;
        }
        // One alone; or one of several is at fault, and must not cost the others their commit.
        for commit in commits {
            let answer = self.transact(|tx| commit::write(tx, &commit.rows));
            let _ = commit.answer.send(answer);
        }
    }

    /// Notes that nothing was under way, and folds the write-ahead log into the file.
    fn close(self) {
        if self.flush_failed {
            // What the disk holds is unknown, so the next start must look.
            return;
        }
        let closed = self.db.execute_batch(
            "UPDATE meta SET clean = 1 WHERE id = 1;
             PRAGMA wal_checkpoint(TRUNCATE);",
        );
        if let Err(error) = closed {
            // Harmless: the log is replayed, and the file checked, at the next start.
            tracing::warn!(%error, "store closed without a final checkpoint");
        }
    }
}

/// Takes the commits that already wait, and answers with the first job that is none.
fn gather(jobs: &mut mpsc::Receiver<Job>, commits: &mut Vec<Commit>) -> Option<Job> {
    while commits.len() < COMMITS_MERGED_MAX {
        match jobs.try_recv() {
            Ok(Job::Commit(commit)) => commits.push(commit),
            Ok(job) => return Some(job),
            Err(_) => return None,
        }
    }
    None
}

type Answers = Vec<Result<Vec<Verdict>, StoreError>>;

fn write_all(tx: &Transaction<'_>, commits: &[Commit]) -> Result<Answers, StoreError> {
    commits
        .iter()
        .map(|commit| match commit::write(tx, &commit.rows) {
            Err(error @ StoreError::Fenced { .. }) => Ok(Err(error)),
            written => written.map(Ok),
        })
        .collect()
}
