//! The runbooks dialect over HTTP: documents, batches, members, steps, and what people do to them.
//!
//! Everything belongs to the tenant `default`: this wire has no tenants, so a token that is bound to
//! another one sees nothing here. Reads show counters and single rows; none of them counts or loads
//! all members of a batch (`docs/dialects/runbooks.md` is the guide for callers).

mod automation;
mod batches;
mod documents;
mod histories;
mod lists;
mod members;
mod operate;
mod orchestrator;
mod orders;
mod plans;
mod steps;
mod upload;
mod watch;
mod workers;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::header::ETAG;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::Batch;
use stepwell_core::id::{BatchId, MemberId, Tenant};
use stepwell_dialects::problem::Problem;
use stepwell_dialects::runbooks::view::{self, BatchView};
use stepwell_engine::BatchError;
use utoipa_axum::routes;

use super::{Access, Routes};
use crate::auth::{Caller, Permission};
use crate::error::{ApiError, Code};
use crate::extract::{etag, path};
use crate::state::Api;

/// A list of members may be long (200 MB), and a form has marks around it.
const UPLOAD_BODY_MAX: usize = stepwell_dialects::runbooks::members_csv::BYTES_MAX + 64 * 1024;

/// Results may be large; a list of them is allowed more than a single request is.
const RESULTS_BODY_MAX: usize = 8 * 1024 * 1024;

/// Routes for people and programs.
pub(super) fn add(routes: Routes) -> Routes {
    let read = Access::Needs(Permission::ReadBatches);
    let manage = Access::Needs(Permission::ManageBatches);
    let operate = Access::Needs(Permission::OperateBatches);
    let routes = routes
        .add(manage, routes!(documents::publish))
        .add(read, routes!(documents::list))
        .add(read, routes!(documents::active))
        .add(read, routes!(documents::versions))
        .add(read, routes!(documents::version))
        .add(manage, routes!(documents::deactivate))
        .add(manage, routes!(plans::publication))
        .add(read, routes!(automation::get))
        .add(manage, routes!(automation::put))
        .add(manage, routes!(automation::preview))
        .add(read, routes!(documents::template))
        .add_with_body(manage, UPLOAD_BODY_MAX, routes!(plans::new_batch))
        .add(Access::Needs(Permission::ReadSchemas), routes!(documents::runbook_schema));
    routes
        .add(read, routes!(batches::list))
        .add(read, routes!(batches::get))
        .add_with_body(manage, UPLOAD_BODY_MAX, routes!(batches::create))
        .add(read, routes!(members::list))
        .add_with_body(manage, UPLOAD_BODY_MAX, routes!(members::join))
        .add(manage, routes!(members::remove))
        .add(read, routes!(batches::phases))
        .add(read, routes!(steps::list))
        .add(operate, routes!(operate::advance))
        .add(operate, routes!(operate::cancel))
        .add(operate, routes!(operate::pause))
        .add(operate, routes!(operate::resume))
        .add(operate, routes!(operate::move_start))
        .add(operate, routes!(orders::operate))
        .add(read, routes!(plans::batch))
        .add(read, routes!(histories::events))
        .add(read, routes!(histories::explain_batch))
        .add(read, routes!(watch::watch))
}

/// Routes for workers, and for whoever keeps the time elsewhere.
pub(super) fn add_for_workers(routes: Routes) -> Routes {
    let work = Access::Needs(Permission::Work);
    routes
        .add(work, routes!(workers::receive))
        .add(work, routes!(workers::renew))
        .add_with_body(work, RESULTS_BODY_MAX, routes!(workers::results))
        .add(Access::Needs(Permission::OperateBatches), routes!(orchestrator::accept))
        .add(Access::Needs(Permission::ReadBatches), routes!(orchestrator::emitted))
}

/// The batch in the path. What is no number names no batch.
struct BatchPath(BatchId);

/// The batch and the member in the path.
struct MemberPath(BatchId, MemberId);

impl<S: Sync> FromRequestParts<S> for BatchPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let id: String = path(parts).await?;
        batch_id(&id).map(Self)
    }
}

impl<S: Sync> FromRequestParts<S> for MemberPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (batch, member): (String, String) = path(parts).await?;
        let member = member.parse().map_err(|_| {
            ApiError::new(Code::MemberNotFound, "the number of the member cannot be read")
        })?;
        Ok(Self(batch_id(&batch)?, MemberId(member)))
    }
}

fn batch_id(text: &str) -> Result<BatchId, ApiError> {
    let id = text.parse().map_err(|_| {
        ApiError::new(Code::BatchNotFound, "the number of the batch cannot be read")
    })?;
    Ok(BatchId(id))
}

/// Refuses whoever is bound to a tenant that has no runbooks.
fn acts_here(caller: &Caller) -> Result<(), ApiError> {
    caller.acts_for(Tenant::default_tenant().as_str())
}

/// The batch, if it exists for the caller.
async fn find(api: &Api, caller: &Caller, id: BatchId) -> Result<Batch, ApiError> {
    let batch = api.engine().batch(id).await?;
    if caller.sees(&batch.header.tenant) {
        return Ok(batch);
    }
    Err(BatchError::BatchNotFound(id).into())
}

/// The number of the version that a batch follows.
async fn runbook_id(api: &Api, batch: &Batch) -> Result<Option<i64>, ApiError> {
    let version = Some(batch.runbook_version);
    match api.engine().compiled_runbook(&batch.header.runbook, version).await {
        Ok(runbook) => Ok(Some(runbook.id)),
        Err(BatchError::RunbookNotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A batch, and what whoever made it should look at.
#[derive(Serialize)]
struct MadeBatch<'a> {
    #[serde(flatten)]
    batch: BatchView<'a>,
    warnings: &'a [Problem],
}

/// The batch as it is now, with its version as the tag.
async fn show(api: &Api, batch: &Batch) -> Result<Response, ApiError> {
    let shown = view::batch(batch, runbook_id(api, batch).await?);
    Ok(([(ETAG, etag(batch.version))], Json(shown)).into_response())
}

/// A name as a segment of an address.
fn segment(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_name_of_a_runbook_fits_into_an_address() {
        assert_eq!(super::segment("contoso-mail_1.0"), "contoso-mail_1.0");
        assert_eq!(super::segment("Wave 2/ä"), "Wave%202%2F%C3%A4");
    }
}
