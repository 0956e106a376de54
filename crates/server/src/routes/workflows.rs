//! Workflow documents: publish, check, read.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::problem::Problems;
use stepwell_dialects::workflow::{self, Checks};
use stepwell_engine::PublishError;
use stepwell_store::WorkflowDocument;
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{Name, YamlText, path};
use crate::schema;
use crate::state::Api;

pub(super) fn add(routes: Routes) -> Routes {
    let read = Access::Needs(Permission::ReadWorkflows);
    routes
        .add(Access::Needs(Permission::PublishWorkflows), routes!(publish))
        .add(read, routes!(list))
        .add(read, routes!(newest))
        .add(read, routes!(version))
        .add(read, routes!(validate))
        .add(Access::Needs(Permission::ReadSchemas), routes!(workflow_schema))
}

#[derive(Serialize)]
struct WorkflowView {
    name: String,
    version: u32,
    request_type: Option<String>,
    created_at: Moment,
    created_by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl WorkflowView {
    fn with_source(document: WorkflowDocument) -> Self {
        let source = Some(document.source.clone());
        Self { source, ..Self::of(document) }
    }

    fn of(document: WorkflowDocument) -> Self {
        let WorkflowDocument { name, version, request_type, created_at, created_by, .. } = document;
        let created_at = Moment(created_at);
        Self { name, version, request_type, created_at, created_by, source: None }
    }
}

/// Publish a workflow
///
/// Stores the YAML text as the next version of its name. Jobs under way keep their version. The
/// same text as the newest version again answers 200 and stores nothing.
#[utoipa::path(
    post, path = "/v1/workflows", tag = "workflows", operation_id = "publishWorkflow",
    request_body(content = String, content_type = "application/yaml"),
    responses(
        (status = 201, description = "A new version", body = schema::Workflow),
        (status = 200, description = "The newest version has this very text", body = schema::Workflow),
    ),
)]
async fn publish(
    State(api): State<Api>,
    caller: Caller,
    YamlText(source): YamlText,
) -> Result<Response, ApiError> {
    caller.is_for_all_tenants("a workflow serves all tenants")?;
    let workflow = workflow::read(source.as_bytes()).map_err(invalid)?;
    let newest = api.engine().store().workflow(workflow.name, None).await?;
    if let Some(newest) = newest.filter(|newest| newest.source == source) {
        return Ok(Json(WorkflowView::of(newest)).into_response());
    }
    let stored = api.engine().publish_workflow(source, caller.subject).await;
    let stored = stored.map_err(|error| match error {
        PublishError::Invalid(problems) => invalid(problems),
        PublishError::Engine(error) => error.into(),
    })?;
    let location = format!("/v1/workflows/{}/versions/{}", stored.name, stored.version);
    let body = Json(WorkflowView::of(stored));
    Ok((StatusCode::CREATED, [(LOCATION, location)], body).into_response())
}

fn invalid(problems: Problems) -> ApiError {
    ApiError::of_problems(Code::InvalidWorkflow, problems)
}

#[derive(Serialize)]
struct Validated {
    name: String,
    request_type: Option<String>,
    steps: Vec<String>,
}

/// Check a workflow without storing it
#[utoipa::path(
    post, path = "/v1/workflows:validate", tag = "workflows", operation_id = "validateWorkflow",
    request_body(content = String, content_type = "application/yaml"),
    responses((status = 200, description = "It is sound", body = schema::ValidatedWorkflow)),
)]
async fn validate(YamlText(source): YamlText) -> Result<Response, ApiError> {
    let workflow = workflow::read(source.as_bytes()).map_err(invalid)?;
    Checks::compile(&workflow).map_err(invalid)?;
    let steps = workflow.steps.into_iter().map(|step| step.id).collect();
    let (name, request_type) = (workflow.name, workflow.request_type);
    Ok(Json(Validated { name, request_type, steps }).into_response())
}

#[derive(Serialize)]
struct WorkflowList {
    items: Vec<WorkflowView>,
}

/// List workflows in their newest versions
#[utoipa::path(
    get, path = "/v1/workflows", tag = "workflows", operation_id = "listWorkflows",
    responses((status = 200, description = "By name", body = schema::WorkflowList)),
)]
async fn list(State(api): State<Api>) -> Result<Response, ApiError> {
    let workflows = api.engine().store().workflows().await?;
    let items = workflows.into_iter().map(WorkflowView::of).collect();
    Ok(Json(WorkflowList { items }).into_response())
}

/// Read the newest version of a workflow
#[utoipa::path(
    get, path = "/v1/workflows/{name}", tag = "workflows", operation_id = "getWorkflow",
    params(("name" = String, Path, description = "the workflow")),
    responses((status = 200, description = "With its text", body = schema::Workflow)),
)]
async fn newest(State(api): State<Api>, Name(name): Name) -> Result<Response, ApiError> {
    show(api.engine().store().workflow(name, None).await?)
}

/// The workflow and version in the path.
struct NameAndVersion(String, u32);

impl<S: Sync> FromRequestParts<S> for NameAndVersion {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (name, version): (String, String) = path(parts).await?;
        version.parse().map(|version| Self(name, version)).map_err(|_| missing())
    }
}

/// Read a version of a workflow
#[utoipa::path(
    get, path = "/v1/workflows/{name}/versions/{version}", tag = "workflows",
    operation_id = "getWorkflowVersion",
    params(
        ("name" = String, Path, description = "the workflow"),
        ("version" = u32, Path, description = "counted from 1"),
    ),
    responses((status = 200, description = "With its text", body = schema::Workflow)),
)]
async fn version(
    State(api): State<Api>,
    NameAndVersion(name, version): NameAndVersion,
) -> Result<Response, ApiError> {
    show(api.engine().store().workflow(name, Some(version)).await?)
}

fn show(document: Option<WorkflowDocument>) -> Result<Response, ApiError> {
    let document = document.ok_or_else(missing)?;
    Ok(Json(WorkflowView::with_source(document)).into_response())
}

fn missing() -> ApiError {
    ApiError::new(Code::WorkflowNotFound, "there is no such workflow, or no such version of it")
}

/// Read the JSON Schema of workflow documents
///
/// Editors complete and check a document with it.
#[utoipa::path(
    get, path = "/v1/schemas/workflow.json", tag = "workflows", operation_id = "getWorkflowSchema",
    responses((status = 200, description = "JSON Schema 2020-12", body = Value)),
)]
async fn workflow_schema() -> Json<Value> {
    Json(workflow::schema())
}
