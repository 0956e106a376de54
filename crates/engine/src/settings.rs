//! What an engine may be told.

use std::path::PathBuf;

use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;
use stepwell_dialects::commands::ReferencePolicy;
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
    /// what others are told
    pub events: EventSettings,
    /// what every job of a workspace is granted
    pub workspaces: Defaults,
    /// how often a message is handed out whose worker is to keep the attempt, before it is given up
    pub kept_deliveries_max: u32,
    /// how triggers fire
    pub triggers: TriggerSettings,
}

/// How triggers fire.
#[derive(Clone, Debug)]
pub struct TriggerSettings {
    /// this instance looks after those that fire by themselves
    pub enabled: bool,
    /// the only directories in which, or below which, dropped files may be watched for
    pub directories: Vec<PathBuf>,
    /// from one look into a directory to the next
    pub poll: Interval,
    /// which references their jobs may have
    pub references: ReferencePolicy,
    /// open runs that a tenant may have, unless something else is agreed for it
    pub tenant_cap: Option<u32>,
}

impl Default for TriggerSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            directories: Vec::new(),
            poll: Interval::from_secs(2),
            references: ReferencePolicy::default(),
            tenant_cap: None,
        }
    }
}

/// What others are told of runs, whether somebody has subscribed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSettings {
    /// the dialects whose runs have events; those of others only where a subscription asks for them
    pub dialects: Vec<Dialect>,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self { dialects: vec![Dialect::Workspaces] }
    }
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
            cached_runs_max: 1 << 20,
            cached_bytes_max: 128 * 1024 * 1024,
            retention: Retention::default(),
            webhook_retry: Interval::from_secs(5),
            webhook_tries_max: 10,
            ids: IdSource::default(),
            ownership: Ownership::default(),
            job_queue: stepwell_dialects::platform::queue::NAME_DEFAULT.to_owned(),
            scheduler: Scheduler::default(),
            events: EventSettings::default(),
            workspaces: Defaults::default(),
            // C-028
            kept_deliveries_max: 5,
            triggers: TriggerSettings::default(),
        }
    }
}

/// When what has ended is deleted (C-041). Without a time it is kept for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// runs of the runbooks dialect
    pub runbooks: Keep,
    /// runs of the platform dialect
    pub platform: Keep,
    /// runs of the workspaces dialect, unless something else is agreed for the workspace
    pub workspaces: Keep,
    /// runs of the commands dialect
    pub commands: Keep,
    /// what is left of a deleted run
    pub stubs: Option<Interval>,
    /// what is noted of the firings of triggers
    pub firings: Option<Interval>,
    /// events that consumers may read again
    pub events: Option<Interval>,
    /// lines that runs wrote in ledgers; what they moved on a day is then kept in one line, for ever
    pub ledger: Option<Interval>,
}

/// How long ended runs are kept. Without a time, for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// those that succeeded or were cancelled
    pub ended: Option<Interval>,
    /// those that failed for good
    pub failed: Option<Interval>,
}

impl Keep {
    /// All of them for so long.
    #[must_use]
    pub fn all(time: Option<Interval>) -> Self {
        Self { ended: time, failed: time }
    }
}

impl Default for Retention {
    fn default() -> Self {
        let days = |days: u64| Some(Interval::from_secs(days * 24 * 3_600));
        Self {
            runbooks: Keep::default(),
            platform: Keep::default(),
            //
            workspaces: Keep { ended: days(30), failed: days(90) },
            commands: Keep::default(),
            stubs: days(365),
            firings: days(30),
            events: days(30),
            ledger: days(90),
        }
    }
}

impl Retention {
    /// How long ended runs of a dialect are kept.
    pub(crate) fn of(&self, dialect: Dialect) -> Keep {
        match dialect {
            Dialect::Runbooks => self.runbooks,
            Dialect::Platform => self.platform,
            Dialect::Workspaces => self.workspaces,
            Dialect::Commands => self.commands,
        }
    }
}
