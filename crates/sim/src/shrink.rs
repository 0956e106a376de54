//! A world that broke a rule, made as small as it can be and still break one.

use std::collections::BTreeSet;

use crate::faults::Kind;
use crate::plan::Options;
use crate::world::{Outcome, run};

/// Worlds that may be lived through to find a smaller one.
const WORLDS_MAX: u32 = 400;

/// The smallest world that was found, and what came of it.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// how to live through it again
    pub options: Options,
    /// what came of it
    pub outcome: Outcome,
}

/// Makes a world smaller: fewer kinds of fault, fewer jobs and batches, fewer faults.
///
/// `None` if the world breaks no rule.
#[must_use]
pub fn shrink(options: &Options) -> Option<Shrunk> {
    let outcome = run(options);
    outcome.violation.as_ref()?;
    let mut search = Search { best: Shrunk { options: options.clone(), outcome }, worlds: 0 };
    loop {
        let before = search.best.options.clone();
        search.fewer_kinds();
        search.fewer_jobs();
        search.fewer_batches();
        search.fewer_faults();
        if search.best.options == before || search.worlds >= WORLDS_MAX {
            return Some(search.best);
        }
    }
}

struct Search {
    best: Shrunk,
    worlds: u32,
}

impl Search {
    /// Keeps a smaller world if it still breaks a rule, whichever: the first one to break is the
    /// cause more often than the last.
    fn try_out(&mut self, options: Options) -> bool {
        if self.worlds >= WORLDS_MAX || options == self.best.options {
            return false;
        }
        self.worlds += 1;
        let outcome = run(&options);
        let broken = outcome.violation.is_some();
        if broken {
            self.best = Shrunk { options, outcome };
        }
        broken
    }

    fn fewer_kinds(&mut self) {
        let struck: BTreeSet<Kind> = self.best.outcome.faults.keys().copied().collect();
        self.try_out(Options { kinds: Some(struck.clone()), ..self.best.options.clone() });
        // Halves first, then one by one: most kinds have nothing to do with it.
        for size in [struck.len() / 2, struck.len() / 4, 1] {
            let size = size.max(1);
            for group in struck.iter().copied().collect::<Vec<_>>().chunks(size) {
                let mut kinds = self.best.options.kinds.clone().unwrap_or_else(|| struck.clone());
                kinds.retain(|kind| !group.contains(kind));
                self.try_out(Options { kinds: Some(kinds), ..self.best.options.clone() });
            }
        }
    }

    fn fewer_jobs(&mut self) {
        let jobs = self.best.options.jobs.unwrap_or(self.best.outcome.runs.max(1));
        for fewer in [1, 2, 3, jobs / 2, jobs * 3 / 4, jobs.saturating_sub(1)] {
            if (1..jobs).contains(&fewer)
                && self.try_out(Options { jobs: Some(fewer), ..self.best.options.clone() })
            {
                return;
            }
        }
    }

    fn fewer_batches(&mut self) {
        let batches = self.best.options.batches.unwrap_or(2);
        for fewer in 0..batches {
            if self.try_out(Options { batches: Some(fewer), ..self.best.options.clone() }) {
                return;
            }
        }
    }

    /// The first faults are enough: finds by halves how many.
    fn fewer_faults(&mut self) {
        let mut high: u64 = self.best.outcome.faults.values().sum();
        let mut low = 0;
        while low < high {
            let middle = low + (high - low) / 2;
            let fewer = Options { faults_max: Some(middle), ..self.best.options.clone() };
            if self.try_out(fewer) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
    }
}
