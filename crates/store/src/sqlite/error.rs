//! SQLite's errors, sorted by what the caller does next.

use rusqlite::{ErrorCode, ffi};

use crate::error::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let Some(code) = error.sqlite_error_code() else {
            return Self::broken_by("a stored value has another type than we wrote", error);
        };
        match code {
            ErrorCode::DiskFull => unavailable("the disk is full; free some space", error),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                unavailable("another program holds the database file locked; end it", error)
            }
            ErrorCode::SystemIoFailure if is_flush_failure(&error) => Self::broken_by(
                "the disk did not confirm a write, so what it holds is unknown; check the disk, \
                 then restart",
                error,
            ),
            ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => {
                unavailable("the disk failed to read or write; check it", error)
            }
            ErrorCode::ReadOnly => {
                unavailable("the database file cannot be written; check its permissions", error)
            }
            ErrorCode::OperationInterrupted => {
                unavailable("the query took too long and was stopped; narrow it", error)
            }
            ErrorCode::OutOfMemory => unavailable("there is not enough memory", error),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::broken_by(
                "the database file is damaged; stop, and restore it from a backup",
                error,
            ),
            _ => Self::broken_by("SQLite refused a statement", error),
        }
    }
}

fn unavailable(reason: &str, error: rusqlite::Error) -> StoreError {
    StoreError::Unavailable { reason: reason.to_owned(), source: Some(Box::new(error)) }
}

/// After a failed flush the system may have dropped the pages it could not write, and a second flush
/// that succeeds proves nothing. Only reading the file again tells what is there.
pub(super) fn is_flush_failure(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|cause| {
        matches!(cause.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
    })
}
