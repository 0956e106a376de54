//! Dead letters: see what was given up, take it up again, or let it be.
//!
//! A dead letter stands for a job that failed, for a message that could not be delivered, or for an
//! order that never became a job. Taking them up again is in [`replay`], letting
//! them be in [`discard`].

mod discard;
mod filter;
mod replay;
mod view;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::id::RunId;
use stepwell_store::{DeadLetter, DeadLetterFilter, Settlement};
use utoipa_axum::routes;

use self::view::DeadLetterView;
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{Name, Query};
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
        .add(settle, routes!(discard::one))
        .add(settle, routes!(replay::many))
        .add(settle, routes!(discard::many))
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
    let filter = filter::of_query(&query.known(&filter::NAMES)?, &caller)?;
    let (limit, now) = (filter.limit, api.engine().now());
    let letters = api.engine().store().dead_letters(filter).await?;
    let next = letters.last().filter(|_| letters.len() == limit).map(|last| last.id.to_string());
    let items = letters.into_iter().map(|letter| DeadLetterView::brief(letter, now)).collect();
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
    let settlement = settlement(api, caller, replayed_as, reason);
    Ok(api.engine().store().settle_dead_letter(id, settlement).await?)
}

fn settlement(api: &Api, caller: &Caller, replayed_as: Option<RunId>, reason: &str) -> Settlement {
    Settlement {
        at: api.engine().now(),
        actor: caller.subject.clone(),
        replayed_as,
        reason: reason.to_owned(),
    }
}

/// Show a dead letter
///
/// With the attempts that were made and where the data of its job lies; with the order, if it is one
/// that never became a job.
#[utoipa::path(
    get, path = "/v1/dead-letters/{id}", tag = "dead letters", operation_id = "getDeadLetter",
    params(schema::DeadLetterPath),
    responses((status = 200, description = "The dead letter", body = schema::DeadLetter)),
)]
async fn get(State(api): State<Api>, caller: Caller, id: Name) -> Result<Response, ApiError> {
    let letter = find(&api, &caller, id).await?;
    show(&api, letter).await
}

/// The letter with what it stands for.
async fn show(api: &Api, letter: DeadLetter) -> Result<Response, ApiError> {
    let run = match letter.run {
        Some(run) => api.engine().run(run).await?,
        None => None,
    };
    Ok(Json(DeadLetterView::whole(letter, run.as_deref(), api.engine().now())).into_response())
}
