//! Triggers: what makes jobs without being asked each time.
//!
//! Every firing has a key, and the run it makes is made under that key, once, whatever crashes and
//! however many instances fire. A schedule and a dropped file go the same way, so that a crash at any
//! point is taken up again:
//!
//! 1. the firing is noted as queued, together with how far its trigger has come;
//! 2. its run is started under its key, through the engine's one door;
//! 3. the firing is noted as started, with its run.
//!
//! A queued firing is a row that waits: for its start, for the end of the run before it, for credits.
//! Whoever asks by hand or by webhook has nobody to remember it, and is answered after the start.
//!
//! - `due`: which firings of a schedule are made, and which passed over;
//! - `keeper` and `schedule`: when a moment has come, and what one schedule does then;
//! - `watch` and `files`: directories, and what is done about the files of one;
//! - `lease`: one instance at a time;
//! - `start`: the run of a firing; `note`: what became of it;
//! - `hook`: signed requests from outside; `api`: what people ask for.

mod api;
mod due;
mod error;
mod files;
mod hook;
mod keeper;
mod lease;
mod note;
mod schedule;
mod start;
mod watch;

use tokio::sync::Notify;

pub use api::{Fired, NextFiring, PutTrigger};
pub use error::TriggerError;
pub use hook::HookCall;

pub(crate) use keeper::schedules;
pub(crate) use watch::file_drops;

/// What the tasks around triggers share.
#[derive(Default)]
pub(crate) struct Triggers {
    /// schedules are to be looked at
    schedules: Notify,
    /// directories are to be looked up
    file_drops: Notify,
}

impl Triggers {
    /// A trigger was made, changed or fired: whoever looks after them looks again.
    pub(crate) fn changed(&self) {
        self.schedules.notify_one();
        self.file_drops.notify_one();
    }
}
