//! What an operator wants to see of an engine: how long steps take, how often they are tried again,
//! how much is committed at once (D-062).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::run::Run;
use stepwell_store::{Firing, FiringOutcome};

/// Labels of a step: its workflow and its id.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StepLabels {
    workflow: String,
    step: String,
}

/// Labels of an ended run: its workflow and how it ended.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RunLabels {
    workflow: String,
    status: String,
}

/// Labels of a firing: what became of it.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FiringLabels {
    outcome: String,
}

/// Counters and histograms of an engine.
#[derive(Clone)]
pub struct Metrics {
    step_seconds: Family<StepLabels, Histogram, fn() -> Histogram>,
    step_retries: Family<StepLabels, Counter>,
    step_timeouts: Family<StepLabels, Counter>,
    runs_ended: Family<RunLabels, Counter>,
    runs_started: Counter,
    runs_swept: Counter,
    group_size: Histogram,
    commit_seconds: Histogram,
    trigger_firings: Family<FiringLabels, Counter>,
    trigger_lag: Histogram,
    /// how many groups had 0, 1, 2 … items
    group_sizes: Arc<Mutex<Vec<u64>>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            step_seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 4.0, 12))
            }),
            step_retries: Family::default(),
            step_timeouts: Family::default(),
            runs_ended: Family::default(),
            runs_started: Counter::default(),
            runs_swept: Counter::default(),
            group_size: Histogram::new(exponential_buckets(1.0, 2.0, 11)),
            commit_seconds: Histogram::new(exponential_buckets(0.000_1, 2.0, 16)),
            trigger_firings: Family::default(),
            trigger_lag: Histogram::new(exponential_buckets(0.01, 4.0, 12)),
            group_sizes: Arc::default(),
        }
    }

    /// Makes the figures readable through a registry.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "stepwell_step_seconds",
            "From the dispatch of a step's last attempt to its end",
            self.step_seconds.clone(),
        );
        registry.register(
            "stepwell_step_retries",
            "Attempts that failed and were followed by another",
            self.step_retries.clone(),
        );
        registry.register(
            "stepwell_step_timeouts",
            "Attempts and polls that took too long",
            self.step_timeouts.clone(),
        );
        registry.register("stepwell_runs_ended", "Runs that ended", self.runs_ended.clone());
        registry.register("stepwell_runs_started", "Runs created", self.runs_started.clone());
        registry.register(
            "stepwell_runs_swept",
            "Ended runs that retention has deleted",
            self.runs_swept.clone(),
        );
        registry.register(
            "stepwell_commit_group_size",
            "Decisions committed together",
            self.group_size.clone(),
        );
        registry.register(
            "stepwell_commit_seconds",
            "From handing a group to the store to its answer",
            self.commit_seconds.clone(),
        );
        registry.register(
            "stepwell_trigger_firings",
            "Firings of triggers by what became of them; one that waits counts each time it is noted",
            self.trigger_firings.clone(),
        );
        registry.register(
            "stepwell_trigger_lag_seconds",
            "From the moment a scheduled firing was meant for to the start of its run",
            self.trigger_lag.clone(),
        );
    }

    /// Counts a firing as it was noted.
    pub(crate) fn fired(&self, firing: &Firing) {
        let outcome = firing.outcome.word().to_owned();
        self.trigger_firings.get_or_create(&FiringLabels { outcome }).inc();
        if let (FiringOutcome::Started, Some(meant_for)) = (firing.outcome, firing.scheduled_for) {
            self.trigger_lag.observe(firing.at.since(meant_for).as_millis() as f64 / 1000.0);
        }
    }

    pub(crate) fn group(&self, items: usize) {
        if items > 0 {
            self.group_size.observe(items as f64);
            let mut sizes = self.group_sizes.lock().unwrap_or_else(PoisonError::into_inner);
            if sizes.len() <= items {
                sizes.resize(items + 1, 0);
            }
            sizes[items] += 1;
        }
    }

    /// The size that half of the commit groups since the last call did not exceed; 0 without any.
    #[must_use]
    pub fn take_group_size_median(&self) -> usize {
        let sizes = &mut *self.group_sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let sizes = std::mem::take(sizes);
        let half = sizes.iter().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        for (size, count) in sizes.iter().enumerate() {
            seen += count;
            if seen >= half {
                return size;
            }
        }
        0
    }

    pub(crate) fn swept(&self, runs: usize) {
        self.runs_swept.inc_by(runs as u64);
    }

    /// Ended runs that retention has deleted since the start.
    #[must_use]
    pub fn runs_swept(&self) -> u64 {
        self.runs_swept.get()
    }

    pub(crate) fn committed(&self, took: Duration) {
        self.commit_seconds.observe(took.as_secs_f64());
    }

    /// Counts what the records of a committed run say.
    pub(crate) fn written(&self, run: &Run, records: &[Record]) {
        for entry in records.iter().flat_map(|record| &record.entries) {
            match entry {
                Entry::RunStarted => drop(self.runs_started.inc()),
                Entry::StepSucceeded { step, .. } | Entry::StepFailed { step, .. } => {
                    self.step_ended(run, *step);
                }
                Entry::StepTimedOut { step, .. } => {
                    self.step_ended(run, *step);
                    self.step_timeouts.get_or_create(&labels(run, *step)).inc();
                }
                Entry::AttemptFailed { step, error, .. } | Entry::StepHeld { step, error, .. } => {
                    self.step_retries.get_or_create(&labels(run, *step)).inc();
                    if matches!(error.code.as_str(), "attempt_timed_out" | "lease_expired") {
                        self.step_timeouts.get_or_create(&labels(run, *step)).inc();
                    }
                }
                Entry::RunSucceeded | Entry::RunFailed { .. } | Entry::RunCancelled => {
                    let status = run.status.word().to_owned();
                    let workflow = run.header.workflow.name.clone();
                    self.runs_ended.get_or_create(&RunLabels { workflow, status }).inc();
                }
                _ => {}
            }
        }
    }

    fn step_ended(&self, run: &Run, index: stepwell_core::id::StepIndex) {
        let step = &run.steps[index.position()];
        if let (Some(began), Some(ended)) = (step.dispatched_at, step.ended_at) {
            let seconds = ended.since(began).as_millis() as f64 / 1000.0;
            self.step_seconds.get_or_create(&labels(run, index)).observe(seconds);
        }
    }
}

fn labels(run: &Run, step: stepwell_core::id::StepIndex) -> StepLabels {
    StepLabels { workflow: run.header.workflow.name.clone(), step: run.spec(step).id.clone() }
}
