//! The workspaces dialect over HTTP: jobs, credits, policies, triggers and hooks of a workspace.
//!
//! A workspace is a tenant. Whoever is bound to another tenant is told that there is no such
//! workspace, whatever they ask of it.

mod credits;
mod firings;
mod hooks;
mod jobs;
mod lifebook;
mod policy;
mod reads;
mod refusal;
mod triggers;

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Run};
use utoipa_axum::routes;

use self::refusal::no_job;
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::path;
use crate::job_id;
use crate::state::Api;

pub(super) fn add(routes: Routes) -> Routes {
    add_triggers(add_jobs(routes))
}

fn add_jobs(routes: Routes) -> Routes {
    let read = Access::Needs(Permission::ReadJobs);
    let submit = Access::Needs(Permission::SubmitCommands);
    let cancel = Access::Needs(Permission::CancelJobs);
    let manage = Access::Needs(Permission::ManageWorkspaces);
    routes
        .add(submit, routes!(jobs::create))
        .add(read, routes!(jobs::list))
        .add(read, routes!(jobs::get))
        .add(cancel, routes!(jobs::cancel))
        .add(Access::Needs(Permission::OperateJobs), routes!(jobs::retry))
        .add(read, routes!(reads::explain_job))
        .add(read, routes!(reads::history))
        .add(submit, routes!(lifebook::create))
        .add(read, routes!(lifebook::list))
        .add(read, routes!(lifebook::get))
        .add(cancel, routes!(lifebook::cancel))
        .add(read, routes!(credits::show))
        .add(manage, routes!(credits::grant))
        .add(read, routes!(credits::ledger))
        .add(read, routes!(policy::get))
        .add(manage, routes!(policy::put))
}

fn add_triggers(routes: Routes) -> Routes {
    let read = Access::Needs(Permission::ReadJobs);
    let manage = Access::Needs(Permission::ManageTriggers);
    routes
        .add(manage, routes!(triggers::create))
        .add(read, routes!(triggers::list))
        .add(read, routes!(triggers::get))
        .add(manage, routes!(triggers::put))
        .add(manage, routes!(triggers::delete))
        .add(manage, routes!(triggers::enable))
        .add(manage, routes!(triggers::disable))
        .add(manage, routes!(triggers::rotate_secret))
        .add(manage, routes!(triggers::preview))
        .add(manage, routes!(firings::fire))
        .add(read, routes!(firings::list))
        .add(Access::Signature, routes!(hooks::hook))
}

/// The workspace in the path, if it exists for the caller.
pub(super) struct Workspace(pub(super) Tenant);

impl<S: Sync> FromRequestParts<S> for Workspace {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id: String = path(parts).await?;
        let caller = Caller::from_request_parts(parts, state).await?;
        visible(&caller, &id).map(Self)
    }
}

/// The workspace in the path, if it exists for the caller, and the name of something in it.
pub(super) struct WorkspacePart(pub(super) Tenant, pub(super) String);

impl<S: Sync> FromRequestParts<S> for WorkspacePart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (id, name): (String, String) = path(parts).await?;
        let caller = Caller::from_request_parts(parts, state).await?;
        Ok(Self(visible(&caller, &id)?, name))
    }
}

/// The job in the path, with the workspace that the path says it belongs to.
pub(super) struct WorkspaceJob {
    workspace: Option<Tenant>,
    run: RunId,
}

impl<S: Sync> FromRequestParts<S> for WorkspaceJob {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (id, job): (String, String) = path(parts).await?;
        let caller = Caller::from_request_parts(parts, state).await?;
        let workspace = visible(&caller, &id)?;
        let run = job_id::read(&job).ok_or_else(no_job)?;
        tracing::Span::current().record("job_id", tracing::field::display(&job));
        Ok(Self { workspace: Some(workspace), run })
    }
}

/// The job, if it is one of the workspace's.
async fn find(api: &Api, caller: &Caller, job: &WorkspaceJob) -> Result<Arc<Run>, ApiError> {
    let run = super::find(api, caller, job.run).await.map_err(|error| match error.code() {
        Code::JobNotFound => no_job(),
        _ => error,
    })?;
    let is_in = |workspace: &Tenant| run.header.tenant == *workspace;
    if run.header.dialect == Dialect::Workspaces && job.workspace.as_ref().is_none_or(is_in) {
        return Ok(run);
    }
    Err(no_job())
}

/// The workspace of this id, if it exists for the caller.
fn visible(caller: &Caller, id: &str) -> Result<Tenant, ApiError> {
    // A name of dots alone would be lost on the way: clients take it for a step in the path.
    let is_id = (1..=WORKSPACE_CHARS_MAX).contains(&id.len())
        && id.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b':' | b'-'))
        && id.bytes().any(|c| c.is_ascii_alphanumeric());
    if !is_id {
        return Err(refusal::no_id());
    }
    let workspace = Tenant::new(id);
    if caller.sees(&workspace) { Ok(workspace) } else { Err(refusal::no_workspace()) }
}

const WORKSPACE_CHARS_MAX: usize = 128;
