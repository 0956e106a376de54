//! Dead letters: see what was given up, take it up again, or let it be.
//!
//! A dead letter stands for a job that failed, for a message that could not be delivered, or for an
//! order that never became a job. Taking them up again is in [`replay`].

mod replay;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::step::StepError;
use stepwell_dialects::moment::Moment;
use stepwell_store::{DeadLetter, DeadLetterFilter, Settlement};
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{JsonBody, Name, Query};
use crate::schema;
use crate::state::Api;

const PAGE_DEFAULT: usize = 50;
const PAGE_MAX: usize = 200;

pub(super) fn add(routes: Routes) -> Routes {
    let read = Access::Needs(Permission::ReadDeadLetters);
    let settle = Access::Needs(Permission::SettleDeadLetters);
    routes
        .add(read, routes!(list))
        .add(read, routes!(get))
        .add(settle, routes!(replay::one))
        .add(settle, routes!(discard))
        .add(settle, routes!(replay::many))
}

#[derive(Serialize)]
struct DeadLetterView {
    id: i64,
    job_id: Option<RunId>,
    tenant_id: Tenant,
    protocol_id: String,
    reason: String,
    step_id: Option<String>,
    error: StepError,
    at: Moment,
    settlement: Option<SettlementView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize)]
struct SettlementView {
    at: Moment,
    actor: String,
    replayed_as: Option<RunId>,
    reason: String,
}

impl From<DeadLetter> for DeadLetterView {
    fn from(dead: DeadLetter) -> Self {
        Self {
            id: dead.id,
            job_id: dead.run,
            tenant_id: dead.tenant,
            protocol_id: dead.workflow,
            reason: dead.letter.reason,
            step_id: dead.letter.step,
            error: dead.letter.error,
            at: Moment(dead.letter.at),
            settlement: dead.settlement.map(|settlement| SettlementView {
                at: Moment(settlement.at),
                actor: settlement.actor,
                replayed_as: settlement.replayed_as,
                reason: settlement.reason,
            }),
            message: None,
        }
    }
}

impl DeadLetterView {
    /// With the order itself, which a list leaves out because it may be large.
    fn whole(mut dead: DeadLetter) -> Self {
        let message = dead.message.take();
        Self { message, ..Self::from(dead) }
    }
}

#[derive(Serialize)]
struct DeadLetterPage {
    items: Vec<DeadLetterView>,
    next_cursor: Option<String>,
}

/// List dead letters, newest first
#[utoipa::path(
    get, path = "/v1/dead-letters", tag = "dead letters", operation_id = "listDeadLetters",
    params(schema::DeadLetterQuery),
    responses((status = 200, description = "A page of dead letters", body = schema::DeadLetterPage)),
)]
async fn list(State(api): State<Api>, caller: Caller, query: Query) -> Result<Response, ApiError> {
    let names = ["workflow", "tenant", "job_id", "settled", "limit", "cursor"];
    let parameters = query.known(&names)?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let tenant = parameters.one("tenant")?;
    tenant.map_or(Ok(()), |tenant| caller.acts_for(tenant))?;
    let settled = parameters.read("settled", "true or false", |text| text.parse().ok())?;
    let filter = DeadLetterFilter {
        tenant: caller.tenant.clone().or_else(|| tenant.map(Tenant::new)),
        workflow: parameters.one("workflow")?.map(str::to_owned),
        run: parameters.read("job_id", "the id of a job", |text| text.parse().ok())?,
        id: None,
        with_settled: settled.unwrap_or(false),
        before: parameters.read("cursor", "the next_cursor before", |text| text.parse().ok())?,
        limit,
        ..DeadLetterFilter::default()
    };
    let letters = api.engine().store().dead_letters(filter).await?;
    let next = letters.last().filter(|_| letters.len() == limit).map(|last| last.id.to_string());
    let items = letters.into_iter().map(DeadLetterView::from).collect();
    Ok(Json(DeadLetterPage { items, next_cursor: next }).into_response())
}

/// The dead letter of this id, if it exists for the caller.
async fn find(api: &Api, caller: &Caller, Name(id): Name) -> Result<DeadLetter, ApiError> {
    let missing = || ApiError::new(Code::DeadLetterNotFound, "there is no such dead letter");
    let id: i64 = id.parse().map_err(|_| missing())?;
    let filter = DeadLetterFilter {
        tenant: caller.tenant.clone(),
        id: Some(id),
        with_settled: true,
        limit: 1,
        ..DeadLetterFilter::default()
    };
    api.engine().store().dead_letters(filter).await?.pop().ok_or_else(missing)
}

fn settled() -> ApiError {
    ApiError::new(Code::DeadLetterSettled, "somebody has already dealt with the dead letter")
}

/// Notes what became of a letter; `false` if something was noted before.
async fn note(
    api: &Api,
    caller: &Caller,
    id: i64,
    replayed_as: Option<RunId>,
    reason: &str,
) -> Result<bool, ApiError> {
    let settlement = Settlement {
        at: api.engine().now(),
        actor: caller.subject.clone(),
        replayed_as,
        reason: reason.to_owned(),
    };
    Ok(api.engine().store().settle_dead_letter(id, settlement).await?)
}

/// Show a dead letter
///
/// With the order, if it is one that never became a job.
#[utoipa::path(
    get, path = "/v1/dead-letters/{id}", tag = "dead letters", operation_id = "getDeadLetter",
    params(schema::DeadLetterPath),
    responses((status = 200, description = "The dead letter", body = schema::DeadLetter)),
)]
async fn get(State(api): State<Api>, caller: Caller, id: Name) -> Result<Response, ApiError> {
    let letter = find(&api, &caller, id).await?;
    Ok(Json(DeadLetterView::whole(letter)).into_response())
}

/// Let a dead letter be
///
/// It stays visible with who discarded it and why.
#[utoipa::path(
    post, path = "/v1/dead-letters/{id}:discard", tag = "dead letters", operation_id = "discardDeadLetter",
    params(schema::DeadLetterPath), request_body = schema::DiscardRequest,
    responses((status = 200, description = "The dead letter as it is now", body = schema::DeadLetter)),
)]
async fn discard(
    State(api): State<Api>,
    caller: Caller,
    Name(id): Name,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = body.read(|fields| {
        let reason = fields.required("reason").and_then(|field| field.text_within(1..=500));
        reason.map(str::to_owned)
    })?;
    let letter = find(&api, &caller, Name(id.clone())).await?;
    if !note(&api, &caller, letter.id, None, &reason).await? {
        return Err(settled());
    }
    let letter = find(&api, &caller, Name(id)).await?;
    Ok(Json(DeadLetterView::whole(letter)).into_response())
}
