//! The fast mode: lives of single runs, with `core::decide` alone and nothing around it.
//!
//! No engine, no store, no time to wait for: thousands of lives a second. Whatever may be asked of a
//! run is asked at any moment, also what the engine never asks.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, json};
use stepwell_core::command::{Act, Carried, Command, Fence, Operation, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::decide::{At, decide};
use stepwell_core::definition::{CancelMode, Part, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::evolve::evolve;
use stepwell_core::id::{LeaseId, RunId, StepIndex, Tenant};
use stepwell_core::invariant;
use stepwell_core::run::{Dialect, Header, Run};
use stepwell_core::step::{Outcome, StepError, StepStatus};
use stepwell_core::terms::Terms;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workflow;
use uuid::Uuid;

use crate::chance::Chance;
use crate::clock::NOON_MS;
use crate::jobs::{price, terms};
use crate::oracle::model::Model;
use crate::oracle::rules::{KERNEL_SOUND, LEASES_NEVER_REUSED, NO_MARKER_LEFT, REPLAY_REBUILDS};
use crate::oracle::{Arrows, Made, Violation};
use crate::workload::{GATES, document};

/// Commands of one life.
const COMMANDS: usize = 80;

/// What came of a life.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// the rule that was broken
    pub violation: Option<Violation>,
    /// arrows taken
    pub arrows: Arrows,
    /// decisions made
    pub decisions: u64,
}

/// Lives through the life of a seed.
///
/// # Panics
/// When a drawn workflow cannot be read.
#[must_use]
pub fn live(seed: u64) -> Life {
    live_telling(seed, |_| {})
}

/// Lives through the life of a seed, and tells it line by line: what was asked, and what came of it.
///
/// # Panics
/// When a drawn workflow cannot be read.
pub fn live_telling(seed: u64, mut tell: impl FnMut(fmt::Arguments<'_>)) -> Life {
    let mut alone = Alone::new(seed);
    let mut life = Life::default();
    for _ in 0..COMMANDS {
        let command = alone.command();
        let version = alone.run.version;
        life.decisions += 1;
        let verdict = alone.ask(&command, &mut life.arrows);
        let (run, now) = (&alone.run, alone.now);
        let came = if run.version == version { "nothing" } else { run.status.word() };
        tell(format_args!("{now} v{} {came} <- {command:?}", run.version));
        if let Err(violation) = verdict {
            life.violation = Some(violation);
            break;
        }
    }
    life
}

/// A run with nothing around it.
struct Alone {
    chance: Chance,
    run: Run,
    model: Model,
    made: Made,
    now: Timestamp,
    /// every fence that was ever in force
    seen: Vec<(StepIndex, Fence)>,
}

impl Alone {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::of(seed, "life");
        let source = document(seed, 0, 1);
        let workflow = workflow::read(source.as_bytes()).expect("a drawn workflow is sound");
        let mut header = header(&mut chance, Arc::new(workflow));
        header.terms = granted(seed);
        let header = Arc::new(header);
        Self {
            chance,
            run: Run::new(Arc::clone(&header)),
            model: Model::new(header),
            made: Made::default(),
            now: Timestamp::from_millis(NOON_MS),
            seen: Vec::new(),
        }
    }

    /// Decides, folds, and compares.
    fn ask(&mut self, command: &Command, arrows: &mut Arrows) -> Result<(), Violation> {
        let chance = &mut self.chance;
        let mut fresh = || fresh(chance);
        let mut at = At { now: self.now, fresh: &mut fresh };
        // A refusal is an answer, and changes nothing.
        let Ok(decision) = decide(&self.run, command, &mut at) else { return Ok(()) };
        invariant::check_change(&self.run, &decision.run)
            .map_err(|breach| KERNEL_SOUND.broken(breach.to_string()))?;
        if decision.entries.is_empty() {
            return Ok(());
        }
        let at = decision.run.updated_at;
        for entry in &decision.entries {
            self.fold(entry, at, arrows)?;
        }
        let record = Record { version: decision.run.version, at, entries: decision.entries };
        self.run.version = record.version;
        REPLAY_REBUILDS
            .check(self.run == decision.run, || "the fold is not what was decided".to_owned())?;
        self.model.read(&record, &self.made)?;
        self.model.attempts_are_begun(&self.run)
    }

    fn fold(&mut self, entry: &Entry, at: Timestamp, arrows: &mut Arrows) -> Result<(), Violation> {
        let before: Vec<StepStatus> = self.run.steps.iter().map(|step| step.status).collect();
        let status = self.run.status;
        evolve(&mut self.run, entry, at);
        arrows.note((status, &before), entry, &self.run);
        if let Entry::StepDispatched { params, .. } = entry {
            let marked = params.as_ref().is_some_and(|params| params.to_string().contains("{{"));
            NO_MARKER_LEFT.check(!marked, || format!("a worker was given {params:?}"))?;
        }
        if let Entry::StepDispatched { step, .. } | Entry::PollDispatched { step, .. } = entry
            && let Some(lease) = self.run.steps[step.position()].lease
        {
            let fence = Fence { attempt: lease.attempt, lease: lease.id };
            let new = self.seen.iter().all(|(_, seen)| seen.lease != lease.id);
            LEASES_NEVER_REUSED.check(new, || format!("lease {} came twice", lease.id))?;
            self.seen.push((*step, fence));
        }
        Ok(())
    }

    fn command(&mut self) -> Command {
        let step = StepIndex::at(self.chance.index(self.run.steps.len()));
        let by = || Act::new("somebody", "because");
        match self.chance.below(20) {
            0 => self.start(),
            1 => Command::OpenGate { gate: (*self.chance.one_of(&GATES)).to_owned() },
            2 | 3 => {
                let (step, fence) = self.fence(step);
                let step = StepRef::Index(step);
                if self.run.keeping().is_some() && self.chance.permille(500) {
                    return Command::Extend { step, fence };
                }
                Command::Ack { step, fence }
            }
            4..=9 => self.report(step),
            10 => self.bus_news(step),
            11..=14 => {
                self.time_passes();
                Command::Wake
            }
            15 => Command::Pause { by: by() },
            16 => Command::Resume { by: by() },
            17 if self.chance.permille(300) => {
                let modes = [None, Some(CancelMode::Drain), Some(CancelMode::Immediate)];
                Command::Cancel { mode: *self.chance.one_of(&modes), by: by() }
            }
            18 if self.chance.permille(400) => {
                let mark = Operation::MarkSucceeded { result: json!({ "id": "marked" }) };
                let operation = self.chance.one_of(&[Operation::Skip, mark]).clone();
                Command::Operate { step: StepRef::Index(step), operation, by: by() }
            }
            _ => {
                let operation = Operation::Retry;
                Command::Operate { step: StepRef::Index(step), operation, by: by() }
            }
        }
    }

    fn start(&mut self) -> Command {
        let carries = self.chance.permille(300);
        let step = StepIndex::at(self.chance.index(self.run.header.specs().len()));
        let result = json!({ "id": "carried" });
        // An earlier run has items only of a step that its condition let pass.
        let whole = self.chance.permille(500) || self.run.spec(step).when.is_some();
        let carried = if whole {
            Carried::Step { step, result }
        } else {
            let results = vec![Some(Arc::new(result)), None, None];
            Carried::Items { step, items: Arc::new(json!(["a", "b", "c"])), results }
        };
        Command::Start { carried: carries.then_some(carried).into_iter().collect() }
    }

    fn report(&mut self, step: StepIndex) -> Command {
        let (step, fence) = self.fence(step);
        let outcome = self.outcome();
        if self.seen.contains(&(step, fence)) {
            self.made.add(fence.lease, outcome.clone());
        }
        let priced = self.run.credit_terms().is_some();
        let spent = if priced { price(fence.lease) } else { Credits::ZERO };
        Command::Report { step: StepRef::Index(step), fence, outcome, spent }
    }

    fn outcome(&mut self) -> Outcome {
        let error = StepError::new("tool_broke", "the tool broke");
        match self.chance.below(6) {
            0 => Outcome::Incomplete,
            1 => Outcome::Failed { error, retryable: true, retry_after: None },
            2 => {
                let retry_after = Some(Interval::from_secs(self.chance.below(100)));
                Outcome::Failed { error, retryable: true, retry_after }
            }
            3 if self.chance.permille(300) => {
                Outcome::Failed { error, retryable: false, retry_after: None }
            }
            4 if self.chance.permille(300) => Outcome::Succeeded { result: json!(true) },
            _ => Outcome::Succeeded { result: json!({ "id": self.chance.below(100) }) },
        }
    }

    fn bus_news(&mut self, step: StepIndex) -> Command {
        let (step, Fence { lease, .. }) = self.fence(step);
        let error = StepError::new("bus", "the bus said so");
        let outcome = Outcome::Failed { error: error.clone(), retryable: true, retry_after: None };
        self.made.add(lease, outcome);
        match self.chance.below(3) {
            0 => Command::Published { step, lease },
            1 => Command::PublishFailed { step, lease, error },
            _ => Command::Undelivered { step, lease, error },
        }
    }

    /// Usually the fence in force; else one that was, or one that never was.
    fn fence(&mut self, step: StepIndex) -> (StepIndex, Fence) {
        let leased = self.run.indexed().find_map(|(index, state)| {
            let lease = state.lease?;
            Some((index, Fence { attempt: lease.attempt, lease: lease.id }))
        });
        match (self.chance.below(10), leased) {
            (0, _) if !self.seen.is_empty() => *self.chance.one_of(&self.seen),
            (1, Some((index, fence))) => (index, Fence { attempt: fence.attempt + 1, ..fence }),
            (2, _) => (step, Fence { attempt: 1, lease: LeaseId(fresh(&mut self.chance)) }),
            (_, Some(current)) => current,
            (_, None) => (step, Fence { attempt: 1, lease: LeaseId(Uuid::nil()) }),
        }
    }

    fn time_passes(&mut self) {
        let due = self.run.wake_at().filter(|_| self.chance.permille(700));
        let later = self.now.after(Interval::from_secs(self.chance.below(300)));
        self.now = due.unwrap_or(later).max(self.now);
    }
}

/// A quarter of the lives are those of jobs.
fn granted(seed: u64) -> Option<Arc<Terms>> {
    let mut chance = Chance::of(seed, "terms");
    let is_job = chance.permille(250);
    is_job.then(|| Arc::new(terms(&mut chance)))
}

fn header(chance: &mut Chance, workflow: Arc<Workflow>) -> Header {
    let undoes = workflow.compensations.keys().next().filter(|_| chance.permille(100));
    let part = undoes.map_or(Part::Main, |name| Part::Compensation(name.clone()));
    Header {
        id: RunId(fresh(chance)),
        tenant: Tenant::default_tenant(),
        dialect: Dialect::Platform,
        workflow,
        part,
        parent: None,
        resumes: None,
        input: Map::from_iter([("document".to_owned(), json!("d-1"))]),
        special: Map::new(),
        context: Map::new(),
        routing: None,
        priority: 0,
        correlation_id: None,
        traceparent: None,
        actor: "nobody".to_owned(),
        created_at: Timestamp::from_millis(NOON_MS),
        membership: None,
        terms: None,
    }
}

fn fresh(chance: &mut Chance) -> Uuid {
    Uuid::from_u64_pair(chance.bits(), chance.bits())
}
