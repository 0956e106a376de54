//! Parameters in paths, queries and headers.

use utoipa::IntoParams;

/// The job in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct JobPath {
    /// the id of the job
    job: uuid::Uuid,
}

/// The step in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct StepPath {
    /// the id of the job
    job: uuid::Uuid,
    /// the id of the step
    step: String,
}

/// The gate in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct GatePath {
    /// the id of the job
    job: uuid::Uuid,
    /// the name of the gate
    gate: String,
}

/// The dead letter in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct DeadLetterPath {
    /// the number of the dead letter
    id: i64,
}

/// The version that was seen last.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
pub(crate) struct IfMatch {
    /// the `ETag` of the job when it was last read; the act is refused if the job has changed since
    #[param(rename = "If-Match", required = false)]
    if_match: Option<String>,
}

/// Which jobs to list.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobFilter {
    /// one or more of the words of `status`, repeated or separated by commas
    #[param(required = false)]
    status: Option<String>,
    /// jobs of the protocol that answers this request type
    #[param(required = false)]
    request_type: Option<String>,
    /// jobs of this protocol, any version
    #[param(required = false)]
    workflow: Option<String>,
    /// jobs with this correlation id
    #[param(required = false)]
    correlation_id: Option<String>,
    /// jobs of this tenant; a token that is bound to a tenant sees no other
    #[param(required = false)]
    tenant: Option<String>,
    /// created at or after this moment
    #[param(required = false, format = DateTime)]
    created_from: Option<String>,
    /// created before this moment
    #[param(required = false, format = DateTime)]
    created_until: Option<String>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// the `next_cursor` of the page before
    #[param(required = false)]
    cursor: Option<String>,
}

/// Which part of a history to read.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryFilter {
    /// records after this version
    #[param(required = false)]
    after: Option<u64>,
    /// at most this many; 50 if not given
    #[param(required = false, minimum = 1, maximum = 200)]
    limit: Option<u32>,
}
