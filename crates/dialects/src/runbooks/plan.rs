//! What will happen, before it does: the steps and times of a batch, and what a new version of a
//! runbook would mean for batches under way. Nothing is written, and nothing is guessed: the second
//! asks the kernel's own decision.

mod check;
mod publication;

use serde::Serialize;
use stepwell_core::batch::{Batch, Phase, PhaseStatus};
use stepwell_core::definition::Poll;
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;

use super::document::{PhaseSpec, Retry, Runbook, RunbookStep};
use super::offset::Offset;
use crate::moment::Moment;

pub use self::check::{Unresolved, check};
pub use self::publication::{BatchTransition, PhaseTransition, UNSTORED, publication};

/// What a batch will do, or has done.
#[derive(Clone, Debug, Serialize)]
pub struct BatchPlan<'a> {
    /// the batch; null if it does not exist yet
    pub batch_id: Option<BatchId>,
    /// the runbook
    pub runbook_name: &'a str,
    /// its version
    pub runbook_version: u32,
    /// T-0; null if a person moves it on
    pub batch_start_time: Option<Moment>,
    /// when this was worked out
    pub generated_at: Moment,
    /// done once, before any phase
    pub init: Vec<StepPlan<'a>>,
    /// in the order they are due
    pub phases: Vec<PhasePlan<'a>>,
    /// all together
    pub totals: Totals,
    /// steps that could not be dispatched as the data are
    pub problems: Vec<Unresolved>,
}

/// What a phase will do.
#[derive(Clone, Debug, Serialize)]
pub struct PhasePlan<'a> {
    /// its name
    pub name: &'a str,
    /// where it stands on the timeline
    pub offset: String,
    /// when it begins; null if a person says so
    pub due_at: Option<Moment>,
    /// where it stands
    pub status: &'static str,
    /// for how many members
    pub members: i64,
    /// in order
    pub steps: Vec<StepPlan<'a>>,
    /// jobs that will be sent, or were, if nothing fails
    pub dispatches: i64,
}

/// What a step will do.
#[derive(Clone, Debug, Serialize)]
pub struct StepPlan<'a> {
    /// its name
    pub name: &'a str,
    /// who does it
    pub worker_id: &'a str,
    /// what they do
    pub function: &'a str,
    /// how often it is tried again
    pub retry: Option<RetryPlan>,
    /// how an unfinished result is asked for again
    pub poll: Option<PollPlan>,
    /// what is done if it fails for good
    pub on_failure: Option<&'a str>,
    /// jobs that will be sent, or were, if nothing fails
    pub dispatches: i64,
}

/// How often a step is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RetryPlan {
    /// beside the first attempt
    pub max_retries: u32,
    /// from a failure to the next attempt
    pub interval_sec: u64,
}

/// How an unfinished result is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PollPlan {
    /// from one answer to the next question
    pub interval_sec: u64,
    /// from the first unfinished answer to giving up
    pub timeout_sec: u64,
}

/// All together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// members
    pub members: i64,
    /// steps of one member, and of init
    pub steps: usize,
    /// jobs, if nothing fails
    pub dispatches: i64,
}

/// What a batch will do from here on, and has done so far, under the version it follows.
#[must_use]
pub fn batch<'a>(batch: &'a Batch, runbook: &'a Runbook, now: Timestamp) -> BatchPlan<'a> {
    let phases = runbook.phases.iter().map(|spec| {
        let known = batch.current_phases().find(|phase| phase.name == spec.name);
        let stands = known.map_or(Stands::NEW, |phase| Stands {
            due_at: phase.due_at,
            status: phase.status,
            members: meant(phase),
        });
        phase(spec, stands)
    });
    BatchPlan {
        batch_id: Some(batch.id()),
        ..whole(runbook, batch.runbook_version, (batch.start, now), phases.collect(), {
            batch.joined - batch.removed
        })
    }
}

/// What a batch of so many members would do if it were made now.
#[must_use]
pub fn new_batch(
    runbook: &Runbook,
    version: u32,
    members: i64,
    start: Option<Timestamp>,
    now: Timestamp,
) -> BatchPlan<'_> {
    let phases = runbook.phases.iter().map(|spec| {
        let due_at = start.map(|start| spec.offset.due_at(start));
        phase(spec, Stands { due_at, members, ..Stands::NEW })
    });
    whole(runbook, version, (start, now), phases.collect(), members)
}

/// Where a phase stands in the batch that is planned.
struct Stands {
    due_at: Option<Timestamp>,
    status: PhaseStatus,
    members: i64,
}

impl Stands {
    const NEW: Self = Self { due_at: None, status: PhaseStatus::Pending, members: 0 };
}

/// The members that a phase is or was for. Those for whom it is passed over are none of them.
fn meant(phase: &Phase) -> i64 {
    match phase.status {
        PhaseStatus::Pending => phase.tally.open,
        PhaseStatus::Dispatched | PhaseStatus::Completed | PhaseStatus::Failed => {
            phase.tally.members() - phase.tally.skipped
        }
        PhaseStatus::Skipped | PhaseStatus::Superseded => 0,
    }
}

fn whole<'a>(
    runbook: &'a Runbook,
    version: u32,
    (start, now): (Option<Timestamp>, Timestamp),
    phases: Vec<PhasePlan<'a>>,
    members: i64,
) -> BatchPlan<'a> {
    let init: Vec<StepPlan<'_>> = runbook.init.iter().map(|it| step(it, 1)).collect();
    let dispatches = phases.iter().map(|phase| phase.dispatches).sum::<i64>()
        + i64::try_from(init.len()).unwrap_or(i64::MAX);
    let steps = init.len() + phases.iter().map(|phase| phase.steps.len()).sum::<usize>();
    BatchPlan {
        batch_id: None,
        runbook_name: &runbook.name,
        runbook_version: version,
        batch_start_time: start.map(Moment),
        generated_at: Moment(now),
        init,
        phases,
        totals: Totals { members, steps, dispatches },
        problems: Vec::new(),
    }
}

fn phase(spec: &PhaseSpec, stands: Stands) -> PhasePlan<'_> {
    let steps: Vec<StepPlan<'_>> = spec.steps.iter().map(|it| step(it, stands.members)).collect();
    PhasePlan {
        name: &spec.name,
        offset: offset(spec.offset),
        due_at: stands.due_at.map(Moment),
        status: stands.status.word(),
        members: stands.members,
        dispatches: steps.iter().map(|step| step.dispatches).sum(),
        steps,
    }
}

fn step(step: &RunbookStep, dispatches: i64) -> StepPlan<'_> {
    let retry = |retry: Retry| RetryPlan {
        max_retries: retry.max_retries,
        interval_sec: retry.interval.as_secs(),
    };
    let poll = |poll: Poll| PollPlan {
        interval_sec: poll.interval.as_secs(),
        timeout_sec: poll.timeout.as_secs(),
    };
    StepPlan {
        name: &step.name,
        worker_id: &step.worker_id,
        function: &step.function,
        retry: Some(step.retry).filter(|retry| retry.max_retries > 0).map(retry),
        poll: step.poll.map(poll),
        on_failure: step.on_failure.as_deref(),
        dispatches,
    }
}

fn offset(offset: Offset) -> String {
    offset.to_string()
}
