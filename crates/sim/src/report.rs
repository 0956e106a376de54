//! What a set of worlds has done, found and reached.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::faults::Kind;
use crate::lives::Life;
use crate::oracle::{Arrows, Probe};
use crate::plan::Options;
use crate::world::Outcome;

/// A full run of fewer worlds than this need not reach everything.
const WORLDS_FULL: u64 = 1_000;

/// What a set of worlds has done, found and reached.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// worlds lived through
    pub worlds: u64,
    /// worlds lived through twice, to see whether they were the same
    pub repeated: u64,
    /// single runs with `core::decide` alone
    pub lives: u64,
    /// decisions of those
    pub decisions: u64,
    /// time that passed in all worlds together
    pub simulated_ms: u64,
    /// events in all logs
    pub events: u64,
    /// groups written
    pub commits: u64,
    /// runs created
    pub runs: u64,
    /// batches made
    pub batches: u64,
    /// members that ever joined them
    pub members: u64,
    /// rules asked
    pub checks: u64,
    /// faults by kind
    pub faults: BTreeMap<Kind, u64>,
    /// arrows taken
    pub arrows: Arrows,
    /// rare places reached
    pub probes: BTreeMap<Probe, u64>,
    /// worlds that broke a rule
    pub broken: Vec<(Options, String)>,
    /// lives that broke a rule
    pub broken_lives: Vec<(u64, String)>,
    /// how long it took
    pub elapsed: Duration,
}

impl Report {
    /// Adds a world.
    pub fn add(&mut self, options: &Options, outcome: &Outcome) {
        self.worlds += 1;
        self.simulated_ms += outcome.simulated_ms;
        self.events += outcome.events;
        self.commits += outcome.commits;
        self.runs += outcome.runs as u64;
        self.batches += outcome.batches as u64;
        self.members += outcome.members as u64;
        self.checks += outcome.checks;
        self.arrows.merge(&outcome.arrows);
        add_counts(&mut self.faults, &outcome.faults);
        add_counts(&mut self.probes, &outcome.probes);
        if let Some(violation) = &outcome.violation {
            self.broken.push((options.clone(), violation.to_string()));
        }
    }

    /// Adds a life.
    pub fn add_life(&mut self, seed: u64, life: &Life) {
        self.lives += 1;
        self.decisions += life.decisions;
        self.arrows.merge(&life.arrows);
        if let Some(violation) = &life.violation {
            self.broken_lives.push((seed, violation.to_string()));
        }
    }

    /// Adds what another thread has done.
    pub fn merge(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.repeated += other.repeated;
        self.lives += other.lives;
        self.decisions += other.decisions;
        self.simulated_ms += other.simulated_ms;
        self.events += other.events;
        self.commits += other.commits;
        self.runs += other.runs;
        self.batches += other.batches;
        self.members += other.members;
        self.checks += other.checks;
        self.arrows.merge(&other.arrows);
        add_counts(&mut self.faults, &other.faults);
        add_counts(&mut self.probes, &other.probes);
        self.broken.extend(other.broken);
        self.broken_lives.extend(other.broken_lives);
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    /// Faults of all kinds.
    #[must_use]
    pub fn faults_in_all(&self) -> u64 {
        self.faults.values().sum()
    }

    /// What a full run should have reached, and has not.
    #[must_use]
    pub fn gaps(&self) -> Vec<String> {
        if self.worlds < WORLDS_FULL {
            return Vec::new();
        }
        let mut gaps = self.arrows.differences();
        gaps.extend(self.arrows.batch_differences());
        let unseen = Probe::ALL.iter().filter(|probe| !self.probes.contains_key(probe));
        gaps.extend(unseen.map(|probe| format!("never seen: {}", probe.words())));
        let unstruck = Kind::ALL.iter().filter(|kind| !self.faults.contains_key(kind));
        gaps.extend(unstruck.map(|kind| format!("never struck: {}", kind.word())));
        gaps
    }
}

fn add_counts<K: Copy + Ord>(sum: &mut BTreeMap<K, u64>, counts: &BTreeMap<K, u64>) {
    for (key, count) in counts {
        *sum.entry(*key).or_default() += count;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hours = self.simulated_ms / 3_600_000;
        writeln!(
            f,
            "worlds            {:>10} in {:.1} s",
            self.worlds,
            self.elapsed.as_secs_f32()
        )?;
        writeln!(f, "  lived twice     {:>10}", self.repeated)?;
        writeln!(f, "simulated hours   {hours:>10}")?;
        writeln!(f, "runs              {:>10}", self.runs)?;
        writeln!(f, "batches           {:>10} with {} members", self.batches, self.members)?;
        writeln!(f, "commits           {:>10}", self.commits)?;
        writeln!(f, "events            {:>10}", self.events)?;
        writeln!(f, "rules asked       {:>10}", self.checks)?;
        writeln!(f, "lives of core     {:>10} with {} decisions", self.lives, self.decisions)?;
        let ((steps, of_steps), (runs, of_runs)) =
            (self.arrows.steps_covered(), self.arrows.runs_covered());
        writeln!(f, "arrows of steps   {steps:>10} of {of_steps}")?;
        writeln!(f, "arrows of runs    {runs:>10} of {of_runs}")?;
        let ((phases, of_phases), (batches, of_batches)) =
            (self.arrows.phases_covered(), self.arrows.batches_covered());
        writeln!(f, "arrows of phases  {phases:>10} of {of_phases}")?;
        writeln!(f, "arrows of batches {batches:>10} of {of_batches}")?;
        writeln!(f, "faults            {:>10}", self.faults_in_all())?;
        for (kind, count) in &self.faults {
            writeln!(f, "  {:<22} {count:>8}", kind.word())?;
        }
        writeln!(f, "rare places       {:>10} of {}", self.probes.len(), Probe::ALL.len())?;
        for (probe, count) in &self.probes {
            writeln!(f, "  {count:>8} {}", probe.words())?;
        }
        Ok(())
    }
}
