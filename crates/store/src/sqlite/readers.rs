//! The connections that read, beside the writer and without waiting for it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Options;
use super::connection::open_reader;
use crate::error::StoreError;

/// A few connections, opened when they are first needed.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    options: Options,
    free: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

/// A connection in use, with the right to use it.
struct Loan {
    db: Connection,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub(super) fn new(path: PathBuf, options: Options) -> Self {
        let permits = Arc::new(Semaphore::new(options.readers_max.max(1)));
        Self { path, options, free: Mutex::default(), permits }
    }

    /// Reads off the async threads, and stops a read that takes too long: as long as it lasts, the
    /// write-ahead log cannot be folded into the file and grows.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let loan = self.lend().await?;
        let interrupt = loan.db.get_interrupt_handle();
        let mut reading = tokio::task::spawn_blocking(move || {
            let answer = work(&loan.db);
            (loan, answer)
        });
        let done = match tokio::time::timeout(self.options.read_limit, &mut reading).await {
            Ok(done) => done,
            Err(_) => {
                interrupt.interrupt();
                reading.await
            }
        };
        let (loan, answer) =
            done.map_err(|cause| StoreError::broken_by("a read did not end well", cause))?;
        self.take_back(loan);
        answer
    }

    /// Reads on a connection of its own and without a limit; for what an operator asks for, rarely.
    pub(super) async fn read_at_leisure<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let db = open_reader(&self.path, &self.options)?;
        tokio::task::spawn_blocking(move || work(&db))
            .await
            .map_err(|cause| StoreError::broken_by("a read did not end well", cause))?
    }

    async fn lend(&self) -> Result<Loan, StoreError> {
        let permit = Arc::clone(&self.permits)
            .acquire_owned()
            .await
            .map_err(|_| StoreError::unavailable("the store is closed"))?;
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = match free {
            Some(db) => db,
            None => open_reader(&self.path, &self.options)?,
        };
        Ok(Loan { db, _permit: permit })
    }

    fn take_back(&self, loan: Loan) {
        if !self.permits.is_closed() {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(loan.db);
        }
    }

    /// Waits for the reads under way, refuses further ones and closes the connections.
    pub(super) async fn close(&self) {
        let all = u32::try_from(self.options.readers_max.max(1)).unwrap_or(u32::MAX);
        // An error means that somebody else closed it already.
        let _all = self.permits.acquire_many(all).await;
        self.permits.close();
        self.free.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
