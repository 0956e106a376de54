//! Jobs and results as the workers of runbooks know them, over HTTP (A-083 … … A-204).
//!
//! A worker that spoke to a topic speaks to these routes with the same messages: it receives from what
//! would be its subscription, keeps its locks while it works, and sends results. A result settles its
//! job; a lock that ran out only means that another worker may get the job too.

use std::time::Duration;

use axum::Extension;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_connectors::bus::LaneSet;
use stepwell_dialects::fields::{Field, parse_json};
use stepwell_dialects::moment::Moment;
use stepwell_dialects::problem::{Problem, Problems, Report};
use stepwell_dialects::runbooks::directive::WorkerJobMessage;
use stepwell_dialects::runbooks::message::Rejection;
use stepwell_dialects::runbooks::outcome::{self, WorkerResult};
use stepwell_dialects::runbooks::view::job_message;
use stepwell_engine::{Engine, EngineError, Held, NumberedReport, Take, Taken};
use tokio::task::JoinSet;

use super::acts_here;
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{JsonBody, JsonBytes, Name};
use crate::schema;
use crate::serve::Stopping;
use crate::state::Api;

/// Messages of one request, received or sent.
const MESSAGES_MAX: usize = 256;

const WAIT_SECONDS_MAX: u64 = 30;
const LOCK_SECONDS_MAX: u64 = 3_600;
const LOCK_SECONDS_DEFAULT: u64 = 60;

/// A job that another kind of worker must do is handed out again after this.
const NOT_OURS: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Messages<'a> {
    messages: Vec<MessageView<'a>>,
}

#[derive(Serialize)]
struct MessageView<'a> {
    body: WorkerJobMessage<'a>,
    properties: Properties<'a>,
    lock_token: String,
    delivery_count: u32,
    locked_until: Moment,
}

#[derive(Serialize)]
struct Properties<'a> {
    #[serde(rename = "WorkerId")]
    worker_id: &'a str,
}

/// Receive jobs of a worker
///
/// Answers at once if any are there, else waits up to `wait_sec` for the first. Each is kept from
/// others for `lock_sec`; whoever needs longer renews the lock. The result settles the job.
#[utoipa::path(
    post, path = "/api/worker-jobs/{worker_id}/receive", tag = "runbook workers",
    operation_id = "receiveWorkerJobs",
    params(("worker_id" = String, Path, description = "the `worker_id` of the steps")),
    request_body = Option<schema::ReceiveRequest>,
    responses((status = 200, description = "Jobs, perhaps none", body = schema::WorkerJobs)),
)]
pub(super) async fn receive(
    State(api): State<Api>,
    caller: Caller,
    Name(worker_id): Name,
    stopping: Option<Extension<Stopping>>,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (max, wait, visibility) = body.read(|fields| {
        let max = fields.optional_integer("max", 1..=MESSAGES_MAX);
        let wait = fields.optional_integer("wait_sec", 0..=WAIT_SECONDS_MAX);
        let lock = fields.optional("lock_sec").and_then(|field| lock(&field));
        let wait = Duration::from_secs(wait.unwrap_or(0));
        Some((max.unwrap_or(1), wait, lock.unwrap_or(LOCK_DEFAULT)))
    })?;
    // A pool serves all tenants, and what was delivered cannot be given back uncounted.
    caller.is_for_all_tenants("a worker's jobs may be of all tenants")?;
    let take = Take { pool: &worker_id, lanes: LaneSet::ALL, max, wait, visibility };
    let taken = tokio::select! {
        taken = api.engine().take(take) => taken?,
        () = Stopping::wait(stopping.map(|Extension(it)| it)) => return Err(EngineError::Stopped.into()),
    };
    give_back_others(api.engine(), &taken).await?;
    let messages = taken.iter().filter_map(message).collect();
    Ok(Json(Messages { messages }).into_response())
}

const LOCK_DEFAULT: Duration = Duration::from_secs(LOCK_SECONDS_DEFAULT);

fn lock(field: &Field<'_, Value>) -> Option<Duration> {
    field.integer(1..=LOCK_SECONDS_MAX).map(Duration::from_secs)
}

fn message(taken: &Taken) -> Option<MessageView<'_>> {
    let body = job_message(&taken.run, taken.directive.step)?;
    Some(MessageView {
        properties: Properties { worker_id: body.worker_id },
        body,
        lock_token: taken.held.to_string(),
        delivery_count: taken.deliveries,
        locked_until: Moment(taken.locked_until),
    })
}

/// Steps of workflows may wait in a pool of the same name. Their messages are not of this wire.
async fn give_back_others(engine: &Engine, taken: &[Taken]) -> Result<(), ApiError> {
    let others = taken.iter().filter(|taken| message(taken).is_none());
    let others: Vec<(Held, Duration)> = others.map(|taken| (taken.held, NOT_OURS)).collect();
    if !others.is_empty() {
        engine.give_back(others).await?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Locks {
    locks: Vec<LockView>,
}

#[derive(Serialize)]
struct LockView {
    lock_token: String,
    status: &'static str,
}

/// Renew locks
///
/// One answer for each: `ok`, or `lost` if the worker should stop because the job is no longer its own.
#[utoipa::path(
    post, path = "/api/worker-jobs/renew", tag = "runbook workers", operation_id = "renewWorkerLocks",
    request_body = schema::RenewRequest,
    responses((status = 200, description = "What became of each", body = schema::WorkerLocks)),
)]
pub(super) async fn renew(State(api): State<Api>, body: JsonBody) -> Result<Response, ApiError> {
    let (held, visibility) = body.read(|fields| {
        let tokens = fields.required("lock_tokens").and_then(|field| tokens(&field));
        let lock = fields.optional("lock_sec").and_then(|field| lock(&field));
        Some((tokens?, lock.unwrap_or(LOCK_DEFAULT)))
    })?;
    let kept = api.engine().extend(held.clone(), visibility).await?;
    let locks = held.iter().zip(kept).map(|(held, kept)| LockView {
        lock_token: held.to_string(),
        status: if kept { "ok" } else { "lost" },
    });
    Ok(Json(Locks { locks: locks.collect() }).into_response())
}

fn tokens(field: &Field<'_, Value>) -> Option<Vec<Held>> {
    let items = field.items()?;
    if !(1..=MESSAGES_MAX).contains(&items.len()) {
        let problem = field.problem("out_of_range", format!("there are {} items", items.len()));
        field.report(problem.help("send 1 to 256"));
        return None;
    }
    let held = |item: &Field<'_, Value>| {
        let message = "this is no lock; send back the lock_token of the job unchanged";
        let held: Option<Held> = item.text()?.parse().ok();
        held.or_else(|| {
            item.report(item.problem("bad_lock", message));
            None
        })
    };
    items.iter().map(held).collect()
}

#[derive(Serialize)]
struct Results {
    results: Vec<ResultView>,
}

#[derive(Serialize)]
struct ResultView {
    #[serde(rename = "JobId")]
    job_id: String,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// Say what came of jobs
///
/// One result, or a list of them, as a worker sends them to `worker-results`. One answer for each:
/// `accepted`; `ignored` if the job is no longer the one under way; `unknown` if it never was. Only
/// what cannot be read is an error, and then none of the list is taken.
#[utoipa::path(
    post, path = "/api/worker-results", tag = "runbook workers", operation_id = "reportWorkerResults",
    request_body = schema::WorkerResults,
    responses((status = 202, description = "One answer for each", body = schema::WorkerResultAnswers)),
)]
pub(super) async fn results(
    State(api): State<Api>,
    caller: Caller,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let results = read(&body)?;
    acts_here(&caller)?;
    // All at once, so that they share a commit.
    let mut reports = JoinSet::new();
    for (place, result) in results.into_iter().enumerate() {
        let engine = api.engine().clone();
        reports.spawn(async move { (place, report(&engine, result).await) });
    }
    let mut told = reports.join_all().await;
    told.sort_unstable_by_key(|(place, _)| *place);
    let results = told.into_iter().map(|(_, told)| told).collect::<Result<_, ApiError>>()?;
    Ok((StatusCode::ACCEPTED, Json(Results { results })).into_response())
}

/// A result that could be read, or the id of a job that is nobody's.
type Read = Result<WorkerResult, String>;

/// Reads one result or a list, and reports every fault of all of them.
fn read(body: &[u8]) -> Result<Vec<Read>, ApiError> {
    let malformed = |problem: Problem| ApiError::of_problems(Code::MalformedRequest, problem);
    let value = parse_json(body).map_err(malformed)?;
    let (items, is_list) = match value {
        Value::Array(items) => (items, true),
        one => (vec![one], false),
    };
    if !(1..=MESSAGES_MAX).contains(&items.len()) {
        let message = format!("there are {} results", items.len());
        return Err(invalid(Problem::new("out_of_range", message).help("send 1 to 256").into()));
    }
    let report = Report::new();
    let read = items.iter().enumerate().filter_map(|(place, item)| {
        match outcome::read(item.to_string().as_bytes()) {
            Ok(result) => Some(Ok(result)),
            Err(Rejection::UnknownJobId { job_id }) => Some(Err(job_id)),
            Err(Rejection::Invalid(problems)) => {
                let prefix = if is_list { format!("[{place}].") } else { String::new() };
                for problem in problems.iter() {
                    let path = format!("{prefix}{}", problem.path);
                    report.add(problem.clone().at(path.trim_end_matches('.')));
                }
                None
            }
            Err(other) => {
                report.add(Problem::new("message_invalid", other.to_string()));
                None
            }
        }
    });
    let read: Vec<Read> = read.collect();
    report.finish(Some(read)).map_err(invalid)
}

fn invalid(problems: Problems) -> ApiError {
    ApiError::of_problems(Code::InvalidResult, problems)
}

async fn report(engine: &Engine, result: Read) -> Result<ResultView, ApiError> {
    let result = match result {
        Ok(result) => result,
        Err(job_id) => return Ok(told(job_id, NumberedReport::Unknown)),
    };
    let report = engine.report_numbered(&result).await?;
    Ok(told(result.job_id.to_string(), report))
}

fn told(job_id: String, report: NumberedReport) -> ResultView {
    let (outcome, detail) = match report {
        NumberedReport::Accepted => ("accepted", None),
        NumberedReport::Ignored(why) => ("ignored", Some(why)),
        NumberedReport::Unknown => ("unknown", Some("no job of ours has this JobId".to_owned())),
    };
    if outcome != "accepted" {
        tracing::info!(job_id, outcome, "worker_result_without_effect");
    }
    ResultView { job_id, outcome, detail }
}
