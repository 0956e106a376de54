//! The log of events: page by page, or live as server-sent events.
//!
//! The log is the source, and a change is only the hint to read on. Whoever names the event it saw last
//! gets all that followed, in order, however long it was away; if retention was faster, it is told so.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Serialize;
use serde_json::value::RawValue;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_dialects::event::{KINDS, kind_of};
use stepwell_store::{EventFilter, EventPlace, Events};
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::event_log;
use crate::events::LAST_EVENT_ID;
use crate::extract::{Parameters, Query, header};
use crate::job_id;
use crate::schema;
use crate::serve::Stopping;
use crate::state::Api;

const PAGE_DEFAULT: usize = 100;
const PAGE_MAX: usize = 1_000;

const DIALECTS: &str = "one of runbooks, platform, workspaces, commands";

pub(super) fn add(routes: Routes) -> Routes {
    routes.add(Access::Needs(Permission::ReadJobs), routes!(events))
}

/// An event with its place in the log.
#[derive(Serialize)]
struct EventItem {
    id: EventPlace,
    event: Box<RawValue>,
}

#[derive(Serialize)]
struct EventPage {
    items: Vec<EventItem>,
    next_after: EventPlace,
    oldest: Option<EventPlace>,
}

/// Follow what happens
///
/// CloudEvents in the order in which they were committed, live as server-sent events: from the
/// beginning, after `Last-Event-ID`, or after `after`. With `Accept: application/json` a page of them
/// is answered instead, and `next_after` is the `after` of the next, now or later. Whoever was away for
/// longer than events are kept is sent an event `missed`, or answered 410.
#[utoipa::path(
    get, path = "/v1/events", tag = "events", operation_id = "readEvents",
    params(schema::EventLogQuery, ("Last-Event-ID" = Option<String>, Header, description = "the event that was seen last")),
    responses((status = 200, description = "Events", content(
        (schema::EventPage = "application/json"), (String = "text/event-stream")))),
)]
async fn events(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    query: Query,
    stopping: Option<Extension<Stopping>>,
) -> Result<Response, ApiError> {
    let names = ["after", "limit", "tenant", "dialect", "kind", "job_id"];
    let parameters = query.known(&names)?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let after = after(&headers, &parameters)?;
    let filter = filter(&caller, &parameters)?;
    if is_live(&headers)? {
        return event_log::follow(api, filter, after, stopping.map(|Extension(it)| it));
    }
    let events = api.engine().store().events(filter, after, limit).await?;
    if let Some(oldest) = event_log::missed(after, &events) {
        let detail = format!("events after {} are no longer kept", after.0);
        let next = format!("Read on with `after={}`: the oldest that are kept.", oldest.0 - 1);
        return Err(ApiError::new(Code::EventsMissed, detail).next(next));
    }
    page(events)
}

/// Events are sent live unless the caller wants JSON and nothing else.
fn is_live(headers: &HeaderMap) -> Result<bool, ApiError> {
    let kinds = header(headers, &ACCEPT)?.unwrap_or_default();
    Ok(!kinds.contains("application/json") || kinds.contains("text/event-stream"))
}

fn page(events: Events) -> Result<Response, ApiError> {
    let Events { events, upto, oldest } = events;
    let items = events.into_iter().map(|stored| {
        let event = RawValue::from_string(stored.event.body);
        let event = event.map_err(|error| ApiError::internal(&error.to_string()))?;
        Ok(EventItem { id: stored.place, event })
    });
    let items = items.collect::<Result<_, ApiError>>()?;
    Ok(Json(EventPage { items, next_after: upto, oldest }).into_response())
}

/// The place after which to begin: what a live client saw last, or else what the query says.
fn after(headers: &HeaderMap, parameters: &Parameters) -> Result<EventPlace, ApiError> {
    let read = |text: &str| text.parse().ok().filter(|place| *place >= 0).map(EventPlace);
    let asked = parameters.read("after", "the id of an event", read)?;
    let Some(seen) = header(headers, &LAST_EVENT_ID)? else { return Ok(asked.unwrap_or_default()) };
    read(seen).ok_or_else(|| {
        ApiError::parameter(LAST_EVENT_ID.as_str(), "write the id of an event, such as 7")
    })
}

fn filter(caller: &Caller, parameters: &Parameters) -> Result<EventFilter, ApiError> {
    let tenant = parameters.one("tenant")?;
    tenant.map_or(Ok(()), |tenant| caller.acts_for(tenant))?;
    let dialects = parameters.all("dialect").map(|word| {
        let refused = || ApiError::parameter("dialect", format!("write {DIALECTS}"));
        Dialect::of_word(word).ok_or_else(refused)
    });
    let kinds = parameters.all("kind").map(|word| {
        let refused = || ApiError::parameter("kind", format!("write one of {}", KINDS.join(", ")));
        kind_of(word).map(str::to_owned).ok_or_else(refused)
    });
    Ok(EventFilter {
        tenant: caller.tenant.clone().or_else(|| tenant.map(Tenant::new)),
        dialects: dialects.collect::<Result<_, _>>()?,
        kinds: kinds.collect::<Result<_, _>>()?,
        run: parameters.read("job_id", "the id of a job", job_id::read)?,
    })
}
