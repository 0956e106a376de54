//! The steps of a run of a batch as readers see them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use stepwell_core::batch::{Batch, Phase};
use stepwell_core::id::{MemberId, PhaseId, RunId, StepIndex};
use stepwell_core::run::{BatchRole, Run, RunStatus};
use stepwell_core::step::{SkipReason, Step, StepStatus};

use super::job::{job_id, version};
use crate::moment::Moment;
use crate::runbooks::compile::of_versioned;
use crate::runbooks::document::{Runbook, RunbookStep};
use crate::runbooks::job_id::JobId;
use crate::runbooks::message::StepExecutionId;
use crate::runbooks::status;

/// What became of runs that undo steps, by run.
pub type Compensations = BTreeMap<RunId, RunStatus>;

/// What must be known to show the steps of a run.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// its batch
    pub batch: &'a Batch,
    /// the runbook in the versions that the batch has followed
    pub runbooks: &'a BTreeMap<u32, &'a Runbook>,
    /// what became of the runs that undo its steps
    pub compensations: &'a Compensations,
}

/// A step of a member, or one that prepares the batch.
#[derive(Clone, Debug, Serialize)]
pub struct StepView<'a> {
    /// its number on every wire
    pub id: StepExecutionId,
    /// whether it is done once for the batch
    pub is_init: bool,
    /// the phase it belongs to; null for init
    pub phase_execution_id: Option<PhaseId>,
    /// what that is called
    pub phase_name: Option<&'a str>,
    /// the member; null for init
    pub batch_member_id: Option<MemberId>,
    /// who that is
    pub member_key: Option<&'a str>,
    /// the version of the runbook that it belongs to
    pub runbook_version: u32,
    /// as in the document
    pub step_name: &'a str,
    /// its place in the phase, or in init, counted from 0
    pub step_index: u16,
    /// who does it
    pub worker_id: &'a str,
    /// what they do; with placeholders until it was first dispatched
    pub function_name: &'a str,
    /// what they are given; null until it was first dispatched
    pub params: Option<&'a Value>,
    /// where it stands
    pub status: &'static str,
    /// the newest job; null while there is none
    pub job_id: Option<JobId>,
    /// what the worker returned
    pub result: Option<&'a Value>,
    /// why the newest attempt, or the step, did not succeed
    pub error_message: Option<&'a str>,
    /// the same as a stable word
    pub error_code: Option<&'a str>,
    /// when the newest job was dispatched
    pub dispatched_at: Option<Moment>,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// whether an unfinished result is asked for again
    pub is_poll_step: bool,
    /// from one answer to the next question
    pub poll_interval_sec: Option<u64>,
    /// from the first unfinished answer to giving up
    pub poll_timeout_sec: Option<u64>,
    /// the first unfinished answer
    pub poll_started_at: Option<Moment>,
    /// the newest question, or the first unfinished answer
    pub last_polled_at: Option<Moment>,
    /// questions asked so far
    pub poll_count: u32,
    /// the rollback to run when it fails for good
    pub on_failure: Option<&'a str>,
    /// what became of that
    pub compensation: &'static str,
    /// attempts beside the first
    pub retry_count: u32,
    /// how many there may be
    pub max_retries: u32,
    /// from a failure to the next attempt
    pub retry_interval_sec: u64,
    /// when the next attempt begins
    pub retry_after: Option<Moment>,
    /// why it was passed over, if it was
    pub skip_reason: Option<SkipReason>,
}

/// Shows the steps of a run, in order. Nothing if it is neither a member's way nor a preparation.
pub fn steps<'a>(
    run: &'a Run,
    member_key: Option<&'a str>,
    known: Known<'a>,
) -> impl Iterator<Item = StepView<'a>> {
    let mut places = Places { run, known, gate: None, first: 0 };
    let is_shown = run.header.parent.is_none()
        && run.header.membership.is_some_and(|it| it.role != BatchRole::Removal);
    let own = run.own_steps().filter(move |_| is_shown);
    own.filter_map(move |(index, _)| view(run, index, places.of(index), member_key, known))
}

/// Where a step stands in its runbook.
struct Place<'a> {
    phase: Option<&'a Phase>,
    version: u32,
    index: u16,
    name: &'a str,
}

/// Finds the places of the steps of a run, asked one after another.
struct Places<'a> {
    run: &'a Run,
    known: Known<'a>,
    gate: Option<&'a str>,
    /// the first step behind the gate
    first: u16,
}

impl<'a> Places<'a> {
    fn of(&mut self, step: StepIndex) -> Place<'a> {
        let spec = self.run.spec(step);
        let gate = spec.gate.as_deref();
        if gate != self.gate {
            (self.gate, self.first) = (gate, step.0);
        }
        let index = step.0 - self.first;
        let phases = &self.known.batch.phases;
        let phase = phases.iter().find(|phase| Some(phase.gate.as_str()) == gate);
        let version = version(self.run, step);
        let defined = self.known.runbooks.get(&version).and_then(|it| defined(it, phase, index));
        // A version that is no longer known leaves the kernel's own name for the step.
        let name = defined.map_or(spec.id.as_str(), |step| step.name.as_str());
        Place { phase, version, index, name }
    }
}

fn defined<'a>(runbook: &'a Runbook, phase: Option<&Phase>, index: u16) -> Option<&'a RunbookStep> {
    let steps = match phase {
        Some(phase) => &runbook.phases.iter().find(|it| it.name == phase.name)?.steps,
        None => &runbook.init,
    };
    steps.get(usize::from(index))
}

fn view<'a>(
    run: &'a Run,
    index: StepIndex,
    place: Place<'a>,
    member_key: Option<&'a str>,
    known: Known<'a>,
) -> Option<StepView<'a>> {
    let membership = run.header.membership?;
    let (spec, step) = (run.spec(index), &run.steps[index.position()]);
    Some(StepView {
        id: StepExecutionId::of(membership.number, index),
        is_init: membership.role == BatchRole::Init,
        phase_execution_id: place.phase.map(|phase| phase.id),
        phase_name: place.phase.map(|phase| phase.name.as_str()),
        batch_member_id: membership.member,
        member_key,
        runbook_version: place.version,
        step_name: place.name,
        step_index: place.index,
        worker_id: &spec.pool,
        function_name: step.kind.as_deref().unwrap_or(&spec.kind),
        params: step.params.as_deref(),
        status: status::step(step.status),
        job_id: job_id(run, index).filter(|_| !waits(step)),
        result: step.result.as_deref(),
        error_message: step.error.as_ref().map(|error| error.message.as_str()),
        error_code: step.error.as_ref().map(|error| error.code.as_str()),
        dispatched_at: step.dispatched_at.map(Moment),
        completed_at: step.ended_at.map(Moment),
        is_poll_step: spec.poll.is_some(),
        poll_interval_sec: spec.poll.map(|poll| poll.interval.as_secs()),
        poll_timeout_sec: spec.poll.map(|poll| poll.timeout.as_secs()),
        poll_started_at: step.poll.map(|poll| Moment(poll.started_at)),
        last_polled_at: last_polled_at(step),
        poll_count: step.poll.map_or(0, |poll| poll.count),
        on_failure: spec.on_failure.as_deref().map(plain),
        compensation: step.compensation.map_or("none", |undoing| {
            status::compensation(known.compensations.get(&undoing).copied())
        }),
        retry_count: retry_count(step),
        max_retries: spec.retry.attempts_max.saturating_sub(1),
        retry_interval_sec: spec.retry.delay_after(1, run.id(), 0).as_secs(),
        retry_after: step.wake_at.filter(|_| step.status == StepStatus::RetryWait).map(Moment),
        skip_reason: step.skip,
    })
}

/// The name of a rollback as the document has it.
fn plain(name: &str) -> &str {
    of_versioned(name).map_or(name, |(name, _)| name)
}

/// No job of it is under way or was the last.
fn waits(step: &Step) -> bool {
    matches!(step.status, StepStatus::Waiting | StepStatus::Ready | StepStatus::RetryWait)
}

/// A step that waits for its next attempt counts that one already, as its next job will.
fn retry_count(step: &Step) -> u32 {
    let before_it = u32::from(step.status != StepStatus::RetryWait);
    step.attempt.saturating_sub(before_it)
}

/// The first unfinished answer counts as a question; later ones have a dispatch of their own.
fn last_polled_at(step: &Step) -> Option<Moment> {
    let poll = step.poll?;
    let asked_at = step.dispatched_at.filter(|_| poll.count > 0);
    Some(Moment(asked_at.unwrap_or(poll.started_at)))
}
