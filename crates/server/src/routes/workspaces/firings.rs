//! Firing a trigger by hand, and what became of its firings.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::RunId;
use stepwell_core::run::Dialect;
use stepwell_dialects::moment::Moment;
use stepwell_engine::TriggerError;
use stepwell_store::{Firing, FiringOutcome};

use super::WorkspacePart;
use super::refusal::in_words;
use crate::error::ApiError;
use crate::extract::{JsonBody, Query, idempotency_key};
use crate::job_id;
use crate::routes::jobs::{PAGE_DEFAULT, PAGE_MAX};
use crate::schema;
use crate::state::Api;

const KEY_CHARS_MAX: usize = 200;

/// A firing as callers see it.
#[derive(Serialize)]
struct FiringView {
    key: String,
    scheduled_for: Option<Moment>,
    at: Moment,
    outcome: &'static str,
    job_id: Option<RunId>,
    reason: Option<String>,
}

impl From<Firing> for FiringView {
    fn from(firing: Firing) -> Self {
        Self {
            key: firing.key,
            scheduled_for: firing.scheduled_for.map(Moment),
            at: Moment(firing.at),
            outcome: firing.outcome.word(),
            job_id: firing.run.map(|run| job_id::shown(Some(Dialect::Workspaces), run)),
            reason: firing.reason,
        }
    }
}

#[derive(Serialize)]
struct FiringList {
    items: Vec<FiringView>,
}

/// Fire a trigger now
///
/// Whatever its schedule and its overlap say. `input` goes over what the trigger says. The same firing
/// under the same `Idempotency-Key` makes one job, and answers 200 with it again.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/triggers/{name}:fire", tag = "triggers", operation_id = "fireTrigger",
    params(schema::TriggerPath,
        ("Idempotency-Key" = Option<String>, Header, description = "makes a repetition recognizable")),
    request_body = Option<schema::FireRequest>,
    responses((status = 201, description = "The firing, with its job", body = schema::Firing),
        (status = 200, description = "The firing that was made under the key before", body = schema::Firing)),
)]
pub(super) async fn fire(
    State(api): State<Api>,
    WorkspacePart(workspace, name): WorkspacePart,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let input = body.read(|fields| {
        let input = fields.optional("input");
        Some(input.map_or_else(Map::new, |field| match field.json() {
            Value::Object(input) => input,
            _ => {
                field.report(field.problem("wrong_type", "the input must be an object"));
                Map::new()
            }
        }))
    })?;
    let key = idempotency_key(&headers, None, KEY_CHARS_MAX)?;
    let fired = api.engine().fire(&workspace, &name, key.as_deref(), input).await;
    let fired = fired.map_err(|error| match error {
        TriggerError::Engine(error) => in_words(error),
        other => other.into(),
    })?;
    let status = if fired.repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(FiringView::from(fired.firing))).into_response())
}

/// List the firings of a trigger, newest first
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/triggers/{name}/firings", tag = "triggers", operation_id = "listFirings",
    params(schema::TriggerPath, schema::FiringQuery),
    responses((status = 200, description = "The firings", body = schema::FiringList)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    WorkspacePart(workspace, name): WorkspacePart,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["outcome", "limit"])?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let words = FiringOutcome::ALL.map(FiringOutcome::word).join(", ");
    let outcome = parameters.read("outcome", &format!("one of {words}"), FiringOutcome::of_word)?;
    let firings = api.engine().firings(&workspace, &name, outcome, limit).await?;
    let items = firings.into_iter().map(FiringView::from).collect();
    Ok(Json(FiringList { items }).into_response())
}
