//! Acting on jobs: cancel, pause, resume, retry, overriding steps, opening gates.
//!
//! Each act is a command to the run, recorded with who did it and why. The answer is the job as it
//! is after the commit.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use stepwell_core::command::{Command, Operation, StepRef};
use stepwell_core::definition::CancelMode;
use stepwell_core::id::RunId;
use stepwell_core::run::{Dialect, Run, RunStatus};
use stepwell_dialects::commands::status;
use stepwell_dialects::fields::{Field, Fields};
use stepwell_dialects::payload::PAYLOAD_BYTES_MAX;
use stepwell_dialects::resume::resume;
use stepwell_dialects::workspaces;
use stepwell_engine::{Ask, Start};
use stepwell_store::Key;
use utoipa_axum::routes;

use super::commands::accepted;
use super::jobs::{find, show};
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{IfMatch, JobId, JobPart, JsonBody};
use crate::fingerprint;
use crate::schema;
use crate::state::Api;

const REASON_CHARS_MAX: usize = 500;

pub(super) fn add(routes: Routes) -> Routes {
    let operate = Access::Needs(Permission::OperateJobs);
    routes
        .add(Access::Needs(Permission::CancelJobs), routes!(cancel))
        .add(operate, routes!(pause))
        .add(operate, routes!(resume_job))
        .add(operate, routes!(retry))
        .add(operate, routes!(retry_step))
        .add(operate, routes!(skip_step))
        .add(operate, routes!(complete_step))
        .add(operate, routes!(open_gate))
}

/// The reason that a caller gives for an act; may be missing.
pub(super) fn reason(fields: &mut Fields<'_, Value>) -> String {
    let reason = fields.optional("reason");
    let text = reason.and_then(|field| field.text_within(0..=REASON_CHARS_MAX));
    text.unwrap_or_default().to_owned()
}

fn only_reason(body: &JsonBody) -> Result<String, ApiError> {
    body.read(|fields| Some(reason(fields)))
}

/// Sends a command to a job that the caller sees and that is as they saw it last.
async fn act(
    api: &Api,
    caller: &Caller,
    (id, seen): (RunId, IfMatch),
    command: Command,
) -> Result<Response, ApiError> {
    let run = find(api, caller, id).await?;
    let at_version = seen.bind(run.version)?;
    let run = api.engine().command_at(id, command, at_version).await?;
    Ok((StatusCode::ACCEPTED, show(&run)).into_response())
}

/// Cancel a job
///
/// Nothing new starts from here on; with mode `drain` the job ends when what is under way has ended,
/// with `immediate` at once. Cancelling a job that is being cancelled answers the same again.
#[utoipa::path(
    post, path = "/v1/jobs/{job}:cancel", tag = "operate", operation_id = "cancelJob",
    params(schema::JobPath, schema::IfMatch), request_body = Option<schema::CancelRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    seen: IfMatch,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let modes = [("drain", CancelMode::Drain), ("immediate", CancelMode::Immediate)];
    let (mode, reason) = body.read(|fields| {
        let mode = fields.optional("mode").and_then(|field| field.word(&modes));
        Some((mode, reason(fields)))
    })?;
    let command = Command::Cancel { mode, by: caller.act(reason) };
    act(&api, &caller, (id, seen), command).await
}

/// Pause a job
///
/// What is under way may end; nothing new is dispatched until the job is resumed.
#[utoipa::path(
    post, path = "/v1/jobs/{job}:pause", tag = "operate", operation_id = "pauseJob",
    params(schema::JobPath, schema::IfMatch), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn pause(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    seen: IfMatch,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let by = caller.act(only_reason(&body)?);
    act(&api, &caller, (id, seen), Command::Pause { by }).await
}

/// Resume a paused job
#[utoipa::path(
    post, path = "/v1/jobs/{job}:resume", tag = "operate", operation_id = "resumeJob",
    params(schema::JobPath, schema::IfMatch), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn resume_job(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    seen: IfMatch,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let by = caller.act(only_reason(&body)?);
    act(&api, &caller, (id, seen), Command::Resume { by }).await
}

/// Take a failed or cancelled job up again
///
/// Makes a new job that follows the same version of the protocol, takes over what had succeeded,
/// and does the rest. A job is taken up again at most once: asking again answers the same new job.
#[utoipa::path(
    post, path = "/v1/jobs/{job}:retry", tag = "operate", operation_id = "retryJob",
    params(schema::JobPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The new job", body = schema::Accepted)),
)]
async fn retry(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    body: JsonBody,
) -> Result<Response, ApiError> {
    only_reason(&body)?;
    let run = find(&api, &caller, id).await?;
    let reply = api.engine().ask_one(take_up(&api, &caller, &run)?).await?;
    accepted(&api, reply).await
}

/// Asks for a new run in the place of one that failed or was cancelled.
pub(super) fn take_up(api: &Api, caller: &Caller, run: &Arc<Run>) -> Result<Ask, ApiError> {
    if !matches!(run.status, RunStatus::Failed | RunStatus::Cancelled) {
        let of_a_workspace = run.header.dialect == Dialect::Workspaces;
        let word = if of_a_workspace { workspaces::status::job } else { status::job };
        let detail = format!("the job is {}", word(run.status));
        return Err(ApiError::new(Code::RunNotRetryable, detail));
    }
    // Its batch counts it, opens its gates and knows no second run of the same member.
    if let Some(place) = &run.header.membership {
        let detail = format!("the job is part of batch {}", place.batch);
        let next =
            "Retry it there, with POST /api/batches/{batch}/operate or `stepwell batch operate`.";
        return Err(ApiError::new(Code::RunNotRetryable, detail).next(next));
    }
    let engine = api.engine();
    let (header, carried) =
        resume(run, engine.fresh_run_id(), caller.subject.clone(), engine.now());
    let hash = fingerprint::of_resumption(run.id());
    Ok(Ask::Start(Box::new(Start {
        header: header.into(),
        carried,
        key: Some(Key { hash, request_hash: hash }),
        tenant_cap: tenant_cap(api, run),
    })))
}

/// How many runs may be open where this one belongs: a workspace may have agreed on its own number.
fn tenant_cap(api: &Api, run: &Run) -> Option<u32> {
    let agreed = match run.header.dialect {
        Dialect::Workspaces => api.engine().tenant_policy(&run.header.tenant).runs_open_max,
        Dialect::Runbooks | Dialect::Platform | Dialect::Commands => None,
    };
    agreed.or(api.settings().tenant_cap)
}

async fn operate(
    api: &Api,
    caller: &Caller,
    JobPart(id, step): JobPart,
    (operation, reason): (Operation, String),
) -> Result<Response, ApiError> {
    let by = caller.act(reason);
    let command = Command::Operate { step: StepRef::Id(step), operation, by };
    let run = find(api, caller, id).await?;
    let run = api.engine().command(run.id(), command).await?;
    Ok((StatusCode::ACCEPTED, show(&run)).into_response())
}

/// Try a step again now
///
/// A new attempt with a new lease, whatever the old one does; its count starts again.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/steps/{step}:retry", tag = "operate", operation_id = "retryStep",
    params(schema::StepPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn retry_step(
    State(api): State<Api>,
    caller: Caller,
    step: JobPart,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = only_reason(&body)?;
    operate(&api, &caller, step, (Operation::Retry, reason)).await
}

/// Pass a step over
///
/// What comes after it goes on as if it had succeeded.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/steps/{step}:skip", tag = "operate", operation_id = "skipStep",
    params(schema::StepPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn skip_step(
    State(api): State<Api>,
    caller: Caller,
    step: JobPart,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = only_reason(&body)?;
    operate(&api, &caller, step, (Operation::Skip, reason)).await
}

/// Take a step as done
///
/// With the result that a worker would have returned.
#[utoipa::path(
    post, path = "/v1/jobs/{job}/steps/{step}:complete", tag = "operate", operation_id = "completeStep",
    params(schema::StepPath), request_body = Option<schema::CompleteRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn complete_step(
    State(api): State<Api>,
    caller: Caller,
    step: JobPart,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (result, reason) = body.read(|fields| {
        let result = fields.optional("result").map_or(Value::Null, |field| within_limit(&field));
        Some((result, reason(fields)))
    })?;
    operate(&api, &caller, step, (Operation::MarkSucceeded { result }, reason)).await
}

/// A result by hand has the same limit as a worker's.
fn within_limit(field: &Field<'_, Value>) -> Value {
    let result = field.json();
    let bytes = result.to_string().len();
    if bytes > PAYLOAD_BYTES_MAX {
        let problem = field.problem("too_large", format!("the result has {bytes} bytes"));
        field.report(problem.help("256 KiB are allowed; keep large data elsewhere"));
    }
    result
}

/// Open a gate of a job
#[utoipa::path(
    post, path = "/v1/jobs/{job}/gates/{gate}:open", tag = "operate", operation_id = "openGate",
    params(schema::GatePath), request_body = Option<schema::ReasonRequest>,
    responses((status = 202, description = "The job as it is now", body = schema::Job)),
)]
async fn open_gate(
    State(api): State<Api>,
    caller: Caller,
    JobPart(id, gate): JobPart,
    body: JsonBody,
) -> Result<Response, ApiError> {
    only_reason(&body)?;
    find(&api, &caller, id).await?;
    let run = api.engine().command(id, Command::OpenGate { gate }).await?;
    Ok((StatusCode::ACCEPTED, show(&run)).into_response())
}
