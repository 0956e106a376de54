//! Whether an instance lives, stands still, or is dead.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The state that the seams of one instance ask for.
#[derive(Debug)]
pub struct Life {
    number: u32,
    dead: AtomicBool,
    paused: AtomicBool,
    /// wakes in the order of arrival; a watch channel would wake in an order that no seed determines
    goes_on: Notify,
}

impl Life {
    /// A life that has just begun.
    #[must_use]
    pub fn new(number: u32) -> Self {
        let (dead, paused) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { number, dead, paused, goes_on: Notify::new() }
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
