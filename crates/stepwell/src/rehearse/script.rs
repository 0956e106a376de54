//! How the workers of a rehearsal behave: what was stated for their steps, and a seed for the rest.

use std::collections::BTreeMap;

use stepwell_connectors::chance::Chance;
use stepwell_core::duration::Interval;
use stepwell_core::template::near;
use stepwell_dialects::runbooks::Runbook;
use stepwell_dialects::runbooks::document::RunbookStep;

use super::args::{RehearseArguments, Share, Stated};
use super::place::Place;
use crate::failure::Failure;

const DURATION_DEFAULT: Interval = Interval::from_secs(5);
const POLL_ROUNDS_DEFAULT: u32 = 3;
/// To say "not yet" takes no work.
const QUESTION_MS: f64 = 1_000.0;
/// What is shorter makes no difference to a person.
const GRAIN_MS: f64 = 100.0;

/// How the workers of a rehearsal behave.
#[derive(Clone, Debug)]
pub(super) struct Script {
    seed: u64,
    failure_rates: Rules<Share>,
    durations: Rules<Interval>,
    poll_rounds: Rules<u32>,
    pools: Rules<u32>,
}

/// What a worker is asked to do, as far as its answer depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) place: Place,
    pub(super) member: &'a str,
    pub(super) attempt: u32,
    pub(super) poll: u32,
    pub(super) is_poll_step: bool,
}

/// What a worker answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    NotYet,
    Failed,
}

impl Script {
    /// What was stated, if every name in it is one of the runbook.
    pub(super) fn of(arguments: &RehearseArguments, runbook: &Runbook) -> Result<Self, Failure> {
        let steps = step_names(runbook);
        let pools: Vec<String> =
            all_steps(runbook).map(|(_, step)| step.worker_id.clone()).collect();
        Ok(Self {
            seed: arguments.seed,
            failure_rates: Rules::of("--failure-rate", &arguments.failure_rate, &steps)?,
            durations: Rules::of("--duration", &arguments.duration, &steps)?,
            poll_rounds: Rules::of("--poll-rounds", &arguments.poll_rounds, &steps)?,
            pools: Rules::of("--workers", &arguments.workers, &pools)?,
        })
    }

    /// What is drawn from.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// How many jobs a pool does at once; `None`: as many as there are.
    pub(super) fn workers(&self, pool: &str) -> Option<u32> {
        self.pools.find(&[pool]).copied()
    }

    /// What the worker answers, and after how many milliseconds.
    pub(super) fn answer(&self, runbook: &Runbook, question: Question<'_>) -> (Verdict, u64) {
        let Question { place, member, attempt, poll, is_poll_step } = question;
        let (section, step) = (place.section(runbook), &place.step(runbook).name);
        let qualified = format!("{section}/{step}");
        let names = [qualified.as_str(), step.as_str()];
        let draw =
            |what: &str| Chance::of(self.seed, &format!("{what} {member} {qualified} {attempt}"));
        let rounds = self.poll_rounds.find(&names).copied().unwrap_or(POLL_ROUNDS_DEFAULT);
        let share = self.failure_rates.find(&names).copied().unwrap_or_default();
        let verdict = if is_poll_step && poll < rounds {
            Verdict::NotYet
        } else if draw("fate").share() < share.0 {
            Verdict::Failed
        } else {
            Verdict::Done
        };
        let spread = 0.5 + draw(&format!("length {poll}")).share();
        let stated = self.durations.find(&names).copied().unwrap_or(DURATION_DEFAULT);
        let length_ms = if poll > 0 { QUESTION_MS } else { stated.as_millis() as f64 };
        (verdict, in_grains(length_ms * spread))
    }
}

/// A length in whole grains. What ends in the same moment is decided in one group, as on a busy
/// server, and a rehearsal of thousands stays quick.
fn in_grains(length_ms: f64) -> u64 {
    (length_ms / GRAIN_MS).round().max(1.0) as u64 * GRAIN_MS as u64
}

/// Values by name, and one for all others.
#[derive(Clone, Debug)]
struct Rules<T> {
    all: Option<T>,
    named: BTreeMap<String, T>,
}

impl<T: Clone> Rules<T> {
    fn of(flag: &str, stated: &[Stated<T>], known: &[String]) -> Result<Self, Failure> {
        let mut rules = Self { all: None, named: BTreeMap::new() };
        for Stated { name, value } in stated {
            match name {
                None => rules.all = Some(value.clone()),
                Some(name) if known.contains(name) => {
                    rules.named.insert(name.clone(), value.clone());
                }
                Some(name) => return Err(unknown(flag, name, known)),
            }
        }
        Ok(rules)
    }

    /// The value of the first of these names that has one.
    fn find(&self, names: &[&str]) -> Option<&T> {
        names.iter().find_map(|name| self.named.get(*name)).or(self.all.as_ref())
    }
}

fn unknown(flag: &str, name: &str, known: &[String]) -> Failure {
    let failure = Failure::usage(format!("{flag} names {name:?}, which the runbook does not have"));
    match near(name, known.iter().map(String::as_str)) {
        Some(near) => failure.next(format!("did you mean {near:?}?")),
        None => {
            let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            failure.next(format!("it has {}", names.join(", ")))
        }
    }
}

/// Every step may be named alone, or after the part of the runbook that it stands in.
fn step_names(runbook: &Runbook) -> Vec<String> {
    let names = all_steps(runbook)
        .flat_map(|(section, step)| [step.name.clone(), format!("{section}/{}", step.name)]);
    names.collect()
}

/// Every step that a rehearsal may come to, with the part of the runbook that it stands in.
pub(super) fn all_steps(runbook: &Runbook) -> impl Iterator<Item = (&str, &RunbookStep)> {
    let init = runbook.init.iter().map(|step| ("init", step));
    let phases = runbook
        .phases
        .iter()
        .flat_map(|phase| phase.steps.iter().map(|step| (phase.name.as_str(), step)));
    let rollbacks = runbook
        .rollbacks
        .iter()
        .flat_map(|(name, steps)| steps.iter().map(|step| (name.as_str(), step)));
    init.chain(phases).chain(rollbacks)
}
