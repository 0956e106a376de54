//! Members of a batch: list, add, remove.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::Batch;
use stepwell_core::id::MemberId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::problem::{Problem, quoted};
use stepwell_dialects::runbooks::view::{self, MemberRow};
use stepwell_store::{Member, MemberFilter, MemberStatus};

use super::lists::{self, PageView};
use super::upload::Upload;
use super::{BatchPath, MemberPath, acts_here, find};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Parameters, Query};
use crate::schema;
use crate::state::Api;

/// List the members of a batch, by number
#[utoipa::path(
    get, path = "/api/batches/{batch}/members", tag = "batches", operation_id = "listMembers",
    params(schema::BatchPath, schema::MemberQuery),
    responses((status = 200, description = "A page of members", body = schema::MemberPage)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["status", "key", "limit", "offset"])?;
    let slice = lists::slice(&parameters)?;
    let filter = MemberFilter {
        statuses: statuses(&parameters)?,
        // A key may hold a comma, so that several are named by repeating the parameter.
        keys: parameters.each("key").map(str::to_owned).collect(),
        ..MemberFilter::of(id)
    };
    let batch = find(&api, &caller, id).await?;
    let listed = api.engine().store().members(filter, slice).await?;
    let runs = listed.items.iter().map(|member| member.run).collect();
    let runs = api.engine().runs_in_brief(runs).await?;
    tracing::info!(batch_id = id.0, members = listed.items.len(), "member_data_read");
    let began_at = began_at(&batch);
    let shown = |member| view::member(row(member), runs.get(&member.run).map(|it| &**it), began_at);
    let items = listed.items.iter().map(shown).collect();
    Ok(Json(PageView::of(items, listed.total, slice)).into_response())
}

/// Which members are asked for.
fn statuses(parameters: &Parameters) -> Result<Vec<MemberStatus>, ApiError> {
    let read = |word: &str| {
        MemberStatus::of_word(word).ok_or_else(|| {
            let words: Vec<&str> = MemberStatus::ALL.iter().map(|status| status.word()).collect();
            let message = format!("{} is no status; there are {}", quoted(word), words.join(", "));
            ApiError::parameter("status", message)
        })
    };
    parameters.all("status").map(read).collect()
}

/// When the first phase began: whoever joins later catches up.
fn began_at(batch: &Batch) -> Option<Timestamp> {
    batch.phases.iter().filter_map(|phase| phase.dispatched_at).min()
}

fn row(member: &Member) -> MemberRow<'_> {
    MemberRow {
        id: member.id,
        batch: member.batch,
        key: &member.key,
        status: member.status().word(),
        run: member.run,
        run_status: member.run_status.word(),
        current_step: member.current_step.as_deref(),
        added_at: member.added_at,
        ended_at: member.ended_at,
        removed_at: member.removed_at,
        removed_by: member.removed_by.as_deref(),
        removal_dispatched_at: member.removal_dispatched_at,
    }
}

#[derive(Serialize)]
struct AddedMember {
    id: MemberId,
    member_key: String,
}

#[derive(Serialize)]
struct Added {
    added: Vec<AddedMember>,
    warnings: Vec<Problem>,
}

/// Add members to a batch that a person made
///
/// The list is CSV, as a form with the field `file` or as the body. All of them join, or none. Who
/// joins late catches up with the phases that have begun.
#[utoipa::path(
    post, path = "/api/batches/{batch}/members", tag = "batches", operation_id = "addMembers",
    params(schema::BatchPath),
    request_body(content(
        (schema::MembersForm = "multipart/form-data"),
        (String = "text/csv"),
    )),
    responses((status = 201, description = "Who joined", body = schema::AddedMembers)),
)]
pub(super) async fn join(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
    upload: Upload,
) -> Result<Response, ApiError> {
    acts_here(&caller)?;
    let batch = find(&api, &caller, id).await?;
    let (name, version) = (&batch.header.runbook, Some(batch.runbook_version));
    let compiled = api.engine().compiled_runbook(name, version).await?;
    let members = upload.members(&compiled).await?;
    let added = api.engine().add_members(id, members.rows, &caller.subject).await?;
    let added = added.into_iter().map(|(id, member_key)| AddedMember { id, member_key }).collect();
    Ok((StatusCode::CREATED, Json(Added { added, warnings: members.warnings })).into_response())
}

/// Remove a member from a batch that a person made
///
/// What is under way for it is stopped, and what `on_member_removed` says is done. Asking again
/// answers the same and changes nothing.
#[utoipa::path(
    delete, path = "/api/batches/{batch}/members/{member}", tag = "batches", operation_id = "removeMember",
    params(schema::MemberPath),
    responses((status = 200, description = "The member as it is now", body = schema::Member)),
)]
pub(super) async fn remove(
    State(api): State<Api>,
    caller: Caller,
    MemberPath(id, member): MemberPath,
) -> Result<Response, ApiError> {
    let batch = find(&api, &caller, id).await?;
    let member = api.engine().remove_member(id, member, &caller.subject).await?;
    let run = api.engine().run(member.run).await?;
    let shown = view::member(row(&member), run.as_deref(), began_at(&batch));
    Ok(Json(shown).into_response())
}
