//! A decision while it is being made: a copy of the run that follows each entry as it is written.

use uuid::Uuid;

use super::keep::FreeWorker;
use super::{At, Decision};
use crate::command::{Fence, StepRef};
use crate::definition::StepSpec;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::evolve::evolve;
use crate::id::{LeaseId, StepIndex};
use crate::refusal::Refusal;
use crate::run::Run;
use crate::step::{Step, StepStatus};
use crate::time::Timestamp;

/// A decision while it is being made.
pub(super) struct Draft<'a, 'b> {
    pub(super) run: Run,
    pub(super) now: Timestamp,
    entries: Vec<Entry>,
    effects: Vec<Effect>,
    /// the worker that has just reported and goes on with the next step of its pool, if it keeps the
    /// attempt
    pub(super) free: Option<FreeWorker>,
    at: &'a mut At<'b>,
}

impl<'a, 'b> Draft<'a, 'b> {
    pub(super) fn new(run: &Run, at: &'a mut At<'b>) -> Self {
        // A clock that was set back must not make a run's history go back with it.
        let now = at.now.max(run.updated_at);
        let (entries, effects) = (Vec::new(), Vec::new());
        Self { run: run.clone(), now, entries, effects, free: None, at }
    }

    pub(super) fn finish(mut self) -> Decision {
        if !self.entries.is_empty() {
            self.run.version += 1;
        }
        Decision { entries: self.entries, effects: self.effects, run: self.run }
    }

    /// Writes a fact; everything after it sees the run as it is with the fact.
    pub(super) fn push(&mut self, entry: Entry) {
        evolve(&mut self.run, &entry, self.now);
        self.entries.push(entry);
    }

    pub(super) fn follow_with(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn fresh(&mut self) -> Uuid {
        (self.at.fresh)()
    }

    pub(super) fn step(&self, step: StepIndex) -> &Step {
        &self.run.steps[step.position()]
    }

    pub(super) fn spec(&self, step: StepIndex) -> &StepSpec {
        self.run.spec(step)
    }

    /// Indices of all steps and items; owned, so that entries can be written while walking.
    pub(super) fn steps(&self) -> impl Iterator<Item = StepIndex> + use<> {
        (0..self.run.steps.len()).map(StepIndex::at)
    }

    /// Indices of the workflow's own steps.
    pub(super) fn own_steps(&self) -> impl Iterator<Item = StepIndex> + use<> {
        (0..self.run.header.specs().len()).map(StepIndex::at)
    }

    /// The step that is named, if there is one.
    pub(super) fn find(&self, step: &StepRef) -> Result<StepIndex, Refusal> {
        let found = match step {
            StepRef::Index(index) => Some(*index).filter(|i| i.position() < self.run.steps.len()),
            StepRef::Id(id) => self.run.step_named(id),
        };
        found.ok_or_else(|| {
            Refusal::UnknownStep(match step {
                StepRef::Index(index) => index.0.to_string(),
                StepRef::Id(id) => id.clone(),
            })
        })
    }

    /// Refuses whatever comes for a run that has ended.
    pub(super) fn must_be_open(&self) -> Result<(), Refusal> {
        if self.run.status.is_terminal() {
            return Err(Refusal::RunEnded(self.run.status));
        }
        Ok(())
    }

    /// Lets only the attempt in force pass: its number and its lease must both be the current ones.
    ///
    /// Every status is spelled out, so that whoever adds one is made to judge it here.
    pub(super) fn must_hold_lease(&self, step: StepIndex, fence: Fence) -> Result<(), Refusal> {
        let step = self.step(step);
        match step.status {
            StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Cancelled
            | StepStatus::Skipped => return Err(Refusal::StepEnded(step.status)),
            StepStatus::Waiting
            | StepStatus::Ready
            | StepStatus::Expanded
            | StepStatus::RetryWait
            | StepStatus::Dispatched
            | StepStatus::Acked
            | StepStatus::Polling => {}
        }
        self.must_be_open()?;
        let Some(lease) = &step.lease else {
            return Err(Refusal::NotDispatched(step.status));
        };
        if lease.attempt != fence.attempt {
            return Err(Refusal::AttemptLost { named: fence.attempt, current: lease.attempt });
        }
        if lease.id != fence.lease {
            return Err(Refusal::LeaseLost { current: lease.attempt });
        }
        Ok(())
    }

    /// The same for messages of our own bus, which know the lease only.
    pub(super) fn must_be_current(&self, step: StepIndex, lease: LeaseId) -> Result<(), Refusal> {
        let step_index = self.find(&StepRef::Index(step))?;
        let attempt = self.step(step_index).lease.map_or(0, |current| current.attempt);
        self.must_hold_lease(step_index, Fence { attempt, lease })
    }
}
