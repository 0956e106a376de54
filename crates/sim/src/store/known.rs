//! What a planted bug may know.

use std::sync::Arc;

use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Run;
use stepwell_store::StoredRun;

use crate::bugs::Stored;
use crate::oracle::Oracle;

/// What a planted bug may know.
pub(super) struct Known<'a> {
    pub(super) runs: Vec<StoredRun>,
    pub(super) oracle: &'a Oracle,
}

impl Stored for Known<'_> {
    fn newest_epoch(&self) -> u64 {
        self.oracle.newest_epoch()
    }

    fn run(&self, id: RunId) -> Option<Run> {
        let workflow = Arc::clone(&self.oracle.header(id)?.workflow);
        let stored = self.runs.iter().find(|stored| stored.header.id == id)?.clone();
        Some(Run::clone(&stored.with_workflow(workflow)))
    }

    fn ever_opened(&self, tenant: &Tenant) -> usize {
        self.oracle.ever_opened(tenant)
    }
}
