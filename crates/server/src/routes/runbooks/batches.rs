//! Batches: list, read, make.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::batch::{Batch, BatchMode, BatchStatus};
use stepwell_core::id::BatchId;
use stepwell_dialects::problem::{Problem, quoted};
use stepwell_dialects::runbooks::view::{self, PhaseView};
use stepwell_store::{BatchFilter, Key};

use super::lists::{self, PageView};
use super::upload::Upload;
use super::{BatchPath, MadeBatch, acts_here, find, runbook_id, show};
use crate::auth::Caller;
use crate::error::ApiError;
use crate::extract::{Parameters, Query, idempotency_key};
use crate::fingerprint;
use crate::schema;
use crate::state::Api;

/// As long as that of a command may be.
const KEY_CHARS_MAX: usize = 255;

/// List batches, newest first
#[utoipa::path(
    get, path = "/api/batches", tag = "batches", operation_id = "listBatches",
    params(schema::BatchQuery),
    responses((status = 200, description = "A page of batches", body = schema::BatchPage)),
)]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiError> {
    let parameters = query.known(&["runbook", "status", "manual", "limit", "offset"])?;
    let slice = lists::slice(&parameters)?;
    let manual = parameters.read("manual", "true or false", |text| text.parse().ok())?;
    let modes: &[BatchMode] = match manual {
        Some(true) => &[BatchMode::Manual],
        Some(false) => &[BatchMode::Scheduled, BatchMode::Immediate],
        None => &[],
    };
    let filter = BatchFilter {
        tenant: caller.tenant.clone(),
        runbook: parameters.one("runbook")?.map(str::to_owned),
        statuses: statuses(&parameters)?,
        ..BatchFilter::default()
    };
    let listed = lists::batches(&api, filter, modes, slice).await?;
    let ids = runbook_ids(&api, &listed.items).await?;
    let id_of = |batch: &Batch| {
        ids.get(&(batch.header.runbook.as_str(), batch.runbook_version)).copied().flatten()
    };
    let items = listed.items.iter().map(|batch| view::batch(batch, id_of(batch))).collect();
    Ok(Json(PageView::of(items, listed.total, slice)).into_response())
}

/// The numbers of the versions that batches follow. Batches of one version share its number.
async fn runbook_ids<'b>(
    api: &Api,
    batches: &'b [Batch],
) -> Result<BTreeMap<(&'b str, u32), Option<i64>>, ApiError> {
    let mut ids = BTreeMap::new();
    for batch in batches {
        if let Entry::Vacant(place) =
            ids.entry((batch.header.runbook.as_str(), batch.runbook_version))
        {
            place.insert(runbook_id(api, batch).await?);
        }
    }
    Ok(ids)
}

fn statuses(parameters: &Parameters) -> Result<Vec<BatchStatus>, ApiError> {
    let read = |word: &str| {
        BatchStatus::of_word(word).ok_or_else(|| {
            let words: Vec<&str> = BatchStatus::ALL.iter().map(|status| status.word()).collect();
            let message = format!("{} is no status; there are {}", quoted(word), words.join(", "));
            ApiError::parameter("status", message)
        })
    };
    parameters.all("status").map(read).collect()
}

/// Show a batch with its phases and counters
#[utoipa::path(
    get, path = "/api/batches/{batch}", tag = "batches", operation_id = "getBatch",
    params(schema::BatchPath),
    responses((status = 200, description = "The batch", body = schema::Batch,
        headers(("ETag" = String, description = "the version of the batch")))),
)]
pub(super) async fn get(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
) -> Result<Response, ApiError> {
    let batch = find(&api, &caller, id).await?;
    show(&api, &batch).await
}

/// Make a batch of a list of members
///
/// The list is CSV, as a form with the fields `runbook` and `file`, or as the body with the runbook in
/// the query. Every fault of the list is reported with its line, and then nothing is made. The batch
/// follows the active version to its end, and a person moves it on from phase to phase. With an
/// idempotency key, the same list again answers the batch that the first one made, as it is now.
#[utoipa::path(
    post, path = "/api/batches", tag = "batches", operation_id = "createBatch",
    params(schema::RunbookQuery,
        ("Idempotency-Key" = Option<String>, Header, description = "under which at most one batch is made")),
    request_body(content(
        (schema::MembersForm = "multipart/form-data"),
        (String = "text/csv"),
    )),
    responses((status = 201, description = "The batch", body = schema::MadeBatch,
        headers(("Location" = String, description = "the batch")))),
)]
pub(super) async fn create(
    State(api): State<Api>,
    caller: Caller,
    query: Query,
    headers: HeaderMap,
    upload: Upload,
) -> Result<Response, ApiError> {
    acts_here(&caller)?;
    let runbook = runbook_named(query, &upload)?;
    let key = match idempotency_key(&headers, None, KEY_CHARS_MAX)? {
        Some(key) => {
            let request_hash = upload.fingerprint(&runbook).await?;
            Some(Key { hash: fingerprint::of_batch_key(&key), request_hash })
        }
        None => None,
    };
    let engine = api.engine();
    let compiled = engine.compiled_runbook(&runbook, None).await;
    if let Some(key) = key
        && let Some(batch) = engine.batch_under(key).await?
    {
        // The runbook may have changed since, or be gone: then nothing can be said about the list.
        let read = match &compiled {
            Ok(compiled) => upload.members(compiled).await.ok(),
            Err(_) => None,
        };
        return made(&api, batch.id(), &read.map(|it| it.warnings).unwrap_or_default()).await;
    }
    let members = upload.members(&compiled?).await?;
    let batch = match key {
        Some(key) => engine.create_batch_once(&runbook, members.rows, key, &caller.subject).await?,
        None => engine.create_batch(&runbook, members.rows, &caller.subject).await?,
    };
    made(&api, batch.id(), &members.warnings).await
}

/// The runbook that a batch is to follow, wherever it is named.
fn runbook_named(query: Query, upload: &Upload) -> Result<String, ApiError> {
    let parameters = query.known(&["runbook"])?;
    let named = parameters.one("runbook")?.map(str::to_owned);
    match (named, &upload.runbook) {
        (Some(named), Some(in_form)) if named != *in_form => {
            let message = "the query and the form name different runbooks";
            Err(ApiError::parameter("runbook", message))
        }
        (Some(name), _) => Ok(name),
        (None, Some(name)) => Ok(name.clone()),
        (None, None) => {
            let message = "name the runbook in the query, or in the field runbook of a form";
            Err(ApiError::parameter("runbook", message))
        }
    }
}

/// A batch that a request has made, read again: its counters move with the commit.
async fn made(api: &Api, id: BatchId, warnings: &[Problem]) -> Result<Response, ApiError> {
    let batch = api.engine().batch(id).await?;
    let shown = MadeBatch { batch: view::batch(&batch, runbook_id(api, &batch).await?), warnings };
    let location = format!("/api/batches/{id}");
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(shown)).into_response())
}

#[derive(Serialize)]
struct Phases<'a> {
    items: Vec<PhaseView<'a>>,
}

/// List the phases of a batch
///
/// Those of every version that it has followed, oldest version first.
#[utoipa::path(
    get, path = "/api/batches/{batch}/phases", tag = "batches", operation_id = "listPhases",
    params(schema::BatchPath),
    responses((status = 200, description = "Its phases", body = schema::PhaseList)),
)]
pub(super) async fn phases(
    State(api): State<Api>,
    caller: Caller,
    BatchPath(id): BatchPath,
) -> Result<Response, ApiError> {
    let batch = find(&api, &caller, id).await?;
    let items = batch.phases.iter().map(|phase| view::phase(&batch, phase)).collect();
    Ok(Json(Phases { items }).into_response())
}
