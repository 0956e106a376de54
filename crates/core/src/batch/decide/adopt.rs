//! A batch under way follows a newer version of its runbook.

use super::Draft;
use crate::batch::command::BatchRefusal;
use crate::batch::entry::BatchEntry;
use crate::batch::state::{BatchMode, Overdue, Phase, PhaseStatus, SweepKind, Timeline};
use crate::command::Act;

impl Draft<'_, '_> {
    /// What had not begun under earlier versions is replaced. What had begun ends under its own
    /// version, unless it is to be done again.
    pub(super) fn adopt(
        &mut self,
        timeline: &Timeline,
        overdue: Overdue,
        rerun_init: bool,
        by: &Act,
    ) -> Result<(), BatchRefusal> {
        self.must_be_open()?;
        // A manual batch stays with its version; asking twice changes nothing.
        let is_manual = self.batch.header.mode == BatchMode::Manual;
        if is_manual || timeline.version <= self.batch.runbook_version {
            return Ok(());
        }
        let replaced = |phase: &&Phase| match phase.status {
            PhaseStatus::Pending => true,
            PhaseStatus::Dispatched => overdue == Overdue::Rerun,
            PhaseStatus::Completed
            | PhaseStatus::Failed
            | PhaseStatus::Skipped
            | PhaseStatus::Superseded => false,
        };
        let replaced: Vec<Phase> = self.batch.phases.iter().filter(replaced).cloned().collect();
        self.push(BatchEntry::VersionAdopted { timeline: timeline.clone(), by: by.clone() });
        for phase in &replaced {
            self.end_phase(phase.id, PhaseStatus::Superseded);
        }
        let skipped = self.skip_overdue(overdue, &replaced);
        self.sweep(SweepKind::Adopt {
            version: timeline.version,
            superseded: replaced.into_iter().map(|phase| phase.gate).collect(),
            skipped,
        });
        if rerun_init && timeline.has_init {
            self.cancel_init();
            self.dispatch_init(timeline.version);
        }
        Ok(())
    }

    /// Passes over what is past due, if that is wanted; answers the gates. A phase that was still
    /// waiting under the version before, past due because the batch was being prepared or paused,
    /// never had its turn, and keeps it.
    fn skip_overdue(&mut self, overdue: Overdue, replaced: &[Phase]) -> Vec<String> {
        if overdue == Overdue::Rerun {
            return Vec::new();
        }
        let had_no_turn = |name: &str| {
            let waited = |old: &Phase| old.status == PhaseStatus::Pending && old.name == name;
            replaced.iter().any(waited)
        };
        let is_overdue = |phase: &&Phase| {
            phase.due_at.is_some_and(|due| due <= self.now) && !had_no_turn(&phase.name)
        };
        let found: Vec<Phase> = self.batch.current_phases().filter(is_overdue).cloned().collect();
        for phase in &found {
            self.end_phase(phase.id, PhaseStatus::Skipped);
        }
        found.into_iter().map(|phase| phase.gate).collect()
    }
}
