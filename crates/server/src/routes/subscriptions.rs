//! Subscriptions: addresses that are told of events, each over a signed webhook.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_dialects::event::{KINDS, kind_of};
use stepwell_dialects::fields::{Field, Fields};
use stepwell_dialects::moment::Moment;
use stepwell_dialects::problem::quoted;
use stepwell_store::Subscription;
use utoipa_axum::routes;

use super::commands::check_callback;
use super::platform::fresh_id;
use super::{Access, Routes, rotation};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{DIALECTS, JsonBody, Name};
use crate::schema;
use crate::state::Api;

/// Subscriptions of an installation: every event is held against each of them.
const SUBSCRIPTIONS_MAX: usize = 100;

const WORDS_MAX: usize = 32;
const URL_CHARS_MAX: usize = 2_048;

pub(super) fn add(routes: Routes) -> Routes {
    let access = Access::Needs(Permission::ManageSubscriptions);
    routes
        .add(access, routes!(create))
        .add(access, routes!(list))
        .add(access, routes!(delete))
        .add(access, routes!(test))
        .add(access, routes!(rotate_secret))
}

#[derive(Serialize)]
struct SubscriptionView {
    id: String,
    tenant: Option<Tenant>,
    dialects: Vec<&'static str>,
    kinds: Vec<String>,
    url: String,
    description: String,
    enabled: bool,
    actor: String,
    created_at: Moment,
}

impl From<Subscription> for SubscriptionView {
    fn from(it: Subscription) -> Self {
        Self {
            id: it.id,
            tenant: it.tenant,
            dialects: it.dialects.into_iter().map(Dialect::word).collect(),
            kinds: it.kinds,
            url: it.url,
            description: it.description,
            enabled: it.enabled,
            actor: it.actor,
            created_at: Moment(it.created_at),
        }
    }
}

#[derive(Serialize)]
struct SubscriptionList {
    items: Vec<SubscriptionView>,
}

/// Tell an address of events
///
/// Every event that matches is posted to the URL as a CloudEvent, signed as Standard Webhooks describes,
/// and again until it is accepted; what is never accepted becomes a dead letter.
#[utoipa::path(
    post, path = "/v1/subscriptions", tag = "events", operation_id = "subscribe",
    request_body = schema::SubscriptionRequest,
    responses((status = 201, description = "The subscription", body = schema::Subscription)),
)]
async fn create(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let asked = body.read(asked)?;
    if let Some(tenant) = &asked.tenant {
        caller.acts_for(tenant.as_str())?;
    }
    check_callback(&api, "url", &asked.url)?;
    if api.engine().store().subscriptions().await?.len() >= SUBSCRIPTIONS_MAX {
        let detail =
            format!("there are {SUBSCRIPTIONS_MAX} subscriptions, as many as there may be");
        return Err(ApiError::new(Code::InvalidRequest, detail)
            .next("Delete one that is no longer needed with DELETE /v1/subscriptions/{id}."));
    }
    let subscription = Subscription {
        id: fresh_id(),
        // Whoever is bound to a tenant is told of that tenant's events only.
        tenant: asked.tenant.or_else(|| caller.tenant.clone()),
        dialects: asked.dialects,
        kinds: asked.kinds,
        url: asked.url,
        description: asked.description,
        enabled: asked.enabled,
        actor: caller.subject,
        created_at: api.engine().now(),
    };
    api.engine().put_subscription(subscription.clone()).await?;
    Ok((StatusCode::CREATED, Json(SubscriptionView::from(subscription))).into_response())
}

/// What a body asks for.
struct Asked {
    tenant: Option<Tenant>,
    dialects: Vec<Dialect>,
    kinds: Vec<String>,
    url: String,
    description: String,
    enabled: bool,
}

fn asked(fields: &mut Fields<'_, Value>) -> Option<Asked> {
    let url = fields.required("url").and_then(|field| field.text_within(1..=URL_CHARS_MAX));
    let tenant = fields.optional("tenant").and_then(|field| field.text_within(1..=128));
    let dialects = words(fields.list("dialects"), |field| field.word(&DIALECTS));
    let kinds = words(fields.list("kinds"), kind);
    let description = fields.optional("description").and_then(|field| field.text_within(0..=200));
    let enabled = fields.optional_bool("enabled");
    Some(Asked {
        tenant: tenant.map(Tenant::new),
        dialects,
        kinds,
        url: url?.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        enabled: enabled.unwrap_or(true),
    })
}

/// A kind of events; a name that nobody gives to an event would be a subscription that stays silent.
fn kind(field: &Field<'_, Value>) -> Option<String> {
    let word = field.text()?;
    let kind = kind_of(word);
    if kind.is_none() {
        let problem = field.problem("unknown_word", format!("{} is no kind", quoted(word)));
        field.report(problem.help(format!("use one of {}", KINDS.join(", "))));
    }
    kind.map(str::to_owned)
}

/// The words of a list that is not too long.
fn words<V>(items: Vec<Field<'_, Value>>, read: impl Fn(&Field<'_, Value>) -> Option<V>) -> Vec<V> {
    if let Some(beyond) = items.get(WORDS_MAX) {
        let problem = beyond.problem("out_of_range", format!("there are {} words", items.len()));
        beyond.report(problem.help(format!("name at most {WORDS_MAX}")));
    }
    items.iter().take(WORDS_MAX).filter_map(read).collect()
}

/// The subscriptions that exist for the caller.
async fn visible(api: &Api, caller: &Caller) -> Result<Vec<Subscription>, ApiError> {
    let subscriptions = api.engine().store().subscriptions().await?;
    let is_visible = |subscription: &Subscription| match &subscription.tenant {
        Some(tenant) => caller.sees(tenant),
        None => caller.tenant.is_none(),
    };
    Ok(subscriptions.into_iter().filter(is_visible).collect())
}

async fn find(api: &Api, caller: &Caller, id: &str) -> Result<Subscription, ApiError> {
    let found = visible(api, caller).await?.into_iter().find(|subscription| subscription.id == id);
    found.ok_or_else(|| ApiError::new(Code::SubscriptionNotFound, "there is no such subscription"))
}

/// List subscriptions, oldest first
#[utoipa::path(
    get, path = "/v1/subscriptions", tag = "events", operation_id = "listSubscriptions",
    responses((status = 200, description = "The subscriptions", body = schema::SubscriptionList)),
)]
async fn list(State(api): State<Api>, caller: Caller) -> Result<Response, ApiError> {
    let items = visible(&api, &caller).await?.into_iter().map(SubscriptionView::from).collect();
    Ok(Json(SubscriptionList { items }).into_response())
}

/// Tell an address no more
///
/// What was promised to it before is still sent.
#[utoipa::path(
    delete, path = "/v1/subscriptions/{id}", tag = "events", operation_id = "unsubscribe",
    params(schema::SubscriptionPath),
    responses((status = 204, description = "It is gone")),
)]
async fn delete(
    State(api): State<Api>,
    caller: Caller,
    Name(id): Name,
) -> Result<StatusCode, ApiError> {
    let subscription = find(&api, &caller, &id).await?;
    api.engine().delete_subscription(subscription.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replace the secret of a subscription
///
/// Answers a fresh secret of its own, this once and never again; until its first one an address is told
/// under the secret of the installation. The old one stays valid for a grace of 24 hours, or as long as is
/// said: until then what is sent carries the signatures of both. `0s` ends every older secret at once.
#[utoipa::path(
    post, path = "/v1/subscriptions/{id}:rotate-secret", tag = "events", operation_id = "rotateSubscriptionSecret",
    params(schema::SubscriptionPath), request_body = Option<schema::RotateRequest>,
    responses((status = 200, description = "The fresh secret", body = schema::RotatedSecret)),
)]
async fn rotate_secret(
    State(api): State<Api>,
    caller: Caller,
    Name(id): Name,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let grace = rotation::grace(&body)?;
    let subscription = find(&api, &caller, &id).await?;
    let engine = api.engine();
    let rotated =
        engine.rotate_subscription_secret(&subscription.id, grace, &caller.subject).await?;
    Ok(rotation::shown(rotated))
}

/// What came of a test.
#[derive(Serialize)]
struct Tested {
    delivered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Send a test event
///
/// Posts a signed event of the kind `stepwell.subscription.test` to the address, once and now, and says
/// what came of it. Nothing is stored.
#[utoipa::path(
    post, path = "/v1/subscriptions/{id}:test", tag = "events", operation_id = "testSubscription",
    params(schema::SubscriptionPath),
    responses((status = 200, description = "What came of it", body = schema::Tested)),
)]
async fn test(
    State(api): State<Api>,
    caller: Caller,
    Name(id): Name,
) -> Result<Json<Tested>, ApiError> {
    let subscription = find(&api, &caller, &id).await?;
    let event = json!({
        "specversion": "1.0",
        "id": fresh_id(),
        "type": "stepwell.subscription.test",
        "source": "stepwell",
        "time": api.engine().now().to_string(),
        "subject": subscription.id,
        "datacontenttype": "application/json",
        "data": {"subscription_id": subscription.id, "actor": caller.subject},
    });
    Ok(Json(match api.engine().deliver(&subscription, event.to_string()).await {
        Ok(status) => Tested { delivered: true, status: Some(status), error: None },
        Err(error) => Tested { delivered: false, status: None, error: Some(error) },
    }))
}
