//! Triggers of a workspace: make, change, switch, forget, and see when they fire next.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::fields::Field;
use stepwell_dialects::moment::{self, Moment};
use stepwell_dialects::problem::Problem;
use stepwell_dialects::workspaces::trigger;
use stepwell_engine::{PutTrigger, TriggerError};
use stepwell_store::Trigger;

use super::{Workspace, WorkspacePart};
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{Document, IfMatch, JsonBody};
use crate::routes::rotation;
use crate::schema;
use crate::state::Api;

const PREVIEW_DEFAULT: usize = 10;
const PREVIEW_MAX: usize = 100;

/// A trigger as callers see it.
#[derive(Serialize)]
struct TriggerView {
    name: String,
    kind: &'static str,
    workflow_id: String,
    enabled: bool,
    version: u32,
    next_at: Option<Moment>,
    last_error: Option<String>,
    actor: String,
    created_at: Moment,
    updated_at: Moment,
    document: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

impl TriggerView {
    fn of(api: &Api, trigger: Trigger) -> Self {
        let hook_url = (trigger.kind == TriggerKind::Webhook).then(|| {
            let base = &api.settings().base_url;
            format!("{base}/v1/hooks/{}/{}", trigger.tenant, trigger.name)
        });
        Self {
            kind: trigger.kind.word(),
            workflow_id: trigger.workflow,
            enabled: trigger.enabled,
            version: trigger.version,
            next_at: trigger.next_at.map(Moment),
            last_error: trigger.last_error,
            actor: trigger.actor,
            created_at: Moment(trigger.created_at),
            updated_at: Moment(trigger.updated_at),
            document: trigger.document,
            name: trigger.name,
            hook_url,
            secret: None,
        }
    }
}

#[derive(Serialize)]
struct TriggerList {
    items: Vec<TriggerView>,
}

fn read(document: &Document) -> Result<trigger::Trigger, ApiError> {
    let trigger = match document {
        Document::Json(document) => trigger::of_json(document),
        Document::Yaml(source) => trigger::read(source),
    };
    trigger.map_err(|problems| ApiError::of_problems(Code::InvalidRequest, problems))
}

fn put_answer(api: &Api, put: PutTrigger) -> Response {
    let status = if put.created { StatusCode::CREATED } else { StatusCode::OK };
    let view = TriggerView { secret: put.secret, ..TriggerView::of(api, put.trigger) };
    (status, Json(view)).into_response()
}

/// Make or change a trigger
///
/// A document in JSON or YAML; the trigger of its name is made, or changed if there is one. The secret
/// of a webhook is shown this once and never again.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/triggers", tag = "triggers", operation_id = "postTrigger",
    params(schema::WorkspacePath), request_body(content = schema::TriggerDocument),
    responses((status = 201, description = "The new trigger", body = schema::Trigger),
        (status = 200, description = "The trigger as it is now", body = schema::Trigger)),
)]
pub(super) async fn create(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
    caller: Caller,
    document: Document,
) -> Result<Response, ApiError> {
    let document = read(&document)?;
    let put = api.engine().put_trigger(&workspace, &document, None, &caller.subject).await?;
    Ok(put_answer(&api, put))
}

/// Make or change the trigger of this name
///
/// With `If-Match`, only if it is still at that version.
#[utoipa::path(
    put, path = "/v1/workspaces/{workspace_id}/triggers/{name}", tag = "triggers", operation_id = "putTrigger",
    params(schema::TriggerPath, schema::IfMatch), request_body(content = schema::TriggerDocument),
    responses((status = 201, description = "The new trigger", body = schema::Trigger),
        (status = 200, description = "The trigger as it is now", body = schema::Trigger)),
)]
pub(super) async fn put(
    State(api): State<Api>,
    WorkspacePart(workspace, name): WorkspacePart,
    caller: Caller,
    seen: IfMatch,
    document: Document,
) -> Result<Response, ApiError> {
    let document = read(&document)?;
    if document.name != name {
        let problem = Problem::new("name_mismatch", "this is not the name in the address");
        return Err(ApiError::of_problems(Code::InvalidRequest, problem.at("name")));
    }
    let version = match api.engine().trigger(&workspace, &name).await {
        Ok(trigger) => trigger.version,
        Err(TriggerError::NotFound(_)) => 0,
        Err(error) => return Err(error.into()),
    };
    let seen = seen.bind(u64::from(version))?.map(|_| version);
    let put = api.engine().put_trigger(&workspace, &document, seen, &caller.subject).await?;
    Ok(put_answer(&api, put))
}

/// List the triggers of a workspace, by name
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/triggers", tag = "triggers", operation_id = "listTriggers",
    params(schema::WorkspacePath),
    responses((status = 200, description = "The triggers", body = schema::TriggerList)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
) -> Result<Response, ApiError> {
    let triggers = api.engine().triggers(&workspace).await?;
    let items = triggers.into_iter().map(|trigger| TriggerView::of(&api, trigger)).collect();
    Ok(Json(TriggerList { items }).into_response())
}

/// Show a trigger
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/triggers/{name}", tag = "triggers", operation_id = "getTrigger",
    params(schema::TriggerPath),
    responses((status = 200, description = "The trigger", body = schema::Trigger)),
)]
pub(super) async fn get(
    State(api): State<Api>,
    WorkspacePart(workspace, name): WorkspacePart,
) -> Result<Response, ApiError> {
    let trigger = api.engine().trigger(&workspace, &name).await?;
    Ok(Json(TriggerView::of(&api, trigger)).into_response())
}

/// Forget a trigger and its firings
///
/// The jobs that it has made go on.
#[utoipa::path(
    delete, path = "/v1/workspaces/{workspace_id}/triggers/{name}", tag = "triggers", operation_id = "deleteTrigger",
    params(schema::TriggerPath),
    responses((status = 204, description = "It is gone")),
)]
pub(super) async fn delete(
    State(api): State<Api>,
    WorkspacePart(workspace, name): WorkspacePart,
) -> Result<StatusCode, ApiError> {
    api.engine().delete_trigger(&workspace, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Switch a trigger on
///
/// What a schedule missed while it was off is not caught up.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/triggers/{name}:enable", tag = "triggers", operation_id = "enableTrigger",
    params(schema::TriggerPath),
    responses((status = 200, description = "The trigger as it is now", body = schema::Trigger)),
)]
pub(super) async fn enable(
    State(api): State<Api>,
    part: WorkspacePart,
    caller: Caller,
) -> Result<Response, ApiError> {
    switch(&api, part, &caller, true).await
}

/// Switch a trigger off
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/triggers/{name}:disable", tag = "triggers", operation_id = "disableTrigger",
    params(schema::TriggerPath),
    responses((status = 200, description = "The trigger as it is now", body = schema::Trigger)),
)]
pub(super) async fn disable(
    State(api): State<Api>,
    part: WorkspacePart,
    caller: Caller,
) -> Result<Response, ApiError> {
    switch(&api, part, &caller, false).await
}

async fn switch(
    api: &Api,
    WorkspacePart(workspace, name): WorkspacePart,
    caller: &Caller,
    enabled: bool,
) -> Result<Response, ApiError> {
    let trigger = api.engine().switch_trigger(&workspace, &name, enabled, &caller.subject).await?;
    Ok(Json(TriggerView::of(api, trigger)).into_response())
}

/// Replace the secret of a webhook
///
/// Answers a fresh secret, this once and never again. The old one stays valid for a grace of 24 hours, or
/// as long as is said: until then requests may be signed with either. `0s` ends every older secret at once.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/triggers/{name}:rotate-secret", tag = "triggers", operation_id = "rotateTriggerSecret",
    params(schema::TriggerPath), request_body = Option<schema::RotateRequest>,
    responses((status = 200, description = "The fresh secret", body = schema::RotatedSecret)),
)]
pub(super) async fn rotate_secret(
    State(api): State<Api>,
    WorkspacePart(workspace, name): WorkspacePart,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let grace = rotation::grace(&body)?;
    let engine = api.engine();
    let rotated = engine.rotate_trigger_secret(&workspace, &name, grace, &caller.subject).await?;
    Ok(rotation::shown(rotated))
}

#[derive(Serialize)]
struct Preview {
    firings: Vec<PreviewFiring>,
}

#[derive(Serialize)]
struct PreviewFiring {
    at: Moment,
    local: String,
}

/// Say when a schedule would fire
///
/// Nothing is made. `local` is what the clock of the place shows then.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/triggers:preview", tag = "triggers", operation_id = "previewTrigger",
    params(schema::WorkspacePath), request_body = schema::PreviewRequest,
    responses((status = 200, description = "The next firings", body = schema::TriggerPreview)),
)]
pub(super) async fn preview(
    State(api): State<Api>,
    Workspace(_): Workspace,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (cron, zone, from, count) = body.read(|fields| {
        let from = fields.optional("from").and_then(|field| moment_of(&field));
        let count = fields.optional_integer("count", 1..=PREVIEW_MAX);
        let schedule = fields.required("schedule").and_then(|field| field.fields());
        let (cron, zone) = schedule.map(|mut schedule| {
            let cron = schedule.required_str("cron").map(str::to_owned);
            let zone = schedule.optional_str("time_zone").unwrap_or("UTC").to_owned();
            schedule.finish();
            (cron, zone)
        })?;
        Some((cron?, zone, from, count.unwrap_or(PREVIEW_DEFAULT)))
    })?;
    let firings = api.engine().preview_schedule(&cron, &zone, from, count)?;
    let firings = firings.into_iter();
    let firings = firings.map(|it| PreviewFiring { at: Moment(it.at), local: it.local }).collect();
    Ok(Json(Preview { firings }).into_response())
}

fn moment_of(field: &Field<'_, Value>) -> Option<Timestamp> {
    let moment = moment::parse(field.text()?);
    if moment.is_none() {
        let problem = field.problem("bad_moment", "this is not a moment");
        field.report(problem.help("write one such as 2026-03-28T00:00:00Z"));
    }
    moment.map(|moment| moment.0)
}
