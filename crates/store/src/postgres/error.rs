//! PostgreSQL's errors, sorted by what the caller does next.

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::error::StoreError;

/// What `fence` raises.
const FENCED: &str = "SW001";

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        let Some(said) = error.as_db_error() else {
            return of_connection(error);
        };
        match said.code().code() {
            "53100" => unavailable("the disk of the server is full; free some space", error),
            "53300" => unavailable(
                "the server has no connection left; raise max_connections or stop other clients",
                error,
            ),
            "57014" => unavailable("the server took too long and was stopped", error),
            "55P03" => unavailable("another session holds what is needed locked; end it", error),
            "25006" => unavailable("the server takes no writes; name the primary", error),
            "40001" | "40P01" => unavailable("another session was first; try again", error),
            "57P01" | "57P02" | "57P03" | "57P05" => unavailable("the server is stopping", error),
            "25P03" => unavailable("this process was too slow for the server", error),
            "XX001" | "XX002" => Self::broken_by(
                "the database is damaged; stop, and restore it from a backup",
                error,
            ),
            "42501" => refused_right(said),
            code => match &code[..2] {
                "08" | "28" | "3D" => unavailable("the server lets nobody in", error),
                "53" | "58" => unavailable("the server lacks something it needs", error),
                _ => Self::broken_by("PostgreSQL refused a statement", error),
            },
        }
    }
}

/// The connection broke, could not be made, or the answer is not what was asked for.
fn of_connection(error: Error) -> StoreError {
    let text = error.to_string();
    if text.starts_with("error deserializing column") || text.starts_with("error serializing") {
        return StoreError::broken_by("a stored value has another type than we wrote", error);
    }
    unavailable("the connection to PostgreSQL is lost", error)
}

fn refused_right(said: &DbError) -> StoreError {
    StoreError::Refused {
        reason: format!("PostgreSQL does not let this user do it: {}", said.message()),
    }
}

fn unavailable(reason: &str, error: Error) -> StoreError {
    StoreError::Unavailable { reason: reason.to_owned(), source: Some(Box::new(error)) }
}

/// Whether an epoch has passed, and which one is the newest.
pub(super) fn fenced(error: &Error) -> Option<u64> {
    let said = error.as_db_error().filter(|said| said.code().code() == FENCED)?;
    Some(said.detail().and_then(|newest| newest.parse().ok()).unwrap_or(0))
}

/// Whether the same transaction may well succeed if it is tried again at once: it met another one that
/// wanted the same rows, or made the same run.
pub(super) fn met_another(error: &Error) -> bool {
    let codes = [
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
        &SqlState::UNIQUE_VIOLATION,
    ];
    error.code().is_some_and(|code| codes.contains(&code))
}

/// The innermost cause, which says the most: "Connection refused", "UnknownIssuer".
fn cause(error: &Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

/// A connection that did not come about: a person must act, and is told what to look at.
pub(super) fn no_connection(shown: &str, error: Error) -> StoreError {
    let said = error.as_db_error().map(|said| said.message().to_owned());
    match (error.code().map(SqlState::code), said) {
        (Some(code), Some(said)) if matches!(&code[..2], "28" | "3D" | "42") => {
            StoreError::Refused {
                reason: format!(
                    "PostgreSQL at {shown} says: {said}; check user, password and database"
                ),
            }
        }
        (_, said) => StoreError::Unavailable {
            reason: format!(
                "PostgreSQL at {shown} cannot be reached ({}); start it, or name another",
                said.unwrap_or_else(|| cause(&error))
            ),
            source: Some(Box::new(error)),
        },
    }
}
