//! What a command means for a batch. Pure, like the decisions on runs, and decided from counters:
//! nobody counts 20,000 members to know whether a phase is over.

mod adopt;
mod check;

use super::command::{BatchCommand, BatchRefusal};
use super::entry::{BatchEntry, BatchRecord};
use super::evolve::evolve_batch;
use super::state::{Batch, BatchMode, BatchStatus, Init, PhaseStatus, SweepKind};
use crate::command::Act;
use crate::decide::At;
use crate::id::{PhaseId, RunId};
use crate::time::Timestamp;

/// What was decided. Without entries nothing happened, and nothing need be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchDecision {
    /// facts, those about sweeps included
    pub entries: Vec<BatchEntry>,
    /// what must follow, some of it in the same transaction
    pub effects: Vec<BatchEffect>,
    /// the batch after the entries; its version is one higher if there are any
    pub batch: Batch,
}

/// One thing that must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEffect {
    /// create and start the run that prepares the batch, in the same transaction
    StartInit {
        /// its id
        run: RunId,
    },
    /// stop a run that prepares the batch, because another one does
    CancelInit {
        /// its id
        run: RunId,
    },
}

impl BatchDecision {
    /// What the history keeps of it; `None` if it is of no interest once it is done.
    #[must_use]
    pub fn record(&self) -> Option<BatchRecord> {
        let kept = self.entries.iter().filter(|entry| entry.is_of_interest());
        let entries: Vec<BatchEntry> = kept.cloned().collect();
        let (version, at) = (self.batch.version, self.batch.updated_at);
        (!entries.is_empty()).then_some(BatchRecord { version, at, entries })
    }
}

/// Decides what `command` means for `batch`.
///
/// # Errors
/// A [`BatchRefusal`] says why the command is not followed; the batch stays as it is.
pub fn decide_batch(
    batch: &Batch,
    command: &BatchCommand,
    at: &mut At<'_>,
) -> Result<BatchDecision, BatchRefusal> {
    let mut draft = Draft::new(batch, at);
    match command {
        BatchCommand::Detect => draft.detect(),
        BatchCommand::Check { init } => draft.check(*init),
        BatchCommand::Advance { by } => draft.advance(by)?,
        BatchCommand::BeginInit { by } => draft.begin_init(by)?,
        BatchCommand::BeginPhase { phase, by } => draft.begin_phase(*phase, by)?,
        BatchCommand::Join { members, by } => {
            draft.must_be_open()?;
            // Whoever joined would begin at once with what has begun for the others.
            if draft.batch.paused {
                return Err(BatchRefusal::Paused);
            }
            draft.push(BatchEntry::MembersJoined { members: *members, by: by.clone() });
        }
        BatchCommand::Remove { members, by } => {
            draft.must_be_open()?;
            draft.push(BatchEntry::MembersRemoved { members: *members, by: by.clone() });
        }
        BatchCommand::Move { start, by } => draft.move_start(*start, by)?,
        BatchCommand::Adopt { timeline, overdue, rerun_init, by } => {
            draft.adopt(timeline, *overdue, *rerun_init, by)?;
        }
        BatchCommand::Pause { by } => draft.pause(by)?,
        BatchCommand::Resume { by } => draft.resume(by)?,
        BatchCommand::Cancel { by } => draft.cancel(by)?,
        BatchCommand::Swept { through: Some(member) } => {
            if draft.batch.sweeps.front().is_some_and(|sweep| sweep.after < *member) {
                draft.push(BatchEntry::SweepAdvanced { through: *member });
            }
        }
        BatchCommand::Swept { through: None } => {
            if !draft.batch.sweeps.is_empty() {
                draft.push(BatchEntry::SweepEnded);
            }
        }
    }
    Ok(draft.finish())
}

/// A decision while it is being made.
struct Draft<'a, 'b> {
    batch: Batch,
    now: Timestamp,
    entries: Vec<BatchEntry>,
    effects: Vec<BatchEffect>,
    at: &'a mut At<'b>,
}

impl<'a, 'b> Draft<'a, 'b> {
    fn new(batch: &Batch, at: &'a mut At<'b>) -> Self {
        // A clock that was set back must not make a history go back with it.
        let now = at.now.max(batch.updated_at);
        Self { batch: batch.clone(), now, entries: Vec::new(), effects: Vec::new(), at }
    }

    fn finish(mut self) -> BatchDecision {
        if !self.entries.is_empty() {
            self.batch.version += 1;
        }
        BatchDecision { entries: self.entries, effects: self.effects, batch: self.batch }
    }

    fn push(&mut self, entry: BatchEntry) {
        evolve_batch(&mut self.batch, &entry, self.now);
        self.entries.push(entry);
    }

    fn sweep(&mut self, sweep: SweepKind) {
        self.push(BatchEntry::SweepBegun { sweep });
    }

    fn must_be_open(&self) -> Result<(), BatchRefusal> {
        if self.batch.status.is_terminal() {
            return Err(BatchRefusal::Ended(self.batch.status));
        }
        Ok(())
    }

    /// A batch begins. Phases are judged by the next check, when its members are counted.
    fn detect(&mut self) {
        // It begins once; the word may come twice.
        if self.batch.version > 0 {
            return;
        }
        self.push(BatchEntry::Detected);
        if self.batch.header.mode != BatchMode::Manual {
            self.prepare();
        }
    }

    /// Begins the preparation, or lets phases run if there is none.
    fn prepare(&mut self) {
        match self.batch.init {
            Init::Pending => self.dispatch_init(self.batch.runbook_version),
            Init::Absent => self.push(BatchEntry::Activated),
            Init::Dispatched(_) | Init::Succeeded(_) | Init::Failed(_) => {}
        }
    }

    fn dispatch_init(&mut self, version: u32) {
        let run = RunId((self.at.fresh)());
        self.push(BatchEntry::InitDispatched { run, version });
        self.effects.push(BatchEffect::StartInit { run });
    }

    fn begin_init(&mut self, by: &Act) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        // The word may come twice; what has begun is not begun again.
        if self.batch.status == BatchStatus::Detected {
            if self.batch.paused {
                return Err(BatchRefusal::Paused);
            }
            if self.batch.header.mode == BatchMode::Manual {
                self.push(BatchEntry::Advanced { by: by.clone() });
                self.sweep(SweepKind::Refresh);
            }
            self.prepare();
        }
        Ok(())
    }

    /// A person moves a manual batch on: first to its preparation, then to one phase a time.
    fn advance(&mut self, by: &Act) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        if self.batch.header.mode != BatchMode::Manual {
            return Err(BatchRefusal::NotManual);
        }
        if self.batch.paused {
            return Err(BatchRefusal::Paused);
        }
        if self.batch.status == BatchStatus::InitDispatched {
            return Err(BatchRefusal::UnderWay("init".to_owned()));
        }
        let under_way = |status: PhaseStatus| status == PhaseStatus::Dispatched;
        if let Some(phase) = self.batch.phases.iter().find(|phase| under_way(phase.status)) {
            return Err(BatchRefusal::UnderWay(format!("phase {:?}", phase.name)));
        }
        let is_first = self.batch.advanced_at.is_none();
        self.push(BatchEntry::Advanced { by: by.clone() });
        if is_first {
            // From here on there is a moment to show as the start.
            self.sweep(SweepKind::Refresh);
        }
        if self.batch.status == BatchStatus::Detected {
            self.prepare();
            if self.batch.status == BatchStatus::InitDispatched {
                return Ok(());
            }
        }
        self.advance_to_phase(by)
    }

    fn advance_to_phase(&mut self, by: &Act) -> Result<(), BatchRefusal> {
        let next = |batch: &Batch| {
            let mut phases = batch.current_phases();
            let next = phases.find(|phase| phase.status == PhaseStatus::Pending);
            next.map(|phase| (phase.id, phase.tally.open > 0))
        };
        let (mut phase, mut is_for_somebody) =
            next(&self.batch).ok_or(BatchRefusal::NothingLeft)?;
        // Nobody is left for it: it is passed over, and the next one is meant.
        while !is_for_somebody {
            self.end_phase(phase, PhaseStatus::Skipped);
            let Some((following, open)) = next(&self.batch) else { return Ok(()) };
            (phase, is_for_somebody) = (following, open);
        }
        self.dispatch_phase(phase, Some(by.clone()));
        Ok(())
    }

    fn begin_phase(&mut self, phase: PhaseId, by: &Act) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        let found = self.batch.phases.iter().find(|known| known.id == phase);
        let found = found.ok_or(BatchRefusal::UnknownPhase(phase))?;
        // The word may come twice; a phase begins once.
        if found.status != PhaseStatus::Pending {
            return Ok(());
        }
        if self.batch.status != BatchStatus::Active {
            return Err(BatchRefusal::NotActive(self.batch.status));
        }
        if self.batch.paused {
            return Err(BatchRefusal::Paused);
        }
        // Nobody is left for it; while a sweep is under way, that is not known yet.
        if found.tally.open == 0 && self.batch.sweeps.is_empty() {
            self.end_phase(phase, PhaseStatus::Skipped);
        } else {
            self.dispatch_phase(phase, Some(by.clone()));
        }
        Ok(())
    }

    fn dispatch_phase(&mut self, phase: PhaseId, by: Option<Act>) {
        let found = self.batch.phases.iter().find(|known| known.id == phase);
        let Some(gate) = found.map(|phase| phase.gate.clone()) else { return };
        self.push(BatchEntry::PhaseDispatched { phase, by });
        self.sweep(SweepKind::Open { gate });
    }

    fn end_phase(&mut self, phase: PhaseId, status: PhaseStatus) {
        self.push(BatchEntry::PhaseEnded { phase, status });
    }

    /// Ends every phase that has not begun.
    fn skip_pending(&mut self) {
        let pending = self.batch.phases.iter().filter(|it| it.status == PhaseStatus::Pending);
        let pending: Vec<PhaseId> = pending.map(|phase| phase.id).collect();
        for phase in pending {
            self.end_phase(phase, PhaseStatus::Skipped);
        }
    }

    /// Phases that have not begun move with T-0; what has begun stays as it is.
    fn move_start(&mut self, start: Timestamp, by: &Act) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        if self.batch.header.mode == BatchMode::Manual {
            return Err(BatchRefusal::Manual);
        }
        if self.batch.start != Some(start) {
            self.push(BatchEntry::StartMoved { start, by: by.clone() });
            self.sweep(SweepKind::Refresh);
        }
        Ok(())
    }

    fn pause(&mut self, by: &Act) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        if !self.batch.paused {
            self.push(BatchEntry::Paused { by: by.clone() });
            self.sweep(SweepKind::Pause);
        }
        Ok(())
    }

    fn resume(&mut self, by: &Act) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        if self.batch.paused {
            self.push(BatchEntry::Resumed { by: by.clone() });
            self.sweep(SweepKind::Resume);
        }
        Ok(())
    }

    /// Stops the batch: what has not begun never will; what is under way is stopped member by member,
    /// and phases that had begun settle by what their members came to.
    fn cancel(&mut self, by: &Act) -> Result<(), BatchRefusal> {
        if self.batch.status == BatchStatus::Cancelled {
            return Ok(());
        }
        self.must_be_open()?;
        self.push(BatchEntry::CancelRequested { by: by.clone() });
        self.cancel_init();
        self.skip_pending();
        self.sweep(SweepKind::Cancel);
        self.push(BatchEntry::Ended { status: BatchStatus::Cancelled });
        Ok(())
    }

    fn cancel_init(&mut self) {
        if let Init::Dispatched(run) = self.batch.init {
            self.effects.push(BatchEffect::CancelInit { run });
        }
    }
}
