//! Station 1, request: an order comes in over HTTP, waits in the queue, and becomes a job.
//!
//! The gateway answers before there is a job, so it has no id to give: callers find their job by the
//! correlation id or the idempotency key that they chose (B-065).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header::{ETAG, HeaderMap};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Run};
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::platform::accept::check_input;
use stepwell_dialects::platform::request::{self, TEXT_CHARS_MAX};
use stepwell_dialects::platform::view::{self, JobSummary, Owner};
use stepwell_dialects::platform::{JobQueueMessage, JobSubmitRequest, key, queue};
use stepwell_dialects::problem::quoted;
use stepwell_engine::Compiled;
use stepwell_store::{Filter, NewSubmission, Page, RunSummary};
use utoipa_axum::routes;

use super::commands::check_callback;
use super::jobs::{Items, PAGE_DEFAULT, PAGE_MAX, cursor, find, read_cursor};
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{JobId, JsonBytes, Parameters, Query, etag, idempotency_key};
use crate::schema;
use crate::state::Api;

/// Who submits an order that came in here (B-063).
const SUBMITTED_BY: &str = "platform-gateway";

pub(super) fn add(routes: Routes) -> Routes {
    let read = Access::Needs(Permission::ReadJobs);
    routes
        .add(Access::Needs(Permission::SubmitCommands), routes!(submit))
        .add(read, routes!(list))
        .add(read, routes!(get))
}

#[derive(Serialize)]
struct Submitted {
    message_id: String,
    workflow_id: String,
    submitted_at: Moment,
    status: &'static str,
}

/// Submit a job
///
/// Puts an order in the queue and answers at once; any instance takes it from there. There is no job
/// id yet: find the job with `GET /api/platform/jobs` by the `correlation_id` or the
/// `idempotency_key`. Under one idempotency key at most one job is ever made. An order that nobody
/// has taken after 24 hours becomes a dead letter.
#[utoipa::path(
    post, path = "/api/platform/submit", tag = "platform", operation_id = "submitJob",
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as `idempotency_key` in the body")),
    request_body = schema::JobSubmitRequest,
    responses((status = 200, description = "The order is stored", body = schema::JobSubmitResponse)),
)]
async fn submit(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let (request, _) = read(&api, &caller, &headers, &body).await.map_err(enqueue_failed)?;
    let now = api.engine().now();
    let message = request.into_message(fresh_id(), Some(SUBMITTED_BY.to_owned()), now);
    enqueue(&api, &message).await.map_err(|error| {
        enqueue_failed(ApiError::from(error)).about(message.correlation_id.as_deref())
    })?;
    let JobQueueMessage { message_id, workflow_id, submitted_at, .. } = message;
    let answer = Submitted { message_id, workflow_id, submitted_at, status: "queued" };
    Ok(Json(answer).into_response())
}

/// Whatever keeps us from taking an order, clients of this wire know it as one error (B-064).
fn enqueue_failed(error: ApiError) -> ApiError {
    if error.code().status().is_server_error() {
        error.becomes(Code::EnqueueFailed, "failed to enqueue the job").retry_after(2)
    } else {
        error
    }
}

/// What is submitted, once it is known that a job can be made of it, and the workflow to follow.
pub(super) async fn read(
    api: &Api,
    caller: &Caller,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(JobSubmitRequest, Arc<Compiled>), ApiError> {
    let mut request = request::read(body)?;
    let correlation_id = request.correlation_id.clone();
    tracing::Span::current().record("correlation_id", correlation_id.as_deref());
    let checked = async {
        caller.acts_for(Tenant::default_tenant().as_str())?;
        let in_body = request.idempotency_key.take();
        request.idempotency_key = idempotency_key(headers, in_body, TEXT_CHARS_MAX)?;
        let workflow = workflow(api, &request.workflow_id).await?;
        if let Some(url) = &request.callback_url {
            check_callback(api, "callback_url", url)?;
        }
        let input = std::mem::take(&mut request.input_params);
        let input = check_input(input, &workflow.checks);
        request.input_params =
            input.map_err(|problems| ApiError::of_problems(Code::InvalidRequest, problems))?;
        Ok((request, workflow))
    };
    checked.await.map_err(|error: ApiError| error.about(correlation_id.as_deref()))
}

/// The newest version of the workflow; the client learns here that there is none.
pub(super) async fn workflow(api: &Api, workflow_id: &str) -> Result<Arc<Compiled>, ApiError> {
    api.engine().workflow(workflow_id).await?.ok_or_else(|| {
        let detail = format!("workflow {} does not exist", quoted(workflow_id));
        ApiError::new(Code::WorkflowNotFound, detail)
    })
}

/// A fresh id for a message: a UUID of version 4 (B-030).
pub(in crate::routes) fn fresh_id() -> String {
    uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string()
}

async fn enqueue(api: &Api, message: &JobQueueMessage) -> Result<(), stepwell_engine::EngineError> {
    let submission = NewSubmission {
        queue: api.engine().job_queue().to_owned(),
        message_id: message.message_id.clone(),
        workflow: message.workflow_id.clone(),
        priority: message.priority,
        body: message.to_body(),
        enqueued_at: message.submitted_at.0,
        expires_at: message.submitted_at.0.after(queue::TTL),
    };
    api.engine().submit(vec![submission]).await.map(drop)
}

/// Find jobs
///
/// By the correlation id, newest first, or the one job that was made under an idempotency key. An
/// order that no instance has taken yet has no job, so it is not in the list.
#[utoipa::path(
    get, path = "/api/platform/jobs", tag = "platform", operation_id = "findPlatformJobs",
    params(schema::PlatformJobFilter),
    responses((status = 200, description = "A page of jobs", body = schema::PlatformJobPage)),
)]
async fn list(State(api): State<Api>, caller: Caller, query: Query) -> Result<Response, ApiError> {
    let names = ["correlation_id", "idempotency_key", "limit", "cursor"];
    let parameters = query.known(&names)?;
    caller.acts_for(Tenant::default_tenant().as_str())?;
    let (jobs, next_cursor) =
        match (parameters.one("correlation_id")?, parameters.one("idempotency_key")?) {
            (Some(id), None) => by_correlation(&api, id, &parameters).await?,
            (None, Some(key)) => (by_key(&api, key).await?.into_iter().collect(), None),
            (None, None) | (Some(_), Some(_)) => {
                let message = "give correlation_id or idempotency_key, one of them";
                return Err(ApiError::parameter("correlation_id", message));
            }
        };
    let items = jobs.iter().map(summary).collect();
    Ok(Json(Items { items, next_cursor }).into_response())
}

async fn by_correlation(
    api: &Api,
    correlation_id: &str,
    parameters: &Parameters,
) -> Result<(Vec<RunSummary>, Option<String>), ApiError> {
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let before = parameters.read("cursor", "the next_cursor of the page before", read_cursor)?;
    let filter = Filter {
        tenant: Some(Tenant::default_tenant()),
        dialect: Some(Dialect::Platform),
        correlation_id: Some(correlation_id.to_owned()),
        ..Filter::default()
    };
    let jobs = api.engine().store().runs(filter, Page { before, limit }).await?;
    let next = jobs.last().filter(|_| jobs.len() == limit).map(|job| cursor(job.id));
    Ok((jobs, next))
}

async fn by_key(api: &Api, key: &str) -> Result<Option<RunSummary>, ApiError> {
    let hash = key::of_idempotency_key(key);
    let holder = api.engine().store().by_key(Tenant::default_tenant(), hash).await?;
    let Some(holder) = holder else { return Ok(None) };
    // What retention has deleted is no longer listed.
    Ok(api.engine().run(holder.run).await?.map(|run| RunSummary::of(&run)))
}

fn summary(run: &RunSummary) -> JobSummary<'_> {
    JobSummary {
        job_id: run.id,
        workflow_id: &run.workflow,
        status: run.status,
        created_at: Moment(run.created_at),
        correlation_id: run.correlation_id.as_deref(),
        version: run.version,
        workflow_version: run.workflow_version,
        updated_at: Moment(run.updated_at),
        completed_at: run.ended_at.map(Moment),
        error: run.error.as_ref(),
    }
}

/// Show a job with its nodes
#[utoipa::path(
    get, path = "/api/platform/jobs/{job}", tag = "platform", operation_id = "getPlatformJob",
    params(schema::JobPath),
    responses((status = 200, description = "The job", body = schema::PlatformJob,
        headers(("ETag" = String, description = "the version of the job")))),
)]
async fn get(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
) -> Result<Response, ApiError> {
    let run = find_job(&api, &caller, id).await?;
    show(&api, &run).await
}

/// The job, if it is one of this dialect and exists for the caller.
pub(super) async fn find_job(api: &Api, caller: &Caller, id: RunId) -> Result<Arc<Run>, ApiError> {
    let run = find(api, caller, id).await?;
    if run.header.dialect == Dialect::Platform {
        return Ok(run);
    }
    Err(ApiError::new(Code::JobNotFound, "there is no such job"))
}

/// The job as it is now, with its owner and its version as the tag.
pub(super) async fn show(api: &Api, run: &Run) -> Result<Response, ApiError> {
    let owner = owner(api, run).await?;
    let owner = owner.as_ref().map(|(id, heartbeat_at)| Owner { id, heartbeat_at: *heartbeat_at });
    Ok(([(ETAG, etag(run.version))], Json(view::job(run, owner))).into_response())
}

/// The instance that may decide for the job, and its last sign of life.
async fn owner(api: &Api, run: &Run) -> Result<Option<(String, Timestamp)>, ApiError> {
    let engine = api.engine();
    if !engine.store().is_shared() {
        // In a store of its own this process owns whatever has not ended, and lives to say so.
        let is_open = !run.status.is_terminal();
        return Ok(is_open.then(|| (engine.stats().owner_id, engine.now())));
    }
    let stored = engine.store().load(vec![run.id()]).await?.pop();
    let Some(epoch) = stored.and_then(|stored| stored.owner) else { return Ok(None) };
    let instances = engine.instances().await?;
    let owner = instances.into_iter().find(|instance| instance.epoch == epoch);
    Ok(owner.map(|owner| (owner.id, owner.heartbeat_at)))
}
