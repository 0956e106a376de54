//! Jobs of a workspace: make one, list them, show one, stop one, take a dead one up again.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{ETAG, HeaderMap, IF_NONE_MATCH, LOCATION};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use stepwell_core::command::{Act, Command};
use stepwell_core::definition::CancelMode;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Run};
use stepwell_dialects::workspaces::{Accept, JobRequest, Key, accept, request, status, view};
use stepwell_engine::{Ask, EngineError, Reply, Start};
use stepwell_store::{Filter, Page};

use super::refusal::in_words;
use super::{Workspace, WorkspaceJob, find};
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{IfMatch, JsonBody, JsonBytes, Parameters, Query, etag, header, version};
use crate::routes::jobs::{Items, PAGE_DEFAULT, PAGE_MAX, cursor, moment, note, read_cursor};
use crate::routes::operate::{reason, take_up};
use crate::schema;
use crate::state::Api;

pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const MOMENT: &str = "a moment such as 2025-03-10T00:00:00Z";

/// Make a job
///
/// Answers 201 once the job and the message of its first attempt are committed. With an idempotency key,
/// the same request again answers 200 with the job that the first one made, and another request under
/// the same key is refused. Credits are set aside with it, or there is no job.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/jobs", tag = "workspaces", operation_id = "createWorkspaceJob",
    params(schema::WorkspacePath,
        ("Idempotency-Key" = Option<String>, Header, description = "the same as `idempotency_key` in the body")),
    request_body = schema::JobRequest,
    responses((status = 201, description = "The job", body = schema::WorkspaceJob,
            headers(("Location" = String, description = "the job"))),
        (status = 200, description = "The job that the same request has made before", body = schema::WorkspaceJob)),
)]
pub(super) async fn create(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let request = request::read(&body, header(&headers, &IDEMPOTENCY_KEY)?)?;
    make(&api, workspace, caller, &headers, request).await
}

/// Makes the job that a request asks for, or finds the one that it has made before.
pub(super) async fn make(
    api: &Api,
    workspace: Tenant,
    caller: Caller,
    headers: &HeaderMap,
    request: JobRequest,
) -> Result<Response, ApiError> {
    let key = Key::of(workspace.as_str(), &request);
    let reply = match start(api, &workspace, caller, headers, request).await {
        Ok(start) => api.engine().ask_one(Ask::Start(Box::new(start))).await.map_err(in_words)?,
        // What was accepted once stays accepted, even if its workflow has changed since.
        Err(error) => match earlier(api, workspace, key).await? {
            Some(run) => Reply::Repeated(run),
            None => return Err(error),
        },
    };
    made(api, reply).await
}

async fn start(
    api: &Api,
    workspace: &Tenant,
    caller: Caller,
    headers: &HeaderMap,
    request: JobRequest,
) -> Result<Start, ApiError> {
    let name = request.workflow_id.clone();
    let Some(workflow) = api.engine().workflow(&name).await? else {
        let detail = format!("there is no workflow {name:?}");
        return Err(ApiError::new(Code::WorkflowNotFound, detail));
    };
    let policy = api.engine().tenant_policy(workspace);
    let mut defaults = api.engine().workspaces().clone();
    defaults.restore = policy.restore.unwrap_or(defaults.restore);
    let at = Accept {
        run: api.engine().fresh_run_id(),
        workspace,
        actor: caller.subject,
        now: api.engine().now(),
        traceparent: header(headers, &TRACEPARENT)?.map(str::to_owned),
        references: &api.settings().references,
        defaults: &defaults,
    };
    let (header, key) = accept(request, &workflow.workflow, &workflow.checks, at)?;
    Ok(Start {
        header: header.into(),
        carried: Vec::new(),
        key: key.map(stored),
        tenant_cap: policy.runs_open_max.or(api.settings().tenant_cap),
    })
}

fn stored(key: Key) -> stepwell_store::Key {
    stepwell_store::Key { hash: key.hash, request_hash: key.request_hash }
}

/// The run that the same request has made before.
async fn earlier(api: &Api, tenant: Tenant, key: Option<Key>) -> Result<Option<RunId>, ApiError> {
    let Some(Key { hash, request_hash }) = key else { return Ok(None) };
    let holder = api.engine().store().by_key(tenant, hash).await?;
    Ok(holder.filter(|holder| holder.request_hash == request_hash).map(|holder| holder.run))
}

/// Answers with the job, and whether it was made now or by the same request before.
pub(super) async fn made(api: &Api, reply: Reply) -> Result<Response, ApiError> {
    let (run, status) = match reply {
        Reply::Started(run) | Reply::Applied(run) | Reply::Stored(run) => {
            (run, StatusCode::CREATED)
        }
        Reply::Repeated(id) => match api.engine().run(id).await? {
            Some(run) => (run, StatusCode::OK),
            None => return Err(in_words(EngineError::NotFound(id))),
        },
    };
    note(&run);
    let mut response = (status, show(api, &run).await?).into_response();
    let job = view::job(&run, None).job_id;
    let location = format!("/v1/workspaces/{}/jobs/{job}", run.header.tenant);
    if let Ok(location) = HeaderValue::try_from(location) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// The job with its version as the tag.
async fn show(api: &Api, run: &Run) -> Result<Response, ApiError> {
    let job = view::job(run, api.engine().expires_at(run).await?);
    Ok(([(ETAG, etag(run.version))], Json(job)).into_response())
}

/// List the jobs of a workspace, newest first
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/jobs", tag = "workspaces", operation_id = "listWorkspaceJobs",
    params(schema::WorkspacePath, schema::WorkspaceJobFilter),
    responses((status = 200, description = "A page of jobs", body = schema::WorkspaceJobPage)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
    query: Query,
) -> Result<Response, ApiError> {
    listed(&api, workspace, query).await
}

pub(super) async fn listed(
    api: &Api,
    workspace: Tenant,
    query: Query,
) -> Result<Response, ApiError> {
    let names = ["status", "workflow_id", "created_from", "created_until", "limit", "cursor"];
    let parameters = query.known(&names)?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let before = parameters.read("cursor", "the next_cursor of the page before", read_cursor)?;
    let filter = filter(workspace, &parameters)?;
    let rows = api.engine().store().runs(filter, Page { before, limit }).await?;
    let next_cursor = rows.last().filter(|_| rows.len() == limit).map(|row| cursor(row.id));
    let runs = api.engine().runs_in_brief(rows.iter().map(|row| row.id).collect()).await?;
    let found = rows.iter().filter_map(|row| runs.get(&row.id));
    let items = found.map(|run| view::summary(run)).collect();
    Ok(Json(Items { items, next_cursor }).into_response())
}

fn filter(workspace: Tenant, parameters: &Parameters) -> Result<Filter, ApiError> {
    let mut statuses = Vec::new();
    for word in parameters.all("status") {
        let message = || format!("write one or more of {}", status::JOB_WORDS.join(", "));
        let found = status::run_statuses(word);
        statuses.extend(found.ok_or_else(|| ApiError::parameter("status", message()))?);
    }
    Ok(Filter {
        tenant: Some(workspace),
        dialect: Some(Dialect::Workspaces),
        statuses,
        workflow: parameters.one("workflow_id")?.map(str::to_owned),
        correlation_id: None,
        created_from: parameters.read("created_from", MOMENT, moment)?,
        created_until: parameters.read("created_until", MOMENT, moment)?,
        with_compensations: false,
    })
}

/// Show a job of a workspace
///
/// The `ETag` is the job's version. With `If-None-Match` an unchanged job is answered with 304.
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/jobs/{job}", tag = "workspaces", operation_id = "getWorkspaceJob",
    params(schema::WorkspaceJobPath,
        ("If-None-Match" = Option<String>, Header, description = "the `ETag` of the job when it was last read")),
    responses((status = 200, description = "The job", body = schema::WorkspaceJob,
        headers(("ETag" = String, description = "the version of the job"))),
        (status = 304, description = "The job has not changed")),
)]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    job: WorkspaceJob,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = find(&api, &caller, &job).await?;
    shown(&api, &run, &headers).await
}

pub(super) async fn shown(
    api: &Api,
    run: &Arc<Run>,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let seen = header(headers, &IF_NONE_MATCH)?.unwrap_or_default();
    let is_known =
        seen.split(',').any(|tag| tag.trim() == "*" || version(tag) == Some(run.version));
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag(run.version))]).into_response());
    }
    show(api, run).await
}

/// Cancel a job of a workspace
///
/// It is canceled at once. What its worker still reports is recorded and changes nothing, and the
/// worker's next sign of life is answered `lost`. What was set aside for it comes back.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/jobs/{job}:cancel", tag = "workspaces", operation_id = "cancelWorkspaceJob",
    params(schema::WorkspaceJobPath, schema::IfMatch), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The job as it is now", body = schema::WorkspaceJob)),
)]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    job: WorkspaceJob,
    seen: IfMatch,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = body.read(|fields| Some(reason(fields)))?;
    let run = find(&api, &caller, &job).await?;
    canceled(&api, &run, &seen, caller.act(reason)).await
}

pub(super) async fn canceled(
    api: &Api,
    run: &Arc<Run>,
    seen: &IfMatch,
    by: Act,
) -> Result<Response, ApiError> {
    let at_version = seen.bind(run.version)?;
    let command = Command::Cancel { mode: Some(CancelMode::Immediate), by };
    match api.engine().command_at(run.id(), command, at_version).await {
        Ok(run) => show(api, &run).await,
        Err(error) => {
            refused(run, "canceled", &error);
            Err(in_words(error))
        }
    }
}

/// A change that the job cannot make is refused, and logged (C-024).
fn refused(run: &Run, to: &str, error: &EngineError) {
    if let EngineError::Refused(refusal) = error {
        let (job_id, from) = (view::job(run, None).job_id, status::job(run.status));
        tracing::warn!(%job_id, from, to, code = refusal.code(), "transition_refused");
    }
}

/// Take a dead or canceled job up again
///
/// Makes a new job that begins at the cursor of the old one: what had succeeded stays done. A job is
/// taken up again at most once: asking again answers the same new job.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/jobs/{job}:retry", tag = "workspaces", operation_id = "retryWorkspaceJob",
    params(schema::WorkspaceJobPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 201, description = "The new job", body = schema::WorkspaceJob,
            headers(("Location" = String, description = "the new job"))),
        (status = 200, description = "The job that took it up before", body = schema::WorkspaceJob)),
)]
pub(super) async fn retry(
    State(api): State<Api>,
    caller: Caller,
    job: WorkspaceJob,
    body: JsonBody,
) -> Result<Response, ApiError> {
    body.read(|fields| Some(reason(fields)))?;
    let run = find(&api, &caller, &job).await?;
    let reply = api.engine().ask_one(take_up(&api, &caller, &run)?).await.map_err(in_words)?;
    made(&api, reply).await
}
