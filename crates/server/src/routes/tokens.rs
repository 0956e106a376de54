//! API tokens: made, listed, revoked by administrators.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_dialects::fields::Field;
use stepwell_dialects::moment::Moment;
use stepwell_store::TokenRecord;
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::token::{self, DAYS_DEFAULT, NewToken};
use crate::auth::{Caller, Permission, Role};
use crate::error::{ApiError, Code};
use crate::extract::{JsonBody, Name};
use crate::schema;
use crate::state::Api;

const DAYS_MAX: u64 = 3_650;
const DAY_SECONDS: u64 = 24 * 60 * 60;

pub(super) fn add(routes: Routes) -> Routes {
    let manage = Access::Needs(Permission::ManageTokens);
    routes.add(manage, routes!(create)).add(manage, routes!(list)).add(manage, routes!(revoke))
}

#[derive(Serialize)]
struct TokenView {
    id: String,
    name: String,
    role: String,
    tenant: Option<Tenant>,
    created_at: Moment,
    expires_at: Option<Moment>,
    revoked_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

impl From<TokenRecord> for TokenView {
    fn from(record: TokenRecord) -> Self {
        Self {
            id: record.id,
            name: record.name,
            role: record.role,
            tenant: record.tenant,
            created_at: Moment(record.created_at),
            expires_at: record.expires_at.map(Moment),
            revoked_at: record.revoked_at.map(Moment),
            token: None,
        }
    }
}

/// Make a token
///
/// The token itself is shown this once and never again.
#[utoipa::path(
    post, path = "/v1/tokens", tag = "tokens", operation_id = "createToken",
    request_body = schema::NewToken,
    responses((status = 201, description = "The token", body = schema::Token)),
)]
async fn create(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let new = new_token(&api, &caller, &body)?;
    if let Some(tenant) = &new.tenant {
        caller.acts_for(tenant.as_str())?;
    }
    let (record, text) = token::create(api.engine(), new).await?;
    let view = TokenView { token: Some(text), ..TokenView::from(record) };
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// What the body asks for; whoever is bound to a tenant makes tokens for that tenant only.
fn new_token(api: &Api, caller: &Caller, body: &JsonBody) -> Result<NewToken, ApiError> {
    let roles = Role::ALL.map(|role| (role.word(), role));
    let now = api.engine().now();
    body.read(|fields| {
        let name = fields.required("name").and_then(|field| name(&field));
        let role = fields.required("role").and_then(|field| field.word(&roles));
        let tenant = fields.optional("tenant").and_then(|field| tenant(&field));
        let days = fields.optional_integer("expires_in_days", 1..=DAYS_MAX);
        let lifetime = Interval::from_secs(days.unwrap_or(DAYS_DEFAULT) * DAY_SECONDS);
        Some(NewToken {
            name: name?.to_owned(),
            role: role?,
            tenant: tenant.map(Tenant::new).or_else(|| caller.tenant.clone()),
            expires_at: Some(now.after(lifetime)),
        })
    })
}

/// A name that may be logged and shown as it is.
fn name<'n>(field: &Field<'n, Value>) -> Option<&'n str> {
    let text = field.text_within(1..=64)?;
    if !text.chars().any(char::is_control) {
        return Some(text);
    }
    field.report(field.problem("control_character", "this text has a control character"));
    None
}

/// A name that an envelope could have, or the token could never be used.
fn tenant<'n>(field: &Field<'n, Value>) -> Option<&'n str> {
    let text = field.text_within(1..=128)?;
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    if text.chars().all(is_known) {
        return Some(text);
    }
    let problem = field.problem("bad_name", "this is not the name of a tenant");
    field.report(problem.help("use letters, digits, '.', '_', ':' and '-'"));
    None
}

#[derive(Serialize)]
struct TokenList {
    items: Vec<TokenView>,
}

/// The tokens that exist for the caller.
async fn visible(api: &Api, caller: &Caller) -> Result<Vec<TokenRecord>, ApiError> {
    let tokens = api.engine().store().tokens().await?;
    let is_visible = |token: &TokenRecord| match &token.tenant {
        Some(tenant) => caller.sees(tenant),
        None => caller.tenant.is_none(),
    };
    Ok(tokens.into_iter().filter(is_visible).collect())
}

/// List tokens, oldest first, without their secrets
#[utoipa::path(
    get, path = "/v1/tokens", tag = "tokens", operation_id = "listTokens",
    responses((status = 200, description = "The tokens", body = schema::TokenList)),
)]
async fn list(State(api): State<Api>, caller: Caller) -> Result<Response, ApiError> {
    let items = visible(&api, &caller).await?.into_iter().map(TokenView::from).collect();
    Ok(Json(TokenList { items }).into_response())
}

/// Revoke a token
///
/// It stops working within five seconds, everywhere.
#[utoipa::path(
    delete, path = "/v1/tokens/{id}", tag = "tokens", operation_id = "revokeToken",
    params(("id" = String, Path, description = "the part of the token between its underscores")),
    responses((status = 204, description = "It is revoked")),
)]
async fn revoke(
    State(api): State<Api>,
    caller: Caller,
    Name(id): Name,
) -> Result<StatusCode, ApiError> {
    let missing = || ApiError::new(Code::TokenNotFound, "there is no such token");
    let tokens = visible(&api, &caller).await?;
    tokens.iter().find(|token| token.id == id).ok_or_else(missing)?;
    // A token that was revoked before is revoked: the caller has what they wanted.
    api.engine().store().revoke_token(id, api.engine().now()).await?;
    Ok(StatusCode::NO_CONTENT)
}
