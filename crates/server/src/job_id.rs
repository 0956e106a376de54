//! The ids of jobs as each dialect shows them.

use stepwell_core::id::RunId;
use stepwell_core::run::Dialect;
use stepwell_dialects::workspaces::job_id::{JobId, run_of};

/// The id of a job as its dialect shows it.
pub(crate) fn shown(dialect: Option<Dialect>, run: RunId) -> RunId {
    match dialect {
        Some(Dialect::Workspaces) => JobId::of(run).public(),
        Some(Dialect::Runbooks | Dialect::Platform | Dialect::Commands) | None => run,
    }
}

/// The run of an id as text, in whichever form it is shown.
pub(crate) fn read(text: &str) -> Option<RunId> {
    text.parse().ok().map(run_of)
}
