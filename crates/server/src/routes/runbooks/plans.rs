//! What will happen, before it does: the plan of a batch, of a batch that does not exist yet, and of
//! a publication. Nothing is written.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::{Batch, BatchStatus, Overdue, Timeline};
use stepwell_core::decide::At;
use stepwell_dialects::moment;
use stepwell_dialects::problem::{Problem, Problems, quoted};
use stepwell_dialects::runbooks::accept::OverdueBehavior;
use stepwell_dialects::runbooks::plan::{self, BatchPlan, BatchTransition, UNSTORED};
use stepwell_dialects::runbooks::request::{self, PublicationDraft};
use stepwell_dialects::runbooks::{self, Reading, compile};
use stepwell_store::{BatchFilter, RunbookDocument, Slice};
use uuid::Uuid;

use super::upload::Upload;
use super::{BatchPath, acts_here, find};
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{JsonBody, Name, Query};
use crate::schema;
use crate::state::Api;

/// Batches that are read at once.
const BATCHES_AT_ONCE: usize = 100;

/// Show what a batch will do, and has done
///
/// Members, steps and times of every phase of the version that it follows.
#[utoipa::path(
    get, path = "/api/batches/{batch}/plan", tag = "batches", operation_id = "planBatch",
    params(schema::BatchPath),
    responses((status = 200, description = "The plan", body = schema::BatchPlan)),
)]
pub(super) async fn batch(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
) -> Result<Response, ApiError> {
    let batch = find(&api, &caller, id).await?;
    let (name, version) = (&batch.header.runbook, Some(batch.runbook_version));
    let compiled = api.engine().compiled_runbook(name, version).await?;
    let plan = plan::batch(&batch, &compiled.runbook, api.engine().now());
    Ok(Json(plan).into_response())
}

#[derive(Serialize)]
struct NewBatchPlan<'a> {
    #[serde(flatten)]
    plan: BatchPlan<'a>,
    warnings: &'a [Problem],
}

/// Show what a batch of a list of members would do
///
/// Takes the list as `POST /api/batches` does, and makes nothing. With `batch_start_time` the plan has
/// times. `problems` lists the steps that could not be dispatched, because the data of some members
/// leave a placeholder open.
#[utoipa::path(
    post, path = "/api/runbooks/{name}/plan-batch", tag = "runbooks", operation_id = "planNewBatch",
    params(schema::RunbookPath, schema::StartQuery),
    request_body(content(
        (schema::MembersForm = "multipart/form-data"),
        (String = "text/csv"),
    )),
    responses((status = 200, description = "The plan", body = schema::NewBatchPlan)),
)]
pub(super) async fn new_batch(
    State(api): State<Api>,
    caller: Caller,
    Name(name): Name,
    query: Query,
    upload: Upload,
) -> Result<Response, ApiError> {
    acts_here(&caller)?;
    let parameters = query.known(&["batch_start_time"])?;
    let start = "a moment such as 2026-03-15T08:00:00Z";
    let start = parameters.read("batch_start_time", start, moment::parse)?;
    let compiled = api.engine().compiled_runbook(&name, None).await?;
    let members = upload.members(&compiled).await?;
    let count = i64::try_from(members.rows.len()).unwrap_or(i64::MAX);
    let checked = Arc::clone(&compiled);
    let problems = tokio::task::spawn_blocking(move || {
        plan::check(&checked.runbook, members.rows.into_iter())
    });
    let problems = problems.await.map_err(|_| ApiError::internal("a plan was not finished"))?;
    let (start, now) = (start.map(|start| start.0), api.engine().now());
    let plan = plan::new_batch(&compiled.runbook, compiled.version, count, start, now);
    let plan = BatchPlan { problems, ..plan };
    Ok(Json(NewBatchPlan { plan, warnings: &members.warnings }).into_response())
}

#[derive(Serialize)]
struct PublicationPlan {
    /// the version that the document would become, or is
    version: u32,
    /// the document and its settings differ from the active version
    is_new: bool,
    warnings: Vec<Problem>,
    batches: Vec<BatchTransition>,
}

/// Show what publishing a document would do
///
/// For every batch under way: which of its phases would be replaced, skipped or run again, and when
/// those of the new version would begin. Nothing is stored.
#[utoipa::path(
    post, path = "/api/runbooks/{name}/plan", tag = "runbooks", operation_id = "planPublication",
    params(schema::RunbookPath), request_body = schema::PlanRequest,
    responses((status = 200, description = "What would happen", body = schema::PublicationPlan)),
)]
pub(super) async fn publication(
    State(api): State<Api>,
    caller: Caller,
    Name(name): Name,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let draft = body.read(request::publication_draft)?;
    let reading = read(&name, &draft)?;
    acts_here(&caller)?;
    let documents = api.engine().store().runbooks(Some(name.clone())).await?;
    let same = documents.iter().find(|it| it.is_active && is_same(it, &draft));
    let version = match same {
        Some(same) => same.version,
        None => documents.first().map_or(1, |newest| newest.version.saturating_add(1)),
    };
    let timeline = compile(&reading.runbook, version).timeline(UNSTORED);
    let batches = transitions(&api, &name, &timeline, &draft).await?;
    let warnings = reading.warnings.iter().flat_map(Problems::iter).cloned().collect();
    let is_new = same.is_none();
    Ok(Json(PublicationPlan { version, is_new, warnings, batches }).into_response())
}

fn read(name: &str, draft: &PublicationDraft) -> Result<Reading, ApiError> {
    let invalid = |problems: Problems| ApiError::of_problems(Code::InvalidRequest, problems);
    let reading = runbooks::read(draft.yaml_content.as_bytes()).map_err(invalid)?;
    let named = &reading.runbook.name;
    if named != name {
        let message = format!("the document is called {}, not {}", quoted(named), quoted(name));
        let problem = Problem::new("name_mismatch", message).at("name");
        return Err(invalid(problem.help("use the same name in both").into()));
    }
    Ok(reading)
}

fn is_same(document: &RunbookDocument, draft: &PublicationDraft) -> bool {
    document.source == draft.yaml_content
        && document.overdue == overdue(draft)
        && document.rerun_init == draft.rerun_init
}

fn overdue(draft: &PublicationDraft) -> Overdue {
    match draft.overdue_behavior {
        OverdueBehavior::Rerun => Overdue::Rerun,
        OverdueBehavior::Ignore => Overdue::Ignore,
    }
}

async fn transitions(
    api: &Api,
    name: &str,
    timeline: &Timeline,
    draft: &PublicationDraft,
) -> Result<Vec<BatchTransition>, ApiError> {
    let mut found = Vec::new();
    let mut slice = Slice { offset: 0, limit: BATCHES_AT_ONCE };
    loop {
        let filter = BatchFilter {
            runbook: Some(name.to_owned()),
            statuses: vec![BatchStatus::Detected, BatchStatus::InitDispatched, BatchStatus::Active],
            ..BatchFilter::default()
        };
        let page = api.engine().store().batches(filter, slice).await?.items;
        let now = api.engine().now();
        let becomes = |batch: &Batch| {
            // What is only planned needs no ids that are anybody's.
            let mut at = At { now, fresh: &mut Uuid::nil };
            plan::publication(batch, timeline, overdue(draft), draft.rerun_init, &mut at)
        };
        found.extend(page.iter().filter_map(becomes));
        if page.len() < BATCHES_AT_ONCE {
            return Ok(found);
        }
        slice.offset += BATCHES_AT_ONCE;
    }
}
