//! A small world around one batch: a clock that stands still, ids that count, counters that the test
//! moves as members would, and everything that was decided so far.

use std::sync::Arc;

use expect_test::Expect;
use stepwell_core::batch::{
    Batch, BatchCommand, BatchDecision, BatchEffect, BatchEntry, BatchHeader, BatchMode,
    BatchRefusal, BatchStatus, MemberTally, Overdue, Phase, PhaseTally, SweepKind, Timeline,
    TimelinePhase, decide_batch,
};
use stepwell_core::decide::At;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, PhaseId, Tenant};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::world::somebody;

/// 2025-03-15T00:00:00Z.
const T0_MS: i64 = 1_741_996_800_000;

pub(super) const DAY: i32 = 24 * 60;

/// One batch, the time, and everything that was decided so far.
pub(super) struct World {
    pub(super) batch: Batch,
    pub(super) now: Timestamp,
    pub(super) history: Vec<(Timestamp, Vec<BatchEntry>)>,
    ids: u128,
}

impl World {
    /// A batch before its first decision, ten days before T-0.
    pub(super) fn of(mode: BatchMode, timeline: &Timeline) -> Self {
        let now = before_t0(10 * DAY);
        let start = (mode != BatchMode::Manual).then_some(t0());
        let header = BatchHeader {
            id: BatchId(1),
            tenant: Tenant::default_tenant(),
            runbook: "wave".to_owned(),
            mode,
            slot: start,
            actor: "scheduler".to_owned(),
            created_at: now,
        };
        let batch = Batch::new(Arc::new(header), timeline, start);
        Self { batch, now, history: Vec::new(), ids: 0 }
    }

    /// A batch on its timeline that was just detected, with ten members.
    pub(super) fn detected(timeline: &Timeline) -> Self {
        let mut world = Self::of(BatchMode::Scheduled, timeline);
        world.does(BatchCommand::Detect);
        world.members(10);
        world
    }

    /// A batch that a person moves on, with ten members.
    pub(super) fn manual(timeline: &Timeline) -> Self {
        let mut world = Self::of(BatchMode::Manual, timeline);
        world.does(BatchCommand::Detect);
        world.members(10);
        world
    }

    /// So many members have all of their way before them.
    pub(super) fn members(&mut self, open: i64) {
        self.batch.tally = MemberTally { open, ..MemberTally::default() };
        for phase in &mut self.batch.phases {
            phase.tally = PhaseTally { open, ..PhaseTally::default() };
        }
    }

    /// Asks for a decision, and takes what was decided over into the world.
    pub(super) fn asks(&mut self, command: &BatchCommand) -> Result<BatchDecision, BatchRefusal> {
        let ids = &mut self.ids;
        let mut fresh = || {
            *ids += 1;
            Uuid::from_u128(*ids)
        };
        let at = &mut At { now: self.now, fresh: &mut fresh };
        let decision = decide_batch(&self.batch, command, at)?;
        if !decision.entries.is_empty() {
            self.history.push((decision.batch.updated_at, decision.entries.clone()));
        }
        self.batch = decision.batch.clone();
        Ok(decision)
    }

    /// Asks for something that must not be refused.
    #[track_caller]
    pub(super) fn does(&mut self, command: BatchCommand) -> BatchDecision {
        match self.asks(&command) {
            Ok(decision) => decision,
            Err(refusal) => panic!("{command:?} was refused: {refusal}"),
        }
    }

    /// Asks, and compares the entries and effects, or the refusal, with a text.
    #[track_caller]
    pub(super) fn check(&mut self, command: BatchCommand, expected: Expect) {
        let answer = self.asks(&command);
        expected.assert_eq(&told(&self.batch, &answer));
    }

    /// Compares where the batch and its phases stand with a text.
    #[track_caller]
    pub(super) fn check_status(&self, expected: Expect) {
        let phase = |phase: &Phase| format!("; {} {}", phase.gate, phase.status.word());
        let phases: String = self.batch.phases.iter().map(phase).collect();
        expected.assert_eq(&format!("{}{phases}", self.batch.status.word()));
    }

    /// Does to every member what must be done, as the engine would.
    pub(super) fn sweeps(&mut self) {
        while !self.batch.sweeps.is_empty() {
            self.does(BatchCommand::Swept { through: None });
        }
    }

    /// It is so many minutes before T-0, and what follows from that is done.
    pub(super) fn comes_to(&mut self, minutes: i32) {
        self.now = before_t0(minutes);
        self.does(check());
        self.sweeps();
    }

    /// Every member that has not ended with a phase ends with it, this many of them well.
    #[track_caller]
    pub(super) fn ends(&mut self, gate: &str, succeeded: i64) {
        let tally = &mut self.phase_mut(gate).tally;
        let failed = tally.open - succeeded;
        *tally = PhaseTally { open: 0, succeeded, failed, ..*tally };
        self.does(check());
    }

    /// Every member has come to the end of its way.
    pub(super) fn all_end(&mut self) {
        let succeeded = self.batch.tally.open;
        self.batch.tally = MemberTally { succeeded, ..MemberTally::default() };
    }

    #[track_caller]
    pub(super) fn phase(&self, gate: &str) -> &Phase {
        self.batch.phases.iter().find(|phase| phase.gate == gate).expect("the batch has it")
    }

    #[track_caller]
    pub(super) fn phase_mut(&mut self, gate: &str) -> &mut Phase {
        self.batch.phases.iter_mut().find(|phase| phase.gate == gate).expect("the batch has it")
    }
}

/// The T-0 of every batch with a timeline.
pub(super) fn t0() -> Timestamp {
    Timestamp::from_millis(T0_MS)
}

/// A moment so many minutes before T-0.
pub(super) fn before_t0(minutes: i32) -> Timestamp {
    stepwell_core::batch::state::due_at(t0(), minutes)
}

/// So much later.
pub(super) fn later(at: Timestamp, interval: Interval) -> Timestamp {
    at.after(interval)
}

/// `prepare` at T-5d, `move` at T-1d and `cutover` at T-0.
pub(super) fn timeline(version: u32, has_init: bool) -> Timeline {
    let phases = [("prepare", 5 * DAY), ("move", DAY), ("cutover", 0)];
    timeline_of(version, has_init, &phases)
}

pub(super) fn timeline_of(version: u32, has_init: bool, phases: &[(&str, i32)]) -> Timeline {
    let phase = |(number, (name, offset)): (i64, &(&str, i32))| TimelinePhase {
        id: PhaseId(100 * i64::from(version) + number),
        name: (*name).to_owned(),
        gate: format!("{name}@{version}"),
        offset_minutes: *offset,
        steps: 1,
    };
    Timeline { version, has_init, phases: (0..).zip(phases).map(phase).collect() }
}

pub(super) fn check() -> BatchCommand {
    BatchCommand::Check { init: None }
}

pub(super) fn init_is(status: RunStatus) -> BatchCommand {
    BatchCommand::Check { init: Some(status) }
}

pub(super) fn advance() -> BatchCommand {
    BatchCommand::Advance { by: somebody() }
}

pub(super) fn begin_init() -> BatchCommand {
    BatchCommand::BeginInit { by: somebody() }
}

pub(super) fn begin_phase(phase: i64) -> BatchCommand {
    BatchCommand::BeginPhase { phase: PhaseId(phase), by: somebody() }
}

pub(super) fn pause() -> BatchCommand {
    BatchCommand::Pause { by: somebody() }
}

pub(super) fn resume() -> BatchCommand {
    BatchCommand::Resume { by: somebody() }
}

pub(super) fn cancel() -> BatchCommand {
    BatchCommand::Cancel { by: somebody() }
}

pub(super) fn move_to(start: Timestamp) -> BatchCommand {
    BatchCommand::Move { start, by: somebody() }
}

pub(super) fn join(members: u32) -> BatchCommand {
    BatchCommand::Join { members, by: somebody() }
}

pub(super) fn adopt(timeline: Timeline, overdue: Overdue, rerun_init: bool) -> BatchCommand {
    BatchCommand::Adopt { timeline, overdue, rerun_init, by: somebody() }
}

/// One line for each entry, then one for each effect.
fn told(batch: &Batch, answer: &Result<BatchDecision, BatchRefusal>) -> String {
    let decision = match answer {
        Ok(decision) => decision,
        Err(refusal) => return format!("refused: {refusal}"),
    };
    let entries = decision.entries.iter().map(|entry| entry_line(batch, entry));
    let effects = decision.effects.iter().map(|effect| match effect {
        BatchEffect::StartInit { run } => format!("-> start init run={}", run.as_u128()),
        BatchEffect::CancelInit { run } => format!("-> cancel init run={}", run.as_u128()),
    });
    let lines: Vec<String> = entries.chain(effects).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join("\n") }
}

fn entry_line(batch: &Batch, entry: &BatchEntry) -> String {
    let gate = |id: &PhaseId| {
        let found = batch.phases.iter().find(|phase| phase.id == *id);
        found.map_or("?", |phase| phase.gate.as_str())
    };
    match entry {
        BatchEntry::Detected => "detected".to_owned(),
        BatchEntry::InitDispatched { run, version } => {
            format!("init dispatched run={} version={version}", run.as_u128())
        }
        BatchEntry::InitSucceeded => "init succeeded".to_owned(),
        BatchEntry::InitFailed => "init failed".to_owned(),
        BatchEntry::Activated => BatchStatus::Active.word().to_owned(),
        BatchEntry::Advanced { .. } => "advanced".to_owned(),
        BatchEntry::PhaseDispatched { phase, by: None } => format!("{} dispatched", gate(phase)),
        BatchEntry::PhaseDispatched { phase, by: Some(by) } => {
            format!("{} dispatched by {}", gate(phase), by.actor)
        }
        BatchEntry::PhaseEnded { phase, status } => format!("{} {}", gate(phase), status.word()),
        BatchEntry::MembersJoined { members, .. } => format!("{members} joined"),
        BatchEntry::MembersRemoved { members, .. } => format!("{members} left"),
        BatchEntry::StartMoved { start, .. } => format!("T-0 moved to {start}"),
        BatchEntry::VersionAdopted { timeline, .. } => format!("version {}", timeline.version),
        BatchEntry::Paused { .. } => "paused".to_owned(),
        BatchEntry::Resumed { .. } => "resumed".to_owned(),
        BatchEntry::CancelRequested { .. } => "cancel requested".to_owned(),
        BatchEntry::SweepBegun { sweep } => format!("every member: {}", sweep_line(sweep)),
        BatchEntry::SweepAdvanced { through } => format!("done through member {through}"),
        BatchEntry::SweepEnded => "done for every member".to_owned(),
        BatchEntry::Ended { status } => format!("ended {}", status.word()),
    }
}

fn sweep_line(sweep: &SweepKind) -> String {
    match sweep {
        SweepKind::Open { gate } => format!("open {gate}"),
        SweepKind::Refresh => "refresh".to_owned(),
        SweepKind::Adopt { version, superseded, skipped } => {
            format!("adopt {version}, superseded {superseded:?}, skipped {skipped:?}")
        }
        SweepKind::Pause => "pause".to_owned(),
        SweepKind::Resume => "resume".to_owned(),
        SweepKind::Cancel => "cancel".to_owned(),
    }
}
