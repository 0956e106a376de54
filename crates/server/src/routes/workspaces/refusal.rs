//! What is refused, in the words of the dialect: its ids, its status words, its addresses.

use stepwell_core::refusal::Refusal;
use stepwell_core::run::Dialect;
use stepwell_dialects::workspaces::status;
use stepwell_engine::EngineError;

use crate::error::{ApiError, Code};
use crate::job_id;

/// The same refusal as whoever knows jobs of workspaces only would put it.
pub(super) fn in_words(error: EngineError) -> ApiError {
    match error {
        EngineError::NotFound(_) => no_job(),
        EngineError::KeyReused { run } => {
            let job = job_id::shown(Some(Dialect::Workspaces), run);
            let detail =
                format!("the idempotency key was used for another request; it made job {job}");
            ApiError::new(Code::KeyReused, detail)
        }
        EngineError::Refused(Refusal::RunEnded(ended)) => {
            let detail = format!("the job is {} already", status::job(ended));
            let next = "A dead or canceled job can be taken up again with \
                POST /v1/workspaces/{workspace_id}/jobs/{job}:retry.";
            ApiError::new(Code::RunEnded, detail).next(next)
        }
        other => other.into(),
    }
}

/// There is no such job here, whether or not there is one elsewhere.
pub(super) fn no_job() -> ApiError {
    let next =
        "Check the job id; GET /v1/workspaces/{workspace_id}/jobs lists the jobs of a workspace.";
    ApiError::new(Code::JobNotFound, "the workspace has no such job").next(next)
}

/// There is no such workspace for the caller.
pub(super) fn no_workspace() -> ApiError {
    ApiError::new(Code::WorkspaceNotFound, "there is no such workspace")
}

/// No workspace can have this id.
pub(super) fn no_id() -> ApiError {
    let detail = "no workspace can have this id";
    let next = "Write 1 to 128 letters, digits, '.', '_', ':' and '-', at least one of them a letter or \
        a digit.";
    ApiError::new(Code::WorkspaceNotFound, detail).next(next)
}
