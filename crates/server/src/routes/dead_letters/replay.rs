//! Taking up again what was given up: a failed job where it stopped, an order from its beginning.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::id::RunId;
use stepwell_core::run::{Dialect, Run};
use stepwell_dialects::platform::queue::TTL;
use stepwell_dialects::platform::{Delivery, Rejection, order};
use stepwell_engine::{Ask, EngineError, Reply, Start};
use stepwell_store::{DeadLetter, Key};

use super::{filter, find, note, settled};
use crate::auth::Caller;
use crate::error::{ApiError, Code, ProblemDetails};
use crate::extract::{JsonBody, Name};
use crate::job_id;
use crate::routes::operate::{reason, take_up};
use crate::routes::platform::workflow;
use crate::schema;
use crate::state::Api;

/// The reason of dead letters that stand for a failed run.
const RUN_FAILED: &str = "run_failed";

/// The reason of dead letters that stand for a message to somebody else.
const UNDELIVERED: &str = "webhook_undelivered";

/// One dead letter that was to be replayed.
#[derive(Serialize)]
struct Replayed<'a> {
    id: i64,
    status: &'static str,
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
/// A failed job is taken up again as a new job, as with `POST /v1/jobs/{job}:retry`. An order that
/// never became a job is judged again as if it had just been submitted, and becomes one.
#[utoipa::path(
    post, path = "/v1/dead-letters/{id}:replay", tag = "dead letters", operation_id = "replayDeadLetter",
    params(schema::DeadLetterPath), request_body = Option<schema::ReasonRequest>,
    responses((status = 200, description = "The new job", body = schema::Replayed)),
)]
pub(super) async fn one(
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
    Ok(Json(Replayed::of(id, &Ok(replayed?))).into_response())
}

impl<'a> Replayed<'a> {
    fn of(id: i64, outcome: &'a Result<RunId, ApiError>) -> Self {
        let (status, job_id, problem) = match outcome {
            Ok(run) => ("replayed", Some(*run), None),
            Err(error) => ("refused", None, Some(error.details(None))),
        };
        Self { id, status, job_id, problem }
    }
}

/// Take up many dead letters at once
///
/// The newest that the filter leaves, at most `limit`; one result for each. With `before`, those older than
/// the last result of the page before.
#[utoipa::path(
    post, path = "/v1/dead-letters:replay", tag = "dead letters", operation_id = "replayDeadLetters",
    request_body = Option<schema::ReplayRequest>,
    responses((status = 200, description = "One result for each", body = schema::ReplayedMany)),
)]
pub(super) async fn many(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (filter, reason) = body.read(|fields| Some((filter::of_body(fields), reason(fields))))?;
    let filter = filter::within(filter, &caller)?;
    let letters = api.engine().store().dead_letters(filter).await?;
    let outcomes = take_up_all(&api, &caller, letters, &reason).await?;
    let items = outcomes.iter().map(|(id, outcome)| Replayed::of(*id, outcome)).collect();
    Ok(Json(ReplayedMany { items }).into_response())
}

/// Takes up what the letters stand for, all in one group, and notes it on each letter.
///
/// A run is taken up at most once, and an order becomes at most one run. So if this breaks off
/// between the new run and the note, doing it again finds the same new run.
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
        let ask = ask(api, caller, letter, &runs).await;
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
        let shown = outcome.map(|run| job_id::shown(letter.dialect, run));
        answers.push((letter.id, shown));
    }
    Ok(answers)
}

/// What to ask the engine for, so that the work of a letter is taken up again.
async fn ask(
    api: &Api,
    caller: &Caller,
    letter: &DeadLetter,
    runs: &HashMap<RunId, Arc<Run>>,
) -> Result<Ask, ApiError> {
    if letter.settlement.is_some() {
        return Err(settled());
    }
    match (letter.run, &letter.message) {
        (None, Some(message)) if is_order(letter) => order_again(api, letter.id, message).await,
        (Some(run), _) if letter.letter.reason == RUN_FAILED => match runs.get(&run) {
            Some(run) => take_up(api, caller, run),
            None => Err(ApiError::new(Code::JobNotFound, "the job no longer exists")),
        },
        (Some(_) | None, _) => {
            let reason = &letter.letter.reason;
            let detail = format!("a dead letter of reason {reason:?} has no job to take up");
            Err(ApiError::new(Code::NotReplayable, detail))
        }
    }
}

/// Whether a message without a job asked for one. Others told somebody something, or were to be told.
fn is_order(letter: &DeadLetter) -> bool {
    letter.dialect == Some(Dialect::Platform) && letter.letter.reason != UNDELIVERED
}

/// Judges an order as if it had just been handed out for the first time.
async fn order_again(api: &Api, letter: i64, message: &str) -> Result<Ask, ApiError> {
    let now = api.engine().now();
    let delivery = Delivery {
        message_id: &format!("dead-letter-{letter}"),
        received_at: now,
        expires_at: now.after(TTL),
        deliveries: 1,
    };
    let order = order(message, &delivery).map_err(not_replayable)?;
    let workflow = workflow(api, order.workflow_id()).await?;
    let run = api.engine().fresh_run_id();
    let header = order.header(run, &workflow.workflow, &workflow.checks, now);
    let (header, key) = header.map_err(not_replayable)?;
    Ok(Ask::Start(Box::new(Start {
        header: header.into(),
        carried: Vec::new(),
        key: Some(Key { hash: key.hash, request_hash: key.request_hash }),
        tenant_cap: None,
    })))
}

fn not_replayable(rejection: Rejection) -> ApiError {
    let next = "Publish a version of the workflow that takes this order, or submit a corrected one \
                and discard the dead letter.";
    ApiError::new(Code::NotReplayable, rejection.to_string()).next(next)
}

async fn settle(
    api: &Api,
    caller: &Caller,
    letter: &DeadLetter,
    reply: Result<Reply, EngineError>,
    reason: &str,
) -> Result<RunId, ApiError> {
    let run = match reply? {
        Reply::Started(run) | Reply::Applied(run) | Reply::Stored(run) => run.id(),
        Reply::Repeated(run) => run,
    };
    note(api, caller, letter.id, Some(run), reason).await?;
    Ok(run)
}
