//! Why there are no rows.

use std::error::Error;
use std::time::Duration;

/// Why there are no rows, sorted by what a person does next. No text holds a value of the environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// A variable that is needed is not set, or empty.
    #[error("the environment variable {name} is not set; set it where the server runs")]
    MissingVariable {
        /// the variable
        name: String,
    },
    /// A variable holds what cannot be used.
    #[error("the environment variable {name} cannot be used: {reason}")]
    BadVariable {
        /// the variable
        name: String,
        /// why, and what to write
        reason: String,
    },
    /// This program cannot ask such a source.
    #[error(
        "this program was built without sources of type {kind}; use a build with the feature {feature}"
    )]
    NotBuilt {
        /// the type, as a runbook names it
        kind: &'static str,
        /// the cargo feature that has it
        feature: &'static str,
    },
    /// The other side was not reached, or is too busy; the next try may succeed.
    #[error("the source cannot be reached: {reason}")]
    Unreachable {
        /// what happened, and what to look at
        reason: String,
    },
    /// The other side could not prove who it is, or does not encrypt; nothing was sent to it.
    #[error("the source is not trusted: {reason}")]
    Untrusted {
        /// what happened, and what to look at
        reason: String,
    },
    /// The other side does not let us in; somebody must correct a user, a password or a right.
    #[error("the source does not let us in: {reason}")]
    AccessDenied {
        /// what it said, and what to look at
        reason: String,
    },
    /// The other side will not do what it is asked; somebody must correct the query.
    #[error("the query failed: {message}")]
    Query {
        /// what it said, shortened
        message: String,
    },
    /// There are more rows than the limit; none are used.
    #[error("the source returns more than {rows_max} rows; narrow the query, or raise the limit")]
    TooManyRows {
        /// the limit
        rows_max: usize,
    },
    /// The answer has more bytes than the limit; none are used.
    #[error("the source returns more than {bytes_max} bytes; narrow the query, or raise the limit")]
    TooManyBytes {
        /// the limit
        bytes_max: usize,
    },
    /// There was no complete answer in time; the other side was told to stop.
    #[error(
        "the source has not answered within {} s; narrow the query, or raise the limit",
        after.as_secs()
    )]
    TimedOut {
        /// the limit
        after: Duration,
    },
    /// The answer is not what was agreed.
    #[error("the answer of the source cannot be read: {reason}")]
    Unreadable {
        /// what is wrong with it
        reason: String,
    },
}

impl SourceError {
    /// A stable word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::MissingVariable { .. } => "missing_variable",
            Self::BadVariable { .. } => "bad_variable",
            Self::NotBuilt { .. } => "not_built",
            Self::Unreachable { .. } => "unreachable",
            Self::Untrusted { .. } => "untrusted",
            Self::AccessDenied { .. } => "access_denied",
            Self::Query { .. } => "query_failed",
            Self::TooManyRows { .. } => "too_many_rows",
            Self::TooManyBytes { .. } => "too_many_bytes",
            Self::TimedOut { .. } => "timed_out",
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// An answer that is not what was agreed.
    pub(super) fn unreadable(reason: impl Into<String>) -> Self {
        Self::Unreadable { reason: reason.into() }
    }
}

/// What TLS said, if that is why an error came about.
pub(super) fn tls_cause(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return Some(tls.to_string());
        }
        // An I/O error does not name what it wraps as its source.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(tls) = wrapped.and_then(|wrapped| tls_cause(wrapped)) {
            return Some(tls);
        }
        cause = error.source();
    }
    None
}

/// The innermost cause, which says the most: "Connection refused".
pub(super) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}
