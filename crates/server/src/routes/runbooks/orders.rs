//! Acting on many members or steps of a batch at once, with an answer for each.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::id::{MemberId, RunId};
use stepwell_core::run::Run;
use stepwell_dialects::runbooks::message::StepExecutionId;
use stepwell_dialects::runbooks::request::{self, Operation, Order};
use stepwell_engine::{BatchOperation, BatchOrder, BatchOrderResult, OrderFilter, OrderOutcome};
use stepwell_store::MemberStatus;

use super::{BatchPath, find};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::JsonBody;
use crate::schema;
use crate::state::Api;

/// Runs that are read at once to name their steps.
const RUNS_AT_ONCE: usize = 500;

#[derive(Serialize)]
struct Results {
    matched: usize,
    results: Vec<ResultView>,
}

#[derive(Serialize)]
struct ResultView {
    member_id: MemberId,
    member_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    step_id: Option<StepExecutionId>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// Act on members and steps that a filter finds
///
/// `retry` tries again, `skip` passes a step over, `mark_done` takes it as done with a result,
/// `rollback` runs what its `on_failure` names, `cancel` stops a member, `remove` takes it out of the
/// batch. With a phase, a step or a step status in the filter each step found is an item, otherwise
/// each member with the step it is at. One answer for each item; one that is refused does not keep the
/// others from being done. With `dry_run` nothing is done.
#[utoipa::path(
    post, path = "/api/batches/{batch}/operate", tag = "batches", operation_id = "operateBatch",
    params(schema::BatchPath), request_body = schema::OperateRequest,
    responses((status = 200, description = "One answer for each item", body = schema::OperateResults)),
)]
pub(super) async fn operate(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    body: JsonBody,
) -> Result<Response, ApiError> {
    let order = order(body.read(request::order)?, &caller);
    find(&api, &caller, id).await?;
    let results = api.engine().operate_batch(id, &order).await?;
    let runs = named_runs(&api, &results).await?;
    let results: Vec<ResultView> = results.into_iter().map(|it| shown(it, &runs)).collect();
    Ok(Json(Results { matched: results.len(), results }).into_response())
}

fn order(order: Order, caller: &Caller) -> BatchOrder {
    let filter = order.filter;
    let statuses = filter.member_statuses.iter();
    BatchOrder {
        operation: match order.operation {
            Operation::Retry => BatchOperation::Retry,
            Operation::Skip => BatchOperation::Skip,
            Operation::MarkDone { result } => BatchOperation::MarkDone { result },
            Operation::Rollback => BatchOperation::Rollback,
            Operation::Cancel => BatchOperation::Cancel,
            Operation::Remove => BatchOperation::Remove,
        },
        filter: OrderFilter {
            members: filter.members,
            keys: filter.keys,
            member_statuses: statuses.filter_map(|word| MemberStatus::of_word(word)).collect(),
            phase: filter.phase,
            step: filter.step,
            step_statuses: filter.step_statuses.into_iter().map(str::to_owned).collect(),
        },
        by: caller.act(order.reason),
        dry_run: order.dry_run,
        limit: order.limit,
    }
}

/// The runs whose steps the results name, because only they know their numbers.
async fn named_runs(
    api: &Api,
    results: &[BatchOrderResult],
) -> Result<HashMap<RunId, Arc<Run>>, ApiError> {
    let ids = results.iter().filter(|result| result.step.is_some()).map(|result| result.run);
    let mut ids: Vec<RunId> = ids.collect();
    ids.dedup();
    let mut runs = HashMap::new();
    for ids in ids.chunks(RUNS_AT_ONCE) {
        runs.extend(api.engine().runs(ids.to_vec()).await?);
    }
    Ok(runs)
}

fn shown(result: BatchOrderResult, runs: &HashMap<RunId, Arc<Run>>) -> ResultView {
    let membership = runs.get(&result.run).and_then(|run| run.header.membership);
    let step_id =
        membership.zip(result.step).map(|(it, step)| StepExecutionId::of(it.number, step));
    let (outcome, code, message) = match result.outcome {
        OrderOutcome::Done => ("done", None, None),
        OrderOutcome::Would => ("would", None, None),
        OrderOutcome::Refused { code, message } => ("refused", Some(code), Some(message)),
    };
    let (member_id, member_key) = (result.member, result.key);
    ResultView { member_id, member_key, step_id, outcome, code, message }
}
