//! One seed, everything: how many jobs, of which workflows, how long, and what goes wrong how often.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::duration::Interval;
use stepwell_engine::Ownership;

use crate::bugs::Bug;
use crate::chance::Chance;
use crate::faults::Kind;

/// What a caller may fix; the seed determines the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// determines everything
    pub seed: u64,
    /// jobs instead of as many as the seed says
    pub jobs: Option<usize>,
    /// batches that somebody makes or a source describes, instead of as many as the seed says
    pub batches: Option<usize>,
    /// only these kinds of fault, of those that the seed switches on
    pub kinds: Option<BTreeSet<Kind>>,
    /// no more faults than this
    pub faults_max: Option<u64>,
    /// instances that share the store, instead of as many as the seed says; 1: one after the other
    pub instances: Option<usize>,
    /// a planted bug
    pub bug: Option<Bug>,
    /// keep the log
    pub trace: bool,
}

impl Options {
    /// The world of a seed, as it is drawn.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// The command that lives through this world again, and tells it.
    #[must_use]
    pub fn command(&self) -> String {
        let Self { seed, jobs, batches, kinds, faults_max, instances, bug, trace: _ } = self;
        let mut command = format!("cargo xtask sim --seed {seed}");
        if let Some(jobs) = jobs {
            command.push_str(&format!(" --jobs {jobs}"));
        }
        if let Some(batches) = batches {
            command.push_str(&format!(" --batches {batches}"));
        }
        if let Some(kinds) = kinds {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            let words = if words.is_empty() { "none".to_owned() } else { words.join(",") };
            command.push_str(&format!(" --faults {words}"));
        }
        if let Some(max) = faults_max {
            command.push_str(&format!(" --faults-max {max}"));
        }
        if let Some(instances) = instances {
            command.push_str(&format!(" --instances {instances}"));
        }
        if let Some(bug) = bug {
            command.push_str(&format!(" --bug {}", bug.word()));
        }
        command.push_str(" --trace");
        command
    }
}

/// A world before it begins.
#[derive(Clone, Debug)]
pub struct Plan {
    /// determines everything
    pub seed: u64,
    /// runs that clients start
    pub jobs: usize,
    /// batches of members on a timeline; 0: the world has no runbook
    pub batches: usize,
    /// some jobs are jobs of workspaces
    pub workspaces: bool,
    /// and some of them are made by triggers
    pub triggers: bool,
    /// how long lines of ledgers are kept before they are folded; `None`: there are none
    pub ledger_kept: Option<Interval>,
    /// how often sources are asked
    pub tick: Interval,
    /// workflows to choose from
    pub workflows: usize,
    /// how long things go wrong
    pub chaos_ms: u64,
    /// workers of each pool
    pub workers: usize,
    /// instances that share the store at any time; 1: one takes the store over from the other
    pub instances: usize,
    /// how they share it
    pub ownership: Ownership,
    /// whose runs
    pub tenants: Vec<String>,
    /// open runs that a tenant may have
    pub tenant_cap: Option<u32>,
    /// how far an instance's clock may be off, either way
    pub skew_max_ms: u64,
    /// deliveries before the bus gives up
    pub deliveries_max: u32,
    /// messages of a pool that the bus keeps in memory
    pub window: usize,
    /// asks of one commit
    pub group_max: usize,
    /// committed runs kept in memory
    pub cached_runs_max: usize,
    /// some gates stay closed and some runs paused, even at the end
    pub leaves_some_waiting: bool,
    /// how often each kind strikes, in a thousand opportunities
    pub rates: BTreeMap<Kind, u32>,
    /// no more faults than this
    pub faults_max: u64,
    /// a planted bug
    pub bug: Option<Bug>,
}

impl Plan {
    /// Draws the world of a seed.
    #[must_use]
    pub fn draw(options: &Options) -> Self {
        let seed = options.seed;
        let chance = &mut Chance::of(seed, "plan");
        let tenants = 1 + chance.index(3);
        let jobs = usize::try_from(chance.between(2, 14)).unwrap_or(2);
        Self {
            seed,
            jobs: options.jobs.unwrap_or(jobs),
            batches: options.batches.unwrap_or_else(|| batches(seed)),
            workspaces: has_workspaces(seed),
            triggers: has_workspaces(seed) && Chance::of(seed, "triggers").permille(400),
            ledger_kept: has_workspaces(seed).then(|| ledger_kept(seed)),
            tick: Interval::from_secs(*Chance::of(seed, "tick").one_of(&[30, 60, 300])),
            workflows: 1 + chance.index(4),
            chaos_ms: chance.between(5, 90) * 60_000,
            workers: 1 + chance.index(3),
            instances: options.instances.unwrap_or_else(|| instances(seed)),
            ownership: ownership(seed),
            tenants: (0..tenants).map(|number| format!("tenant-{number}")).collect(),
            tenant_cap: chance.permille(300).then(|| 2 + chance.index(4) as u32),
            skew_max_ms: chance.between(1, 5) * 60_000,
            deliveries_max: 2 + chance.index(6) as u32,
            window: *chance.one_of(&[1, 2, 4, 100]),
            group_max: *chance.one_of(&[1, 2, 8, 512]),
            cached_runs_max: *chance.one_of(&[2, 4, 1000]),
            leaves_some_waiting: chance.permille(300),
            rates: rates(options, chance),
            faults_max: options.faults_max.unwrap_or(u64::MAX),
            bug: options.bug,
        }
    }
}

/// A third of the worlds has some: members are many runs, and their worlds take longer.
fn batches(seed: u64) -> usize {
    *Chance::of(seed, "batches").one_of(&[0, 0, 0, 0, 1, 2])
}

fn has_workspaces(seed: u64) -> bool {
    Chance::of(seed, "workspaces").below(3) == 0
}

/// Not as long as worlds last: what jobs move is folded while others go on.
fn ledger_kept(seed: u64) -> Interval {
    Interval::from_secs(*Chance::of(seed, "ledger").one_of(&[1, 60, 600, 1_800]))
}

/// In half of the worlds one instance follows the other; in the others two or three share the store.
fn instances(seed: u64) -> usize {
    let chance = &mut Chance::of(seed, "sharing");
    *chance.one_of(&[1, 1, 2, 3])
}

fn ownership(seed: u64) -> Ownership {
    let chance = &mut Chance::of(seed, "ownership");
    let heartbeat = chance.between(1, 30);
    let silence = heartbeat * chance.between(3, 6);
    Ownership {
        heartbeat: Interval::from_secs(heartbeat),
        silence: Interval::from_secs(silence),
        scan: Interval::from_secs(chance.between(5, 60)),
        decides: true,
    }
}

/// Each world switches on some kinds, at rates of its own: a world where everything goes wrong at
/// once is as tame as one where nothing does.
fn rates(options: &Options, chance: &mut Chance) -> BTreeMap<Kind, u32> {
    let share = *chance.one_of(&[200, 500, 500, 800, 1000]);
    let mut rates = BTreeMap::new();
    for kind in Kind::ALL.iter().copied() {
        let on = chance.permille(share);
        let rate = u32::try_from(chance.between(10, u64::from(kind.rate_max()))).unwrap_or(10);
        let wanted = options.kinds.as_ref().is_none_or(|kinds| kinds.contains(&kind));
        if on && wanted {
            rates.insert(kind, rate);
        }
    }
    rates
}
