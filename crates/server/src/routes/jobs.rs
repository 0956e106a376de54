//! Reading jobs: lists, single jobs, steps, history, live events, explanations.
//!
//! Everything here is read from what is committed; nothing is asked of the task that decides (D-011).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{ETAG, HeaderMap, IF_NONE_MATCH};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::Value;
use stepwell_core::explain::{Explanation, explain};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Run};
use stepwell_core::time::Timestamp;
use stepwell_dialects::commands::status;
use stepwell_dialects::commands::view::{self, JobSummary};
use stepwell_dialects::moment::Moment;
use stepwell_store::{Filter, Page, Record, RunSummary};
use utoipa_axum::routes;
use uuid::Uuid;

use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::events;
use crate::extract::{JobId, Parameters, Query, etag, header, version};
use crate::history::{self, RecordView};
use crate::job_id;
use crate::schema;
use crate::state::Api;

pub(super) const PAGE_DEFAULT: usize = 50;
pub(super) const PAGE_MAX: usize = 200;

/// Records that are read at once; a history has no limit, memory has.
const RECORDS_MAX: usize = 1_000;

pub(super) fn add(routes: Routes) -> Routes {
    let access = Access::Needs(Permission::ReadJobs);
    routes
        .add(access, routes!(list))
        .add(access, routes!(get))
        .add(access, routes!(steps))
        .add(access, routes!(history_page))
        .add(access, routes!(events::follow))
        .add(access, routes!(explain_job))
        .add(access, routes!(stale_reports))
}

/// The job, if it exists for the caller. What belongs to another tenant does not.
pub(crate) async fn find(api: &Api, caller: &Caller, id: RunId) -> Result<Arc<Run>, ApiError> {
    if let Some(run) = api.engine().run(id).await?.filter(|run| caller.sees(&run.header.tenant)) {
        note(&run);
        return Ok(run);
    }
    match api.engine().store().stub(id).await?.filter(|stub| caller.sees(&stub.tenant)) {
        Some(stub) => {
            let status = status::job(stub.status);
            let (ended, deleted) = (stub.ended_at, stub.deleted_at);
            let detail =
                format!("the job ended as {status} at {ended} and was deleted at {deleted}");
            Err(ApiError::new(Code::JobDeleted, detail))
        }
        None => Err(ApiError::new(Code::JobNotFound, "there is no such job")),
    }
}

/// Ties what is logged about this request to what the requester of the job knows (C-027, D-061).
pub(super) fn note(run: &Run) {
    let span = tracing::Span::current();
    let header = &run.header;
    let job_id = job_id::shown(Some(header.dialect), header.id);
    span.record("job_id", tracing::field::display(job_id));
    span.record("trace_id", header.context.get("trace_id").and_then(Value::as_str));
    span.record("correlation_id", run.header.correlation_id.as_deref());
}

/// A page of a list.
#[derive(Serialize)]
pub(super) struct Items<T> {
    pub(super) items: Vec<T>,
    pub(super) next_cursor: Option<String>,
}

/// List jobs, newest first
#[utoipa::path(
    get, path = "/v1/jobs", tag = "jobs", operation_id = "listJobs",
    params(schema::JobFilter),
    responses((status = 200, description = "A page of jobs", body = schema::JobPage)),
)]
async fn list(State(api): State<Api>, caller: Caller, query: Query) -> Result<Response, ApiError> {
    let parameters = query.known(&[
        "status",
        "request_type",
        "workflow",
        "correlation_id",
        "tenant",
        "created_from",
        "created_until",
        "limit",
        "cursor",
    ])?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let before = parameters.read("cursor", "the next_cursor of the page before", read_cursor)?;
    let Some(filter) = filter(&api, &caller, &parameters).await? else {
        return Ok(
            Json(Items::<JobSummary<'_>> { items: Vec::new(), next_cursor: None }).into_response()
        );
    };
    let runs = api.engine().store().runs(filter, Page { before, limit }).await?;
    let next_cursor = runs.last().filter(|_| runs.len() == limit).map(|run| cursor(run.id));
    let items = runs.iter().map(summary).collect();
    Ok(Json(Items { items, next_cursor }).into_response())
}

/// What to list; `None` if nothing can match.
async fn filter(
    api: &Api,
    caller: &Caller,
    parameters: &Parameters,
) -> Result<Option<Filter>, ApiError> {
    let tenant = parameters.one("tenant")?;
    tenant.map_or(Ok(()), |tenant| caller.acts_for(tenant))?;
    let mut statuses = Vec::new();
    for word in parameters.all("status") {
        let message = || format!("write one or more of {}", status::JOB_WORDS.join(", "));
        let found = status::run_statuses(word);
        statuses.extend(found.ok_or_else(|| ApiError::parameter("status", message()))?);
    }
    let mut workflow = parameters.one("workflow")?.map(str::to_owned);
    if let Some(request_type) = parameters.one("request_type")? {
        let protocol = api.engine().protocol(request_type).await?;
        let name = protocol.map(|protocol| protocol.workflow.name.clone());
        if name.is_none() || workflow.as_ref().is_some_and(|wanted| Some(wanted) != name.as_ref()) {
            return Ok(None);
        }
        workflow = name;
    }
    Ok(Some(Filter {
        tenant: caller.tenant.clone().or_else(|| tenant.map(Tenant::new)),
        dialect: Some(Dialect::Commands),
        statuses,
        workflow,
        correlation_id: parameters.one("correlation_id")?.map(str::to_owned),
        created_from: parameters.read("created_from", MOMENT, moment)?,
        created_until: parameters.read("created_until", MOMENT, moment)?,
        with_compensations: false,
    }))
}

const MOMENT: &str = "a moment such as 2025-03-10T00:00:00Z";

pub(super) fn moment(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

fn summary(run: &RunSummary) -> JobSummary<'_> {
    JobSummary {
        job_id: run.id,
        tenant_id: run.tenant.as_str(),
        protocol_id: &run.workflow,
        status: run.status,
        current_step_id: run.current_step.as_deref(),
        created_at: Moment(run.created_at),
        protocol_version: run.workflow_version,
        correlation_id: run.correlation_id.as_deref(),
        paused: run.paused,
        updated_at: Moment(run.updated_at),
        completed_at: run.ended_at.map(Moment),
        error: run.error.as_ref(),
    }
}

pub(super) fn cursor(run: RunId) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(run.0.as_bytes())
}

pub(super) fn read_cursor(text: &str) -> Option<RunId> {
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    Uuid::from_slice(&bytes).ok().map(RunId)
}

/// Show a job with its steps
///
/// The `ETag` is the job's version. With `If-None-Match` an unchanged job is answered with 304.
#[utoipa::path(
    get, path = "/v1/jobs/{job}", tag = "jobs", operation_id = "getJob",
    params(schema::JobPath, ("If-None-Match" = Option<String>, Header, description = "the `ETag` of the job when it was last read")),
    responses((status = 200, description = "The job", body = schema::Job,
        headers(("ETag" = String, description = "the version of the job"))),
        (status = 304, description = "The job has not changed")),
)]
async fn get(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = find(&api, &caller, id).await?;
    let seen = header(&headers, &IF_NONE_MATCH)?.unwrap_or_default();
    let is_known =
        seen.split(',').any(|tag| tag.trim() == "*" || version(tag) == Some(run.version));
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, etag(run.version))]).into_response());
    }
    Ok(show(&run))
}

/// The job with its version as the tag.
pub(super) fn show(run: &Run) -> Response {
    ([(ETAG, etag(run.version))], Json(view::job(run))).into_response()
}

/// List the steps of a job with their attempts
#[utoipa::path(
    get, path = "/v1/jobs/{job}/steps", tag = "jobs", operation_id = "listSteps",
    params(schema::JobPath, ("step_id" = Option<String>, Query, description = "only this step")),
    responses((status = 200, description = "The steps", body = schema::StepList)),
)]
async fn steps(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["step_id"])?;
    let wanted = parameters.one("step_id")?;
    let run = find(&api, &caller, id).await?;
    if let Some(wanted) = wanted
        && run.step_named(wanted).is_none()
    {
        let detail = format!("the job has no step {wanted:?}");
        return Err(ApiError::new(Code::UnknownStep, detail));
    }
    let records = all_records(&api, &run).await?;
    let mut items = view::steps(&run, &records);
    items.retain(|step| wanted.is_none_or(|wanted| step.step_id == wanted));
    Ok(Json(Items { items, next_cursor: None }).into_response())
}

/// The whole history up to the version of the run at hand.
async fn all_records(api: &Api, run: &Run) -> Result<Vec<Record>, ApiError> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(0, |record| record.version);
        let page = api.engine().store().history(run.id(), after, RECORDS_MAX).await?;
        let is_last = page.len() < RECORDS_MAX;
        records.extend(page.into_iter().filter(|record| record.version <= run.version));
        if is_last {
            return Ok(records);
        }
    }
}

#[derive(Serialize)]
struct HistoryPage {
    items: Vec<RecordView>,
    next_after: Option<u64>,
}

/// Read the history of a job, oldest first
///
/// One record a decision. `next_after` is the `after` of the next page; none is left if it is null.
#[utoipa::path(
    get, path = "/v1/jobs/{job}/history", tag = "jobs", operation_id = "readHistory",
    params(schema::JobPath, schema::HistoryFilter),
    responses((status = 200, description = "A page of records", body = schema::HistoryPage)),
)]
async fn history_page(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
    query: Query,
) -> Result<Response, ApiError> {
    let run = find(&api, &caller, id).await?;
    history_of(&api, &run, query).await
}

/// A page of the history of a run.
pub(super) async fn history_of(api: &Api, run: &Run, query: Query) -> Result<Response, ApiError> {
    let parameters = query.known(&["after", "limit"])?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let after = parameters.read("after", "a version", |text| text.parse().ok())?;
    let mut records = api.engine().store().history(run.id(), after.unwrap_or(0), limit).await?;
    // What was decided since may name items that the run as it was read does not have.
    records.retain(|record| record.version <= run.version);
    let next_after = records.last().filter(|_| records.len() == limit).map(|last| last.version);
    let items = records.iter().map(|record| history::record(run, record)).collect();
    Ok(Json(HistoryPage { items, next_after }).into_response())
}

/// Say why a job is where it is
#[utoipa::path(
    get, path = "/v1/jobs/{job}/explain", tag = "jobs", operation_id = "explainJob",
    params(schema::JobPath),
    responses((status = 200, description = "Why the job waits", body = schema::Explanation)),
)]
async fn explain_job(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
) -> Result<Json<Explanation>, ApiError> {
    let run = find(&api, &caller, id).await?;
    Ok(Json(explain(&run, api.engine().now())))
}

#[derive(Serialize)]
struct StaleReportView {
    step_id: String,
    kind: String,
    attempt_no: u32,
    lease_id: stepwell_core::id::LeaseId,
    reason: String,
    at: Moment,
}

/// List reports that came too late or from the wrong attempt
///
/// They were recorded and changed nothing. The first hundred of a job are kept.
#[utoipa::path(
    get, path = "/v1/jobs/{job}/stale-reports", tag = "jobs", operation_id = "listStaleReports",
    params(schema::JobPath),
    responses((status = 200, description = "The reports, oldest first", body = schema::StaleReportList)),
)]
async fn stale_reports(
    State(api): State<Api>,
    caller: Caller,
    JobId(id): JobId,
) -> Result<Response, ApiError> {
    find(&api, &caller, id).await?;
    let reports = api.engine().store().stale_reports(id).await?;
    let items = reports.into_iter().map(|report| StaleReportView {
        step_id: report.step,
        kind: report.kind,
        attempt_no: report.attempt,
        lease_id: report.lease,
        reason: report.reason,
        at: Moment(report.at),
    });
    Ok(Json(Items { items: items.collect(), next_cursor: None }).into_response())
}
