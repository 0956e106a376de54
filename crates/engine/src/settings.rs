//! What an engine may be told.

use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;

use crate::fresh::IdSource;

/// What an engine may be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// batches of asks that may wait; beyond it callers are told to come back
    pub intake_max: usize,
    /// asks that are decided into one commit
    pub group_max: usize,
    /// committed runs kept in memory
    pub cached_runs_max: usize,
    /// roughly what they may weigh
    pub cached_bytes_max: usize,
    /// when ended runs are deleted
    pub retention: Retention,
    /// how long after its end a message to the outside is tried again, first
    pub webhook_retry: Interval,
    /// tries of a message to the outside before it becomes a dead letter
    pub webhook_tries_max: u32,
    /// where fresh ids come from
    pub ids: IdSource,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            intake_max: 4096,
            group_max: 512,
            cached_runs_max: 20_000,
            cached_bytes_max: 64 * 1024 * 1024,
            retention: Retention::default(),
            webhook_retry: Interval::from_secs(5),
            webhook_tries_max: 10,
            ids: IdSource::default(),
        }
    }
}

/// When ended runs are deleted. Without a time they are kept for ever.
#[derive(Clone, Copy, Debug, Default)]
pub struct Retention {
    /// runs of the commands dialect
    pub commands: Option<Interval>,
}

impl Retention {
    pub(crate) fn of(&self, dialect: Dialect) -> Option<Interval> {
        match dialect {
            Dialect::Commands => self.commands,
            Dialect::Runbooks | Dialect::Platform | Dialect::Workspaces => None,
        }
    }
}
