//! Why the store did not do it, sorted by what the caller does next.

use std::error::Error;

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process or instance has taken the store over; stop deciding.
    #[error(
        "this instance no longer owns the store: its epoch is {mine}, the store is at {current}"
    )]
    Fenced {
        /// the epoch of the caller
        mine: u64,
        /// the epoch in force
        current: u64,
    },
    /// The store is busy, full or away; the same call may be tried again unchanged.
    #[error("the store is unavailable: {reason}")]
    Unavailable {
        /// in words, without data
        reason: String,
        /// the cause
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Somebody else holds the file, or it was written by a newer release; a person must act.
    #[error("the store cannot be opened: {reason}")]
    Refused {
        /// what is the matter and what to do
        reason: String,
    },
    /// The stored data or our SQL is wrong; trying again cannot help.
    #[error("the store broke a promise: {reason}")]
    Broken {
        /// where
        reason: String,
        /// the cause
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
}

impl StoreError {
    /// The store cannot do it now; no cause beyond the words.
    pub(crate) fn unavailable(reason: impl Into<String>) -> Self {
        Self::Unavailable { reason: reason.into(), source: None }
    }

    /// Something stored is not what we wrote.
    pub(crate) fn broken(reason: impl Into<String>) -> Self {
        Self::Broken { reason: reason.into(), source: None }
    }

    /// Something stored is not what we wrote, as `cause` says.
    pub(crate) fn broken_by(
        reason: impl Into<String>,
        cause: impl Error + Send + Sync + 'static,
    ) -> Self {
        Self::Broken { reason: reason.into(), source: Some(Box::new(cause)) }
    }
}
