//! Bodies of other answers.

use serde::Serialize;
use utoipa::ToSchema;

use super::body::RoleWord;

/// Why a request was not followed (RFC 9457).
#[derive(Serialize, ToSchema)]
pub(crate) struct Problem {
    /// names the kind of problem
    #[schema(example = "urn:stepwell:error:job_not_found")]
    r#type: String,
    /// the same for people
    title: String,
    /// the HTTP status
    status: u16,
    /// a stable word; docs/errors has a page for each
    code: String,
    /// what happened on this occasion
    detail: String,
    /// the same as `detail`
    message: String,
    /// what to do next
    next: String,
    /// every fault of the input
    #[schema(required = false)]
    details: Option<Vec<Fault>>,
    /// what the sender knows the request by
    #[schema(required = false)]
    correlation_id: Option<String>,
    /// what the log knows the request by
    #[schema(required = false)]
    request_id: Option<String>,
}

/// One fault of an input.
#[derive(Serialize, ToSchema)]
pub(crate) struct Fault {
    /// a stable word
    code: String,
    /// the field
    path: String,
    /// the line in the text, counted from 1
    #[schema(required = false)]
    line: Option<u32>,
    /// the column in the text, counted from 1
    #[schema(required = false)]
    column: Option<u32>,
    /// what is wrong
    message: String,
    /// what to do about it
    #[schema(required = false)]
    help: Option<String>,
}

/// A workflow.
#[derive(Serialize, ToSchema)]
pub(crate) struct Workflow {
    /// its name
    name: String,
    /// counted from 1
    version: u32,
    /// what commands address it by
    request_type: Option<String>,
    /// when it was published
    #[schema(format = DateTime)]
    created_at: String,
    /// by whom
    created_by: String,
    /// the YAML text
    #[schema(required = false)]
    source: Option<String>,
}

/// Workflows.
#[derive(Serialize, ToSchema)]
pub(crate) struct WorkflowList {
    /// by name
    items: Vec<Workflow>,
}

/// A workflow document that is sound.
#[derive(Serialize, ToSchema)]
pub(crate) struct ValidatedWorkflow {
    /// its name
    name: String,
    /// what commands would address it by
    request_type: Option<String>,
    /// the ids of its steps
    steps: Vec<String>,
}

/// A token.
#[derive(Serialize, ToSchema)]
pub(crate) struct Token {
    /// its public part
    id: String,
    /// for people
    name: String,
    /// what it may do
    role: RoleWord,
    /// whose things it may see; null: everybody's
    tenant: Option<String>,
    /// when it was made
    #[schema(format = DateTime)]
    created_at: String,
    /// when it stops working
    #[schema(format = DateTime)]
    expires_at: Option<String>,
    /// when it was revoked
    #[schema(format = DateTime)]
    revoked_at: Option<String>,
    /// the token itself; shown once, when it is made
    #[schema(required = false)]
    token: Option<String>,
}

/// Tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct TokenList {
    /// oldest first
    items: Vec<Token>,
}

/// How the process is.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// `alive` or `ready`
    status: String,
}
