//! What is agreed for one workspace: how long its jobs are kept, what it may have, when credits come back.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use stepwell_dialects::workspaces::policy::{self, WorkspacePolicy};
use stepwell_store::TenantPolicy;

use super::Workspace;
use crate::error::ApiError;
use crate::extract::JsonBytes;
use crate::schema;
use crate::state::Api;

/// Show what is agreed for a workspace
///
/// What is null follows the settings of the installation.
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/policy", tag = "workspaces", operation_id = "getPolicy",
    params(schema::WorkspacePath),
    responses((status = 200, description = "The policy", body = schema::WorkspacePolicy)),
)]
pub(super) async fn get(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
) -> Result<Response, ApiError> {
    Ok(Json(shown(api.engine().tenant_policy(&workspace))).into_response())
}

/// Agree on something for a workspace
///
/// The whole policy: what is left out follows the settings of the installation again. Times of
/// retention hold for jobs that end from now on.
#[utoipa::path(
    put, path = "/v1/workspaces/{workspace_id}/policy", tag = "workspaces", operation_id = "putPolicy",
    params(schema::WorkspacePath), request_body = schema::WorkspacePolicyRequest,
    responses((status = 200, description = "The policy as it is now", body = schema::WorkspacePolicy)),
)]
pub(super) async fn put(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let policy = policy::read(&body)?;
    let stored = TenantPolicy {
        keep: policy.keep,
        keep_failed: policy.keep_dead,
        restore: policy.restore,
        runs_open_max: policy.jobs_open_max,
    };
    let changed = (stored != TenantPolicy::default()).then(|| stored.clone());
    api.engine().set_tenant_policy(workspace.clone(), changed).await?;
    tracing::info!(%workspace, "workspace_policy_changed");
    Ok(Json(shown(stored)).into_response())
}

/// The policy in the words of the dialect.
fn shown(policy: TenantPolicy) -> WorkspacePolicy {
    WorkspacePolicy {
        keep: policy.keep,
        keep_dead: policy.keep_failed,
        restore: policy.restore,
        jobs_open_max: policy.runs_open_max,
    }
}
