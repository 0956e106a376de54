//! Credits and policies of a workspace.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The workspace in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct WorkspacePath {
    /// the id of the workspace: the tenant
    workspace_id: String,
}

/// The credits of a workspace.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreditAccount {
    /// whose account
    workspace_id: String,
    /// what may still be promised
    balance: f64,
    /// set aside by jobs that have not ended
    reserved: f64,
    /// spent, restored amounts taken off
    spent: f64,
    /// whether the server charges jobs to it; otherwise it only counts what they cost, job by job
    charged: bool,
}

/// Credits for a workspace.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GrantRequest {
    /// how much, with at most six digits after the point; negative takes out
    amount: f64,
    /// in the caller's words
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
}

/// Which lines of a ledger to read.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LedgerQuery {
    /// of this job
    #[param(required = false)]
    job_id: Option<uuid::Uuid>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// the `next_cursor` of the page before
    #[param(required = false)]
    cursor: Option<String>,
}

/// A page of a ledger.
#[derive(Serialize, ToSchema)]
pub(crate) struct LedgerPage {
    /// newest first
    items: Vec<LedgerEntry>,
    /// the `cursor` of the next page; null if this was the last
    next_cursor: Option<String>,
}

/// A line of a ledger.
#[derive(Serialize, ToSchema)]
pub(crate) struct LedgerEntry {
    /// its number; later lines have higher ones
    id: i64,
    /// when
    #[schema(format = DateTime)]
    at: String,
    /// `granted`, `reserved`, `spent`, `released`, `restored`, or `carried`: what jobs moved on a day long
    /// past, in one line
    kind: String,
    /// the job that moved them; null if somebody granted them, or many jobs moved them
    job_id: Option<uuid::Uuid>,
    /// what it added to the balance
    balance: f64,
    /// what it added to what is set aside
    reserved: f64,
    /// what it added to what was spent
    spent: f64,
    /// the balance after it
    balance_after: f64,
    /// what was set aside after it
    reserved_after: f64,
    /// what was spent after it
    spent_after: f64,
    /// by whom; empty for jobs
    actor: String,
    /// in their words
    reason: String,
}

/// What is to be agreed for a workspace. What is left out follows the settings of the installation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkspacePolicyRequest {
    /// how long jobs that are completed or canceled are kept
    #[schema(example = "30d")]
    keep: Option<String>,
    /// how long dead jobs are kept
    #[schema(example = "90d")]
    keep_dead: Option<String>,
    /// when spent credits come back: `never`, `failed` or `unfinished`
    restore: Option<String>,
    /// jobs that have not ended, at a time
    #[schema(minimum = 1)]
    jobs_open_max: Option<u32>,
}

/// What is agreed for a workspace. What is null follows the settings of the installation.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkspacePolicy {
    /// how long jobs that are completed or canceled are kept
    keep: Option<String>,
    /// how long dead jobs are kept
    keep_dead: Option<String>,
    /// when spent credits come back: `never`, `failed` or `unfinished`
    restore: Option<String>,
    /// jobs that have not ended, at a time
    jobs_open_max: Option<u32>,
}
