//! Runbooks: their versions, what publishing one would do, and what their sources hold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::view::Fault;

/// The runbook in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct RunbookPath {
    /// the name of the runbook
    name: String,
}

/// The version of a runbook in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct RunbookVersionPath {
    /// the name of the runbook
    name: String,
    /// counted from 1
    version: u32,
}

/// A runbook to be published.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishRequest {
    /// the name that the document has
    name: String,
    /// the document; docs/runbook.md is the reference
    #[schema(min_length = 1)]
    yaml_content: String,
    /// what becomes of phases that are past due in batches under way; `ignore` if not given
    overdue_behavior: Option<OverdueBehavior>,
    /// whether batches under way are prepared again; false if not given
    rerun_init: Option<bool>,
}

/// A document to be looked at.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanRequest {
    /// the document
    #[schema(min_length = 1)]
    yaml_content: String,
    /// what becomes of phases that are past due in batches under way; `ignore` if not given
    overdue_behavior: Option<OverdueBehavior>,
    /// whether batches under way are prepared again; false if not given
    rerun_init: Option<bool>,
}

/// What becomes of phases of a new version that are past due.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OverdueBehavior {
    /// they are run again
    Rerun,
    /// they are skipped
    Ignore,
}

/// A version of a runbook.
#[derive(Serialize, ToSchema)]
pub(crate) struct Runbook {
    /// a number among all versions of all runbooks
    id: i64,
    /// its name
    name: String,
    /// counted from 1
    version: u32,
    /// the text as it was published; not in lists
    #[schema(required = false)]
    yaml_content: Option<String>,
    /// for people
    description: String,
    /// kept for whoever looks for it; there is no such table
    data_table_name: String,
    /// whether new batches follow it
    is_active: bool,
    /// what becomes of phases that are past due in batches under way
    overdue_behavior: OverdueBehavior,
    /// whether what was past due has been passed over
    ignore_overdue_applied: bool,
    /// whether batches under way are prepared again
    rerun_init: bool,
    /// when it was published
    #[schema(format = DateTime)]
    created_at: String,
    /// by whom
    created_by: String,
    /// why the last pass of the scheduler was not clean
    last_error: Option<String>,
    /// when that was
    #[schema(format = DateTime)]
    last_error_at: Option<String>,
    /// in the order they are due
    phases: Vec<PhaseSpec>,
    /// the kind of system that its members come from
    data_source_type: String,
}

/// A version of a runbook that was published.
#[derive(Serialize, ToSchema)]
pub(crate) struct PublishedRunbook {
    /// a number among all versions of all runbooks
    id: i64,
    /// its name
    name: String,
    /// counted from 1
    version: u32,
    /// the text as it was published
    yaml_content: String,
    /// for people
    description: String,
    /// kept for whoever looks for it; there is no such table
    data_table_name: String,
    /// whether new batches follow it
    is_active: bool,
    /// what becomes of phases that are past due in batches under way
    overdue_behavior: OverdueBehavior,
    /// whether what was past due has been passed over
    ignore_overdue_applied: bool,
    /// whether batches under way are prepared again
    rerun_init: bool,
    /// when it was published
    #[schema(format = DateTime)]
    created_at: String,
    /// by whom
    created_by: String,
    /// why the last pass of the scheduler was not clean
    last_error: Option<String>,
    /// when that was
    #[schema(format = DateTime)]
    last_error_at: Option<String>,
    /// in the order they are due
    phases: Vec<PhaseSpec>,
    /// the kind of system that its members come from
    data_source_type: String,
    /// what its author should look at
    warnings: Vec<Fault>,
    /// batches under way that follow it from now on
    batches: Vec<FollowingBatch>,
}

/// A batch that follows a version that was published.
#[derive(Serialize, ToSchema)]
pub(crate) struct FollowingBatch {
    /// its number
    batch_id: i64,
}

/// A phase as a runbook defines it.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhaseSpec {
    /// its name
    name: String,
    /// where it stands on the timeline
    #[schema(example = "T-5d")]
    offset: String,
    /// the same in minutes before T-0; negative after it
    offset_minutes: i32,
    /// how many steps it has
    steps: u32,
}

/// Runbooks.
#[derive(Serialize, ToSchema)]
pub(crate) struct RunbookList {
    /// without their texts
    items: Vec<Runbook>,
}

/// Whether batches of a runbook are to be made by themselves.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AutomationRequest {
    /// whether they are
    enabled: bool,
}

/// Whether batches of a runbook are made by themselves.
#[derive(Serialize, ToSchema)]
pub(crate) struct Automation {
    /// the runbook
    runbook_name: String,
    /// whether they are
    automation_enabled: bool,
    /// when that was last switched on
    #[schema(format = DateTime)]
    enabled_at: Option<String>,
    /// by whom
    enabled_by: Option<String>,
    /// when that was last switched off
    #[schema(format = DateTime)]
    disabled_at: Option<String>,
    /// by whom
    disabled_by: Option<String>,
}

/// What a pass of the scheduler would find.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueryPreview {
    /// how many rows there are
    total: u64,
    /// every column of the source
    columns: Vec<String>,
    /// the first hundred
    rows: Vec<BTreeMap<String, Value>>,
    /// the batches that the rows would make or belong to, the earliest first
    groups: Vec<PreviewGroup>,
    /// rows that would be passed over
    skipped: Vec<SkippedRow>,
    /// what the author of the query should look at
    warnings: Vec<String>,
}

/// A batch that rows would make or belong to.
#[derive(Serialize, ToSchema)]
pub(crate) struct PreviewGroup {
    /// T-0
    #[schema(format = DateTime)]
    batch_start_time: String,
    /// how many rows
    members: u64,
    /// the batch, if there is one
    exists_as: Option<i64>,
    /// how many would join
    new: u64,
    /// how many are members already
    known: u64,
}

/// A row that would be passed over.
#[derive(Serialize, ToSchema)]
pub(crate) struct SkippedRow {
    /// counted from 1
    row: u64,
    /// whose row it is, if it says so
    key: Option<String>,
    /// why
    reason: String,
}

/// What publishing a document would do.
#[derive(Serialize, ToSchema)]
pub(crate) struct PublicationPlan {
    /// the version that it would become, or is
    version: u32,
    /// whether it differs from the active version
    is_new: bool,
    /// what its author should look at
    warnings: Vec<Fault>,
    /// batches under way that would follow it
    batches: Vec<BatchTransition>,
}

/// What would become of a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct BatchTransition {
    /// which
    batch_id: i64,
    /// where it stands
    status: super::BatchStatus,
    /// the version it follows
    runbook_version: u32,
    /// `rerun` if it would be prepared again, else `kept`
    init: String,
    /// what would become of each phase that is not over, and of those of the new version
    phases: Vec<PhaseTransition>,
}

/// What would become of a phase.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhaseTransition {
    /// its name
    name: String,
    /// the version it belongs to
    runbook_version: u32,
    /// where it stands; null if it is new
    from: Option<super::PhaseStatus>,
    /// `pending`, `rerun` (begun before), `skipped`, `superseded` or `finishes_under_version`
    becomes: String,
    /// when it would begin
    #[schema(format = DateTime)]
    due_at: Option<String>,
}
