//! Many worlds, one after the other, on every core.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::lives::live;
use crate::oracle::rules::SAME_SEED_SAME_WORLD;
use crate::plan::Options;
use crate::report::Report;
use crate::world::run;

/// One world in so many is lived through twice.
const REPEAT_EVERY: u64 = 100;

/// Lives with `core::decide` alone, for each world.
const LIVES_A_WORLD: u64 = 20;

/// How much to do.
#[derive(Clone, Debug)]
pub struct Budget {
    /// the first seed; the next follow it
    pub seed: u64,
    /// no more worlds than this
    pub worlds: u64,
    /// no longer than this
    pub time: Duration,
    /// only lives with `core::decide` alone
    pub core: bool,
}

/// Lives through worlds until the budget is spent or a rule was broken.
///
/// # Panics
/// When a thread panics outside of a world.
#[must_use]
pub fn spend(budget: &Budget, options: &Options) -> Report {
    let shared = Spending {
        begin: Instant::now(),
        next: AtomicU64::new(budget.seed),
        broken: AtomicBool::new(false),
        minutes_told: AtomicU64::new(0),
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let reports: Vec<Report> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..cores).map(|_| scope.spawn(|| shared.spend(budget, options))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).collect()
    });
    let mut report = Report::default();
    reports.into_iter().for_each(|part| report.merge(part));
    report
}

struct Spending {
    begin: Instant,
    next: AtomicU64,
    broken: AtomicBool,
    minutes_told: AtomicU64,
}

impl Spending {
    fn spend(&self, budget: &Budget, options: &Options) -> Report {
        let mut report = Report::default();
        while self.begin.elapsed() < budget.time && !self.broken.load(Ordering::Relaxed) {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed - budget.seed >= budget.worlds {
                break;
            }
            if !budget.core {
                self.live_world(&Options { seed, ..options.clone() }, &mut report);
            }
            for number in 0..LIVES_A_WORLD {
                let seed = seed.wrapping_mul(LIVES_A_WORLD) + number;
                report.add_life(seed, &live(seed));
            }
            self.tell_progress(seed - budget.seed, budget);
            if !report.broken.is_empty() || !report.broken_lives.is_empty() {
                self.broken.store(true, Ordering::Relaxed);
            }
        }
        report.elapsed = self.begin.elapsed();
        report
    }

    /// Says once a minute that it is still at it: a long run may take hours.
    fn tell_progress(&self, worlds: u64, budget: &Budget) {
        let elapsed = self.begin.elapsed();
        let minutes = elapsed.as_secs() / 60;
        let is_new = self.minutes_told.fetch_max(minutes, Ordering::Relaxed) < minutes;
        if is_new && elapsed < budget.time {
            eprintln!("{minutes} min: {worlds} worlds, and no rule was broken so far");
        }
    }

    fn live_world(&self, options: &Options, report: &mut Report) {
        let mut outcome = run(options);
        if options.seed.is_multiple_of(REPEAT_EVERY) {
            report.repeated += 1;
            let again = run(options).hash;
            let verdict = SAME_SEED_SAME_WORLD.check(again == outcome.hash, || {
                format!("seed {} gave {:x} and {again:x}", options.seed, outcome.hash)
            });
            outcome.violation = outcome.violation.or(verdict.err());
        }
        report.add(options, &outcome);
    }
}
