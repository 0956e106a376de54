//! Dead letters: see what was given up, take it up again, or let it be.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::step::StepError;
use stepwell_dialects::fields::Fields;
use stepwell_dialects::moment::Moment;
use stepwell_engine::{Ask, EngineError, Reply};
use stepwell_store::{DeadLetter, DeadLetterFilter, Settlement};
use utoipa_axum::routes;

use super::operate::{reason, take_up};
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code, ProblemDetails};
use crate::extract::{JsonBody, Name, Query};
use crate::schema;
use crate::state::Api;

const PAGE_DEFAULT: usize = 50;
const PAGE_MAX: usize = 200;

/// The reason of dead letters that stand for a failed run.
const RUN_FAILED: &str = "run_failed";

pub(super) fn add(routes: Routes) -> Routes {
    let settle = Access::Needs(Permission::SettleDeadLetters);
    routes
        .add(Access::Needs(Permission::ReadDeadLetters), routes!(list))
        .add(settle, routes!(replay))
        .add(settle, routes!(discard))
        .add(settle, routes!(replay_many))
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
        }
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

/// One dead letter that was to be replayed.
#[derive(Serialize)]
struct Replayed<'a> {
    id: i64,
    #[serde(rename = "jobId", skip_serializing_if = "Option::is_none")]
    job_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemDetails<'a>>,
}

#[derive(Serialize)]
struct ReplayedMany<'a> {
    items: Vec<Replayed<'a>>,
}

/// Take up what a dead letter stands for
///
/// A failed job is taken up again as a new job, as with `POST /v1/jobs/{job}:retry`.
#[utoipa::path(
    post, path = "/v1/dead-letters/{id}:replay", tag = "dead letters", operation_id = "replayDeadLetter",
    params(schema::DeadLetterPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The new job", body = schema::Replayed)),
)]
async fn replay(
    State(api): State<Api>,
    caller: Caller,
    id: Name,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = body.read(|fields| Some(reason(fields)))?;
    let letter = find(&api, &caller, id).await?;
    let id = letter.id;
    let outcome = take_up_all(&api, &caller, vec![letter], &reason).await?;
    let (_, replayed) = outcome.into_iter().next().ok_or(EngineError::Stopped)?;
    Ok(Json(Replayed { id, job_id: Some(replayed?), problem: None }).into_response())
}

/// Take up many dead letters at once
///
/// The newest that the filter leaves, at most `limit`; one result for each.
#[utoipa::path(
    post, path = "/v1/dead-letters:replay", tag = "dead letters", operation_id = "replayDeadLetters",
    request_body = Option<schema::ReplayRequest>,
    responses((status = 200, description = "One result for each", body = schema::ReplayedMany)),
)]
async fn replay_many(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (filter, reason) = body.read(|fields| Some((filter(fields, &caller)?, reason(fields))))?;
    if let Some(tenant) = &filter.tenant {
        caller.acts_for(tenant.as_str())?;
    }
    let letters = api.engine().store().dead_letters(filter).await?;
    let outcomes = take_up_all(&api, &caller, letters, &reason).await?;
    let items = outcomes.iter().map(|(id, outcome)| Replayed {
        id: *id,
        job_id: outcome.as_ref().ok().copied(),
        problem: outcome.as_ref().err().map(|error| error.details(None)),
    });
    Ok(Json(ReplayedMany { items: items.collect() }).into_response())
}

fn filter(fields: &mut Fields<'_, Value>, caller: &Caller) -> Option<DeadLetterFilter> {
    let tenant = fields.optional_str("tenant").map(Tenant::new);
    let workflow = fields.optional_str("workflow").map(str::to_owned);
    let limit = fields.optional_integer("limit", 1..=PAGE_MAX);
    Some(DeadLetterFilter {
        tenant: tenant.or_else(|| caller.tenant.clone()),
        workflow,
        limit: limit.unwrap_or(PAGE_DEFAULT),
        ..DeadLetterFilter::default()
    })
}

/// Takes up what the letters stand for, all in one group, and notes it on each letter.
///
/// A run is taken up at most once. So if this breaks off between the new run and the note, doing it
/// again finds the same new run.
async fn take_up_all(
    api: &Api,
    caller: &Caller,
    letters: Vec<DeadLetter>,
    reason: &str,
) -> Result<Vec<(i64, Result<RunId, ApiError>)>, ApiError> {
    let runs = api.engine().runs(letters.iter().filter_map(|letter| letter.run).collect()).await?;
    let mut asks: Vec<Ask> = Vec::new();
    let mut outcomes = Vec::new();
    for letter in &letters {
        let ask = replayable(letter).and_then(|()| match letter.run.and_then(|run| runs.get(&run)) {
            Some(run) => take_up(api, caller, run),
            None => Err(ApiError::new(Code::JobNotFound, "the job no longer exists")),
        });
        outcomes.push(ask.map(|ask| asks.push(ask)));
    }
    let mut replies = api.engine().ask(asks).await?.into_iter();
    let mut answers = Vec::with_capacity(letters.len());
    for (letter, outcome) in letters.iter().zip(outcomes) {
        let outcome = match outcome {
            Ok(()) => {
                let reply = replies.next().unwrap_or(Err(EngineError::Stopped));
                settle(api, caller, letter, reply, reason).await
            }
            Err(error) => Err(error),
        };
        answers.push((letter.id, outcome));
    }
    Ok(answers)
}

fn replayable(letter: &DeadLetter) -> Result<(), ApiError> {
    if letter.settlement.is_some() {
        return Err(settled());
    }
    if letter.letter.reason != RUN_FAILED {
        let detail =
            format!("a dead letter of reason {:?} has no job to take up", letter.letter.reason);
        return Err(ApiError::new(Code::NotReplayable, detail));
    }
    Ok(())
}

fn settled() -> ApiError {
    ApiError::new(Code::DeadLetterSettled, "somebody has already dealt with the dead letter")
}

async fn settle(
    api: &Api,
    caller: &Caller,
    letter: &DeadLetter,
    reply: Result<Reply, EngineError>,
    reason: &str,
) -> Result<RunId, ApiError> {
    let run = match reply? {
        Reply::Started(run) | Reply::Applied(run) => run.id(),
        Reply::Repeated(run) => run,
    };
    note(api, caller, letter.id, Some(run), reason).await?;
    Ok(run)
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
    Ok(Json(DeadLetterView::from(letter)).into_response())
}
