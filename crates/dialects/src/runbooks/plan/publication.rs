//! What publishing a version would do to a batch under way.

use serde::Serialize;
use stepwell_core::batch::{
    Batch, BatchCommand, BatchEffect, Overdue, Phase, PhaseStatus, Timeline, decide_batch,
};
use stepwell_core::command::Act;
use stepwell_core::decide::At;
use stepwell_core::id::{BatchId, PhaseId};

use crate::moment::Moment;

/// What would become of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchTransition {
    /// which
    pub batch_id: BatchId,
    /// where it stands
    pub status: &'static str,
    /// the version it follows
    pub runbook_version: u32,
    /// `rerun` if it would be prepared again, else `kept`
    pub init: &'static str,
    /// what would become of each phase, those of the new version last
    pub phases: Vec<PhaseTransition>,
}

/// What would become of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseTransition {
    /// its name
    pub name: String,
    /// the version it belongs to
    pub runbook_version: u32,
    /// where it stands now; null if it is new
    pub from: Option<&'static str>,
    /// `pending`, `rerun` (it has been begun before), `skipped`, `superseded`,
    /// `finishes_under_version`
    pub becomes: &'static str,
    /// when it would begin
    pub due_at: Option<Moment>,
}

/// The first number of phases that are planned and never stored: those of stored ones are positive.
pub const UNSTORED: PhaseId = PhaseId(i64::MIN);

/// What would become of `batch` if it went over to `timeline`, whose phases are numbered from
/// [`UNSTORED`] on; `None` if it would not, because it
/// has ended, is pinned to its version, or follows that one already.
#[must_use]
pub fn publication(
    batch: &Batch,
    timeline: &Timeline,
    overdue: Overdue,
    rerun_init: bool,
    at: &mut At<'_>,
) -> Option<BatchTransition> {
    let by = Act::new("plan", "");
    let command = BatchCommand::Adopt { timeline: timeline.clone(), overdue, rerun_init, by };
    let decided = decide_batch(batch, &command, at).ok();
    let decided = decided.filter(|decision| !decision.entries.is_empty())?;
    let is_rerun = |effect: &BatchEffect| matches!(effect, BatchEffect::StartInit { .. });
    let after = decided.batch.phases.iter();
    let phases = after.filter_map(|phase| {
        let before = batch.phases.iter().find(|known| known.id == phase.id);
        match before {
            Some(before) => old_phase(before, phase),
            None => Some(new_phase(batch, phase)),
        }
    });
    Some(BatchTransition {
        batch_id: batch.id(),
        status: batch.status.word(),
        runbook_version: batch.runbook_version,
        init: if decided.effects.iter().any(is_rerun) { "rerun" } else { "kept" },
        phases: phases.collect(),
    })
}

/// A phase that was there; nothing if it was over before and stays so.
fn old_phase(before: &Phase, after: &Phase) -> Option<PhaseTransition> {
    let becomes = match (before.status.is_terminal(), after.status) {
        (true, _) => return None,
        (false, PhaseStatus::Dispatched) => "finishes_under_version",
        (false, status) => status.word(),
    };
    Some(transition(after, Some(before.status.word()), becomes))
}

fn new_phase(batch: &Batch, phase: &Phase) -> PhaseTransition {
    let began = |old: &Phase| {
        let begun = matches!(
            old.status,
            PhaseStatus::Dispatched | PhaseStatus::Completed | PhaseStatus::Failed
        );
        begun && old.name == phase.name
    };
    let becomes = match phase.status {
        PhaseStatus::Pending if batch.phases.iter().any(began) => "rerun",
        status => status.word(),
    };
    transition(phase, None, becomes)
}

fn transition(phase: &Phase, from: Option<&'static str>, becomes: &'static str) -> PhaseTransition {
    PhaseTransition {
        name: phase.name.clone(),
        runbook_version: phase.version,
        from,
        becomes,
        due_at: phase.due_at.map(Moment),
    }
}
