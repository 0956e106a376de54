//! Runbook documents: publish, read, take out of use.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::batch::Overdue;
use stepwell_core::id::BatchId;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::problem::{Problem, Problems};
use stepwell_dialects::runbooks;
use stepwell_dialects::runbooks::accept::publication;
use stepwell_dialects::runbooks::columns::template_csv;
use stepwell_dialects::runbooks::view::{RunbookView, data_source_type, phase_specs};
use stepwell_engine::{BatchError, CompiledRunbook};
use stepwell_store::RunbookDocument;

use super::{acts_here, segment};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{JsonBytes, Name, path};
use crate::schema;
use crate::state::Api;

#[derive(Serialize)]
struct PublishedView<'a> {
    #[serde(flatten)]
    runbook: RunbookView<'a>,
    warnings: Vec<&'a Problem>,
    batches: Vec<FollowingBatch>,
}

#[derive(Serialize)]
struct FollowingBatch {
    batch_id: BatchId,
}

#[derive(Serialize)]
struct Items<T> {
    items: Vec<T>,
}

/// Publish a runbook
///
/// Stores the document as the next version of its name and makes it the active one. Batches under way
/// follow it, except those that a person made; what becomes of phases that are past due,
/// `overdue_behavior` says. The same text and settings as the active version answer 200 and store
/// nothing.
#[utoipa::path(
    post, path = "/api/runbooks", tag = "runbooks", operation_id = "publishRunbook",
    request_body = schema::PublishRequest,
    responses(
        (status = 201, description = "A new version", body = schema::PublishedRunbook,
            headers(("Location" = String, description = "the version"))),
        (status = 200, description = "The active version is this very one", body = schema::PublishedRunbook),
    ),
)]
pub(super) async fn publish(
    State(api): State<Api>,
    caller: Caller,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let publication = publication(&body)?;
    acts_here(&caller)?;
    let published = api.engine().publish_runbook(publication, &caller.subject).await?;
    let document = &published.document;
    let compiled = compiled(&api, document).await?;
    let following = published.batches.iter().map(|batch| FollowingBatch { batch_id: *batch });
    let location =
        format!("/api/runbooks/{}/versions/{}", segment(&document.name), { document.version });
    let shown = PublishedView {
        runbook: RunbookView {
            yaml_content: Some(&document.source),
            ..shown(document, compiled.as_deref())
        },
        warnings: published.warnings.iter().flat_map(Problems::iter).collect(),
        batches: following.collect(),
    };
    let status = if published.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, [(LOCATION, location)], Json(shown)).into_response())
}

/// What a stored document says; nothing if this release can no longer read it.
async fn compiled(
    api: &Api,
    document: &RunbookDocument,
) -> Result<Option<Arc<CompiledRunbook>>, ApiError> {
    use stepwell_engine::EngineError::BadWorkflow;
    match api.engine().compiled_runbook(&document.name, Some(document.version)).await {
        Ok(compiled) => Ok(Some(compiled)),
        Err(BatchError::Engine(BadWorkflow { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn shown<'a>(
    document: &'a RunbookDocument,
    compiled: Option<&'a CompiledRunbook>,
) -> RunbookView<'a> {
    let runbook = compiled.map(|compiled| &compiled.runbook);
    RunbookView {
        id: document.id,
        name: &document.name,
        version: document.version,
        yaml_content: None,
        description: runbook.map_or("", |runbook| runbook.description.as_str()),
        data_table_name: runbook
            .map_or_else(String::new, |runbook| runbook.data_table_name(document.version)),
        is_active: document.is_active,
        overdue_behavior: match document.overdue {
            Overdue::Rerun => "rerun",
            Overdue::Ignore => "ignore",
        },
        ignore_overdue_applied: document.overdue_applied,
        rerun_init: document.rerun_init,
        created_at: Moment(document.created_at),
        created_by: &document.created_by,
        last_error: document.last_error.as_deref(),
        last_error_at: document.last_error_at.map(Moment),
        phases: runbook.map(phase_specs).unwrap_or_default(),
        data_source_type: runbook.map_or("", |it| data_source_type(&it.data_source.kind)),
    }
}

/// List the runbooks in use
#[utoipa::path(
    get, path = "/api/runbooks", tag = "runbooks", operation_id = "listRunbooks",
    responses((status = 200, description = "The active version of each, by name", body = schema::RunbookList)),
)]
pub(super) async fn list(State(api): State<Api>) -> Result<Response, ApiError> {
    show_all(&api, api.engine().store().runbooks(None).await?).await
}

/// List every version of a runbook
#[utoipa::path(
    get, path = "/api/runbooks/{name}/versions", tag = "runbooks", operation_id = "listRunbookVersions",
    params(schema::RunbookPath),
    responses((status = 200, description = "Newest first", body = schema::RunbookList)),
)]
pub(super) async fn versions(
    State(api): State<Api>,
    Name(name): Name,
) -> Result<Response, ApiError> {
    show_all(&api, every_version(&api, name).await?).await
}

/// Every version of a runbook that exists, newest first.
pub(super) async fn every_version(
    api: &Api,
    name: String,
) -> Result<Vec<RunbookDocument>, ApiError> {
    let documents = api.engine().store().runbooks(Some(name.clone())).await?;
    if documents.is_empty() {
        return Err(BatchError::RunbookNotFound { name, version: None }.into());
    }
    Ok(documents)
}

async fn show_all(api: &Api, documents: Vec<RunbookDocument>) -> Result<Response, ApiError> {
    let mut read = Vec::with_capacity(documents.len());
    for document in &documents {
        read.push(compiled(api, document).await?);
    }
    let items = documents.iter().zip(&read);
    let items = items.map(|(document, compiled)| shown(document, compiled.as_deref())).collect();
    Ok(Json(Items { items }).into_response())
}

/// Read the active version of a runbook
#[utoipa::path(
    get, path = "/api/runbooks/{name}", tag = "runbooks", operation_id = "getRunbook",
    params(schema::RunbookPath),
    responses((status = 200, description = "With its text", body = schema::Runbook)),
)]
pub(super) async fn active(State(api): State<Api>, Name(name): Name) -> Result<Response, ApiError> {
    show(&api, name, None).await
}

/// The runbook and version in the path.
pub(super) struct NameAndVersion(String, u32);

impl<S: Sync> FromRequestParts<S> for NameAndVersion {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (name, version): (String, String) = path(parts).await?;
        match version.parse() {
            Ok(version) => Ok(Self(name, version)),
            Err(_) => Err(BatchError::RunbookNotFound { name, version: Some(0) }.into()),
        }
    }
}

/// Read a version of a runbook
#[utoipa::path(
    get, path = "/api/runbooks/{name}/versions/{version}", tag = "runbooks",
    operation_id = "getRunbookVersion", params(schema::RunbookVersionPath),
    responses((status = 200, description = "With its text", body = schema::Runbook)),
)]
pub(super) async fn version(
    State(api): State<Api>,
    NameAndVersion(name, version): NameAndVersion,
) -> Result<Response, ApiError> {
    show(&api, name, Some(version)).await
}

async fn show(api: &Api, name: String, version: Option<u32>) -> Result<Response, ApiError> {
    let document = api.engine().store().runbook(name.clone(), version).await?;
    let document = document.ok_or(BatchError::RunbookNotFound { name, version })?;
    let compiled = compiled(api, &document).await?;
    let yaml_content = Some(document.source.as_str());
    let view = RunbookView { yaml_content, ..shown(&document, compiled.as_deref()) };
    Ok(Json(view).into_response())
}

/// Take a version of a runbook out of use
///
/// It makes no new batches from here on, and no earlier version takes its place. Batches under way
/// go on.
#[utoipa::path(
    delete, path = "/api/runbooks/{name}/versions/{version}", tag = "runbooks",
    operation_id = "deactivateRunbook", params(schema::RunbookVersionPath),
    responses((status = 204, description = "It is out of use")),
)]
pub(super) async fn deactivate(
    State(api): State<Api>,
    caller: Caller,
    NameAndVersion(name, version): NameAndVersion,
) -> Result<StatusCode, ApiError> {
    acts_here(&caller)?;
    api.engine().deactivate_runbook(&name, version).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Download a list of members to fill in
///
/// A CSV file with the columns that the active version needs: the key, what its steps use, and the
/// columns of several values.
#[utoipa::path(
    get, path = "/api/runbooks/{name}/template", tag = "runbooks", operation_id = "downloadTemplate",
    params(schema::RunbookPath),
    responses((status = 200, description = "A line of column names", body = String, content_type = "text/csv")),
)]
pub(super) async fn template(
    State(api): State<Api>,
    Name(name): Name,
) -> Result<Response, ApiError> {
    let compiled = api.engine().compiled_runbook(&name, None).await?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let file: String = name.chars().map(plain).collect();
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{file}-members.csv\"")),
    ];
    Ok((headers, template_csv(&compiled.runbook)).into_response())
}

/// Read the JSON Schema of runbook documents
///
/// Editors complete and check a document with it.
#[utoipa::path(
    get, path = "/v1/schemas/runbook.json", tag = "runbooks", operation_id = "getRunbookSchema",
    responses((status = 200, description = "JSON Schema 2020-12", body = Value)),
)]
pub(super) async fn runbook_schema() -> Json<Value> {
    Json(runbooks::schema())
}
