//! Whether the scheduler makes batches of a runbook by itself, and what it would find.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::BatchId;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::runbooks::request;
use stepwell_dialects::runbooks::rows::SkippedRow;
use stepwell_engine::{Preview, PreviewGroup};
use stepwell_store::Automation;

use super::acts_here;
use super::documents::every_version;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{JsonBody, Name};
use crate::schema;
use crate::state::Api;

#[derive(Serialize)]
struct AutomationView {
    runbook_name: String,
    automation_enabled: bool,
    enabled_at: Option<Moment>,
    enabled_by: Option<String>,
    disabled_at: Option<Moment>,
    disabled_by: Option<String>,
}

impl From<Automation> for AutomationView {
    fn from(automation: Automation) -> Self {
        Self {
            runbook_name: automation.runbook,
            automation_enabled: automation.enabled,
            enabled_at: automation.enabled_at.map(Moment),
            enabled_by: automation.enabled_by,
            disabled_at: automation.disabled_at.map(Moment),
            disabled_by: automation.disabled_by,
        }
    }
}

impl AutomationView {
    /// Of a runbook about which nobody ever said anything: off.
    fn never_set(runbook_name: String) -> Self {
        Self {
            runbook_name,
            automation_enabled: false,
            enabled_at: None,
            enabled_by: None,
            disabled_at: None,
            disabled_by: None,
        }
    }
}

/// Read whether batches are made by themselves
#[utoipa::path(
    get, path = "/api/runbooks/{name}/automation", tag = "runbooks", operation_id = "getAutomation",
    params(schema::RunbookPath),
    responses((status = 200, description = "As last switched", body = schema::Automation)),
)]
pub(super) async fn get(State(api): State<Api>, Name(name): Name) -> Result<Response, ApiError> {
    every_version(&api, name.clone()).await?;
    let automation = api.engine().store().automation(name.clone()).await?;
    let shown = automation.map_or_else(|| AutomationView::never_set(name), AutomationView::from);
    Ok(Json(shown).into_response())
}

/// Switch whether batches are made by themselves
///
/// Off: the source is not asked, no batch is made, nobody joins or leaves. Batches under way go on.
#[utoipa::path(
    put, path = "/api/runbooks/{name}/automation", tag = "runbooks", operation_id = "setAutomation",
    params(schema::RunbookPath), request_body = schema::AutomationRequest,
    responses((status = 200, description = "As it is now", body = schema::Automation)),
)]
pub(super) async fn put(
    State(api): State<Api>,
    caller: Caller,
    Name(name): Name,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let enabled = body.read(request::automation)?;
    acts_here(&caller)?;
    let set = api.engine().set_automation(&name, enabled, &caller.subject).await?;
    Ok(Json(AutomationView::from(set)).into_response())
}

#[derive(Serialize)]
struct PreviewView {
    total: usize,
    columns: Vec<String>,
    rows: Vec<Map<String, Value>>,
    groups: Vec<GroupView>,
    skipped: Vec<SkippedView>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct GroupView {
    batch_start_time: Moment,
    members: usize,
    exists_as: Option<BatchId>,
    new: usize,
    known: usize,
}

#[derive(Serialize)]
struct SkippedView {
    row: usize,
    key: Option<String>,
    reason: String,
}

impl From<PreviewGroup> for GroupView {
    fn from(group: PreviewGroup) -> Self {
        Self {
            batch_start_time: Moment(group.start),
            members: group.members,
            exists_as: group.batch,
            new: group.members.saturating_sub(group.known),
            known: group.known,
        }
    }
}

impl From<SkippedRow> for SkippedView {
    fn from(skipped: SkippedRow) -> Self {
        Self { row: skipped.row, reason: skipped.reason.to_string(), key: skipped.key }
    }
}

impl From<Preview> for PreviewView {
    fn from(preview: Preview) -> Self {
        Self {
            total: preview.total,
            columns: preview.columns,
            rows: preview.rows,
            groups: preview.groups.into_iter().map(GroupView::from).collect(),
            skipped: preview.skipped.into_iter().map(SkippedView::from).collect(),
            warnings: preview.warnings,
        }
    }
}

/// Ask the data source, and make nothing of it
///
/// Runs the query of the active version and shows the first hundred rows, the batches that they would
/// make or belong to, and the rows that would be passed over.
#[utoipa::path(
    post, path = "/api/runbooks/{name}/query/preview", tag = "runbooks", operation_id = "previewQuery",
    params(schema::RunbookPath),
    responses((status = 200, description = "What a pass would find", body = schema::QueryPreview)),
)]
pub(super) async fn preview(
    State(api): State<Api>,
    caller: Caller,
    Name(name): Name,
) -> Result<Response, ApiError> {
    acts_here(&caller)?;
    let preview = api.engine().preview(&name).await?;
    tracing::info!(runbook = name, rows = preview.total, "member_data_read");
    Ok(Json(PreviewView::from(preview)).into_response())
}
