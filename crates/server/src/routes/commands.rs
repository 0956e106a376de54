//! Station 1, request: an envelope comes in over HTTP, a run is asked for.

use axum::Json;
use axum::extract::State;
use axum::http::header::{HeaderMap, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Header, RunStatus};
use stepwell_dialects::commands::{self, Accept, Envelope, Rejection, status};
use stepwell_dialects::fields::parse_json;
use stepwell_dialects::problem::Problem;
use stepwell_engine::{Ask, Compiled, Reply, Start};
use stepwell_store::{Key, KeyHash};
use utoipa_axum::routes;

use super::jobs::note;
use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{JsonBytes, idempotency_key};
use crate::fingerprint;
use crate::schema;
use crate::state::Api;

const KEY_CHARS_MAX: usize = 255;

pub(super) fn add(routes: Routes) -> Routes {
    routes.add(Access::Needs(Permission::SubmitCommands), routes!(submit))
}

/// Start a job
///
/// Answers 202 once the job, its steps and its first directive are committed; it does not wait for
/// the work. With an idempotency key, the same request again answers the job that the first one
/// made, and another request under the same key is refused.
#[utoipa::path(
    post, path = "/v1/commands", tag = "commands", operation_id = "submitCommand",
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as `idempotency_key` in the envelope")),
    request_body = schema::Envelope,
    responses((status = 202, description = "The job exists", body = schema::Accepted,
        headers(("Location" = String, description = "the job")))),
)]
async fn submit(
    State(api): State<Api>,
    caller: Caller,
    headers: HeaderMap,
    JsonBytes(body): JsonBytes,
) -> Result<Response, ApiError> {
    let mut envelope = commands::envelope(&body)?;
    let correlation_id = envelope.correlation_id.clone();
    let about = |error: ApiError| error.about(correlation_id.as_deref());
    tracing::Span::current().record("correlation_id", correlation_id.as_deref());
    caller.acts_for(&envelope.tenant_id).map_err(about)?;
    let in_body = envelope.idempotency_key.take();
    envelope.idempotency_key = idempotency_key(&headers, in_body, KEY_CHARS_MAX).map_err(about)?;
    let key = key(&envelope, &body)?;
    let tenant = Tenant::new(&envelope.tenant_id);
    let reply = match accept(&api, caller, envelope).await {
        Ok(header) => start(&api, header, key).await.map_err(about)?,
        // What was accepted once stays accepted, even if its protocol has changed since.
        Err(error) => match earlier(&api, tenant, key).await? {
            Some(run) => Reply::Repeated(run),
            None => return Err(about(error)),
        },
    };
    accepted(&api, reply).await
}

/// The header of the run to be (D-016: protocol, payload, references and policy, in this order).
async fn accept(api: &Api, caller: Caller, envelope: Envelope) -> Result<Header, ApiError> {
    let protocol = protocol(api, &envelope.request_type).await?;
    check_callbacks(api, &envelope)?;
    let engine = api.engine();
    let at = Accept {
        run: engine.fresh_run_id(),
        actor: caller.subject,
        now: engine.now(),
        references: &api.settings().references,
    };
    Ok(commands::accept(envelope, &protocol.workflow, &protocol.checks, at)?)
}

async fn start(api: &Api, header: Header, key: Option<Key>) -> Result<Reply, ApiError> {
    let start = Start {
        header: header.into(),
        carried: Vec::new(),
        key,
        tenant_cap: api.settings().tenant_cap,
    };
    Ok(api.engine().ask_one(Ask::Start(Box::new(start))).await?)
}

async fn protocol(api: &Api, request_type: &str) -> Result<std::sync::Arc<Compiled>, ApiError> {
    if let Some(protocol) = api.engine().protocol(request_type).await? {
        return Ok(protocol);
    }
    let workflows = api.engine().store().workflows().await?;
    let known = workflows.iter().filter_map(|workflow| workflow.request_type.as_deref());
    Err(commands::unknown_protocol(request_type, known).into())
}

/// Refuses callback URLs that lead where nobody may be sent.
fn check_callbacks(api: &Api, envelope: &Envelope) -> Result<(), ApiError> {
    envelope.callback_urls.iter().try_for_each(|url| check_callback(api, "callback_urls", url))
}

/// Refuses a URL of this field that leads where nobody may be sent.
pub(super) fn check_callback(api: &Api, field: &str, url: &str) -> Result<(), ApiError> {
    api.settings().egress.check(url).map_err(|refusal| {
        let problem = Problem::new("callback_url_refused", refusal.to_string());
        Rejection::invalid(problem.at(field)).into()
    })
}

/// What makes the request recognizable; nothing if it has no key.
fn key(envelope: &Envelope, body: &[u8]) -> Result<Option<Key>, ApiError> {
    let Some(key) = &envelope.idempotency_key else { return Ok(None) };
    let mut request = parse_json(body)
        .map_err(|problem| ApiError::of_problems(Code::MalformedRequest, problem))?;
    if let Some(fields) = request.as_object_mut() {
        // A repetition has a trace of its own, and may carry its key in the header this time.
        fields.remove("traceparent");
        fields.remove("idempotency_key");
    }
    let hash = fingerprint::of_key(&envelope.tenant_id, key);
    Ok(Some(Key { hash, request_hash: fingerprint::of_json(&request) }))
}

/// The run that the same request has made before.
async fn earlier(api: &Api, tenant: Tenant, key: Option<Key>) -> Result<Option<RunId>, ApiError> {
    let Some(Key { hash, request_hash }) = key else { return Ok(None) };
    let holder = api.engine().store().by_key(tenant, hash as KeyHash).await?;
    Ok(holder.filter(|holder| holder.request_hash == request_hash).map(|holder| holder.run))
}

/// The answer to whoever asked for a run.
#[derive(Serialize)]
struct Accepted {
    #[serde(rename = "jobId")]
    job_id: RunId,
    status: Option<&'static str>,
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumes: Option<RunId>,
    links: Links,
}

#[derive(Serialize)]
struct Links {
    #[serde(rename = "self")]
    job: String,
    steps: String,
    events: String,
    explain: String,
    cancel: String,
}

/// Answers 202 with where the job is, whether it was made now or by the same request before.
pub(super) async fn accepted(api: &Api, reply: Reply) -> Result<Response, ApiError> {
    let (run, created) = match reply {
        Reply::Started(run) | Reply::Applied(run) | Reply::Stored(run) => (run, true),
        Reply::Repeated(id) => match api.engine().run(id).await? {
            Some(run) => (run, false),
            None => return Ok(answer(id, None, None, false)),
        },
    };
    note(&run);
    Ok(answer(run.id(), Some(run.status), run.header.resumes, created))
}

fn answer(id: RunId, status: Option<RunStatus>, resumes: Option<RunId>, created: bool) -> Response {
    let job = format!("/v1/jobs/{id}");
    let links = Links {
        steps: format!("{job}/steps"),
        events: format!("{job}/events"),
        explain: format!("{job}/explain"),
        cancel: format!("{job}:cancel"),
        job: job.clone(),
    };
    let body = Accepted { job_id: id, status: status.map(status::job), created, resumes, links };
    let mut response = (StatusCode::ACCEPTED, Json(body)).into_response();
    if let Ok(location) = HeaderValue::try_from(job) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}
