//! The schema of the store: read it for review, bring it up to date (B-026 to B-029).

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::ApiError;
use crate::extract::Query;
use crate::schema;
use crate::state::Api;

const SQL: &str = "application/sql";

pub(super) fn add(routes: Routes) -> Routes {
    let access = Access::Needs(Permission::MigrateStore);
    routes.add(access, routes!(ddl)).add(access, routes!(migrate))
}

/// Read the schema of the store
///
/// The statements that bring an empty database to this release's schema, to be reviewed or kept as a
/// migration file. Nothing is applied.
#[utoipa::path(
    get, path = "/api/v1/bootstrap/ddl", tag = "platform", operation_id = "readSchema",
    responses((status = 200, description = "SQL", body = String, content_type = "application/sql")),
)]
async fn ddl(State(api): State<Api>, caller: Caller) -> Result<Response, ApiError> {
    caller.is_for_all_tenants("the store serves all tenants")?;
    Ok(([(CONTENT_TYPE, SQL)], api.engine().store().ddl()).into_response())
}

#[derive(Serialize)]
struct Migrated {
    store: &'static str,
    applied: Vec<String>,
}

/// Bring the schema of the store up to date
///
/// Only adds: what is stored stays. Applying it again does nothing. Without `confirm=yes` nothing is
/// changed.
#[utoipa::path(
    post, path = "/api/v1/bootstrap/migrate", tag = "platform", operation_id = "migrateSchema",
    params(("confirm" = Option<String>, Query, description = "`yes`, or nothing is changed")),
    responses((status = 200, description = "What was applied", body = schema::Migrated)),
)]
async fn migrate(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiError> {
    caller.is_for_all_tenants("the store serves all tenants")?;
    let parameters = query.known(&["confirm"])?;
    if parameters.one("confirm")? != Some("yes") {
        let message = "nothing was changed; add confirm=yes to apply the migrations";
        return Err(ApiError::parameter("confirm", message));
    }
    let store = api.engine().store();
    let applied = store.migrate().await?;
    tracing::info!(store = store.kind(), ?applied, subject = caller.subject, "schema_migrated");
    Ok(Json(Migrated { store: store.kind(), applied }).into_response())
}
