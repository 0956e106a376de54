//! Callbacks of platform workers: ack and result of one attempt, proven by the token of its URL.
//!
//! The only way in for a worker without an API token, and the only signals it can give (D-003).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use stepwell_core::command::Command;
use stepwell_core::run::Run;
use stepwell_dialects::commands::outcome::{self, JobRef};
use stepwell_engine::Answered;
use utoipa_axum::routes;

use super::jobs::note;
use super::workers::{Judged, fence_of};
use super::{Access, Routes};
use crate::auth::bearer;
use crate::auth::callback::{Proof, Subject};
use crate::error::{ApiError, Code};
use crate::extract::{JsonBody, Query};
use crate::schema;
use crate::state::Api;

pub(super) fn add(routes: Routes) -> Routes {
    routes.add(Access::Callback, routes!(ack)).add(Access::Callback, routes!(result))
}

/// Say that an attempt was taken
///
/// The token stands in the directive's callback URL, or in `Authorization: Bearer cb1.…`. A late or
/// stale report is recorded, changes nothing, and is answered with `applied: false`.
#[utoipa::path(
    post, path = "/v1/callbacks/ack", tag = "callbacks", operation_id = "callbackAck",
    params(("token" = Option<String>, Query, description = "the proof from the directive's URL")),
    request_body = schema::AckBody,
    responses((status = 202, description = "Recorded", body = schema::Told)),
)]
async fn ack(
    State(api): State<Api>,
    headers: HeaderMap,
    query: Query,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let proof = proof(&api, &headers, query)?;
    let (job, command) = outcome::ack(&body)?;
    report(&api, &proof, job, command).await
}

/// Say what came of an attempt
///
/// The same rules as for an ack. Whoever did a step of a workspace's job is given its `next` step with
/// the answer, and has it from then on.
#[utoipa::path(
    post, path = "/v1/callbacks/result", tag = "callbacks", operation_id = "callbackResult",
    params(("token" = Option<String>, Query, description = "the proof from the directive's URL")),
    request_body = schema::ResultBody,
    responses((status = 202, description = "Recorded", body = schema::Told)),
)]
async fn result(
    State(api): State<Api>,
    headers: HeaderMap,
    query: Query,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let proof = proof(&api, &headers, query)?;
    let (job, command) = outcome::result(&body)?;
    report(&api, &proof, job, command).await
}

/// The proof of the request, if it has the right form and has not expired.
fn proof(api: &Api, headers: &HeaderMap, query: Query) -> Result<Proof, ApiError> {
    let parameters = query.known(&["token"])?;
    let token = parameters.one("token")?.or_else(|| bearer(headers)).ok_or_else(|| {
        ApiError::new(Code::Unauthenticated, "the callback carries no token")
            .next("Call the URL in the directive's `callback_urls` unchanged.")
    })?;
    Proof::read(token, api.engine().now()).ok_or_else(refused)
}

fn refused() -> ApiError {
    ApiError::new(
        Code::InvalidCallbackToken,
        "the token does not belong to this attempt, or has expired",
    )
}

async fn report(
    api: &Api,
    proof: &Proof,
    job: JobRef,
    command: Command,
) -> Result<Response, ApiError> {
    tracing::Span::current().record("job_id", tracing::field::display(job.run));
    let run = check(api, proof, &job, &command).await?;
    note(&run);
    let judged = Judged::new(run, command);
    let answered: Answered = api.engine().ask_one(judged.ask()).await;
    Ok((StatusCode::ACCEPTED, Json(judged.told(api, answered)?)).into_response())
}

/// The run, unless the proof was made for anything else than what the body says.
async fn check(
    api: &Api,
    proof: &Proof,
    job: &JobRef,
    command: &Command,
) -> Result<Arc<Run>, ApiError> {
    let (step, fence) = fence_of(command).ok_or_else(refused)?;
    let subject = Subject { tenant: job.tenant.as_str(), run: job.run, step, fence };
    let is_proven = api.callback_key().proves(proof, &subject);
    // Whoever proves nothing learns nothing, not even whether the job exists.
    let Some(run) = api.engine().run(job.run).await? else {
        let gone = || ApiError::new(Code::JobNotFound, "there is no such job");
        return Err(if is_proven { gone() } else { refused() });
    };
    if is_proven {
        return Ok(run);
    }
    // A worker that names the wrong tenant for its own attempt is told so.
    let subject = Subject { tenant: run.header.tenant.as_str(), ..subject };
    if api.callback_key().proves(proof, &subject) {
        let detail = "the job does not belong to the tenant_id of the callback";
        return Err(ApiError::new(Code::TenantMismatch, detail));
    }
    Err(refused())
}
