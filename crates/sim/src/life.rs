//! Whether an instance lives, stands still, or is dead.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::faults::Kind;

/// The state that the seams of one instance ask for.
#[derive(Debug)]
pub struct Life {
    number: u32,
    dead: AtomicBool,
    paused: AtomicBool,
    /// wakes in the order of arrival; a watch channel would wake in an order that no seed determines
    goes_on: Notify,
    /// until when the store, or the bus, cannot be reached
    store_away_until_ms: AtomicI64,
    bus_away_until_ms: AtomicI64,
    /// the moment of the last call, and how many there were at that moment
    calls: Mutex<(i64, u32)>,
}

impl Life {
    /// A life that has just begun.
    #[must_use]
    pub fn new(number: u32) -> Self {
        let (dead, paused) = (AtomicBool::new(false), AtomicBool::new(false));
        Self {
            number,
            dead,
            paused,
            goes_on: Notify::new(),
            store_away_until_ms: AtomicI64::new(0),
            bus_away_until_ms: AtomicI64::new(0),
            calls: Mutex::default(),
        }
    }

    /// Until when the store, or else the bus, cannot be reached.
    #[must_use]
    pub fn outage(&self, of: Kind) -> &AtomicI64 {
        if of == Kind::StoreAway { &self.store_away_until_ms } else { &self.bus_away_until_ms }
    }

    /// It asks something at this moment; answers how often it did at this very moment.
    pub fn note_call(&self, now_ms: i64) -> u32 {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        *calls = if calls.0 == now_ms { (now_ms, calls.1 + 1) } else { (now_ms, 1) };
        calls.1
    }

    /// It is the first instance of its world.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.number == 1
    }

    /// It will do nothing more.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// It stands still.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.paused.load(Ordering::SeqCst)
    }

    /// Ends it.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.set_paused(false);
    }

    /// Stops it where it stands, or lets it go on.
    pub fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Ordering::SeqCst);
        if !paused {
            self.goes_on.notify_waiters();
        }
    }

    /// Waits while it stands still.
    pub async fn pass(&self) {
        // One thread runs a world, so nothing comes between the question and the wait.
        while self.is_paused() {
            self.goes_on.notified().await;
        }
    }
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("instance-{}", self.number))
    }
}
