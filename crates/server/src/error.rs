//! Errors as problem details (RFC 9457): what happened, where, and what to do next.
//!
//! An error travels through the router as a value in the response's extensions. The outermost
//! layer writes it down, because only that layer knows the id of the request.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stepwell_core::refusal::Refusal;
use stepwell_dialects::commands::{Rejection, RejectionKind};
use stepwell_dialects::problem::{Problem, Problems, Report, quoted};
use stepwell_engine::{BatchError, EngineError, TriggerError};
use stepwell_store::StoreError;

pub use crate::code::Code;

/// The kind of document that every error is.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request was not followed.
#[derive(Clone, Debug)]
pub struct ApiError(Box<Fault>);

#[derive(Clone, Debug)]
struct Fault {
    code: Code,
    detail: String,
    next: Option<String>,
    problems: Option<Problems>,
    correlation_id: Option<String>,
    retry_after_seconds: Option<u32>,
}

/// An error as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct ProblemDetails<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    code: &'static str,
    detail: &'a str,
    message: &'a str,
    next: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Problems>,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
}

impl ApiError {
    /// An error with what happened on this occasion.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Fault {
            code,
            detail: detail.into(),
            next: None,
            problems: None,
            correlation_id: None,
            retry_after_seconds: None,
        }))
    }

    /// An error with every fault of the input.
    pub(crate) fn of_problems(code: Code, problems: impl Into<Problems>) -> Self {
        let problems = problems.into();
        let mut error = Self::new(code, summary(&problems));
        error.0.problems = Some(problems);
        error
    }

    /// One bad query parameter or header.
    pub(crate) fn parameter(name: &str, message: impl Into<String>) -> Self {
        let problem = Problem::new("bad_parameter", message).at(name);
        Self::of_problems(Code::MalformedParameter, problem)
    }

    /// The fault is ours. The cause goes to the log, not to the caller.
    pub(crate) fn internal(cause: &str) -> Self {
        tracing::error!(cause, "internal_fault");
        Self::new(Code::Internal, "the request could not be finished")
    }

    /// The same error, with what to do next on this occasion.
    #[must_use]
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.0.next = Some(next.into());
        self
    }

    /// The same error, for a caller who should come back.
    #[must_use]
    pub(crate) fn retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// The same error, of a request that its sender knows by this id.
    #[must_use]
    pub(crate) fn about(mut self, correlation_id: Option<&str>) -> Self {
        self.0.correlation_id = correlation_id.map(str::to_owned).or(self.0.correlation_id);
        self
    }

    /// The same error under another code, with what that means for the caller before its detail.
    #[must_use]
    pub(crate) fn becomes(mut self, code: Code, what: &str) -> Self {
        self.0.detail = format!("{what}: {}", self.0.detail);
        (self.0.code, self.0.next) = (code, None);
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The error as it is sent. A sender that gave no id of its own knows the request by ours.
    pub(crate) fn details<'a>(&'a self, request_id: Option<&'a str>) -> ProblemDetails<'a> {
        let Fault { code, detail, next, problems, correlation_id, .. } = &*self.0;
        ProblemDetails {
            r#type: format!("urn:stepwell:error:{}", code.word()),
            title: code.title(),
            status: code.status().as_u16(),
            code: code.word(),
            detail,
            message: detail,
            next: next.as_deref().unwrap_or(code.next()),
            details: problems.as_ref(),
            correlation_id: correlation_id.as_deref().or(request_id),
            request_id,
        }
    }
}

/// What is wrong, in one sentence; the list follows in `details`.
fn summary(problems: &Problems) -> String {
    match (problems.iter().count(), problems.iter().next()) {
        (1, Some(only)) => only.to_string(),
        (count, Some(first)) => format!("{count} problems, the first: {first}"),
        (_, None) => "the input could not be used".to_owned(),
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.0.code.status();
        let headers = response.headers_mut();
        if let Some(seconds) = self.0.retry_after_seconds {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        match self.0.code {
            Code::Unauthenticated => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Code::InvalidToken | Code::InvalidCallbackToken => {
                let challenge = HeaderValue::from_static("Bearer error=\"invalid_token\"");
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            _ => {}
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Writes the error down, if the response carries one.
pub(crate) fn write_down(response: &mut Response, request_id: &str) {
    let Some(error) = response.extensions_mut().remove::<ApiError>() else { return };
    let body = serde_json::to_vec(&error.details(Some(request_id))).unwrap_or_default();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
    *response.body_mut() = Body::from(body);
    if error.0.code.status() == StatusCode::INTERNAL_SERVER_ERROR {
        tracing::error!(code = error.0.code.word(), "request_failed");
    }
}

impl ApiError {
    /// The job has moved on since the caller saw it.
    pub(crate) fn version_mismatch(version_now: u64) -> Self {
        Self::new(Code::VersionMismatch, format!("the job is at version {version_now} now"))
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let detail = error.to_string();
        match error {
            EngineError::NotFound(_) => Self::new(Code::JobNotFound, "there is no such job"),
            EngineError::Refused(refusal) => refusal.into(),
            EngineError::Changed { version, .. } => Self::version_mismatch(version),
            EngineError::KeyReused { .. } => Self::new(Code::KeyReused, detail),
            EngineError::TenantFull { .. } => Self::new(Code::TenantFull, detail).retry_after(5),
            EngineError::CreditsShort { .. } => Self::new(Code::CreditsShort, detail),
            EngineError::Busy => Self::new(Code::Busy, detail).retry_after(1),
            EngineError::Unavailable(_) | EngineError::Elsewhere(_) => {
                Self::new(Code::Unavailable, detail).retry_after(2)
            }
            EngineError::Stopped => Self::new(Code::Stopping, detail).retry_after(2),
            EngineError::BadWorkflow { .. } | EngineError::Broken(_) => Self::internal(&detail),
        }
    }
}

impl From<BatchError> for ApiError {
    fn from(error: BatchError) -> Self {
        let detail = error.to_string();
        match error {
            BatchError::BatchNotFound(_) => Self::new(Code::BatchNotFound, detail),
            BatchError::MemberNotFound(_) => Self::new(Code::MemberNotFound, detail),
            BatchError::RunbookNotFound { .. } => Self::new(Code::RunbookNotFound, detail),
            // Refusals and codes share their words.
            BatchError::Refused(refusal) => match Code::of_word(refusal.code()) {
                Some(code) => Self::new(code, detail),
                None => Self::internal(&detail),
            },
            BatchError::Automated(_) => Self::new(Code::BatchAutomated, detail),
            BatchError::MemberFailed(_) => Self::new(Code::MemberFailed, detail),
            BatchError::KeysTaken(keys) => keys_taken(detail, &keys),
            BatchError::NoMembers => Self::of_problems(
                Code::InvalidMembers,
                Problem::new("empty", detail).help("name at least one member"),
            ),
            BatchError::Invalid(problems) => Self::of_problems(Code::InvalidRequest, problems),
            BatchError::Source(source) => Self::of_problems(
                Code::SourceFailed,
                Problem::new(source.code(), detail).at("data_source"),
            ),
            BatchError::Engine(error) => error.into(),
        }
    }
}

impl From<TriggerError> for ApiError {
    fn from(error: TriggerError) -> Self {
        let detail = error.to_string();
        let invalid = |path: &str| {
            let problem = Problem::new("invalid", detail.clone()).at(path);
            Self::of_problems(Code::InvalidRequest, problem)
        };
        match error {
            TriggerError::NotFound(_) => Self::new(Code::TriggerNotFound, detail),
            TriggerError::Disabled(_) => Self::new(Code::TriggerDisabled, detail),
            TriggerError::Changed { .. } => Self::new(Code::VersionMismatch, detail),
            TriggerError::NotByHand(_) | TriggerError::NoHook(_) => invalid("kind"),
            TriggerError::SecretElsewhere(_) => invalid("webhook.secret_env"),
            TriggerError::Signature(_) => Self::new(Code::InvalidSignature, detail),
            TriggerError::NoSecret(_) => Self::internal(&detail),
            TriggerError::Rejected(rejection) => rejection.into(),
            TriggerError::Schedule(_) => invalid("schedule"),
            TriggerError::Directory(_) | TriggerError::Glob(_) => invalid("file_drop"),
            TriggerError::WorkflowNotFound(_) => Self::new(Code::WorkflowNotFound, detail),
            TriggerError::Engine(error) => error.into(),
        }
    }
}

/// Every key is a problem of its own, so that a program can leave those members out.
fn keys_taken(detail: String, keys: &[String]) -> ApiError {
    let report = Report::new();
    for key in keys {
        report.add(Problem::new("key_taken", format!("{} is there already", quoted(key))).at(key));
    }
    let mut error = ApiError::new(Code::MemberKeysTaken, detail);
    error.0.problems = report.finish(Some(())).err();
    error
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let detail = refusal.to_string();
        match Code::of_word(refusal.code()) {
            Some(code) => Self::new(code, detail),
            None => Self::internal(&detail),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        let code = match rejection.kind {
            RejectionKind::Malformed => Code::MalformedRequest,
            RejectionKind::Invalid => Code::InvalidRequest,
        };
        let correlation_id = rejection.correlation_id;
        Self::of_problems(code, rejection.problems).about(correlation_id.as_deref())
    }
}
