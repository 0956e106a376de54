//! Runs that were committed a moment ago, so that a decision need not load them again.
//!
//! A cached run may be out of date only if somebody else wrote it; then the commit is stale, the run
//! is forgotten here and loaded again. Two generations instead of a list of uses: when the young one
//! is full it becomes the old one, and what nobody touched since then goes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use stepwell_core::id::RunId;
use stepwell_core::run::Run;
use stepwell_core::step::Step;

/// Committed runs, bounded in number and in weight.
pub(crate) struct Cache {
    generations: Mutex<Generations>,
    runs_max: usize,
    bytes_max: usize,
}

#[derive(Default)]
struct Generations {
    young: HashMap<RunId, Arc<Run>>,
    old: HashMap<RunId, Arc<Run>>,
    young_bytes: usize,
}

impl Cache {
    pub(crate) fn new(runs_max: usize, bytes_max: usize) -> Self {
        Self { generations: Mutex::default(), runs_max, bytes_max }
    }

    /// Many at once, under one lock.
    pub(crate) fn get_all(&self, ids: &[RunId]) -> Vec<Option<Arc<Run>>> {
        let mut generations = self.lock();
        ids.iter().map(|id| generations.get(*id)).collect()
    }

    /// Remembers runs that were committed or loaded. Ended ones are of no further use.
    pub(crate) fn put_all<'a>(&self, runs: impl IntoIterator<Item = &'a Arc<Run>>) {
        let mut gone = Vec::new();
        let mut generations = self.lock();
        for run in runs {
            if run.status.is_terminal() {
                generations.forget(run.id());
                continue;
            }
            gone.extend(self.make_room(&mut generations));
            generations.put_lean(run);
        }
    }

    /// Remembers runs that were read, unless a commit has been faster.
    pub(crate) fn put_absent<'a>(&self, runs: impl IntoIterator<Item = &'a Arc<Run>>) {
        let mut gone = Vec::new();
        let mut generations = self.lock();
        for run in runs {
            if !run.status.is_terminal() && generations.get(run.id()).is_none() {
                gone.extend(self.make_room(&mut generations));
                generations.put(run);
            }
        }
    }

    /// Answers what has to go. To give thousands of runs back takes a while, so it must be dropped when
    /// the lock is no longer held: declared before it, it is.
    fn make_room(&self, generations: &mut Generations) -> Option<HashMap<RunId, Arc<Run>>> {
        let is_full = generations.young.len() >= self.runs_max / 2
            || generations.young_bytes >= self.bytes_max / 2;
        is_full.then(|| generations.turn())
    }

    pub(crate) fn forget(&self, id: RunId) {
        self.lock().forget(id);
    }

    /// Nothing in here is ours any more.
    pub(crate) fn forget_all(&self) {
        *self.lock() = Generations::default();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        // Every change leaves the maps sound, so what a panicking holder left can be used.
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn get(&mut self, id: RunId) -> Option<Arc<Run>> {
        if let Some(run) = self.young.get(&id) {
            return Some(Arc::clone(run));
        }
        let run = self.old.remove(&id)?;
        self.put(&run);
        Some(run)
    }

    /// What ended steps were given and returned is of no use to a decision.
    fn put_lean(&mut self, run: &Arc<Run>) {
        if !run.is_one_of_many() {
            self.put(run);
            return;
        }
        let mut lean = Run::clone(run);
        lean.leave_out_ended();
        self.put(&Arc::new(lean));
    }

    fn put(&mut self, run: &Arc<Run>) {
        if self.young.insert(run.id(), Arc::clone(run)).is_none() {
            self.young_bytes += weight(run);
        }
    }

    fn forget(&mut self, id: RunId) {
        self.old.remove(&id);
        if let Some(run) = self.young.remove(&id) {
            self.young_bytes = self.young_bytes.saturating_sub(weight(&run));
        }
    }

    /// Answers what nobody has touched since the last turn.
    fn turn(&mut self) -> HashMap<RunId, Arc<Run>> {
        self.young_bytes = 0;
        std::mem::replace(&mut self.old, std::mem::take(&mut self.young))
    }
}

/// Roughly what a run costs to keep: what it was given and has set, and something for each step to
/// which, or to whose neighbors, something has happened.
fn weight(run: &Run) -> usize {
    let header = &run.header;
    let maps = [&header.input, &header.special, &header.context, &*run.outputs];
    let maps: usize = maps.into_iter().map(map_weight).sum();
    1024 + maps + run.steps.touched() * STEP_WEIGHT
}

/// A step, and what one under way was given.
const STEP_WEIGHT: usize = size_of::<Step>() + 32;

/// The nodes of a map have room for eleven entries, used or not.
const NODE_WEIGHT: usize = 11 * (size_of::<String>() + size_of::<Value>());

fn map_weight(map: &Map<String, Value>) -> usize {
    let entries: usize = map.iter().map(|(name, value)| name.len() + value_weight(value)).sum();
    map.len().div_ceil(6) * NODE_WEIGHT + entries
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 16,
        Value::Array(values) => values.iter().map(|value| 32 + value_weight(value)).sum(),
        Value::Object(fields) => map_weight(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
