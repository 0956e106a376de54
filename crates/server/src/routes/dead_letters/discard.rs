//! Letting be what was given up, with who says so and why.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_dialects::fields::Fields;

use super::{filter, find, note, settled, settlement, show};
use crate::auth::Caller;
use crate::error::{ApiError, ProblemDetails};
use crate::extract::{JsonBody, Name};
use crate::schema;
use crate::state::Api;

/// One dead letter that was to be discarded.
#[derive(Serialize)]
struct Discarded<'a> {
    id: i64,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemDetails<'a>>,
}

#[derive(Serialize)]
struct DiscardedMany<'a> {
    items: Vec<Discarded<'a>>,
}

/// The reason, which nobody may leave out here: whoever comes later must know why nothing was done.
fn reason(fields: &mut Fields<'_, Value>) -> Option<String> {
    let reason = fields.required("reason").and_then(|field| field.text_within(1..=500));
    reason.map(str::to_owned)
}

/// Let a dead letter be
///
/// It stays visible with who discarded it and why.
#[utoipa::path(
    post, path = "/v1/dead-letters/{id}:discard", tag = "dead letters", operation_id = "discardDeadLetter",
    params(schema::DeadLetterPath), request_body = schema::DiscardRequest,
    responses((status = 200, description = "The dead letter as it is now", body = schema::DeadLetter)),
)]
pub(super) async fn one(
    State(api): State<Api>,
    caller: Caller,
    Name(id): Name,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let reason = body.read(reason)?;
    let letter = find(&api, &caller, Name(id.clone())).await?;
    if !note(&api, &caller, letter.id, None, &reason).await? {
        return Err(settled());
    }
    let letter = find(&api, &caller, Name(id)).await?;
    show(&api, letter).await
}

/// Let many dead letters be
///
/// The newest that the filter leaves, at most `limit`; one result for each. With `before`, those older than
/// the last result of the page before.
#[utoipa::path(
    post, path = "/v1/dead-letters:discard", tag = "dead letters", operation_id = "discardDeadLetters",
    request_body = schema::DiscardManyRequest,
    responses((status = 200, description = "One result for each", body = schema::DiscardedMany)),
)]
pub(super) async fn many(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (filter, reason) = body.read(|fields| {
        let filter = filter::of_body(fields);
        Some((filter, reason(fields)?))
    })?;
    let filter = filter::within(filter, &caller)?;
    let letters = api.engine().store().dead_letters(filter).await?;
    let ids: Vec<i64> = letters.into_iter().map(|letter| letter.id).collect();
    let settlement = settlement(&api, &caller, None, &reason);
    let settlements = ids.iter().map(|id| (*id, settlement.clone())).collect();
    let noted = api.engine().store().settle_dead_letters(settlements).await?;
    let noted = noted.into_iter().map(|noted| noted.then_some(()).ok_or_else(settled));
    let outcomes: Vec<(i64, Result<(), ApiError>)> = ids.into_iter().zip(noted).collect();
    let items = outcomes.iter().map(|(id, outcome)| Discarded {
        id: *id,
        status: if outcome.is_ok() { "discarded" } else { "refused" },
        problem: outcome.as_ref().err().map(|error| error.details(None)),
    });
    Ok(Json(DiscardedMany { items: items.collect() }).into_response())
}
