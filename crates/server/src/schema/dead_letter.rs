//! Dead letters: what is asked and answered about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::job::StepError;
use super::view::Problem;

/// Work that was given up.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeadLetter {
    /// its number
    id: i64,
    /// how the work was asked for; null if that is not known
    dialect: Option<String>,
    /// the job it belongs to; null if it is an order that never became one
    job_id: Option<uuid::Uuid>,
    /// whose it is
    tenant_id: String,
    /// the protocol or workflow of the job
    protocol_id: String,
    /// `run_failed` or `webhook_undelivered`; of an order `WorkflowNotFound`, `MessageInvalid`,
    /// `MessageExpired`, `InputInvalid` or `DeliveryLimit`
    reason: String,
    /// the step that failed
    step_id: Option<String>,
    /// the last error
    error: StepError,
    /// the first one, if there was another before the last
    first_error: Option<StepError>,
    /// when
    #[schema(format = DateTime)]
    at: String,
    /// how long ago that is
    age_seconds: u64,
    /// what became of it
    settlement: Option<Settlement>,
    /// the order as it came, if it is one; not in lists
    #[schema(required = false)]
    message: Option<String>,
    /// attempts that were made; not in lists
    #[schema(required = false)]
    attempts: Option<u32>,
    /// where the data of the job lies; never the data; not in lists
    #[schema(required = false)]
    references: Option<BTreeMap<String, String>>,
}

/// What became of a dead letter.
#[derive(Serialize, ToSchema)]
pub(crate) struct Settlement {
    /// when
    #[schema(format = DateTime)]
    at: String,
    /// by whom
    actor: String,
    /// the job that took the work up again; null if it was discarded
    replayed_as: Option<uuid::Uuid>,
    /// in their words
    reason: String,
}

/// A page of dead letters.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeadLetterPage {
    /// newest first
    items: Vec<DeadLetter>,
    /// the `cursor` of the next page; null if this was the last
    next_cursor: Option<String>,
}

/// A dead letter that was to be replayed.
#[derive(Serialize, ToSchema)]
pub(crate) struct Replayed {
    /// its number
    id: i64,
    /// `replayed`, or `refused` if it was not
    status: String,
    /// the new job
    #[serde(rename = "jobId")]
    #[schema(required = false)]
    job_id: Option<uuid::Uuid>,
    /// why there is none
    #[schema(required = false)]
    problem: Option<Problem>,
}

/// Dead letters that were to be replayed.
#[derive(Serialize, ToSchema)]
pub(crate) struct ReplayedMany {
    /// one result for each
    items: Vec<Replayed>,
}

/// A dead letter that was to be discarded.
#[derive(Serialize, ToSchema)]
pub(crate) struct Discarded {
    /// its number
    id: i64,
    /// `discarded`, or `refused` if it was not
    status: String,
    /// why it is not
    #[schema(required = false)]
    problem: Option<Problem>,
}

/// Dead letters that were to be discarded.
#[derive(Serialize, ToSchema)]
pub(crate) struct DiscardedMany {
    /// one result for each
    items: Vec<Discarded>,
}

/// Which dead letters are meant.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeadLetterChoice {
    /// of this protocol or workflow
    workflow: Option<String>,
    /// of this tenant
    tenant: Option<String>,
    /// of this dialect: `commands`, `platform`, `runbooks` or `workspaces`
    dialect: Option<String>,
    /// given up for this reason: `run_failed`, `webhook_undelivered`, …
    reason: Option<String>,
    /// whose last error has this code
    error_code: Option<String>,
    /// given up at or after this moment
    #[schema(format = DateTime)]
    from: Option<String>,
    /// given up before this moment
    #[schema(format = DateTime)]
    until: Option<String>,
}

/// Which dead letters to take up.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReplayRequest {
    /// which of those that nobody has settled; all if not given
    filter: Option<DeadLetterChoice>,
    /// at most this many; 50 if not given
    #[schema(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// only what is older than this dead letter; for the next page the id of the last result
    before: Option<i64>,
    /// in the caller's words
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// Why a dead letter is let be.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DiscardRequest {
    /// in the caller's words
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// Which dead letters to let be, and why.
#[derive(Deserialize, ToSchema)]
pub(crate) struct DiscardManyRequest {
    /// which of those that nobody has settled; all if not given
    filter: Option<DeadLetterChoice>,
    /// at most this many; 50 if not given
    #[schema(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// only what is older than this dead letter; for the next page the id of the last result
    before: Option<i64>,
    /// in the caller's words
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// Which dead letters to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeadLetterQuery {
    /// of this protocol
    #[param(required = false)]
    workflow: Option<String>,
    /// of this tenant; a token that is bound to a tenant sees no other
    #[param(required = false)]
    tenant: Option<String>,
    /// of this dialect: `commands`, `platform`, `runbooks` or `workspaces`
    #[param(required = false)]
    dialect: Option<String>,
    /// given up for this reason: `run_failed`, `webhook_undelivered`, …
    #[param(required = false)]
    reason: Option<String>,
    /// whose last error has this code
    #[param(required = false)]
    error_code: Option<String>,
    /// given up at or after this moment
    #[param(required = false, format = DateTime)]
    from: Option<String>,
    /// given up before this moment
    #[param(required = false, format = DateTime)]
    until: Option<String>,
    /// of this job
    #[param(required = false)]
    job_id: Option<uuid::Uuid>,
    /// settled ones too
    #[param(required = false)]
    settled: Option<bool>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// the `next_cursor` of the page before
    #[param(required = false)]
    cursor: Option<String>,
}
