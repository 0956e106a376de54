//! Webhooks that fire a trigger: open to everybody who can sign.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_connectors::egress::{ID_HEADER, SIGNATURE_HEADER, SignedHeaders, TIMESTAMP_HEADER};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_engine::{HookCall, TriggerError};

use crate::error::{ApiError, Code};
use crate::extract::{RawBody, path};
use crate::job_id;
use crate::schema;
use crate::state::Api;

/// The workspace and the trigger in the path; whether they exist, only a signature opens.
pub(super) struct Hook(Tenant, String);

impl<S: Sync> FromRequestParts<S> for Hook {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (workspace, name): (String, String) = path(parts).await?;
        Ok(Self(Tenant::new(&workspace), name))
    }
}

#[derive(Serialize)]
struct Accepted {
    job_id: Option<RunId>,
    created: bool,
}

/// Fire a trigger by webhook
///
/// Signed as Standard Webhooks describes, with the trigger's secret. The same `webhook-id` again
/// answers the job that it has made. Whoever cannot sign learns nothing, not even whether there is such
/// a trigger.
#[utoipa::path(
    post, path = "/v1/hooks/{workspace_id}/{name}", tag = "triggers", operation_id = "hook",
    params(schema::TriggerPath,
        ("webhook-id" = String, Header, description = "what makes a repetition recognizable"),
        ("webhook-timestamp" = String, Header, description = "when it was signed, in seconds since 1970"),
        ("webhook-signature" = String, Header, description = "`v1,` and the HMAC-SHA256 in base64")),
    request_body(content = Vec<u8>, description = "what the trigger's input is made of"),
    responses((status = 202, description = "The job exists", body = schema::HookAnswer)),
)]
pub(super) async fn hook(
    State(api): State<Api>,
    Hook(workspace, name): Hook,
    headers: HeaderMap,
    RawBody(body): RawBody,
) -> Result<Response, ApiError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(id), Some(timestamp), Some(signature)) =
        (text(ID_HEADER), text(TIMESTAMP_HEADER), text(SIGNATURE_HEADER))
    else {
        return Err(not_signed());
    };
    let signed = SignedHeaders { id, timestamp, signature };
    let plain = headers.iter().filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    let call = HookCall { signed, headers: &plain.collect::<Vec<_>>(), body: &body };
    let fired = api.engine().hook(&workspace, &name, call).await.map_err(refused)?;
    let job_id = fired.firing.run.map(|run| job_id::shown(Some(Dialect::Workspaces), run));
    if let Some(job_id) = job_id {
        tracing::Span::current().record("job_id", tracing::field::display(job_id));
    }
    let answer = Accepted { job_id, created: !fired.repeated };
    Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
}

fn not_signed() -> ApiError {
    ApiError::new(Code::InvalidSignature, "the request is not signed as agreed")
}

/// Whoever cannot sign is told the same whatever exists.
fn refused(error: TriggerError) -> ApiError {
    match error {
        TriggerError::NotFound(_) | TriggerError::NoHook(_) | TriggerError::Signature(_) => {
            not_signed()
        }
        other => other.into(),
    }
}
