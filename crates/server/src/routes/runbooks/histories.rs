//! What happened to a batch, and why it is where it is.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::{Batch, Init};
use stepwell_core::explain::{Explanation, explain};
use stepwell_dialects::runbooks;
use stepwell_dialects::runbooks::view::{self, RecordView};

use super::{BatchPath, find};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::Query;
use crate::schema;
use crate::state::Api;

const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 1_000;

#[derive(Serialize)]
struct Records {
    items: Vec<RecordView>,
    /// the `after` of the next page
    next: Option<i64>,
}

/// Read the history of a batch, oldest first
///
/// Who did what, and why; which phases began and ended; who joined and left.
#[utoipa::path(
    get, path = "/api/batches/{batch}/events", tag = "batches", operation_id = "listBatchEvents",
    params(schema::BatchPath, schema::EventQuery),
    responses((status = 200, description = "A page of the history", body = schema::BatchEventPage)),
)]
pub(super) async fn events(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["after", "limit"])?;
    let limit = parameters.limit(LIMIT_DEFAULT, LIMIT_MAX)?;
    let after = parameters.read("after", "the id of an event", |text| text.parse().ok())?;
    let batch = find(&api, &caller, id).await?;
    let after = after.unwrap_or(0);
    let events = api.engine().store().batch_events(Some(id), after, limit).await?;
    let next = events.last().filter(|_| events.len() == limit).map(|event| event.id);
    let items = events.iter().map(|event| view::record(event.id, &batch, &event.record)).collect();
    Ok(Json(Records { items, next }).into_response())
}

/// Say why a batch is where it is
#[utoipa::path(
    get, path = "/api/batches/{batch}/explain", tag = "batches", operation_id = "explainBatch",
    params(schema::BatchPath),
    responses((status = 200, description = "What it waits for, in words", body = schema::BatchExplanation)),
)]
pub(super) async fn explain_batch(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
) -> Result<Response, ApiError> {
    let batch = find(&api, &caller, id).await?;
    let init = init(&api, &batch).await?;
    let told = runbooks::explain::explain(&batch, init.as_ref(), api.engine().now());
    Ok(Json(told).into_response())
}

/// Why the run that prepares the batch is where it is, if one does.
async fn init(api: &Api, batch: &Batch) -> Result<Option<Explanation>, ApiError> {
    let Init::Dispatched(run) = batch.init else { return Ok(None) };
    let run = api.engine().run(run).await?;
    Ok(run.map(|run| explain(&run, api.engine().now())))
}
