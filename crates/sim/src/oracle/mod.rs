//! Watches a world and says which rule it breaks. It never decides anything.
//!
//! It is told of every commit that really happened, reads the changed runs back from the store, and
//! compares three tellings of each: the stored state, the fold of the stored history, and the
//! [`model`]. It also knows what workers really made, what clients were promised, and what went to
//! the bus.

mod batches;
mod books;
mod coverage;
mod jobs;
mod made;
pub(crate) mod model;
mod owners;
mod promises;
mod quiet;
pub mod rules;
mod triggers;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use stepwell_core::id::{LeaseId, RunId, StepIndex, Tenant};
use stepwell_core::run::Header;
use stepwell_core::time::Timestamp;
use stepwell_store::{KeyHash, Record, StoredRun};

pub use batches::{BatchSeen, LEAD};
pub use books::BooksSeen;
pub use coverage::{Arrows, Probe};
pub(crate) use jobs::is_told;
pub use made::Made;
pub use promises::Promise;
pub use rules::{Rule, Violation};
pub use watch::{Committed, Touch, Touched};

use rules::{EPOCH_FENCES, EPOCHS_GROW, NO_PANIC};
use watch::Watched;

/// Everything that is known about a world.
#[derive(Debug, Default)]
pub struct Oracle {
    /// what was really done
    pub made: Made,
    /// which arrows were taken
    pub arrows: Arrows,
    /// which rare things were seen, and how often
    pub probes: BTreeMap<Probe, u64>,
    /// how often a rule was asked
    pub checks: u64,
    violation: Option<Violation>,
    runs: BTreeMap<RunId, Watched>,
    keys: BTreeMap<(Tenant, KeyHash), RunId>,
    leases: BTreeMap<LeaseId, (RunId, StepIndex, u32)>,
    messages: BTreeMap<stepwell_connectors::bus::MessageId, LeaseId>,
    promises: Vec<Promise>,
    batches: batches::Batches,
    jobs: jobs::Jobs,
    triggers: triggers::Triggers,
    epoch: u64,
    /// in a world with several instances
    owners: Option<owners::Owners>,
    commits: u64,
    /// no instance's clock is further ahead of the truth
    skew_max_ms: i64,
    /// from here on nothing goes wrong: the true time, and the commits so far
    quiet_since: Option<(Timestamp, u64)>,
}

/// A run as it was read back from the store after a commit.
#[derive(Clone, Debug)]
pub struct Observed {
    /// its state
    pub stored: StoredRun,
    /// its history since it was last looked at
    pub records: Vec<Record>,
    /// how many stale reports are recorded
    pub stale_reports: usize,
    /// how often others were told that it has ended
    pub ends_told: usize,
}

impl Oracle {
    /// An oracle of a world whose clocks are off by no more than this.
    #[must_use]
    pub fn new(skew_max_ms: u64) -> Self {
        Self { skew_max_ms: i64::try_from(skew_max_ms).unwrap_or(i64::MAX), ..Self::default() }
    }

    /// The first rule that was broken.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Keeps the first violation; what follows it is rubble.
    pub fn judge(&mut self, verdict: Result<(), Violation>) {
        self.checks += 1;
        if let Err(violation) = verdict
            && self.violation.is_none()
        {
            self.violation = Some(violation);
        }
    }

    /// Something rare was seen.
    pub fn saw(&mut self, probe: Probe) {
        *self.probes.entry(probe).or_default() += 1;
    }

    /// A task of the world panicked.
    pub fn panicked(&mut self, message: &str) {
        self.judge(Err(NO_PANIC.broken(message.to_owned())));
    }

    /// An instance took the store over.
    pub fn opened(&mut self, epoch: u64) {
        let before = self.epoch;
        self.judge(
            EPOCHS_GROW.check(epoch == before + 1, || format!("epoch {epoch} follows {before}")),
        );
        self.epoch = epoch;
    }

    /// A group under this epoch was written.
    fn fenced(&mut self, epoch: u64) {
        if self.owners.is_some() {
            // There each run has its own fence.
            return;
        }
        let newest = self.epoch;
        self.judge(
            EPOCH_FENCES
                .check(epoch == newest, || format!("epoch {epoch} wrote in epoch {newest}")),
        );
    }

    /// The epoch of the last take-over.
    #[must_use]
    pub fn newest_epoch(&self) -> u64 {
        self.epoch
    }

    /// The history of a run is known up to this version.
    #[must_use]
    pub fn known_version(&self, run: RunId) -> u64 {
        self.runs.get(&run).map_or(0, |watched| watched.replayed.version)
    }

    /// Every run that was ever committed, oldest first.
    #[must_use]
    pub fn run_ids(&self) -> Vec<RunId> {
        self.runs.keys().copied().collect()
    }

    /// Runs that have not ended.
    #[must_use]
    pub fn open_runs(&self) -> Vec<RunId> {
        let open = self.runs.iter().filter(|(_, watched)| watched.model.ended.is_none());
        open.map(|(id, _)| *id).collect()
    }

    /// A run as the fold of its history.
    #[must_use]
    pub fn run(&self, id: RunId) -> Option<&stepwell_core::run::Run> {
        self.runs.get(&id).map(|watched| &watched.replayed)
    }

    /// What a run was from its first moment on.
    #[must_use]
    pub fn header(&self, id: RunId) -> Option<Arc<Header>> {
        self.runs.get(&id).map(|watched| Arc::clone(&watched.replayed.header))
    }

    /// How many groups were written.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.commits
    }
}
