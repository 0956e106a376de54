//! A small world around one run: a clock that stands still, ids that count, and the history so far.

use std::sync::Arc;

use expect_test::Expect;
use serde_json::{Map, Value, json};
use stepwell_core::command::{Act, Carried, Command, Fence, Operation, StepRef};
use stepwell_core::condition::Condition;
use stepwell_core::credit::Credits;
use stepwell_core::decide::{At, Decision, decide};
use stepwell_core::definition::{CancelMode, FailureMode, ForEach, Part, Poll};
use stepwell_core::definition::{StepSpec, TimeoutMode, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::entry::Record;
use stepwell_core::id::{LeaseId, RunId, StepIndex, Tenant};
use stepwell_core::refusal::Refusal;
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::{Dialect, Header, Run};
use stepwell_core::step::{Outcome, Step, StepError};
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::text;

/// 2025-03-15T00:00:00Z, the moment at which every world begins.
const DAWN_MS: i64 = 1_741_996_800_000;

/// One run, the time, and everything that was decided so far.
pub(crate) struct World {
    pub(crate) run: Run,
    pub(crate) now: Timestamp,
    pub(crate) records: Vec<Record>,
    ids: u128,
}

impl World {
    /// A run that was created and not started. Its input has a `name` and a `count`.
    pub(crate) fn of(workflow: Workflow) -> Self {
        Self::of_header(header(workflow))
    }

    /// A run with a header of one's own.
    pub(crate) fn of_header(header: Header) -> Self {
        let now = header.created_at;
        Self { run: Run::new(Arc::new(header)), now, records: Vec::new(), ids: 0 }
    }

    /// A run that was just started.
    pub(crate) fn started(workflow: Workflow) -> Self {
        let mut world = Self::of(workflow);
        world.does(start());
        world
    }

    /// Asks for a decision, and takes what was decided over into the world.
    pub(crate) fn asks(&mut self, command: &Command) -> Result<Decision, Refusal> {
        let ids = &mut self.ids;
        let mut fresh = || {
            *ids += 1;
            Uuid::from_u128(*ids)
        };
        let decision = decide(&self.run, command, &mut At { now: self.now, fresh: &mut fresh })?;
        if !decision.entries.is_empty() {
            self.records.push(Record {
                version: decision.run.version,
                at: decision.run.updated_at,
                entries: decision.entries.clone(),
            });
        }
        self.run = decision.run.clone();
        Ok(decision)
    }

    /// Asks for something that must not be refused.
    #[track_caller]
    pub(crate) fn does(&mut self, command: Command) -> Decision {
        match self.asks(&command) {
            Ok(decision) => decision,
            Err(refusal) => panic!("{command:?} was refused: {refusal}"),
        }
    }

    /// Asks, and compares the entries and effects, or the refusal, with a text.
    #[track_caller]
    pub(crate) fn check(&mut self, command: Command, expected: Expect) {
        let answer = self.asks(&command);
        expected.assert_eq(&text::answer(&self.run, &answer, self.now));
    }

    /// Compares where the run and its steps stand with a text.
    #[track_caller]
    pub(crate) fn check_status(&self, expected: Expect) {
        expected.assert_eq(&text::status(&self.run));
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, interval: Interval) {
        self.now = self.now.after(interval);
    }

    /// Lets time pass until the run's next moment, and wakes it then.
    #[track_caller]
    pub(crate) fn wakes(&mut self) -> Decision {
        self.now = self.run.wake_at().expect("the run waits for a moment");
        self.does(Command::Wake)
    }

    /// The step with this id.
    #[track_caller]
    pub(crate) fn step(&self, id: &str) -> &Step {
        &self.run.steps[self.index(id).position()]
    }

    /// The place of the step with this id.
    #[track_caller]
    pub(crate) fn index(&self, id: &str) -> StepIndex {
        self.run.step_named(id).expect("the run has this step")
    }

    /// The lease in force.
    #[track_caller]
    pub(crate) fn lease(&self, id: &str) -> LeaseId {
        self.step(id).lease.expect("an attempt is under way").id
    }

    /// What a worker names when it speaks of the attempt under way.
    #[track_caller]
    pub(crate) fn fence(&self, id: &str) -> Fence {
        Fence { attempt: self.step(id).attempt, lease: self.lease(id) }
    }

    /// The worker took the attempt.
    #[track_caller]
    pub(crate) fn acked(&self, id: &str) -> Command {
        Command::Ack { step: named(id), fence: self.fence(id) }
    }

    /// The worker of the attempt under way answers.
    #[track_caller]
    pub(crate) fn reported(&self, id: &str, outcome: Outcome) -> Command {
        report(id, self.fence(id), outcome)
    }

    /// The worker is done, and returns an empty object.
    #[track_caller]
    pub(crate) fn succeeded(&self, id: &str) -> Command {
        self.reported(id, success(json!({})))
    }

    /// The worker is not finished yet.
    #[track_caller]
    pub(crate) fn unfinished(&self, id: &str) -> Command {
        self.reported(id, Outcome::Incomplete)
    }

    /// The worker failed; another attempt may help.
    #[track_caller]
    pub(crate) fn failed(&self, id: &str) -> Command {
        self.reported(id, failure(true))
    }

    /// The worker failed; no other attempt can help.
    #[track_caller]
    pub(crate) fn failed_for_good(&self, id: &str) -> Command {
        self.reported(id, failure(false))
    }

    /// The bus confirmed the attempt.
    #[track_caller]
    pub(crate) fn published(&self, id: &str) -> Command {
        Command::Published { step: self.index(id), lease: self.lease(id) }
    }

    /// The bus refused the attempt.
    #[track_caller]
    pub(crate) fn publish_failed(&self, id: &str) -> Command {
        let error = StepError::new("bus_away", "the bus did not answer");
        Command::PublishFailed { step: self.index(id), lease: self.lease(id), error }
    }

    /// The bus gave the attempt up.
    #[track_caller]
    pub(crate) fn undelivered(&self, id: &str) -> Command {
        let error = StepError::new("job_undelivered", "delivered 10 times and never settled");
        Command::Undelivered { step: self.index(id), lease: self.lease(id), error }
    }
}

/// A header as an accepted request would have made it.
pub(crate) fn header(workflow: Workflow) -> Header {
    Header {
        id: RunId(Uuid::from_u128(0xABCD)),
        tenant: Tenant::default_tenant(),
        dialect: Dialect::Platform,
        workflow: Arc::new(workflow),
        part: Part::Main,
        parent: None,
        resumes: None,
        input: object(json!({ "name": "ada", "count": 3 })),
        special: object(json!({ "_run_id": "r-1" })),
        context: Map::new(),
        routing: None,
        priority: 5,
        correlation_id: None,
        traceparent: None,
        actor: "tests".to_owned(),
        created_at: Timestamp::from_millis(DAWN_MS),
        membership: None,
        terms: None,
    }
}

/// A workflow in which each step comes after the one before it.
pub(crate) fn sequence<const N: usize>(steps: [StepSpec; N]) -> Workflow {
    graph(chained(steps.into()))
}

/// Steps, each after the one before it.
pub(crate) fn chained(mut steps: Vec<StepSpec>) -> Vec<StepSpec> {
    for (position, step) in steps.iter_mut().enumerate().skip(1) {
        step.after = vec![StepIndex::at(position - 1)];
    }
    steps
}

/// A workflow whose edges are already drawn.
pub(crate) fn graph(steps: Vec<StepSpec>) -> Workflow {
    Workflow {
        name: "sample".to_owned(),
        version: 1,
        description: String::new(),
        request_type: None,
        input_schema: None,
        steps,
        compensations: std::collections::BTreeMap::new(),
        run_retry: None,
        credits: None,
        cancel: CancelMode::Drain,
        failure: FailureMode::SkipDescendants,
    }
}

/// A step with three attempts, 30 seconds apart, of 15 minutes each, as nobody has set.
pub(crate) fn step(id: &str) -> StepSpec {
    StepSpec {
        id: id.to_owned(),
        kind: "work".to_owned(),
        pool: "default".to_owned(),
        params: None,
        payload_schema: None,
        outputs: std::collections::BTreeMap::new(),
        after: Vec::new(),
        gate: None,
        when: None,
        for_each: None,
        timeout: minutes(15),
        timeout_given: false,
        on_timeout: TimeoutMode::Republish,
        retry: RetryPolicy::fixed(3, seconds(30)),
        poll: None,
        on_failure: None,
        continue_on_failure: false,
    }
}

/// A step that is asked again every minute, for ten minutes.
pub(crate) fn polled(id: &str) -> StepSpec {
    StepSpec { poll: Some(Poll { interval: minutes(1), timeout: minutes(10) }), ..step(id) }
}

/// A step with a single attempt.
pub(crate) fn once(id: &str) -> StepSpec {
    StepSpec { retry: RetryPolicy::once(), ..step(id) }
}

/// The same step, after others.
pub(crate) fn after(before: &[u16], step: StepSpec) -> StepSpec {
    StepSpec { after: before.iter().copied().map(StepIndex).collect(), ..step }
}

/// The same step, behind a gate.
pub(crate) fn behind(gate: &str, step: StepSpec) -> StepSpec {
    StepSpec { gate: Some(gate.to_owned()), ..step }
}

/// The same step, undone by the compensation `undo` when it fails for good.
pub(crate) fn undone(step: StepSpec) -> StepSpec {
    StepSpec { on_failure: Some("undo".to_owned()), ..step }
}

pub(crate) fn seconds(count: u64) -> Interval {
    Interval::from_secs(count)
}

pub(crate) fn minutes(count: u64) -> Interval {
    Interval::from_secs(60 * count)
}

/// The fields of a JSON object.
#[track_caller]
pub(crate) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(fields) = value else { panic!("{value} is not an object") };
    fields
}

/// The same step, only when a condition holds.
#[track_caller]
pub(crate) fn when(condition: &str, step: StepSpec) -> StepSpec {
    StepSpec { when: Some(Condition::read(condition).expect("a sound condition")), ..step }
}

/// The same step, once for each item of a list.
pub(crate) fn for_each(list: Value, step: StepSpec) -> StepSpec {
    StepSpec { for_each: Some(ForEach { list, items_max: 1_000, parallel_max: None }), ..step }
}

/// The same step, with at most so many items under way.
#[track_caller]
pub(crate) fn at_once(count: u16, mut step: StepSpec) -> StepSpec {
    step.for_each.as_mut().expect("a step with items").parallel_max = Some(count);
    step
}

/// A step that an earlier run had finished.
pub(crate) fn carried(step: StepIndex, result: Value) -> Carried {
    Carried::Step { step, result }
}

pub(crate) fn start() -> Command {
    Command::Start { carried: Vec::new() }
}

pub(crate) fn open_gate(gate: &str) -> Command {
    Command::OpenGate { gate: gate.to_owned() }
}

pub(crate) fn cancel(mode: CancelMode) -> Command {
    Command::Cancel { mode: Some(mode), by: somebody() }
}

pub(crate) fn pause() -> Command {
    Command::Pause { by: somebody() }
}

pub(crate) fn resume() -> Command {
    Command::Resume { by: somebody() }
}

pub(crate) fn operate(id: &str, operation: Operation) -> Command {
    Command::Operate { step: named(id), operation, by: somebody() }
}

pub(crate) fn report(id: &str, fence: Fence, outcome: Outcome) -> Command {
    Command::Report { step: named(id), fence, outcome, spent: Credits::ZERO }
}

pub(crate) fn success(result: Value) -> Outcome {
    Outcome::Succeeded { result }
}

pub(crate) fn failure(retryable: bool) -> Outcome {
    let error = StepError::new("broken", "the worker broke");
    Outcome::Failed { error, retryable, retry_after: None }
}

pub(crate) fn named(id: &str) -> StepRef {
    StepRef::Id(id.to_owned())
}

pub(crate) fn somebody() -> Act {
    Act::new("operator", "because")
}
