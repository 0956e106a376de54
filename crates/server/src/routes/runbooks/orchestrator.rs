//! Events between whoever keeps the time and whoever runs the batches (A-197 … A-201).
//!
//! An existing scheduler may stay and send its events here. An event says that something may be due:
//! what is done about it, the state of the batch decides, so an event that comes late or twice changes
//! nothing. And whoever listened to our own scheduler's events reads them here, in the same words.

mod emitted;
mod unknown;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::BatchCommand;
use stepwell_core::command::{Act, Command};
use stepwell_core::id::BatchId;
use stepwell_dialects::fields::parse_json;
use stepwell_dialects::runbooks::event::{self, Event, MemberChange, StepCheck};
use stepwell_dialects::runbooks::message::Rejection;
use stepwell_engine::{BatchError, EngineError};
use stepwell_store::{MemberFilter, Slice};

use super::acts_here;
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{JsonBytes, header};
use crate::schema;
use crate::state::Api;

pub(super) use self::emitted::*;

const MESSAGE_TYPE: HeaderName = HeaderName::from_static("messagetype");

/// What became of an event.
#[derive(Serialize)]
struct Outcome {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Outcome {
    fn accepted() -> Self {
        Self { outcome: "accepted", detail: None }
    }

    fn ignored(why: impl Into<String>) -> Self {
        Self { outcome: "ignored", detail: Some(why.into()) }
    }

    fn unknown(what: impl Into<String>) -> Self {
        Self { outcome: "unknown", detail: Some(what.into()) }
    }
}

/// Take an event of a scheduler
///
/// `batch-init`, `phase-due`, `member-added`, `member-removed`, `poll-check` or `retry-check`, named in
/// the header `MessageType`, or else in the body's `messageType`. `accepted`: it was done, or had been
/// before. `ignored`: the state of the batch does not call for it. `unknown`: it is about nothing of
/// ours. An event of another type becomes a dead letter.
#[utoipa::path(
    post, path = "/api/orchestrator-events", tag = "runbook workers", operation_id = "acceptEvent",
    params(("MessageType" = Option<String>, Header, description = "which event it is")),
    request_body = schema::OrchestratorEvent,
    responses((status = 202, description = "What became of it", body = schema::EventOutcome)),
)]
pub(super) async fn accept(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    parse_json(&body).map_err(|problem| ApiError::of_problems(Code::MalformedRequest, problem))?;
    acts_here(&caller)?;
    let message_type = header(&headers, &MESSAGE_TYPE)?;
    let event = match event::read(message_type, &body) {
        Ok(event) => event,
        Err(Rejection::Invalid(problems)) => {
            return Err(ApiError::of_problems(Code::InvalidRequest, problems));
        }
        Err(rejection) => {
            unknown::keep(&api, message_type, &body).await?;
            return Err(ApiError::new(Code::UnknownMessageType, rejection.to_string()));
        }
    };
    let outcome = follow(&api, &event, caller.act(event.message_type())).await?;
    Ok((StatusCode::ACCEPTED, Json(outcome)).into_response())
}

async fn follow(api: &Api, event: &Event, by: Act) -> Result<Outcome, ApiError> {
    match event {
        Event::BatchInit(init) => ask(api, init.batch_id, BatchCommand::BeginInit { by }).await,
        Event::PhaseDue(due) => {
            let command = BatchCommand::BeginPhase { phase: due.phase_execution_id, by };
            ask(api, due.batch_id, command).await
        }
        // Who joins or leaves does so here in one step with what follows from it.
        Event::MemberAdded(change) | Event::MemberRemoved(change) => known(api, change).await,
        Event::PollCheck(check) | Event::RetryCheck(check) => wake(api, *check).await,
    }
}

async fn ask(api: &Api, batch: BatchId, command: BatchCommand) -> Result<Outcome, ApiError> {
    match api.engine().command_batch(batch, command).await {
        Ok(_) => Ok(Outcome::accepted()),
        Err(BatchError::Refused(refusal)) => Ok(Outcome::ignored(refusal.to_string())),
        Err(error @ BatchError::BatchNotFound(_)) => Ok(Outcome::unknown(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

async fn known(api: &Api, change: &MemberChange) -> Result<Outcome, ApiError> {
    let ids = vec![change.batch_member_id];
    let filter = MemberFilter { ids, ..MemberFilter::of(change.batch_id) };
    let found = api.engine().store().members(filter, Slice { offset: 0, limit: 1 }).await?;
    if found.items.is_empty() {
        let (batch, member) = (change.batch_id, change.batch_member_id);
        return Ok(Outcome::unknown(format!("batch {batch} has no member {member}")));
    }
    Ok(Outcome::ignored("what follows from it was begun when the member joined or left"))
}

/// Lets a run look whether the moment of one of its steps has come.
async fn wake(api: &Api, check: StepCheck) -> Result<Outcome, ApiError> {
    let (number, _) = check.step_execution_id.parts();
    let Some(found) = api.engine().store().numbered_run(number).await? else {
        let id = check.step_execution_id;
        return Ok(Outcome::unknown(format!("there is no step {id}")));
    };
    match api.engine().command(found.run, Command::Wake).await {
        Ok(_) => Ok(Outcome::accepted()),
        Err(EngineError::Refused(refusal)) => Ok(Outcome::ignored(refusal.to_string())),
        Err(error) => Err(error.into()),
    }
}
