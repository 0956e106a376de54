//! Why it was not done to a batch, sorted by what the caller does next.

use stepwell_connectors::source::SourceError;
use stepwell_core::batch::BatchRefusal;
use stepwell_core::id::{BatchId, MemberId};
use stepwell_dialects::problem::Problems;
use stepwell_store::StoreError;

use crate::error::EngineError;

/// Why it was not done to a batch.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BatchError {
    /// There is no such batch; give up.
    #[error("there is no batch {0}")]
    BatchNotFound(BatchId),
    /// There is no such member; give up.
    #[error("the batch has no member {0}")]
    MemberNotFound(MemberId),
    /// There is no such runbook; publish it, or look at its name.
    #[error("there is no {}runbook {name:?}", match .version {
        Some(version) => format!("version {version} of "),
        None => "active version of ".to_owned(),
    })]
    RunbookNotFound {
        /// its name
        name: String,
        /// its version; `None`: the active one
        version: Option<u32>,
    },
    /// The batch says no; the reason is an answer.
    #[error(transparent)]
    Refused(#[from] BatchRefusal),
    /// Its source says who its members are: the next pass would undo it.
    #[error("batch {0} gets its members from its data source; change them there")]
    Automated(BatchId),
    /// A member that failed has left the timeline already.
    #[error("member {0} has failed, and is no longer on its way; retry it, or leave it")]
    MemberFailed(MemberId),
    /// These keys belong to members already; leave them out.
    #[error("{} already in the batch: {}", match .0.len() {
        1 => "a member is".to_owned(),
        count => format!("{count} members are"),
    }, some(.0))]
    KeysTaken(Vec<String>),
    /// There is nobody to make a batch of; name at least one member.
    #[error("a batch needs at least one member")]
    NoMembers,
    /// A document is wrong; correct it.
    #[error("{0}")]
    Invalid(Problems),
    /// The data source did not answer as it should; look at it, or at the query.
    #[error("{0}")]
    Source(SourceError),
    /// The engine says no.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The first few of many, so that an error stays readable.
fn some(keys: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = keys.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match keys.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl From<StoreError> for BatchError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}
