//! The messages of jobs, for workers that take them from a queue of their own.
//!
//! The queue delivers a message at least once, and knows nothing of the job. So a worker hands it in
//! before it begins: the record says whether the attempt is still wanted, and nobody begins it twice.

mod poison;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::effect::Directive;
use stepwell_core::run::{Dialect, Run};
use stepwell_core::step::StepStatus;
use stepwell_dialects::workspaces::Message;
use stepwell_dialects::workspaces::envelope::{self, Standing};
use stepwell_engine::{Ask, EngineError, Reply};

use super::handed_out::Next;
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::JsonBytes;
use crate::routes::jobs::note;
use crate::schema;
use crate::state::Api;

/// How often the record is looked at again because it changed meanwhile.
const LOOKS_MAX: usize = 5;

/// What a worker does with a message.
#[derive(Serialize)]
struct Verdict {
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Next>,
}

impl Verdict {
    /// The message is done with: delete it from the queue, and do nothing.
    fn acknowledge(reason: &'static str) -> Self {
        Self { action: "acknowledge", reason: Some(reason), next: None }
    }
}

/// Begin the attempt of a message
///
/// Takes the message of a job as the queue delivered it. `run`: the attempt is the worker's, and `next`
/// is its first step. `acknowledge`: delete the message and do nothing, because the job has ended, a
/// later attempt has a message of its own, or somebody else has begun. A message that nobody can follow
/// is answered 422; it is kept as a dead letter, and no job is touched.
#[utoipa::path(
    post, path = "/v1/workers/messages", tag = "workers", operation_id = "beginMessage",
    request_body = schema::JobMessage,
    responses((status = 200, description = "What to do with it", body = schema::MessageVerdict)),
)]
pub(super) async fn begin(
    State(api): State<Api>,
    caller: Caller,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let message = match envelope::read(&body) {
        Ok(message) => message,
        Err(poison) => return Err(poison::keep(&api, &body, poison).await),
    };
    caller.acts_for(&message.workspace_id)?;
    for _ in 0..LOOKS_MAX {
        let record = record(&api, &message).await?;
        let standing = match message.judge(record.as_deref()) {
            Ok(standing) => standing,
            Err(poison) => return Err(poison::keep(&api, &body, poison).await),
        };
        let verdict = match (standing, record) {
            (Standing::Wanted, Some(run)) => claim(&api, &run).await?,
            (Standing::Ended, _) => Some(Verdict::acknowledge("run_ended")),
            (Standing::Superseded | Standing::Wanted, _) => {
                Some(Verdict::acknowledge("stale_attempt"))
            }
        };
        if let Some(verdict) = verdict {
            return Ok(Json(verdict).into_response());
        }
    }
    Err(ApiError::new(Code::Busy, "the job changes too quickly to be begun").retry_after(1))
}

/// The run that the message names, if it is a job.
async fn record(api: &Api, message: &Message) -> Result<Option<Arc<Run>>, ApiError> {
    let run = api.engine().run(message.job_id.run()).await?;
    let run = run.filter(|run| run.header.dialect == Dialect::Workspaces);
    run.iter().for_each(|run| note(run));
    Ok(run)
}

/// Takes the attempt whose message waits; `None` if the job has changed since it was read.
async fn claim(api: &Api, run: &Arc<Run>) -> Result<Option<Verdict>, ApiError> {
    let Some(directive) = waiting(run) else {
        return Ok(Some(Verdict::acknowledge("not_dispatched")));
    };
    let fence = Fence { attempt: directive.attempt, lease: directive.lease };
    let command = Command::Ack { step: StepRef::Index(directive.step), fence };
    // Two workers may hold the same message: only one of them finds the job as it was read.
    let ask = Ask::Command { run: run.id(), command, at_version: Some(run.version) };
    match api.engine().ask_one(ask).await {
        Ok(Reply::Applied(run) | Reply::Stored(run) | Reply::Started(run)) => {
            let next = Next::of(api, &run, directive)?;
            Ok(Some(Verdict { action: "run", reason: None, next }))
        }
        Ok(Reply::Repeated(_)) | Err(EngineError::Changed { .. }) => Ok(None),
        Err(EngineError::Refused(refusal)) if refusal.is_stale() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The step that waits for whoever begins the attempt.
fn waiting(run: &Run) -> Option<Directive> {
    let waits = run.indexed().filter(|(_, step)| step.status == StepStatus::Dispatched);
    waits.filter_map(|(index, step)| step.directive(index)).next()
}
