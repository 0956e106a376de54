//! Runbooks, batches, phases, members, steps and histories as readers see them (A-206 … A-213).
//!
//! Names are those of the tables that this dialect was known by, in snake case. Everything
//! about a batch comes from its own row and its counters: no view counts members.

mod event;
mod job;
mod member;
mod step;

use serde::Serialize;
use stepwell_core::batch::{Batch, BatchMode, BatchStatus, Phase, PhaseStatus};
use stepwell_core::id::{BatchId, PhaseId};

use super::document::{PhaseSpec, Runbook, SourceKind};
use super::offset::Offset;
use super::status;
use crate::moment::Moment;

pub use self::event::{RecordView, record};
pub use self::job::{job_id, job_message};
pub use self::member::{MemberRow, MemberView, member};
pub use self::step::{Compensations, Known, StepView, steps};

/// A version of a runbook, put together by whoever has the row.
#[derive(Clone, Debug, Serialize)]
pub struct RunbookView<'a> {
    /// a number among all versions of all runbooks
    pub id: i64,
    /// its name
    pub name: &'a str,
    /// counted from 1
    pub version: u32,
    /// the text as it was published; left out in lists
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yaml_content: Option<&'a str>,
    /// for people
    pub description: &'a str,
    /// kept for whoever looks for it; nothing reads such a table
    pub data_table_name: String,
    /// whether new batches follow it
    pub is_active: bool,
    /// what becomes of phases past due in batches under way
    pub overdue_behavior: &'static str,
    /// whether what was past due has been passed over
    pub ignore_overdue_applied: bool,
    /// whether batches under way are prepared again
    pub rerun_init: bool,
    /// when it was published
    pub created_at: Moment,
    /// by whom
    pub created_by: &'a str,
    /// why the last pass of the scheduler was not clean
    pub last_error: Option<&'a str>,
    /// when that was
    pub last_error_at: Option<Moment>,
    /// in the order they are due
    pub phases: Vec<PhaseSpecView<'a>>,
    /// the kind of system that its members come from
    pub data_source_type: &'static str,
}

/// A phase as its runbook defines it.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseSpecView<'a> {
    /// its name
    pub name: &'a str,
    /// where it stands on the timeline
    pub offset: String,
    /// the same in minutes before T-0; negative after it
    pub offset_minutes: i32,
    /// how many steps it has
    pub steps: usize,
}

/// The phases that a runbook defines.
#[must_use]
pub fn phase_specs(runbook: &Runbook) -> Vec<PhaseSpecView<'_>> {
    runbook.phases.iter().map(phase_spec).collect()
}

fn phase_spec(phase: &PhaseSpec) -> PhaseSpecView<'_> {
    PhaseSpecView {
        name: &phase.name,
        offset: phase.offset.to_string(),
        offset_minutes: phase.offset.minutes(),
        steps: phase.steps.len(),
    }
}

/// The word for the kind of system that members come from, as in the document.
#[must_use]
pub fn data_source_type(kind: &SourceKind) -> &'static str {
    match kind {
        SourceKind::Dataverse { .. } => "dataverse",
        SourceKind::Databricks { .. } => "databricks",
        SourceKind::Postgres { .. } => "postgres",
        SourceKind::Sqlite { .. } => "sqlite",
        SourceKind::Csv => "csv",
        SourceKind::Http { .. } => "http",
    }
}

/// A batch with its phases and counters.
#[derive(Clone, Debug, Serialize)]
pub struct BatchView<'a> {
    /// its number
    pub id: BatchId,
    /// the runbook it follows
    pub runbook_name: &'a str,
    /// the version it follows
    pub runbook_version: u32,
    /// the number of that version
    pub runbook_id: Option<i64>,
    /// T-0; null if a person moves it on
    pub batch_start_time: Option<Moment>,
    /// where it stands
    pub status: &'static str,
    /// when it was found or made
    pub detected_at: Moment,
    /// when its preparation was last begun
    pub init_dispatched_at: Option<Moment>,
    /// whether a person made it, and moves it on
    pub is_manual: bool,
    /// how it came to be
    pub mode: &'static str,
    /// who made it
    pub created_by: &'a str,
    /// the phase it was last moved on to
    pub current_phase: Option<&'a str>,
    /// whether nothing begins in it
    pub paused: bool,
    /// grows with every decision
    pub version: u64,
    /// when it ended
    pub completed_at: Option<Moment>,
    /// where its members stand
    pub members: MembersView,
    /// of every version it has followed
    pub phases: Vec<PhaseView<'a>>,
    /// what begins next by itself
    pub next_due: Option<NextDue<'a>>,
    /// what is being done to every member, in this order
    pub work_in_progress: Vec<&'static str>,
}

/// Where the members of a batch stand.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MembersView {
    /// who ever joined
    pub total: i64,
    /// who neither left nor failed
    pub active: i64,
    /// whose run failed
    pub failed: i64,
    /// who left
    pub removed: i64,
    /// whose run has not ended
    pub open: i64,
    /// whose run ended well
    pub succeeded: i64,
    /// whose run was stopped
    pub cancelled: i64,
}

/// What begins next.
#[derive(Clone, Debug, Serialize)]
pub struct NextDue<'a> {
    /// which phase
    pub phase: &'a str,
    /// when
    pub due_at: Moment,
}

/// A phase of a batch under one version of its runbook.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseView<'a> {
    /// its number
    pub id: PhaseId,
    /// of which batch
    pub batch_id: BatchId,
    /// as in the document
    pub phase_name: &'a str,
    /// the version it belongs to
    pub runbook_version: u32,
    /// where it stands on the timeline
    pub offset: String,
    /// the same in minutes before T-0; negative after it
    pub offset_minutes: i32,
    /// when it begins; null if a person says so
    pub due_at: Option<Moment>,
    /// where it stands
    pub status: &'static str,
    /// when it began
    pub dispatched_at: Option<Moment>,
    /// when it was over
    pub completed_at: Option<Moment>,
    /// how many steps it has for each member
    pub steps_per_member: u16,
    /// where the members stand with it
    pub members: PhaseMembersView,
    /// steps that have ended, over all members
    pub steps_ended: i64,
    /// steps that there are, over all members
    pub steps_total: i64,
}

/// Where the members of a batch stand with one of its phases.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PhaseMembersView {
    /// some step has not ended
    pub open: i64,
    /// every step ended well
    pub succeeded: i64,
    /// a step failed for good
    pub failed: i64,
    /// a step was stopped
    pub cancelled: i64,
    /// the phase was passed over
    pub skipped: i64,
}

/// Shows a batch. `runbook_id` is the number of the version that it follows, if that is known.
#[must_use]
pub fn batch(batch: &Batch, runbook_id: Option<i64>) -> BatchView<'_> {
    let header = &*batch.header;
    BatchView {
        id: header.id,
        runbook_name: &header.runbook,
        runbook_version: batch.runbook_version,
        runbook_id,
        batch_start_time: batch.start.map(Moment),
        status: batch.status.word(),
        detected_at: Moment(header.created_at),
        init_dispatched_at: batch.init_dispatched_at.map(Moment),
        is_manual: header.mode == BatchMode::Manual,
        mode: header.mode.word(),
        created_by: &header.actor,
        current_phase: batch.current_phase.as_deref(),
        paused: batch.paused,
        version: batch.version,
        completed_at: batch.ended_at.map(Moment),
        members: members(batch),
        phases: batch.phases.iter().map(|it| phase(batch, it)).collect(),
        next_due: next_due(batch),
        work_in_progress: batch.sweeps.iter().map(|sweep| status::sweep(&sweep.kind)).collect(),
    }
}

/// Shows a phase.
#[must_use]
pub fn phase<'a>(batch: &'a Batch, phase: &'a Phase) -> PhaseView<'a> {
    let tally = phase.tally;
    let offset = Offset::from_minutes(phase.offset_minutes).unwrap_or_default();
    PhaseView {
        id: phase.id,
        batch_id: batch.id(),
        phase_name: &phase.name,
        runbook_version: phase.version,
        offset: offset.to_string(),
        offset_minutes: phase.offset_minutes,
        due_at: phase.due_at.map(Moment),
        status: phase.status.word(),
        dispatched_at: phase.dispatched_at.map(Moment),
        completed_at: phase.completed_at.map(Moment),
        steps_per_member: phase.steps,
        members: PhaseMembersView {
            open: tally.open,
            succeeded: tally.succeeded,
            failed: tally.failed,
            cancelled: tally.cancelled,
            skipped: tally.skipped,
        },
        steps_ended: tally.steps_ended,
        steps_total: tally.members() * i64::from(phase.steps),
    }
}

fn members(batch: &Batch) -> MembersView {
    MembersView {
        total: batch.joined,
        active: batch.active_members(),
        failed: batch.tally.failed,
        removed: batch.removed,
        open: batch.tally.open,
        succeeded: batch.tally.succeeded,
        cancelled: batch.tally.cancelled,
    }
}

/// What begins next: nothing in a batch that has ended or is paused.
fn next_due(batch: &Batch) -> Option<NextDue<'_>> {
    let may_begin = match batch.status {
        BatchStatus::Detected | BatchStatus::InitDispatched | BatchStatus::Active => !batch.paused,
        BatchStatus::Completed | BatchStatus::Failed | BatchStatus::Cancelled => false,
    };
    let waits = |phase: &&Phase| may_begin && phase.status == PhaseStatus::Pending;
    let due = batch.current_phases().filter(waits);
    let due = due.filter_map(|phase| Some((phase.due_at?, phase)));
    let (at, phase) = due.min_by_key(|(at, _)| *at)?;
    Some(NextDue { phase: &phase.name, due_at: Moment(at) })
}
