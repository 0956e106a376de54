//! Workers over HTTP: lease directives, keep them, give them back, report on them in batches.

use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::Value;
use stepwell_connectors::bus::{Lane, LaneSet};
use stepwell_core::command::{Command, Fence};
use stepwell_dialects::commands::Rejection;
use stepwell_dialects::commands::directive::{CallbackUrls, DirectiveMessage, render};
use stepwell_dialects::commands::outcome::{self, JobRef};
use stepwell_dialects::fields::Field;
use stepwell_dialects::moment::Moment;
use stepwell_engine::{Answered, Ask, EngineError, Held, Take, Taken};
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::callback::Subject;
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code, ProblemDetails};
use crate::extract::{JsonBody, Name};
use crate::schema;
use crate::serve::Stopping;
use crate::state::Api;

/// Items of one request, leased or reported on.
const ITEMS_MAX: usize = 256;

/// Results may be large; a batch of them is allowed more than a single request is.
const BATCH_BODY_MAX: usize = 8 * 1024 * 1024;

const WAIT_SECONDS_MAX: u64 = 30;
const VISIBILITY_SECONDS_MAX: u64 = 3_600;
const VISIBILITY_SECONDS_DEFAULT: u64 = 60;

pub(super) fn add(routes: Routes) -> Routes {
    let work = Access::Needs(Permission::Work);
    routes
        .add(work, routes!(lease))
        .add(work, routes!(extend))
        .add(work, routes!(nack))
        .add_with_body(work, BATCH_BODY_MAX, routes!(acks))
        .add_with_body(work, BATCH_BODY_MAX, routes!(results))
}

/// What a worker asks for.
struct LeaseRequest {
    max: usize,
    wait: Duration,
    visibility: Duration,
    lanes: LaneSet,
}

/// Lease directives of a pool
///
/// Answers at once if any are there, else waits up to `wait_seconds` for the first. Each is kept from
/// other workers for `visibility_seconds`; whoever needs longer extends it.
#[utoipa::path(
    post, path = "/v1/workers/{pool}/lease", tag = "workers", operation_id = "leaseDirectives",
    params(("pool" = String, Path, description = "the platform service")),
    request_body = Option<schema::LeaseRequest>,
    responses((status = 200, description = "Directives, perhaps none", body = schema::Leased)),
)]
async fn lease(
    State(api): State<Api>,
    caller: Caller,
    Name(pool): Name,
    stopping: Option<Extension<Stopping>>,
    body: JsonBody,
) -> Result<Response, ApiError> {
    // A pool serves all tenants, and what was delivered cannot be given back uncounted.
    caller.is_for_all_tenants("a pool holds directives of all tenants")?;
    let LeaseRequest { max, wait, visibility, lanes } = lease_request(&body)?;
    let take = Take { pool: &pool, lanes, max, wait, visibility };
    let taken = tokio::select! {
        taken = api.engine().take(take) => taken?,
        () = Stopping::wait(stopping.map(|Extension(it)| it)) => return Err(EngineError::Stopped.into()),
    };
    Ok(leased(&api, &taken))
}

fn lease_request(body: &JsonBody) -> Result<LeaseRequest, ApiError> {
    body.read(|fields| {
        let max = fields.optional_integer("max", 1..=ITEMS_MAX);
        let wait = fields.optional_integer("wait_seconds", 0..=WAIT_SECONDS_MAX);
        let visibility = fields.optional("visibility_seconds").and_then(|it| visibility(&it));
        let lanes = fields.optional("lanes").and_then(|field| {
            let lanes = field.items()?.into_iter().filter_map(|lane| lane.integer(0..=15_u8));
            Some(lanes.filter_map(Lane::new).collect())
        });
        Some(LeaseRequest {
            max: max.unwrap_or(1),
            wait: Duration::from_secs(wait.unwrap_or(0)),
            visibility: visibility.unwrap_or(Duration::from_secs(VISIBILITY_SECONDS_DEFAULT)),
            lanes: lanes.unwrap_or(LaneSet::ALL),
        })
    })
}

fn visibility(field: &Field<'_, Value>) -> Option<Duration> {
    field.integer(1..=VISIBILITY_SECONDS_MAX).map(Duration::from_secs)
}

#[derive(Serialize)]
struct Leased<'a> {
    directives: Vec<LeasedDirective<'a>>,
}

#[derive(Serialize)]
struct LeasedDirective<'a> {
    delivery: String,
    locked_until: Moment,
    deliveries: u32,
    directive: DirectiveMessage<'a>,
}

fn leased(api: &Api, taken: &[Taken]) -> Response {
    let urls: Vec<CallbackUrls> = taken.iter().map(|taken| callback_urls(api, taken)).collect();
    let directives = taken.iter().zip(&urls).filter_map(|(taken, urls)| {
        Some(LeasedDirective {
            delivery: taken.held.to_string(),
            locked_until: Moment(taken.locked_until),
            deliveries: taken.deliveries,
            directive: render(&taken.run, taken.directive.step, urls)?,
        })
    });
    Json(Leased { directives: directives.collect() }).into_response()
}

/// Where the worker answers, with the proof that belongs to this attempt alone.
fn callback_urls(api: &Api, taken: &Taken) -> CallbackUrls {
    let (run, directive) = (&taken.run, &taken.directive);
    let subject = Subject {
        tenant: run.header.tenant.as_str(),
        run: run.id(),
        step: &run.step_id(directive.step),
        fence: Fence { attempt: directive.attempt, lease: directive.lease },
    };
    let lease = run.steps[directive.step.position()].lease;
    let expires_at = lease.map_or(taken.locked_until, |lease| lease.expires_at);
    let token = api.callback_key().token(&subject, expires_at);
    let url = |what| format!("{}/v1/callbacks/{what}?token={token}", api.settings().base_url);
    CallbackUrls { ack: url("ack"), result: url("result") }
}

#[derive(Serialize)]
struct Deliveries {
    deliveries: Vec<DeliveryStatus>,
}

#[derive(Serialize)]
struct DeliveryStatus {
    delivery: String,
    status: &'static str,
}

/// Each delivery with what became of it: still the worker's, or lost to somebody else.
fn deliveries(held: &[Held], kept: &[bool]) -> Json<Deliveries> {
    let deliveries = held.iter().zip(kept).map(|(held, kept)| DeliveryStatus {
        delivery: held.to_string(),
        status: if *kept { "ok" } else { "lost" },
    });
    Json(Deliveries { deliveries: deliveries.collect() })
}

/// Keep directives longer
///
/// One answer for each: `ok`, or `lost` if the worker should stop because it is no longer its own.
#[utoipa::path(
    post, path = "/v1/workers/extend", tag = "workers", operation_id = "extendDeliveries",
    request_body = schema::ExtendRequest,
    responses((status = 200, description = "What became of each", body = schema::Deliveries)),
)]
async fn extend(State(api): State<Api>, body: JsonBody) -> Result<Json<Deliveries>, ApiError> {
    let (held, visibility) = body.read(|fields| {
        let items = fields.required("deliveries").and_then(|field| items(&field));
        let visibility = fields.optional("visibility_seconds").and_then(|it| visibility(&it));
        let held = items?.iter().map(held).collect::<Option<Vec<Held>>>()?;
        Some((held, visibility.unwrap_or(Duration::from_secs(VISIBILITY_SECONDS_DEFAULT))))
    })?;
    let kept = api.engine().extend(held.clone(), visibility).await?;
    Ok(deliveries(&held, &kept))
}

/// Give directives back
///
/// Each is handed out again after its `delay_seconds`. The delivery counts; the attempt goes on.
#[utoipa::path(
    post, path = "/v1/workers/nack", tag = "workers", operation_id = "giveBack",
    request_body = schema::NackRequest,
    responses((status = 200, description = "What became of each", body = schema::Deliveries)),
)]
async fn nack(State(api): State<Api>, body: JsonBody) -> Result<Json<Deliveries>, ApiError> {
    let given = body.read(|fields| {
        let items = fields.required("deliveries").and_then(|field| items(&field))?;
        items.into_iter().map(given_back).collect::<Option<Vec<_>>>()
    })?;
    let held: Vec<Held> = given.iter().map(|(held, _)| *held).collect();
    let kept = api.engine().give_back(given).await?;
    Ok(deliveries(&held, &kept))
}

fn given_back(item: Field<'_, Value>) -> Option<(Held, Duration)> {
    let mut fields = item.fields()?;
    let delivery = fields.required("delivery").and_then(|field| held(&field));
    let delay = fields.optional_integer("delay_seconds", 0..=VISIBILITY_SECONDS_MAX);
    fields.finish();
    Some((delivery?, Duration::from_secs(delay.unwrap_or(0))))
}

fn held(field: &Field<'_, Value>) -> Option<Held> {
    let read: Result<Held, _> = field.text()?.parse();
    read.map_err(|error| field.report(field.problem("bad_delivery", error.to_string()))).ok()
}

/// The items of a list that is neither empty nor too long.
fn items<'n>(field: &Field<'n, Value>) -> Option<Vec<Field<'n, Value>>> {
    let items = field.items()?;
    if (1..=ITEMS_MAX).contains(&items.len()) {
        return Some(items);
    }
    let message = format!("there are {} items", items.len());
    field.report(field.problem("out_of_range", message).help("send 1 to 256"));
    None
}

/// Say that attempts were taken
///
/// One answer for each item, in order. A bad item does not keep the others from counting.
#[utoipa::path(
    post, path = "/v1/workers/acks", tag = "workers", operation_id = "reportAcks",
    request_body = schema::AckBatch,
    responses((status = 200, description = "One answer for each", body = schema::Answers)),
)]
async fn acks(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let items = batch(&body, "acks")?;
    report(&api, &caller, outcome::acks(items)).await
}

/// Say what came of attempts
///
/// One answer for each item, in order. A bad item does not keep the others from counting.
#[utoipa::path(
    post, path = "/v1/workers/results", tag = "workers", operation_id = "reportResults",
    request_body = schema::ResultBatch,
    responses((status = 200, description = "One answer for each", body = schema::Answers)),
)]
async fn results(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let items = batch(&body, "results")?;
    report(&api, &caller, outcome::results(items)).await
}

fn batch<'b>(body: &'b JsonBody, name: &'static str) -> Result<&'b [Value], ApiError> {
    body.read(|fields| fields.required(name).and_then(|field| items(&field)).map(drop))?;
    Ok(body.0.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice))
}

/// What a worker is told about its report.
#[derive(Serialize)]
pub(super) struct Told {
    applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Told {
    /// Applied, or recorded and without effect; everything else is an error.
    pub(super) fn of(answered: Answered) -> Result<Self, ApiError> {
        match answered {
            Ok(_) => Ok(Self { applied: true, reason: None }),
            Err(EngineError::Refused(refusal)) if refusal.is_stale() => {
                Ok(Self { applied: false, reason: Some(refusal.code()) })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The answer for one item of a batch.
#[derive(Serialize)]
struct ItemAnswer<'a> {
    #[serde(flatten)]
    told: Told,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemDetails<'a>>,
}

#[derive(Serialize)]
struct Answers<'a> {
    answers: Vec<ItemAnswer<'a>>,
}

/// Asks for all sound items at once, so that they share one commit, and answers each in its place.
async fn report(
    api: &Api,
    caller: &Caller,
    reports: Vec<Result<(JobRef, Command), Rejection>>,
) -> Result<Response, ApiError> {
    let ids = reports.iter().flatten().map(|(job, _)| job.run).collect();
    let runs = api.engine().runs_in_brief(ids).await?;
    let checked = reports.into_iter().map(|report| {
        let (job, command) = report?;
        caller.acts_for(job.tenant.as_str())?;
        match runs.get(&job.run) {
            Some(run) if run.header.tenant == job.tenant => Ok(Ask::command(job.run, command)),
            Some(_) => {
                let detail = "the job does not belong to the tenant_id of the report";
                Err(ApiError::new(Code::TenantMismatch, detail))
            }
            None => Err(ApiError::new(Code::JobNotFound, "there is no such job")),
        }
    });
    let mut asks = Vec::new();
    let mut places: Vec<Result<(), ApiError>> = Vec::new();
    for ask in checked {
        places.push(ask.map(|ask| asks.push(ask)));
    }
    let mut answered = api.engine().ask(asks).await?.into_iter();
    let told: Vec<Result<Told, ApiError>> = places
        .into_iter()
        .map(|place| {
            place?;
            Told::of(answered.next().unwrap_or(Err(EngineError::Stopped)))
        })
        .collect();
    Ok(answers(&told))
}

fn answers(told: &[Result<Told, ApiError>]) -> Response {
    let answers = told.iter().map(|told| match told {
        Ok(Told { applied, reason }) => {
            ItemAnswer { told: Told { applied: *applied, reason: *reason }, problem: None }
        }
        Err(error) => ItemAnswer {
            told: Told { applied: false, reason: Some(error.code().word()) },
            problem: Some(error.details(None)),
        },
    });
    Json(Answers { answers: answers.collect() }).into_response()
}
