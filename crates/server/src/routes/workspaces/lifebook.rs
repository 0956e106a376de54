//! The addresses that the contract of lifebook jobs knows. They lead to the same jobs; the
//! workspace is the token's, or stands in the body or the query.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use stepwell_core::id::Tenant;
use stepwell_dialects::workspaces::request;

use super::{WorkspaceJob, find, jobs, visible};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{IfMatch, JobId, JsonBody, JsonBytes, Query, header};
use crate::routes::operate::reason;
use crate::schema;
use crate::state::Api;

/// The workspace that is named, or else the token's.
fn workspace(caller: &Caller, named: Option<&str>) -> Result<Tenant, ApiError> {
    match (named, &caller.tenant) {
        (Some(named), _) => visible(caller, named),
        (None, Some(tenant)) => Ok(tenant.clone()),
        (None, None) => {
            let message = "name the workspace, because the token is for all of them";
            Err(ApiError::parameter("workspace_id", message))
        }
    }
}

/// Make a job
///
/// As `POST /v1/workspaces/{workspace_id}/jobs`; the workspace is `workspace_id` of the body, or the
/// token's.
#[utoipa::path(
    post, path = "/v1/lifebook/jobs", tag = "workspaces", operation_id = "createLifebookJob",
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as `idempotency_key` in the body")),
    request_body = schema::JobRequest,
    responses((status = 201, description = "The job", body = schema::WorkspaceJob,
            headers(("Location" = String, description = "the job"))),
        (status = 200, description = "The job that the same request has made before", body = schema::WorkspaceJob)),
)]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let request = request::read(&body, header(&headers, &jobs::IDEMPOTENCY_KEY)?)?;
    let workspace = workspace(&caller, request.workspace_id.as_deref())?;
    jobs::make(&api, workspace, caller, &headers, request).await
}

/// List the jobs of a workspace, newest first
#[utoipa::path(
    get, path = "/v1/lifebook/jobs", tag = "workspaces", operation_id = "listLifebookJobs",
    params(schema::WorkspaceJobFilter,
        ("workspace_id" = Option<String>, Query, description = "the workspace; the token's if not given")),
    responses((status = 200, description = "A page of jobs", body = schema::WorkspaceJobPage)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiError> {
    let named = query.take("workspace_id");
    let workspace = workspace(&caller, named.as_deref())?;
    jobs::listed(&api, workspace, query).await
}

/// Show a job
#[utoipa::path(
    get, path = "/v1/lifebook/jobs/{job}", tag = "workspaces", operation_id = "getLifebookJob",
    params(schema::JobPath),
    responses((status = 200, description = "The job", body = schema::WorkspaceJob,
        headers(("ETag" = String, description = "the version of the job"))),
        (status = 304, description = "The job has not changed")),
)]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    JobId(run): JobId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = find(&api, &caller, &WorkspaceJob { workspace: None, run }).await?;
    jobs::shown(&api, &run, &headers).await
}

/// Cancel a job
#[utoipa::path(
    post, path = "/v1/lifebook/jobs/{job}:cancel", tag = "workspaces", operation_id = "cancelLifebookJob",
    params(schema::JobPath, schema::IfMatch), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The job as it is now", body = schema::WorkspaceJob)),
)]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    JobId(run): JobId,
    seen: IfMatch,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = body.read(|fields| Some(reason(fields)))?;
    let run = find(&api, &caller, &WorkspaceJob { workspace: None, run }).await?;
    jobs::canceled(&api, &run, &seen, caller.act(reason)).await
}
