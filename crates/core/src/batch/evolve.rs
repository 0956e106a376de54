//! Batch × Entry → Batch. The only place that assigns a status.

use super::entry::BatchEntry;
use super::state::{Batch, BatchStatus, Init, Phase, PhaseStatus, Sweep, due_at};
use crate::id::{MemberId, PhaseId};
use crate::time::Timestamp;

/// Folds one entry into the batch.
pub fn evolve_batch(batch: &mut Batch, entry: &BatchEntry, at: Timestamp) {
    batch.updated_at = at;
    match entry {
        BatchEntry::Detected => {}
        BatchEntry::InitDispatched { run, .. } => {
            batch.status = BatchStatus::InitDispatched;
            batch.init = Init::Dispatched(*run);
            batch.init_dispatched_at = Some(at);
        }
        BatchEntry::InitSucceeded => {
            if let Init::Dispatched(run) = batch.init {
                batch.init = Init::Succeeded(run);
            }
        }
        BatchEntry::InitFailed => {
            if let Init::Dispatched(run) = batch.init {
                batch.init = Init::Failed(run);
            }
        }
        BatchEntry::Activated => batch.status = BatchStatus::Active,
        BatchEntry::Advanced { .. } => {
            batch.advanced_at.get_or_insert(at);
        }
        BatchEntry::PhaseDispatched { phase, .. } => {
            if let Some(phase) = find(&mut batch.phases, *phase) {
                phase.status = PhaseStatus::Dispatched;
                phase.dispatched_at = Some(at);
                batch.current_phase = Some(phase.name.clone());
            }
        }
        BatchEntry::PhaseEnded { phase, status } => {
            if let Some(phase) = find(&mut batch.phases, *phase) {
                phase.status = *status;
                phase.completed_at = Some(at);
            }
        }
        BatchEntry::MembersJoined { members, .. } => batch.joined += i64::from(*members),
        BatchEntry::MembersRemoved { members, .. } => batch.removed += i64::from(*members),
        BatchEntry::StartMoved { start, .. } => {
            batch.start = Some(*start);
            let waits = |phase: &&mut Phase| phase.status == PhaseStatus::Pending;
            for phase in batch.phases.iter_mut().filter(waits) {
                phase.due_at = Some(due_at(*start, phase.offset_minutes));
            }
        }
        BatchEntry::VersionAdopted { timeline, .. } => {
            batch.runbook_version = timeline.version;
            batch.phases.extend(timeline.phases(batch.start));
        }
        BatchEntry::Paused { .. } => batch.paused = true,
        BatchEntry::Resumed { .. } => batch.paused = false,
        BatchEntry::CancelRequested { .. } => batch.paused = false,
        BatchEntry::SweepBegun { sweep } => {
            batch.sweeps.push_back(Sweep { kind: sweep.clone(), after: MemberId(0) });
        }
        BatchEntry::SweepAdvanced { through } => {
            if let Some(sweep) = batch.sweeps.front_mut() {
                sweep.after = *through;
            }
        }
        BatchEntry::SweepEnded => drop(batch.sweeps.pop_front()),
        BatchEntry::Ended { status } => {
            batch.status = *status;
            batch.ended_at = Some(at);
        }
    }
}

fn find(phases: &mut [Phase], id: PhaseId) -> Option<&mut Phase> {
    phases.iter_mut().find(|phase| phase.id == id)
}
