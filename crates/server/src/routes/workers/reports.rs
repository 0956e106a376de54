//! What workers say of their attempts, many at once: taken, or done.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::run::{Dialect, Run};
use stepwell_core::step::Outcome;
use stepwell_dialects::commands::Rejection;
use stepwell_dialects::commands::outcome::{self, JobRef};
use stepwell_dialects::workspaces::redact;
use stepwell_engine::{Answered, Ask, EngineError, Reply, SignOfLife};

use super::handed_out::Next;
use super::items;
use crate::auth::Caller;
use crate::error::{ApiError, Code, ProblemDetails};
use crate::extract::JsonBody;
use crate::job_id;
use crate::schema;
use crate::state::Api;

/// Say that attempts were taken
///
/// One answer for each item, in order. A bad item does not keep the others from counting.
#[utoipa::path(
    post, path = "/v1/workers/acks", tag = "workers", operation_id = "reportAcks",
    request_body = schema::AckBatch,
    responses((status = 200, description = "One answer for each", body = schema::Answers)),
)]
pub(super) async fn acks(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let items = batch(&body, "acks")?;
    report(&api, &caller, outcome::acks(items)).await
}

/// Say what came of attempts
///
/// One answer for each item, in order. A bad item does not keep the others from counting. Whoever did a
/// step of a workspace's job is given its `next` step with the answer, and has it from then on.
#[utoipa::path(
    post, path = "/v1/workers/results", tag = "workers", operation_id = "reportResults",
    request_body = schema::ResultBatch,
    responses((status = 200, description = "One answer for each", body = schema::Answers)),
)]
pub(super) async fn results(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let items = batch(&body, "results")?;
    report(&api, &caller, outcome::results(items)).await
}

pub(super) fn batch<'b>(body: &'b JsonBody, name: &'static str) -> Result<&'b [Value], ApiError> {
    body.read(|fields| fields.required(name).and_then(|field| items(&field)).map(drop))?;
    Ok(body.0.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice))
}

/// What a worker is told about its report.
#[derive(Serialize)]
pub(in crate::routes) struct Told {
    applied: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Next>,
}

/// A report that may be asked of its run.
pub(in crate::routes) struct Judged {
    /// the run as it was before
    run: Arc<Run>,
    fence: Option<Fence>,
    command: Command,
}

impl Judged {
    /// The report as it is asked. What a worker says of the errors of a workspace's job is kept without
    /// personal data, wherever it is shown later (C-013).
    pub(in crate::routes) fn new(run: Arc<Run>, mut command: Command) -> Self {
        if run.header.dialect == Dialect::Workspaces
            && let Command::Report { outcome: Outcome::Failed { error, .. }, .. } = &mut command
        {
            *error = redact::error(error);
        }
        let fence = fence_of(&command).map(|(_, fence)| fence);
        Self { run, fence, command }
    }

    /// What to ask the engine.
    pub(in crate::routes) fn ask(&self) -> Ask {
        Ask::command(self.run.id(), self.command.clone())
    }

    /// The report as a sign of life, if it names an attempt.
    pub(super) fn sign_of_life(&self) -> Option<SignOfLife> {
        let (step, fence) = fence_of(&self.command)?;
        Some(SignOfLife { run: self.run.id(), step: StepRef::Id(step.to_owned()), fence })
    }

    /// Applied, or recorded and without effect; everything else is an error.
    pub(in crate::routes) fn told(self, api: &Api, answered: Answered) -> Result<Told, ApiError> {
        let lease = self.fence.map(|fence| fence.lease);
        let next = |run: &Run| lease.map_or(Ok(None), |lease| Next::after(api, run, lease));
        match answered {
            Ok(Reply::Applied(run) | Reply::Stored(run) | Reply::Started(run)) => {
                Ok(Told { applied: true, reason: None, next: next(&run)? })
            }
            Ok(Reply::Repeated(_)) => Ok(Told { applied: true, reason: None, next: None }),
            Err(EngineError::Refused(refusal)) if refusal.is_stale() => {
                self.log_refusal(refusal.code());
                // A worker that did not hear the first answer still learns what it has.
                let next = next(&self.run)?;
                Ok(Told { applied: false, reason: Some(refusal.code()), next })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// A change that a job cannot make is refused, and logged (C-024).
    fn log_refusal(&self, code: &str) {
        let header = &self.run.header;
        let job_id = job_id::shown(Some(header.dialect), header.id);
        let trace_id = header.context.get("trace_id").and_then(Value::as_str);
        tracing::warn!(%job_id, trace_id, status = self.run.status.word(), code, "report_refused");
    }
}

/// The step and the attempt that a report names.
pub(in crate::routes) fn fence_of(command: &Command) -> Option<(&str, Fence)> {
    match command {
        Command::Ack { step: StepRef::Id(step), fence }
        | Command::Extend { step: StepRef::Id(step), fence }
        | Command::Report { step: StepRef::Id(step), fence, .. } => Some((step, *fence)),
        _ => None,
    }
}

/// The answer for one item of a batch.
#[derive(Serialize)]
struct ItemAnswer<'a> {
    #[serde(flatten)]
    told: &'a Told,
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
    let judged = judge(api, caller, reports).await?;
    let asks = judged.iter().flatten().map(Judged::ask).collect();
    let mut answered = api.engine().ask(asks).await?.into_iter();
    let told = judged.into_iter().map(|judged| {
        let judged = judged?;
        judged.told(api, answered.next().unwrap_or(Err(EngineError::Stopped)))
    });
    let told: Vec<(Told, Option<ApiError>)> = told.map(with_error).collect();
    let answers = told.iter().map(|(told, error)| ItemAnswer {
        told,
        problem: error.as_ref().map(|error| error.details(None)),
    });
    Ok(Json(Answers { answers: answers.collect() }).into_response())
}

fn with_error(told: Result<Told, ApiError>) -> (Told, Option<ApiError>) {
    match told {
        Ok(told) => (told, None),
        Err(error) => {
            let reason = Some(error.code().word());
            (Told { applied: false, reason, next: None }, Some(error))
        }
    }
}

/// Holds each report against the run that it names and against who sends it.
pub(super) async fn judge(
    api: &Api,
    caller: &Caller,
    reports: Vec<Result<(JobRef, Command), Rejection>>,
) -> Result<Vec<Result<Judged, ApiError>>, ApiError> {
    let ids = reports.iter().flatten().map(|(job, _)| job.run).collect();
    let runs = api.engine().runs_in_brief(ids).await?;
    let judged = reports.into_iter().map(|report| {
        let (job, command) = report?;
        caller.acts_for(job.tenant.as_str())?;
        match runs.get(&job.run) {
            Some(run) if run.header.tenant == job.tenant => {
                Ok(Judged::new(Arc::clone(run), command))
            }
            Some(_) => {
                let detail = "the job does not belong to the tenant_id of the report";
                Err(ApiError::new(Code::TenantMismatch, detail))
            }
            None => Err(ApiError::new(Code::JobNotFound, "there is no such job")),
        }
    });
    Ok(judged.collect())
}
