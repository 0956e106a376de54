//! What the kernel runs for a runbook.
//!
//! A member is a run of all steps of all phases, one after another; the steps of a phase stand
//! behind a gate that has the phase's name. So a member that joins late, or is slower than the
//! timeline, needs no rule of its own, and a failure ends all that was still to come. Init and
//! `on_member_removed` are workflows of their own; rollbacks are compensations.
//!
//! A `worker_id` becomes the pool of a step and a `function` its kind, both as they are written.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stepwell_core::definition::{CancelMode, FailureMode, StepSpec, TimeoutMode, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::RetryPolicy;

use super::document::{Retry, Runbook, RunbookStep};
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

/// Which of the workflows of a runbook is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// the way of a member
    Member,
    /// what is done once for a batch
    Init,
    /// what is done for a member that left
    Removal,
}

/// A colon is in no name of a workflow document, so that these names are nobody else's.
const PREFIXES: [(Sequence, &str); 3] = [
    (Sequence::Member, "runbook-member:"),
    (Sequence::Init, "runbook-init:"),
    (Sequence::Removal, "runbook-removal:"),
];

impl Sequence {
    /// What the workflow is called among all workflows.
    #[must_use]
    pub fn workflow_name(self, runbook: &str) -> String {
        let prefix = PREFIXES.iter().find(|(sequence, _)| *sequence == self);
        format!("{}{runbook}", prefix.map_or("", |(_, prefix)| prefix))
    }

    /// The runbook that a workflow was made from, and which of its workflows it is.
    #[must_use]
    pub fn of_workflow_name(name: &str) -> Option<(Self, &str)> {
        PREFIXES.iter().find_map(|(sequence, prefix)| Some((*sequence, name.strip_prefix(prefix)?)))
    }
}

/// What the kernel runs for this version of a runbook.
#[must_use]
pub fn compile(runbook: &Runbook, version: u32) -> Compiled {
    let workflow = |sequence: Sequence, steps, compensations| Workflow {
        name: sequence.workflow_name(&runbook.name),
        version,
        description: runbook.description.clone(),
        request_type: None,
        input_schema: None,
        steps,
        compensations,
        run_retry: None,
        cancel: CancelMode::Immediate,
        failure: FailureMode::CancelRest,
    };
    let alone = |sequence: Sequence, steps: &[RunbookStep], compensations| {
        (!steps.is_empty()).then(|| workflow(sequence, in_order(steps), compensations))
    };
    let (steps, phases) = timeline(runbook);
    let undoes_init =
        |name: &str| runbook.init.iter().any(|step| step.on_failure.as_deref() == Some(name));
    Compiled {
        member: workflow(Sequence::Member, steps, compensations(runbook, |_| true)),
        init: alone(Sequence::Init, &runbook.init, compensations(runbook, undoes_init)),
        removal: alone(Sequence::Removal, &runbook.on_member_removed, BTreeMap::new()),
        phases,
    }
}

/// The steps of all phases, each behind the gate of its phase.
fn timeline(runbook: &Runbook) -> (Vec<StepSpec>, Vec<Phase>) {
    let mut ids = Ids::default();
    let (mut specs, mut phases) = (Vec::new(), Vec::new());
    for phase in &runbook.phases {
        phases.push(Phase {
            name: phase.name.clone(),
            offset: phase.offset,
            gate: phase.name.clone(),
            first_step: StepIndex::at(specs.len()),
            steps: StepIndex::at(phase.steps.len()).0,
        });
        for step in &phase.steps {
            let id = ids.unique(&format!("{}/{}", phase.name, step.name));
            specs.push(StepSpec { gate: Some(phase.name.clone()), ..spec(id, step, specs.len()) });
        }
    }
    (specs, phases)
}

/// The rollbacks that are wanted, each by its name.
fn compensations(
    runbook: &Runbook,
    is_wanted: impl Fn(&str) -> bool,
) -> BTreeMap<String, Vec<StepSpec>> {
    let wanted = runbook.rollbacks.iter().filter(|(name, _)| is_wanted(name));
    wanted.map(|(name, steps)| (name.clone(), in_order(steps))).collect()
}

/// Steps that follow one another and stand behind no gate.
fn in_order(steps: &[RunbookStep]) -> Vec<StepSpec> {
    let mut ids = Ids::default();
    let numbered = steps.iter().enumerate();
    numbered.map(|(position, step)| spec(ids.unique(&step.name), step, position)).collect()
}

/// One step, after the one at the position before it.
fn spec(id: String, step: &RunbookStep, position: usize) -> StepSpec {
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
        on_timeout: TimeoutMode::Republish,
        retry: policy(step.retry),
        poll: step.poll,
        on_failure: step.on_failure.clone(),
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
