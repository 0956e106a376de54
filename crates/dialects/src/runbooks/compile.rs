//! What the kernel runs for a runbook.
//!
//! A member is a run of all steps of all phases, one after another; the steps of a phase stand
//! behind a gate. So a member that joins late, or is slower than the timeline, needs no rule of its
//! own, and a failure ends all that was still to come. Init and `on_member_removed` are workflows of
//! their own; rollbacks are compensations.
//!
//! Gates and rollbacks are named after the phase and the version, `cutover@2`: a member under way
//! that goes over to a newer version has the phases of both on its way, see [`chain`].
//!
//! A `worker_id` becomes the pool of a step and a `function` its kind, both as they are written.

mod name;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stepwell_core::batch::{Timeline, TimelinePhase};
use stepwell_core::definition::{CancelMode, FailureMode, StepSpec, TimeoutMode, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::id::{PhaseId, StepIndex};
use stepwell_core::retry::RetryPolicy;

pub use self::name::{Origin, Sequence, of_step_id, of_versioned, versioned};
use super::document::{PhaseSpec, Retry, Runbook, RunbookStep};
use super::offset::Offset;

/// How long an attempt may take if the step does not say: as long as its message lives on the bus.
///
/// Without any limit, a worker that died would hold its member for ever.
pub const TIMEOUT_DEFAULT: Interval = Interval::from_secs(7 * 24 * 60 * 60);

/// What the kernel runs for one version of a runbook.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// for each member: all steps of all phases, and the rollbacks as compensations
    pub member: Workflow,
    /// once for each batch, before any gate opens
    pub init: Option<Workflow>,
    /// for each member that left
    pub removal: Option<Workflow>,
    /// which part of the member's way is which phase, in the order in which they are due
    pub phases: Vec<Phase>,
}

/// One phase of a member's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// as in the document
    pub name: String,
    /// where it stands on the timeline
    pub offset: Offset,
    /// the gate that all its steps stand behind
    pub gate: String,
    /// its first step in the member's workflow
    pub first_step: StepIndex,
    /// how many steps it has; at least one
    pub steps: u16,
}

impl Phase {
    /// Whether a step of the member's workflow belongs to this phase.
    #[must_use]
    pub fn has(&self, step: StepIndex) -> bool {
        self.index_of(step).is_some()
    }

    /// The place of a step within this phase, counted from 0, if it belongs to it.
    #[must_use]
    pub fn index_of(&self, step: StepIndex) -> Option<u16> {
        step.0.checked_sub(self.first_step.0).filter(|index| *index < self.steps)
    }
}

impl Compiled {
    /// The phases as a batch is given them, numbered from `first` on.
    #[must_use]
    pub fn timeline(&self, first: PhaseId) -> Timeline {
        let numbered = (first.0..).map(PhaseId).zip(&self.phases);
        let phases = numbered.map(|(id, phase)| TimelinePhase {
            id,
            name: phase.name.clone(),
            gate: phase.gate.clone(),
            offset_minutes: phase.offset.minutes(),
            steps: phase.steps,
        });
        Timeline {
            version: self.member.version,
            has_init: self.init.is_some(),
            phases: phases.collect(),
        }
    }
}

/// What the kernel runs for this version of a runbook.
#[must_use]
pub fn compile(runbook: &Runbook, version: u32) -> Compiled {
    let alone = |sequence: Sequence, steps: &[RunbookStep], compensations| {
        let name = sequence.workflow_name(&runbook.name);
        let specs = || in_order(steps, version);
        (!steps.is_empty()).then(|| workflow(name, (runbook, version), specs(), compensations))
    };
    let undoes_init =
        |name: &str| runbook.init.iter().any(|step| step.on_failure.as_deref() == Some(name));
    let undo_init = compensations(runbook, version, undoes_init).collect();
    Compiled {
        member: chain(&[(runbook, version)]),
        init: alone(Sequence::Init, &runbook.init, undo_init),
        removal: alone(Sequence::Removal, &runbook.on_member_removed, BTreeMap::new()),
        phases: phases(runbook, version),
    }
}

/// The way of a member that has followed these versions, oldest first: the steps of all of them, one
/// after another, and all rollbacks.
///
/// A longer chain begins with the steps of a shorter one. So a member that is under way goes on with
/// a newer version where it stands, and what it has done keeps its place.
///
/// # Panics
/// Without any version there is no way to follow.
#[must_use]
pub fn chain(versions: &[(&Runbook, u32)]) -> Workflow {
    let (newest, earlier) = versions.split_last().expect("a member follows at least one version");
    let earlier: Vec<u32> = earlier.iter().map(|(_, version)| *version).collect();
    let (mut ids, mut specs) = (Ids::default(), Vec::new());
    for (runbook, version) in versions {
        for phase in &runbook.phases {
            let gate = versioned(&phase.name, *version);
            for step in &phase.steps {
                let id = ids.unique(&format!("{gate}/{}", step.name));
                let gate = Some(gate.clone());
                specs.push(StepSpec { gate, ..spec(id, step, *version, specs.len()) });
            }
        }
    }
    let undo = versions.iter().flat_map(|(book, version)| compensations(book, *version, |_| true));
    workflow(Sequence::chain_name(&newest.0.name, &earlier), *newest, specs, undo.collect())
}

fn workflow(
    name: String,
    (runbook, version): (&Runbook, u32),
    steps: Vec<StepSpec>,
    compensations: BTreeMap<String, Vec<StepSpec>>,
) -> Workflow {
    Workflow {
        name,
        version,
        description: runbook.description.clone(),
        request_type: None,
        input_schema: None,
        steps,
        compensations,
        run_retry: None,
        credits: None,
        cancel: CancelMode::Immediate,
        failure: FailureMode::CancelRest,
    }
}

/// Which part of the way is which phase.
fn phases(runbook: &Runbook, version: u32) -> Vec<Phase> {
    let mut first_step = 0;
    let phase = |phase: &PhaseSpec| {
        let first = StepIndex::at(first_step);
        first_step += phase.steps.len();
        Phase {
            name: phase.name.clone(),
            offset: phase.offset,
            gate: versioned(&phase.name, version),
            first_step: first,
            steps: StepIndex::at(phase.steps.len()).0,
        }
    };
    runbook.phases.iter().map(phase).collect()
}

/// The rollbacks that are wanted, each by its name and version.
fn compensations(
    runbook: &Runbook,
    version: u32,
    is_wanted: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (String, Vec<StepSpec>)> {
    let wanted = runbook.rollbacks.iter().filter(move |(name, _)| is_wanted(name));
    wanted.map(move |(name, steps)| (versioned(name, version), in_order(steps, version)))
}

/// Steps that follow one another and stand behind no gate.
fn in_order(steps: &[RunbookStep], version: u32) -> Vec<StepSpec> {
    let mut ids = Ids::default();
    let numbered = steps.iter().enumerate();
    numbered.map(|(position, step)| spec(ids.unique(&step.name), step, version, position)).collect()
}

/// One step, after the one at the position before it.
fn spec(id: String, step: &RunbookStep, version: u32, position: usize) -> StepSpec {
    StepSpec {
        id,
        kind: step.function.clone(),
        pool: step.worker_id.clone(),
        // Without params a worker would be given the whole input; a function gets what it is told.
        params: Some(Value::Object(step.params.clone())),
        payload_schema: None,
        outputs: step.output_params.clone(),
        after: position.checked_sub(1).map(StepIndex::at).into_iter().collect(),
        gate: None,
        when: None,
        for_each: None,
        timeout: step.timeout.unwrap_or(TIMEOUT_DEFAULT),
        timeout_given: step.timeout.is_some(),
        on_timeout: TimeoutMode::Republish,
        retry: policy(step.retry),
        poll: step.poll,
        on_failure: step.on_failure.as_deref().map(|name| versioned(name, version)),
        continue_on_failure: false,
    }
}

/// A runbook counts what follows the first attempt; the kernel counts attempts.
fn policy(retry: Retry) -> RetryPolicy {
    RetryPolicy::fixed(retry.max_retries.saturating_add(1), retry.interval)
}

/// Ids of steps, which must differ where their names need not. Brackets mark the items of a step
/// that is done several times, so that no id may have them.
#[derive(Default)]
struct Ids {
    taken: BTreeSet<String>,
}

impl Ids {
    fn unique(&mut self, name: &str) -> String {
        let wanted = name.replace('[', "(").replace(']', ")");
        let numbered = (2..).map(|number: u32| format!("{wanted}#{number}"));
        let mut ids = std::iter::once(wanted.clone()).chain(numbered);
        let id =
            ids.find(|id| !self.taken.contains(id)).expect("there are more numbers than steps");
        self.taken.insert(id.clone());
        id
    }
}
