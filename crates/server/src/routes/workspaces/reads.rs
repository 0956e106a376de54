//! Why a job of a workspace is where it is, and how it came there.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use stepwell_core::explain::{Explanation, explain};

use super::{WorkspaceJob, find};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::routes::jobs::history_of;
use crate::schema;
use crate::state::Api;

/// Say why a job of a workspace is where it is
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/jobs/{job}/explain", tag = "workspaces", operation_id = "explainWorkspaceJob",
    params(schema::WorkspaceJobPath),
    responses((status = 200, description = "Why the job waits", body = schema::Explanation)),
)]
pub(super) async fn explain_job(
    State(api): State<Api>,
    caller: Caller,
    job: WorkspaceJob,
) -> Result<Json<Explanation>, ApiError> {
    let run = find(&api, &caller, &job).await?;
    Ok(Json(explain(&run, api.engine().now())))
}

/// Read the history of a job of a workspace, oldest first
///
/// One record a decision. `next_after` is the `after` of the next page; none is left if it is null.
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/jobs/{job}/history", tag = "workspaces", operation_id = "readWorkspaceJobHistory",
    params(schema::WorkspaceJobPath, schema::HistoryFilter),
    responses((status = 200, description = "A page of records", body = schema::HistoryPage)),
)]
pub(super) async fn history(
    State(api): State<Api>,
    caller: Caller,
    job: WorkspaceJob,
    query: Query,
) -> Result<Response, ApiError> {
    let run = find(&api, &caller, &job).await?;
    history_of(&api, &run, query).await
}
