//! Credits of a workspace: what it may spend, who granted it, and where it went.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::credit::Credits;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_dialects::amount::{self, Amount};
use stepwell_dialects::moment::Moment;
use stepwell_store::{Account, Grant, Granted, LedgerLine};

use super::Workspace;
use crate::auth::Caller;
use crate::error::{ApiError, Code};
use crate::extract::{JsonBody, Query, idempotency_key};
use crate::job_id;
use crate::routes::jobs::{Items, PAGE_DEFAULT, PAGE_MAX};
use crate::schema;
use crate::state::Api;

const KEY_CHARS_MAX: usize = 255;

/// The account of a workspace.
#[derive(Serialize)]
struct AccountView {
    workspace_id: Tenant,
    balance: Amount,
    reserved: Amount,
    spent: Amount,
    charged: bool,
}

impl AccountView {
    fn of(api: &Api, workspace_id: Tenant, account: Account) -> Self {
        let Account { balance, reserved, spent } = account;
        let [balance, reserved, spent] = [balance, reserved, spent].map(Amount);
        let charged = api.engine().workspaces().charged;
        Self { workspace_id, balance, reserved, spent, charged }
    }
}

/// Show the credits of a workspace
///
/// At every instant the sums of the lines of its ledger.
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/credits", tag = "workspaces", operation_id = "getCredits",
    params(schema::WorkspacePath),
    responses((status = 200, description = "The account", body = schema::CreditAccount)),
)]
pub(super) async fn show(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
) -> Result<Response, ApiError> {
    let account = api.engine().store().account(workspace.clone()).await?;
    Ok(Json(AccountView::of(&api, workspace, account)).into_response())
}

/// Grant credits to a workspace
///
/// A negative amount takes credits out, down to nothing and no further. The same grant under the same
/// `Idempotency-Key` is booked once.
#[utoipa::path(
    post, path = "/v1/workspaces/{workspace_id}/credits/grants", tag = "workspaces", operation_id = "grantCredits",
    params(schema::WorkspacePath, ("Idempotency-Key" = Option<String>, Header, description = "makes a repetition recognizable")),
    request_body = schema::GrantRequest,
    responses((status = 200, description = "The account after it", body = schema::CreditAccount)),
)]
pub(super) async fn grant(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
    caller: Caller,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let (amount, reason) = body.read(|fields| {
        let amount = fields.required("amount").and_then(|field| {
            let amount = amount::read(&field)?;
            if amount == Credits::ZERO {
                field.report(field.problem("out_of_range", "nothing would be granted"));
            }
            Some(amount)
        });
        let reason = fields.required("reason").and_then(|field| field.text_within(1..=500));
        Some((amount?, reason?.to_owned()))
    })?;
    let grant = Grant {
        tenant: workspace.clone(),
        amount,
        actor: caller.subject,
        reason,
        key: idempotency_key(&headers, None, KEY_CHARS_MAX)?,
        at: api.engine().now(),
    };
    let granted = api.engine().store().grant(grant).await?;
    let account = match granted {
        Granted::Done(account) | Granted::Repeated(account) => account,
        Granted::KeyTaken => {
            let detail = "another grant was booked under this key";
            return Err(ApiError::new(Code::KeyReused, detail));
        }
        Granted::Short(account) => {
            let detail = format!("the account holds {} credits, and no more", account.balance);
            let next = "Take out what the account holds at most.";
            return Err(ApiError::new(Code::CreditsShort, detail).next(next));
        }
    };
    tracing::info!(workspace = %workspace, amount = %amount, "credits_granted");
    Ok(Json(AccountView::of(&api, workspace, account)).into_response())
}

/// A line of the ledger.
#[derive(Serialize)]
struct LineView {
    id: i64,
    at: Moment,
    kind: &'static str,
    job_id: Option<RunId>,
    balance: Amount,
    reserved: Amount,
    spent: Amount,
    balance_after: Amount,
    reserved_after: Amount,
    spent_after: Amount,
    actor: String,
    reason: String,
}

impl From<LedgerLine> for LineView {
    fn from(line: LedgerLine) -> Self {
        let (movement, after) = (line.movement, line.after);
        Self {
            id: line.id,
            at: Moment(line.at),
            kind: movement.kind.word(),
            job_id: line.run.map(|run| job_id::shown(Some(Dialect::Workspaces), run)),
            balance: Amount(movement.balance),
            reserved: Amount(movement.reserved),
            spent: Amount(movement.spent),
            balance_after: Amount(after.balance),
            reserved_after: Amount(after.reserved),
            spent_after: Amount(after.spent),
            actor: line.actor,
            reason: line.reason,
        }
    }
}

/// Read the ledger of a workspace, newest first
///
/// Each line says what moved, why, and what the account was after it. Lines of jobs that are older than
/// the installation keeps them (`retention_ledger`, 90 days) are carried: those of a day become one, which
/// adds as much and names no job. Grants stay as they are.
#[utoipa::path(
    get, path = "/v1/workspaces/{workspace_id}/credits/ledger", tag = "workspaces", operation_id = "readLedger",
    params(schema::WorkspacePath, schema::LedgerQuery),
    responses((status = 200, description = "A page of lines", body = schema::LedgerPage)),
)]
pub(super) async fn ledger(
    State(api): State<Api>,
    Workspace(workspace): Workspace,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["job_id", "limit", "cursor"])?;
    let limit = parameters.limit(PAGE_DEFAULT, PAGE_MAX)?;
    let run = parameters.read("job_id", "the id of a job", job_id::read)?;
    let before = parameters.read("cursor", "the next_cursor before", |text| text.parse().ok())?;
    let lines = api.engine().store().ledger(workspace, run, before, limit).await?;
    let next_cursor = lines.last().filter(|_| lines.len() == limit).map(|last| last.id.to_string());
    let items = lines.into_iter().map(LineView::from).collect();
    Ok(Json(Items { items, next_cursor }).into_response())
}
