//! Acting on a batch as a whole: advance, cancel, pause, resume, move T-0.
//!
//! Each act is a command to the batch, recorded with who did it and why. The answer is the batch as it
//! is after the commit; what must be done to every member follows by itself.

use axum::extract::State;
use axum::response::Response;
use stepwell_core::batch::BatchCommand;
use stepwell_core::command::Act;
use stepwell_core::id::BatchId;
use stepwell_dialects::runbooks::request;

use super::{BatchPath, find, show};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::JsonBody;
use crate::schema;
use crate::state::Api;

async fn act(
    api: &Api,
    caller: &Caller,
    id: BatchId,
    command: BatchCommand,
) -> Result<Response, ApiError> {
    find(api, caller, id).await?;
    let batch = api.engine().command_batch(id, command).await?;
    show(api, &batch).await
}

fn by(caller: &Caller, body: &JsonBody) -> Result<Act, ApiError> {
    Ok(caller.act(body.read(request::reason)?))
}

/// Move a manual batch on
///
/// First to its preparation, if its runbook has one; then to one phase a call, in their order. 409
/// while the step before is still under way, and when every phase has begun.
#[utoipa::path(
    post, path = "/api/batches/{batch}/advance", tag = "batches", operation_id = "advanceBatch",
    params(schema::BatchPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The batch as it is now", body = schema::Batch)),
)]
pub(super) async fn advance(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let by = by(&caller, &body)?;
    act(&api, &caller, id, BatchCommand::Advance { by }).await
}

/// Cancel a batch
///
/// What has not begun never will, and what is under way is stopped; nothing is rolled back. Asking
/// again answers the same; a batch that has ended otherwise is 409.
#[utoipa::path(
    post, path = "/api/batches/{batch}/cancel", tag = "batches", operation_id = "cancelBatch",
    params(schema::BatchPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The batch as it is now", body = schema::Batch)),
)]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let by = by(&caller, &body)?;
    act(&api, &caller, id, BatchCommand::Cancel { by }).await
}

/// Pause a batch
///
/// No phase begins, and no member's next step is dispatched. What is with a worker may end.
#[utoipa::path(
    post, path = "/api/batches/{batch}/pause", tag = "batches", operation_id = "pauseBatch",
    params(schema::BatchPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The batch as it is now", body = schema::Batch)),
)]
pub(super) async fn pause(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let by = by(&caller, &body)?;
    act(&api, &caller, id, BatchCommand::Pause { by }).await
}

/// Resume a paused batch
///
/// Phases whose time came meanwhile begin at once.
#[utoipa::path(
    post, path = "/api/batches/{batch}/resume", tag = "batches", operation_id = "resumeBatch",
    params(schema::BatchPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The batch as it is now", body = schema::Batch)),
)]
pub(super) async fn resume(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let by = by(&caller, &body)?;
    act(&api, &caller, id, BatchCommand::Resume { by }).await
}

/// Move T-0 of a batch
///
/// Phases that have not begun move with it; what has begun stays as it is.
#[utoipa::path(
    post, path = "/api/batches/{batch}/move", tag = "batches", operation_id = "moveBatch",
    params(schema::BatchPath), request_body = schema::MoveRequest,
    responses((status = 200, description = "The batch as it is now", body = schema::Batch)),
)]
pub(super) async fn move_start(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let moved = body.read(request::move_start)?;
    let command = BatchCommand::Move { start: moved.start.0, by: caller.act(moved.reason) };
    act(&api, &caller, id, command).await
}
