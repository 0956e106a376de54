//! A few connections, opened when they are first needed and again when they broke.
//!
//! Our own rather than a crate: it lends, counts seats and forgets what saw an error, which is all we
//! need, and each seat has a number that its counters are kept under.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::connection::{Connection, Opener, Purpose};
use super::error::no_connection;
use crate::error::StoreError;

/// A few connections for one purpose.
pub(super) struct Pool {
    opener: Arc<Opener>,
    purpose: Purpose,
    seats: Mutex<Vec<Seat>>,
    permits: Semaphore,
    size: u32,
}

/// A place for one connection.
struct Seat {
    slot: i32,
    connection: Option<Connection>,
}

/// A connection in use. It goes back when it is done; one that is dropped before may be in the middle of
/// something, and is closed instead.
pub(super) struct Loan<'p> {
    pool: &'p Pool,
    slot: i32,
    connection: Option<Connection>,
    done: bool,
    _permit: SemaphorePermit<'p>,
}

impl Pool {
    pub(super) fn new(opener: Arc<Opener>, purpose: Purpose, size: u32) -> Self {
        let size = size.max(1);
        // Slot 0 belongs to no connection.
        let slots = 1..=i32::try_from(size).unwrap_or(i32::MAX);
        let seats = slots.map(|slot| Seat { slot, connection: None }).collect();
        let permits = Semaphore::new(size as usize);
        Self { opener, purpose, seats: Mutex::new(seats), permits, size }
    }

    /// A connection, when one is free.
    pub(super) async fn lend(&self) -> Result<Loan<'_>, StoreError> {
        let permit = self.permits.acquire().await.map_err(|_| closed())?;
        let seat = self.seats().pop().expect("there is a seat for every permit");
        let mut loan =
            Loan { pool: self, slot: seat.slot, connection: None, done: false, _permit: permit };
        loan.connection = Some(match seat.connection.filter(|held| !held.is_closed()) {
            Some(held) => held,
            None => self.open().await?,
        });
        Ok(loan)
    }

    async fn open(&self) -> Result<Connection, StoreError> {
        let opened = self.opener.open(self.purpose).await;
        opened.map_err(|cause| no_connection(&self.opener.place.shown(), cause))
    }

    /// Waits for what is under way, refuses whatever comes and closes the connections.
    pub(super) async fn close(&self) {
        // An error means that somebody else closed it already.
        let _all = self.permits.acquire_many(self.size).await;
        self.permits.close();
        for seat in self.seats().iter_mut() {
            seat.connection = None;
        }
    }

    fn seats(&self) -> std::sync::MutexGuard<'_, Vec<Seat>> {
        // Every change leaves the list sound, so what a panicking holder left can be used.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loan<'_> {
    /// Gives the connection back, with nothing under way on it.
    pub(super) fn done<T>(mut self, answer: T) -> T {
        self.done = true;
        answer
    }

    /// The number of its seat; no two connections of a pool have the same.
    pub(super) fn slot(&self) -> i32 {
        self.slot
    }
}

impl Deref for Loan<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a loan has its connection until it is dropped")
    }
}

impl DerefMut for Loan<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a loan has its connection until it is dropped")
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|_| self.done);
        // Before the permit goes: whoever gets that finds the seat.
        self.pool.seats().push(Seat { slot: self.slot, connection });
    }
}

/// What everybody is told from then on.
pub(super) fn closed() -> StoreError {
    StoreError::unavailable("the store is closed")
}
