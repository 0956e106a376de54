//! Triggers and their firings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::workspace_job::TriggerWord;

/// The trigger in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct TriggerPath {
    /// the id of the workspace: the tenant
    workspace_id: String,
    /// the name of the trigger
    name: String,
}

/// The document of a trigger; docs/dialects/workspaces.md has its fields.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(value_type = BTreeMap<String, Value>)]
pub(crate) struct TriggerDocument(BTreeMap<String, Value>);

/// A trigger.
#[derive(Serialize, ToSchema)]
pub(crate) struct Trigger {
    /// unique in its workspace
    name: String,
    /// what makes it fire
    kind: TriggerWord,
    /// the workflow of its jobs
    workflow_id: String,
    /// whether it fires at present
    enabled: bool,
    /// counted from 1, with every change
    version: u32,
    /// when it fires next, if that is known
    #[schema(format = DateTime)]
    next_at: Option<String>,
    /// why it did not fire when it should have
    last_error: Option<String>,
    /// by whom it was last changed
    actor: String,
    /// when it was made
    #[schema(format = DateTime)]
    created_at: String,
    /// when it last changed
    #[schema(format = DateTime)]
    updated_at: String,
    /// all that was said of it
    document: TriggerDocument,
    /// of a webhook: where to send requests
    #[schema(required = false)]
    hook_url: Option<String>,
    /// of a webhook: what to sign requests with; shown once, when it is made
    #[schema(required = false)]
    secret: Option<String>,
}

/// Triggers.
#[derive(Serialize, ToSchema)]
pub(crate) struct TriggerList {
    /// by name
    items: Vec<Trigger>,
}

/// A schedule to be looked at.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewRequest {
    /// when, and where
    schedule: ScheduleWords,
    /// firings after this moment; after now if not given
    #[schema(example = "2026-03-28T00:00:00Z")]
    from: Option<String>,
    /// how many firings; 10 if not given
    #[schema(minimum = 1, maximum = 100)]
    count: Option<u32>,
}

/// When and where.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScheduleWords {
    /// five fields, or six with seconds first
    #[schema(example = "30 2 * * *")]
    cron: String,
    /// the place whose clock counts; UTC if not given
    #[schema(example = "Europe/Berlin")]
    time_zone: Option<String>,
}

/// When a schedule would fire.
#[derive(Serialize, ToSchema)]
pub(crate) struct TriggerPreview {
    /// the next ones, earliest first
    firings: Vec<PreviewFiring>,
}

/// A firing to come.
#[derive(Serialize, ToSchema)]
pub(crate) struct PreviewFiring {
    /// when
    #[schema(format = DateTime)]
    at: String,
    /// what the clock of the place shows then, with its offset
    local: String,
}

/// What a firing by hand is given.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FireRequest {
    /// goes over what the trigger says
    input: Option<BTreeMap<String, Value>>,
}

/// Which firings to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FiringQuery {
    /// `started`, `queued`, `skipped` or `failed`
    #[param(required = false)]
    outcome: Option<String>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// What became of a firing.
#[derive(Serialize, ToSchema)]
pub(crate) struct Firing {
    /// what makes it the same firing
    key: String,
    /// the moment it was meant for, of a schedule
    #[schema(format = DateTime)]
    scheduled_for: Option<String>,
    /// when it fired
    #[schema(format = DateTime)]
    at: String,
    /// `started`, `queued`, `skipped` or `failed`
    outcome: String,
    /// the job it made
    job_id: Option<uuid::Uuid>,
    /// why it made none, or none yet
    reason: Option<String>,
}

/// Firings.
#[derive(Serialize, ToSchema)]
pub(crate) struct FiringList {
    /// newest first
    items: Vec<Firing>,
}

/// The answer to a webhook.
#[derive(Serialize, ToSchema)]
pub(crate) struct HookAnswer {
    /// the job it made
    job_id: Option<uuid::Uuid>,
    /// whether it was made now, or by the same request before
    created: bool,
}
