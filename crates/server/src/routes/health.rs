//! Whether it lives, whether it is ready, how it is doing, and what it is.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::Permission;
use crate::error::{ApiError, Code};
use crate::metrics::OPEN_METRICS;
use crate::schema;
use crate::state::Api;

pub(super) fn add(routes: Routes) -> Routes {
    routes
        .add(Access::Open, routes!(live))
        .add(Access::Open, routes!(ready))
        .add(Access::Needs(Permission::ReadMetrics), routes!(metrics))
        .add(Access::Needs(Permission::ReadSchemas), routes!(document))
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

/// Say that the process lives
#[utoipa::path(
    get, path = "/livez", tag = "health", operation_id = "live",
    responses((status = 200, description = "It lives", body = schema::Health)),
)]
async fn live() -> Json<Health> {
    Json(Health { status: "alive" })
}

/// Say whether the process can take work
///
/// Asks the store for a write, at most once a second.
#[utoipa::path(
    get, path = "/readyz", tag = "health", operation_id = "ready",
    responses((status = 200, description = "It can take work", body = schema::Health)),
)]
async fn ready(State(api): State<Api>) -> Result<Json<Health>, ApiError> {
    match api.readiness().check(api.engine()).await {
        Ok(()) => Ok(Json(Health { status: "ready" })),
        Err(reason) => Err(ApiError::new(Code::Unavailable, reason).retry_after(2)),
    }
}

/// Read metrics
///
/// OpenMetrics text: steps, retries, timeouts, commits, queue depths, requests.
#[utoipa::path(
    get, path = "/metrics", tag = "health", operation_id = "metrics",
    responses((status = 200, description = "Figures", body = String, content_type = "application/openmetrics-text")),
)]
async fn metrics(State(api): State<Api>) -> Result<Response, ApiError> {
    let text = api.metrics().text(api.engine()).await?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text).into_response())
}

/// Read this document
#[utoipa::path(
    get, path = "/openapi.json", tag = "health", operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1", body = Value)),
)]
async fn document(State(api): State<Api>) -> Json<utoipa::openapi::OpenApi> {
    Json(crate::document(api))
}
