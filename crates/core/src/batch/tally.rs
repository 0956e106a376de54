//! Counters: how many members stand where, moved by the very commits that move the members.

use serde::{Deserialize, Serialize};

use crate::definition::{Part, StepSpec};
use crate::id::BatchId;
use crate::run::{BatchRole, Run, RunStatus};
use crate::step::{SkipReason, Step, StepStatus};

/// Where the members of a batch stand with one of its phases. Each is counted in one place.
///
/// As part of a [`Tally`] the same fields say by how much a counter moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTally {
    /// some step of the phase has not ended
    pub open: i64,
    /// every step ended well, or a person passed it over
    pub succeeded: i64,
    /// a step failed for good
    pub failed: i64,
    /// a step was stopped, because the member left, failed earlier, or the batch was stopped
    pub cancelled: i64,
    /// the phase was passed over for the member: overdue, or replaced by a newer version
    pub skipped: i64,
    /// steps that have ended, over all members
    pub steps_ended: i64,
}

/// Where the members of a batch stand as a whole. Each member's newest run is counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberTally {
    /// runs that have not ended
    pub open: i64,
    /// runs that ended well
    pub succeeded: i64,
    /// runs that failed
    pub failed: i64,
    /// runs that were stopped
    pub cancelled: i64,
}

/// By how much one commit moves the counters of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// of which batch
    pub batch: BatchId,
    /// over all its members
    pub members: MemberTally,
    /// by the gate of each phase that moves
    pub phases: Vec<(String, PhaseTally)>,
}

impl Tally {
    /// By how much the counters move when a member's run becomes `after`. `before` is the run as it
    /// was counted last: an earlier state of the same run, or the run that it takes up again.
    ///
    /// `None` if the run is not a member's way through its phases, or nothing moves.
    #[must_use]
    pub fn moved(before: Option<&Run>, after: &Run) -> Option<Self> {
        let membership = after.header.membership?;
        if membership.role != BatchRole::Member || after.header.part != Part::Main {
            return None;
        }
        let mut members = MemberTally::of(after.status);
        if let Some(before) = before {
            members = members.less(MemberTally::of(before.status));
        }
        let mut phases: Vec<(String, PhaseTally)> =
            gates(after).map(|(gate, steps)| (gate.to_owned(), PhaseTally::of(steps))).collect();
        for (gate, steps) in before.into_iter().flat_map(gates) {
            // A phase that the new run does not have keeps what it came to in the one before.
            if let Some((_, tally)) = phases.iter_mut().find(|(known, _)| known == gate) {
                *tally = tally.less(PhaseTally::of(steps));
            }
        }
        phases.retain(|(_, tally)| *tally != PhaseTally::default());
        let moves = members != MemberTally::default() || !phases.is_empty();
        moves.then_some(Self { batch: membership.batch, members, phases })
    }

    /// Adds what another commit moves in the same batch.
    pub fn add(&mut self, other: &Self) {
        self.members = self.members.plus(other.members);
        for (gate, tally) in &other.phases {
            match self.phases.iter_mut().find(|(known, _)| known == gate) {
                Some((_, sum)) => *sum = sum.plus(*tally),
                None => self.phases.push((gate.clone(), *tally)),
            }
        }
    }
}

/// The steps of a run by gate. The steps of a phase follow one another.
fn gates(run: &Run) -> impl Iterator<Item = (&str, impl Iterator<Item = &Step>)> {
    let specs = run.header.specs();
    let mut next = 0;
    specs.chunk_by(|one, other| one.gate == other.gate).filter_map(move |chunk: &[StepSpec]| {
        let first = next;
        next += chunk.len();
        let steps = (first..next).map(|position| &run.steps[position]);
        chunk.first().and_then(|spec| spec.gate.as_deref()).map(|gate| (gate, steps))
    })
}

impl PhaseTally {
    /// Where one member stands with the steps of one phase.
    fn of<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut tally = Self::default();
        let (mut open, mut failed, mut cancelled, mut passed_over) = (false, false, false, false);
        for step in steps {
            match step.status {
                StepStatus::Succeeded => {}
                StepStatus::Failed | StepStatus::TimedOut => failed = true,
                StepStatus::Cancelled => cancelled = true,
                StepStatus::Skipped => match step.skip {
                    Some(SkipReason::Superseded) => passed_over = true,
                    Some(SkipReason::Dependency | SkipReason::OtherItem) => cancelled = true,
                    Some(SkipReason::Operator | SkipReason::Condition) | None => {}
                },
                StepStatus::Waiting
                | StepStatus::Ready
                | StepStatus::Expanded
                | StepStatus::Dispatched
                | StepStatus::Acked
                | StepStatus::Polling
                | StepStatus::RetryWait => open = true,
            }
            tally.steps_ended += i64::from(step.status.is_terminal());
        }
        *match (open, failed, cancelled, passed_over) {
            (true, ..) => &mut tally.open,
            (_, true, ..) => &mut tally.failed,
            (_, _, true, _) => &mut tally.cancelled,
            (_, _, _, true) => &mut tally.skipped,
            (false, false, false, false) => &mut tally.succeeded,
        } = 1;
        tally
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            open: self.open + other.open,
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            cancelled: self.cancelled + other.cancelled,
            skipped: self.skipped + other.skipped,
            steps_ended: self.steps_ended + other.steps_ended,
        }
    }

    fn less(self, other: Self) -> Self {
        Self {
            open: self.open - other.open,
            succeeded: self.succeeded - other.succeeded,
            failed: self.failed - other.failed,
            cancelled: self.cancelled - other.cancelled,
            skipped: self.skipped - other.skipped,
            steps_ended: self.steps_ended - other.steps_ended,
        }
    }

    /// Members that the phase is for.
    #[must_use]
    pub fn members(self) -> i64 {
        self.open + self.succeeded + self.failed + self.cancelled + self.skipped
    }
}

impl MemberTally {
    fn of(status: RunStatus) -> Self {
        let mut tally = Self::default();
        *match status {
            RunStatus::Succeeded => &mut tally.succeeded,
            RunStatus::Failed => &mut tally.failed,
            RunStatus::Cancelled => &mut tally.cancelled,
            RunStatus::Created
            | RunStatus::Ready
            | RunStatus::Running
            | RunStatus::RetryWait
            | RunStatus::Cancelling => &mut tally.open,
        } = 1;
        tally
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            open: self.open + other.open,
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            cancelled: self.cancelled + other.cancelled,
        }
    }

    fn less(self, other: Self) -> Self {
        Self {
            open: self.open - other.open,
            succeeded: self.succeeded - other.succeeded,
            failed: self.failed - other.failed,
            cancelled: self.cancelled - other.cancelled,
        }
    }
}
