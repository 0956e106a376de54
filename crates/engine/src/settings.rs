//! What an engine may be told.

use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;
use stepwell_dialects::workspaces::Defaults;

use crate::batches::Sources;
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
    /// how several instances share one store
    pub ownership: Ownership,
    /// the queue of orders that this instance serves
    pub job_queue: String,
    /// how the sources of runbooks are asked
    pub scheduler: Scheduler,
    /// what every job of a workspace is granted
    pub workspaces: Defaults,
}

/// How the sources of runbooks are asked.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// this instance asks them
    pub enabled: bool,
    /// from one time to the next
    pub tick: Interval,
    /// how they are opened
    pub sources: Sources,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self { enabled: true, tick: Interval::from_secs(300), sources: Sources::default() }
    }
}

/// How several instances share one store. Without effect in a store of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// from one sign of life to the next
    pub heartbeat: Interval,
    /// after so much silence others take an instance's runs
    pub silence: Interval,
    /// how often to look for runs that nobody owns; sooner if somebody is about to be silent too long
    pub scan: Interval,
    /// it owns runs and decides them; otherwise it only takes work in and leaves it to others
    pub decides: bool,
}

impl Default for Ownership {
    fn default() -> Self {
        // B-067
        Self {
            heartbeat: Interval::from_secs(30),
            silence: Interval::from_secs(120),
            scan: Interval::from_secs(60),
            decides: true,
        }
    }
}

impl Ownership {
    /// How long after it was sent a sign of life is relied on: a tenth less than others wait, for
    /// clocks that do not run alike.
    pub(crate) fn holds_for(&self) -> Interval {
        Interval::from_millis(self.silence.as_millis() / 10 * 9)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            intake_max: 4096,
            group_max: 512,
            cached_runs_max: 65_536,
            cached_bytes_max: 128 * 1024 * 1024,
            retention: Retention::default(),
            webhook_retry: Interval::from_secs(5),
            webhook_tries_max: 10,
            ids: IdSource::default(),
            ownership: Ownership::default(),
            job_queue: stepwell_dialects::platform::queue::NAME_DEFAULT.to_owned(),
            scheduler: Scheduler::default(),
            workspaces: Defaults::default(),
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
