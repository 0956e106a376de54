//! Workers over HTTP: lease directives, keep them, give them back, report on them in batches.
//!
//! [`handed_out`] is what a worker is given, [`reports`] what it says of it, and [`heartbeats`] that it is
//! still at it. [`messages`] is for workers that take the messages of jobs from a queue of their own.

mod handed_out;
mod heartbeats;
mod messages;
mod reports;

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::Value;
use stepwell_connectors::bus::{Lane, LaneSet};
use stepwell_dialects::fields::Field;
use stepwell_engine::{EngineError, Held, Take};
use utoipa_axum::routes;

pub(super) use self::reports::{Judged, fence_of};
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::ApiError;
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
        .add_with_body(work, BATCH_BODY_MAX, routes!(reports::acks))
        .add_with_body(work, BATCH_BODY_MAX, routes!(reports::results))
        .add(work, routes!(heartbeats::heartbeats))
        .add(work, routes!(messages::begin))
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
    Ok(handed_out::leased(&api, &taken))
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
