//! The older way in: a job is made at once, without the queue. It keeps working as a fallback (B-066).

use axum::extract::State;
use axum::http::header::{HeaderMap, HeaderName, LINK, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use stepwell_core::command::Command;
use stepwell_core::definition::CancelMode;
use stepwell_dialects::platform::Order;
use stepwell_dialects::platform::request::TEXT_CHARS_MAX;
use stepwell_engine::{Ask, Reply, Start};
use stepwell_store::Key;
use utoipa_axum::routes;

use super::operate::reason;
use super::platform::{find_job, fresh_id, read, show};
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{JobId, JsonBody, JsonBytes};
use crate::schema;
use crate::state::Api;

/// Since when clients are asked to submit instead, as RFC 9745 writes it: 2026-02-03.
const DEPRECATED_SINCE: HeaderValue = HeaderValue::from_static("@1770076800");
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUCCESSOR: HeaderValue =
    HeaderValue::from_static("</api/platform/submit>; rel=\"successor-version\"");

#[allow(deprecated, reason = "deprecated for clients; it must still be served")]
pub(super) fn add(routes: Routes) -> Routes {
    routes
        .add(Access::Needs(Permission::SubmitCommands), routes!(create))
        .add(Access::Needs(Permission::ReadJobs), routes!(get))
        .add(Access::Needs(Permission::CancelJobs), routes!(cancel))
}

/// Start a job without the queue
///
/// Use `POST /api/platform/submit` instead. The job exists when this answers. With an idempotency
/// key that has made a job before, by either way, that job is answered with 200.
#[utoipa::path(
    post, path = "/api/v1/jobs", tag = "platform", operation_id = "createPlatformJob",
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as `idempotency_key` in the body")),
    request_body = schema::JobSubmitRequest,
    responses(
        (status = 201, description = "The job exists", body = schema::PlatformJob,
            headers(("Location" = String, description = "the job"),
                ("Deprecation" = String, description = "since when another way is preferred"),
                ("Link" = String, description = "that other way"))),
        (status = 200, description = "The job that the same key has made before", body = schema::PlatformJob)),
)]
#[deprecated = "clients submit to the queue"]
async fn create(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let (request, workflow) = read(&api, &caller, &headers, &body).await?;
    let engine = api.engine();
    let (id, now) = (engine.fresh_run_id(), engine.now());
    let submitted_by = caller.subject.chars().take(TEXT_CHARS_MAX).collect();
    let message = request.into_message(fresh_id(), Some(submitted_by), now);
    let accepted = Order::from(message).header(id, &workflow.workflow, &workflow.checks, now);
    let (header, key) =
        accepted.map_err(|rejection| ApiError::new(Code::InvalidRequest, rejection.description))?;
    let start = Start {
        header: header.into(),
        carried: Vec::new(),
        key: Some(Key { hash: key.hash, request_hash: key.request_hash }),
        tenant_cap: None,
    };
    let reply = engine.ask_one(Ask::Start(Box::new(start))).await?;
    let (run, status) = match reply {
        Reply::Started(run) | Reply::Applied(run) | Reply::Stored(run) => {
            (run, StatusCode::CREATED)
        }
        Reply::Repeated(id) => (find_job(&api, &caller, id).await?, StatusCode::OK),
    };
    let location = format!("/api/v1/jobs/{}", run.id());
    let mut response = (status, [(LOCATION, location)], show(&api, &run).await?).into_response();
    response.headers_mut().insert(DEPRECATION, DEPRECATED_SINCE);
    response.headers_mut().insert(LINK, SUCCESSOR);
    Ok(response)
}

/// Show a job with its nodes, as `GET /api/platform/jobs/{job}` does
#[utoipa::path(
    get, path = "/api/v1/jobs/{job}", tag = "platform", operation_id = "getDirectJob",
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

/// Cancel a job
///
/// Nothing new starts; the job ends when the nodes under way have ended. Cancelling a job that is
/// being cancelled answers the same again.
#[utoipa::path(
    post, path = "/api/v1/jobs/{job}/cancel", tag = "platform", operation_id = "cancelPlatformJob",
    params(schema::JobPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::PlatformJob)),
)]
async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = body.read(|fields| Some(reason(fields)))?;
    find_job(&api, &caller, id).await?;
    // Whatever the workflow says of cancelling: on this wire it lets nodes end.
    let command = Command::Cancel { mode: Some(CancelMode::Drain), by: caller.act(reason) };
    let run = api.engine().command(id, command).await?;
    Ok((StatusCode::ACCEPTED, show(&api, &run).await?).into_response())
}
