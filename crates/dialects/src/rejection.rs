//! A request that is not followed: why, and how the sender is told.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::fields::parse_json;
use crate::problem::{Problem, Problems};

/// A longer body is refused before it is read.
pub const BODY_BYTES_MAX: usize = 512 * 1024;

/// What cannot be a correlation id is not repeated back: 128 characters, four bytes at most each.
const CORRELATION_BYTES_MAX: usize = 4 * 128;

/// A request that is not followed. Nothing was created (D-017).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// what kind of no
    pub kind: RejectionKind,
    /// everything that is wrong
    pub problems: Problems,
    /// what the sender knows the request by, as far as it could be read
    pub correlation_id: Option<String>,
}

/// What kind of no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionKind {
    /// the body cannot be read at all
    Malformed,
    /// the body can be read, and is not what it must be
    Invalid,
}

impl RejectionKind {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Invalid => 422,
        }
    }

    /// The stable word.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_request",
            Self::Invalid => "invalid_request",
        }
    }
}

/// A rejection as the sender sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectionBody<'a> {
    /// the stable word
    pub code: &'static str,
    /// what happened, in one sentence
    pub message: String,
    /// every problem with its field
    pub details: &'a Problems,
    /// what the sender knows the request by
    pub correlation_id: Option<&'a str>,
}

impl Rejection {
    /// A body that cannot be read.
    pub fn malformed(problems: impl Into<Problems>) -> Self {
        let problems = problems.into();
        Self { kind: RejectionKind::Malformed, problems, correlation_id: None }
    }

    /// A body that is not what it must be.
    pub fn invalid(problems: impl Into<Problems>) -> Self {
        let problems = problems.into();
        Self { kind: RejectionKind::Invalid, problems, correlation_id: None }
    }

    /// The same, for a request that its sender knows by this id; one that is no id is left out.
    #[must_use]
    pub fn about(mut self, correlation_id: Option<&str>) -> Self {
        let is_id = |id: &&str| id.len() <= CORRELATION_BYTES_MAX && !id.contains(char::is_control);
        self.correlation_id = correlation_id.filter(is_id).map(str::to_owned);
        self
    }

    /// What the sender is told.
    #[must_use]
    pub fn body(&self) -> RejectionBody<'_> {
        RejectionBody {
            code: self.kind.code(),
            message: self.to_string(),
            details: &self.problems,
            correlation_id: self.correlation_id.as_deref(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            RejectionKind::Malformed => "the body cannot be read",
            RejectionKind::Invalid => "the request was refused, and nothing has changed",
        };
        match (self.problems.iter().count(), self.problems.iter().next()) {
            (1, Some(only)) => write!(f, "{what}: {only}"),
            (count, Some(first)) => write!(f, "{what}: {count} problems, first {first}"),
            (_, None) => f.write_str(what),
        }
    }
}

impl std::error::Error for Rejection {}

/// Reads a body that must be a JSON object.
///
/// # Errors
///
/// A [`RejectionKind::Malformed`] if it is anything else.
pub fn parse(body: &[u8]) -> Result<Value, Rejection> {
    if body.len() > BODY_BYTES_MAX {
        let message = format!("the body has {} bytes", body.len());
        let problem = Problem::new("too_large", message).help("512 KiB are allowed");
        return Err(Rejection::malformed(problem));
    }
    let value = parse_json(body).map_err(Rejection::malformed)?;
    if value.is_object() {
        return Ok(value);
    }
    let problem = Problem::new("wrong_type", "the body must be a JSON object");
    Err(Rejection::malformed(problem))
}
