//! How the instances are that share the work (B-059, B-060).

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_dialects::moment::Moment;
use stepwell_engine::{Engine, EngineError, Stats};
use stepwell_store::{Epoch, Instance, InstanceState};
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::Permission;
use crate::error::ApiError;
use crate::schema;
use crate::state::Api;

pub(super) fn add(routes: Routes) -> Routes {
    let access = Access::Needs(Permission::ReadMetrics);
    routes.add(access, routes!(list)).add(access, routes!(stats))
}

/// All instances, oldest first. In a store of its own there is one: this one.
pub(crate) async fn all(engine: &Engine) -> Result<Vec<Instance>, EngineError> {
    if engine.store().is_shared() {
        return engine.instances().await;
    }
    let stats = engine.stats();
    let now = engine.now();
    Ok(vec![Instance {
        epoch: Epoch(0),
        id: stats.owner_id.clone(),
        started_at: stepwell_dialects::moment::parse(&stats.started_at).map_or(now, |at| at.0),
        heartbeat_at: now,
        silent_for: Interval::ZERO,
        state: if stats.running { InstanceState::Alive } else { InstanceState::Stopped },
        owned: engine.store().figures().await?.runs_open,
        stats: serde_json::to_value(stats).unwrap_or(Value::Null),
    }])
}

#[derive(Serialize)]
struct Instances {
    items: Vec<InstanceView>,
}

#[derive(Serialize)]
struct InstanceView {
    owner_id: String,
    state: InstanceState,
    healthy: bool,
    started_at: Moment,
    heartbeat_at: Moment,
    silent_seconds: f64,
    jobs_owned: u64,
    stats: Value,
}

/// List the instances that share the work
///
/// An instance is healthy if it lives and its last sign of life is more recent than the silence after
/// which others take its jobs. Those that ended not long ago are listed too.
#[utoipa::path(
    get, path = "/api/v1/instances", tag = "platform", operation_id = "listInstances",
    responses((status = 200, description = "Oldest first", body = schema::InstanceList)),
)]
async fn list(State(api): State<Api>) -> Result<Response, ApiError> {
    let silence = api.engine().ownership().silence;
    let items = all(api.engine()).await?.into_iter().map(|instance| InstanceView {
        owner_id: instance.id,
        healthy: instance.state == InstanceState::Alive && instance.silent_for < silence,
        state: instance.state,
        started_at: Moment(instance.started_at),
        heartbeat_at: Moment(instance.heartbeat_at),
        silent_seconds: instance.silent_for.as_millis() as f64 / 1_000.0,
        jobs_owned: instance.owned,
        stats: instance.stats,
    });
    Ok(Json(Instances { items: items.collect() }).into_response())
}

/// Read the figures of this instance
///
/// Of the instance that answers; `GET /api/v1/instances` has those of all, as of their last signs of
/// life.
#[utoipa::path(
    get, path = "/api/v1/stats", tag = "platform", operation_id = "readStats",
    responses((status = 200, description = "Since its start", body = schema::Stats)),
)]
async fn stats(State(api): State<Api>) -> Json<Stats> {
    Json(api.engine().stats())
}
