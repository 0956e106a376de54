//! A list of members that comes with a request: as a form with a file, or as the body itself.
//!
//! It is taken in piece by piece and kept once. A sender may take its time, but not for ever: each
//! piece has the patience that a whole small body has.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use stepwell_dialects::problem::{Problem, Problems, quoted};
use stepwell_dialects::runbooks::members_csv::{self, BYTES_MAX};
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_engine::CompiledRunbook;
use stepwell_store::KeyHash;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::error::{ApiError, Code};
use crate::fingerprint;

/// A sender that sends nothing for longer is cut off.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names in a form are short.
const NAME_BYTES_MAX: usize = 1_024;

/// A list of members as it came.
pub(super) struct Upload {
    /// the runbook that a form names
    pub(super) runbook: Option<String>,
    csv: Arc<Vec<u8>>,
}

/// A list of members, once it is known to be sound.
pub(super) struct Members {
    pub(super) rows: Vec<MemberRow>,
    pub(super) warnings: Vec<Problem>,
}

impl<S: Send + Sync> FromRequest<S> for Upload {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let given = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "multipart/form-data" => form(request, state).await,
            "text/csv" | "application/csv" => {
                let csv = whole(request.into_body()).await?;
                Ok(Self { runbook: None, csv: Arc::new(csv) })
            }
            _ => {
                let detail = match given {
                    Some(given) => format!("the Content-Type is {}; ", quoted(given)),
                    None => "there is no Content-Type; ".to_owned(),
                };
                let detail = detail + "send text/csv, or multipart/form-data with a field file";
                Err(ApiError::new(Code::UnsupportedMediaType, detail))
            }
        }
    }
}

async fn whole(mut body: Body) -> Result<Vec<u8>, ApiError> {
    let mut csv = Vec::new();
    loop {
        let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Some(frame) = timeout(PATIENCE, frame).await.map_err(late)? else { return Ok(csv) };
        let frame = frame.map_err(|_| malformed("the body ended before it was complete"))?;
        if let Ok(data) = frame.into_data() {
            take(&mut csv, &data, BYTES_MAX)?;
        }
    }
}

async fn form<S: Send + Sync>(request: Request, state: &S) -> Result<Upload, ApiError> {
    let form = Multipart::from_request(request, state).await;
    let mut form = form.map_err(|rejection| malformed(&rejection.body_text()))?;
    let (mut runbook, mut csv) = (None, None);
    loop {
        let field = timeout(PATIENCE, form.next_field()).await.map_err(late)?;
        let Some(field) = field.map_err(|error| refused(&error))? else { break };
        match field.name() {
            Some("runbook") => {
                let name = String::from_utf8(content(field, NAME_BYTES_MAX).await?);
                runbook = Some(name.map_err(|_| malformed("the field runbook is not UTF-8"))?);
            }
            Some("file") => csv = Some(content(field, BYTES_MAX).await?),
            other => {
                let name = quoted(other.unwrap_or_default());
                let message = format!("the form has a field {name}; send runbook and file");
                return Err(malformed(&message));
            }
        }
    }
    let csv = csv.ok_or_else(|| malformed("the form has no field file"))?;
    Ok(Upload { runbook, csv: Arc::new(csv) })
}

async fn content(mut field: Field<'_>, bytes_max: usize) -> Result<Vec<u8>, ApiError> {
    let mut content = Vec::new();
    loop {
        let chunk = timeout(PATIENCE, field.chunk()).await.map_err(late)?;
        let Some(data) = chunk.map_err(|error| refused(&error))? else { return Ok(content) };
        take(&mut content, &data, bytes_max)?;
    }
}

fn take(content: &mut Vec<u8>, data: &[u8], bytes_max: usize) -> Result<(), ApiError> {
    if content.len() + data.len() > bytes_max {
        return Err(too_large());
    }
    content.extend_from_slice(data);
    Ok(())
}

fn late(_: Elapsed) -> ApiError {
    ApiError::new(Code::BodyTimeout, "nothing more arrived for 30 seconds")
}

fn too_large() -> ApiError {
    let error = ApiError::new(Code::BodyTooLarge, "the list of members is longer than 200 MB");
    error.next("Make several batches of it.")
}

fn malformed(message: &str) -> ApiError {
    ApiError::of_problems(Code::MalformedRequest, Problem::new("bad_form", message))
}

fn refused(error: &MultipartError) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large(),
        _ => malformed(&error.body_text()),
    }
}

impl Upload {
    /// The members, or every fault of the list with its line.
    ///
    /// A long list takes a while to read, and nobody else shall wait for it.
    pub(super) async fn members(
        &self,
        runbook: &Arc<CompiledRunbook>,
    ) -> Result<Members, ApiError> {
        let (csv, runbook) = (Arc::clone(&self.csv), Arc::clone(runbook));
        aside(move || {
            let list = members_csv::read(&csv, &runbook.runbook).map_err(invalid)?;
            let rows = list.members().collect();
            Ok(Members { rows, warnings: list.warnings })
        })
        .await?
    }

    /// What the same list for the same runbook is known by.
    pub(super) async fn fingerprint(&self, runbook: &str) -> Result<KeyHash, ApiError> {
        let (csv, runbook) = (Arc::clone(&self.csv), runbook.to_owned());
        aside(move || fingerprint::of_members(&runbook, &csv)).await
    }
}

/// Does something long where nobody else waits for it.
async fn aside<T: Send + 'static>(
    long: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(long).await;
    done.map_err(|_| ApiError::internal("a list of members could not be read"))
}

fn invalid(problems: Problems) -> ApiError {
    ApiError::of_problems(Code::InvalidMembers, problems)
}
