//! The way of a member who joins when the others have already begun.

use super::state::{Batch, Phase, PhaseStatus};

/// What a member who joins now goes through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatchUp {
    /// the versions that its way is made of, oldest first; the last one is the batch's own
    pub versions: Vec<u32>,
    /// gates that it finds open
    pub open: Vec<String>,
    /// gates that it passes over
    pub skipped: Vec<String>,
}

impl Batch {
    /// What a member who joins now goes through: every phase that has begun, under the version that
    /// it began with, so that it ends where the others do.
    ///
    /// A newer version passes over what is past due, because the others have done it under the
    /// version before. Whoever joins after that has not. Of a phase that was begun under several
    /// versions, the newest counts.
    #[must_use]
    pub fn catch_up(&self) -> CatchUp {
        let is_wanted = |phase: &Phase| {
            let is_newer = |other: &Phase| {
                other.version > phase.version && other.name == phase.name && has_begun(other)
            };
            has_begun(phase) && !self.phases.iter().any(is_newer)
        };
        let mut way = CatchUp::default();
        for version in self.versions() {
            let phases = || self.phases.iter().filter(|phase| phase.version == version);
            let is_newest = version == self.runbook_version;
            if !is_newest && !phases().any(is_wanted) {
                continue;
            }
            way.versions.push(version);
            for phase in phases() {
                if is_wanted(phase) {
                    way.open.push(phase.gate.clone());
                } else if phase.status != PhaseStatus::Pending {
                    way.skipped.push(phase.gate.clone());
                }
            }
        }
        way
    }

    /// The versions that it has followed, oldest first.
    fn versions(&self) -> Vec<u32> {
        let mut versions: Vec<u32> = self.phases.iter().map(|phase| phase.version).collect();
        versions.dedup();
        versions
    }
}

fn has_begun(phase: &Phase) -> bool {
    match phase.status {
        PhaseStatus::Dispatched | PhaseStatus::Completed | PhaseStatus::Failed => true,
        PhaseStatus::Pending | PhaseStatus::Skipped | PhaseStatus::Superseded => false,
    }
}
