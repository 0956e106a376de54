//! Signs of life: a worker that keeps an attempt says that it is still at it.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::workspaces::outcome;
use stepwell_engine::{EngineError, Kept};

use super::reports::{Judged, batch, judge};
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::JsonBody;
use crate::schema;
use crate::state::Api;

#[derive(Serialize)]
pub(super) struct Heartbeats {
    heartbeats: Vec<Heartbeat>,
}

#[derive(Serialize)]
struct Heartbeat {
    #[serde(rename = "jobId")]
    job_id: Value,
    #[serde(rename = "stepId")]
    step_id: Value,
    #[serde(flatten)]
    standing: Standing,
}

/// Whether the attempt is still the worker's.
#[derive(Serialize)]
struct Standing {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    locked_until: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Standing {
    fn lost(reason: &'static str) -> Self {
        Self { status: "lost", locked_until: None, reason: Some(reason) }
    }
}

/// Say that attempts go on
///
/// Each attempt of a workspace's job is kept until its lease ends, and a sign of life begins the lease
/// anew. One answer for each item, in order: `ok`; `lost` if the worker should stop, because the job has
/// ended or the attempt is no longer its own; `unknown` if it could not be judged now.
#[utoipa::path(
    post, path = "/v1/workers/heartbeats", tag = "workers", operation_id = "reportHeartbeats",
    request_body = schema::HeartbeatBatch,
    responses((status = 200, description = "One answer for each", body = schema::Heartbeats)),
)]
pub(super) async fn heartbeats(
    State(api): State<Api>,
    caller: Caller,
    body: JsonBody,
) -> Result<Json<Heartbeats>, ApiError> {
    let items = batch(&body, "heartbeats")?;
    let judged = judge(&api, &caller, outcome::heartbeats(items)).await?;
    let signs = judged.iter().flatten().filter_map(Judged::sign_of_life).collect();
    let mut kept = api.engine().extend_attempts(signs).await?.into_iter();
    let heartbeats = items.iter().zip(judged).map(|(item, judged)| {
        let standing = match judged {
            Ok(_) => standing(kept.next().unwrap_or(Err(EngineError::Stopped))),
            Err(error) => refused(&error),
        };
        let named = |key| item.get(key).cloned().unwrap_or_default();
        Heartbeat { job_id: named("jobId"), step_id: named("stepId"), standing }
    });
    Ok(Json(Heartbeats { heartbeats: heartbeats.collect() }))
}

fn standing(kept: Result<Kept, EngineError>) -> Standing {
    match kept {
        Ok(Kept::Until(until)) => {
            Standing { status: "ok", locked_until: until.map(Moment), reason: None }
        }
        Ok(Kept::Lost(refusal)) => Standing::lost(refusal.code()),
        Ok(Kept::Gone) => Standing::lost(Code::JobNotFound.word()),
        Err(error) => refused(&error.into()),
    }
}

/// What will not change by asking again means that the worker should stop.
fn refused(error: &ApiError) -> Standing {
    let code = error.code();
    if code.status().is_server_error() {
        return Standing { status: "unknown", locked_until: None, reason: Some(code.word()) };
    }
    Standing::lost(code.word())
}
