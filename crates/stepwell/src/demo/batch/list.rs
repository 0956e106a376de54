//! The file that says which branches take part: the demo changes it as whoever keeps it would.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use stepwell_connectors::source::{self, Limits, SourceKind, SourceSpec};
use stepwell_engine::Sources;

use crate::failure::Failure;

const BRANCHES: &str = include_str!("../../../../../examples/runbooks/branch-cutover.csv");
/// The variable that the runbook names.
const VARIABLE: &str = "BRANCH_LIST";

/// The list of branches, as a file.
#[derive(Clone, Debug)]
pub(super) struct BranchList {
    path: PathBuf,
}

impl BranchList {
    /// A list in this directory, still to be written.
    pub(super) fn new(data: &Path) -> Self {
        Self { path: data.join("branches.csv") }
    }

    /// Writes down every branch that `takes_part`, with its cutover at T-0.
    pub(super) fn write(
        &self,
        start: Timestamp,
        takes_part: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        let mut lines = BRANCHES.lines();
        let mut text = format!("{}\n", lines.next().unwrap_or_default());
        for line in lines {
            // The file has a date for whoever copies it; the demo has its own.
            let Some((branch, _)) = line.rsplit_once(',') else { continue };
            if takes_part(branch.split(',').next().unwrap_or_default()) {
                text.push_str(&format!("{branch},{start}\n"));
            }
        }
        // A file that appears whole is never read half written.
        let draft = self.path.with_extension("draft");
        std::fs::write(&draft, text)
            .and_then(|()| std::fs::rename(&draft, &self.path))
            .map_err(|cause| Failure::file(&self.path, "written", &cause))
    }

    /// Opens the list as if the variable of the runbook held its path: a process of several threads
    /// must not change its own environment.
    pub(super) fn sources(&self) -> Sources {
        let path = self.path.display().to_string();
        Sources::new(move |wanted| {
            let variable = |name: &str| (name == VARIABLE).then(|| path.clone());
            let spec = SourceSpec { connection: wanted.connection.clone(), kind: SourceKind::Csv };
            source::open(&spec, &variable, Limits::default())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_fifty_branches_and_the_given_start() {
        let data = tempfile::tempdir().unwrap();
        let list = BranchList::new(data.path());
        let start: Timestamp = "2026-03-02T09:00:00Z".parse().unwrap();
        list.write(start, |_| true).unwrap();
        let text = std::fs::read_to_string(&list.path).unwrap();
        assert_eq!(text.lines().count(), 51);
        assert_eq!(text.lines().nth(1), Some("Aarhus,north,2026-03-02T09:00:00Z"));
        list.write(start, |branch| branch != "Oslo").unwrap();
        assert!(!std::fs::read_to_string(&list.path).unwrap().contains("Oslo"));
    }
}
