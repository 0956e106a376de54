//! What goes into a store and what comes out of it about runbooks, batches and their members.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stepwell_core::batch::{Batch, BatchMode, BatchRecord, BatchStatus, Overdue};
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::{BatchRole, RunStatus};
use stepwell_core::time::Timestamp;

use super::Create;

/// A decision on a batch, with everything that must be true together with it.
///
/// It is done whole or not at all: if one of its runs cannot begin, that is the verdict on all of it,
/// and a member who is there already makes it stale. Who leaves goes first, so that the same key may
/// join again with it.
#[derive(Clone, Debug)]
pub struct BatchWrite {
    /// after the decision. Its tallies are as they were read: the store never writes those from here
    pub batch: Arc<Batch>,
    /// the version it was decided from, or `None` for a batch that is new; anything else in the store
    /// makes the whole item stale
    pub from_version: Option<u64>,
    /// what was decided, if the history keeps it
    pub record: Option<BatchRecord>,
    /// members that join, each with its run
    pub joined: Vec<NewMember>,
    /// members that leave; those who left before are not touched
    pub removed: Vec<Removal>,
    /// runs for members who have one already: each becomes its member's newest
    pub retaken: Vec<Create>,
    /// further runs of the batch, such as the one that prepares it
    pub runs: Vec<Create>,
    /// members whose data the source has changed: their new fingerprints
    pub refreshed: Vec<(MemberId, DataHash)>,
}

/// SHA-256 of a member's data, to see whether the source has changed it.
pub type DataHash = [u8; 32];

/// A member that joins a batch.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// its number; higher than every number in its batch
    pub id: MemberId,
    /// what identifies it; no other member of the batch that has not left may have it
    pub key: String,
    /// fingerprint of its data
    pub data_hash: DataHash,
    /// when
    pub added_at: Timestamp,
    /// its run
    pub run: Create,
}

/// A member that leaves a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// who
    pub member: MemberId,
    /// when
    pub at: Timestamp,
    /// by whom
    pub actor: String,
}

/// A member of a batch, with where its newest run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// its number
    pub id: MemberId,
    /// its batch
    pub batch: BatchId,
    /// what identifies it
    pub key: String,
    /// fingerprint of its data
    pub data_hash: DataHash,
    /// its newest run
    pub run: RunId,
    /// where that run stands
    pub run_status: RunStatus,
    /// the id of the step that people would call current
    pub current_step: Option<String>,
    /// when it joined
    pub added_at: Timestamp,
    /// when its newest run ended
    pub ended_at: Option<Timestamp>,
    /// when it left
    pub removed_at: Option<Timestamp>,
    /// who removed it
    pub removed_by: Option<String>,
    /// when what its leaving asks for was begun
    pub removal_dispatched_at: Option<Timestamp>,
}

/// Where a member stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberStatus {
    /// it neither left nor failed
    Active,
    /// it left
    Removed,
    /// its run failed
    Failed,
}

impl MemberStatus {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Active, Self::Removed, Self::Failed];

    /// The word shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Removed => "removed",
            Self::Failed => "failed",
        }
    }

    /// The status of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }
}

impl Member {
    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> MemberStatus {
        match (self.removed_at, self.run_status) {
            (Some(_), _) => MemberStatus::Removed,
            (None, RunStatus::Failed) => MemberStatus::Failed,
            (None, _) => MemberStatus::Active,
        }
    }
}

/// Which batches to list. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchFilter {
    /// of this tenant only
    pub tenant: Option<Tenant>,
    /// of this runbook, any version
    pub runbook: Option<String>,
    /// in one of these
    pub statuses: Vec<BatchStatus>,
    /// made in this way
    pub mode: Option<BatchMode>,
    /// with this moment as their source knows it
    pub slot: Option<Timestamp>,
    /// only those in which something is still to be done
    pub unsettled: bool,
}

impl BatchFilter {
    /// Whether a batch is among them.
    pub(crate) fn matches(&self, batch: &Batch) -> bool {
        let header = &batch.header;
        self.tenant.as_ref().is_none_or(|tenant| header.tenant == *tenant)
            && self.runbook.as_ref().is_none_or(|runbook| header.runbook == *runbook)
            && (self.statuses.is_empty() || self.statuses.contains(&batch.status))
            && self.mode.is_none_or(|mode| header.mode == mode)
            && (self.slot.is_none() || header.slot == self.slot)
            && (!self.unsettled || !batch.is_settled())
    }
}

/// Which members to list. Empty fields do not restrict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberFilter {
    /// of this batch
    pub batch: BatchId,
    /// in one of these
    pub statuses: Vec<MemberStatus>,
    /// with one of these keys
    pub keys: Vec<String>,
    /// these only
    pub ids: Vec<MemberId>,
    /// who left, and nothing was begun for it yet
    pub removal_waits: bool,
    /// with a higher number than this
    pub after: Option<MemberId>,
}

impl MemberFilter {
    /// Every member of a batch.
    #[must_use]
    pub fn of(batch: BatchId) -> Self {
        Self {
            batch,
            statuses: Vec::new(),
            keys: Vec::new(),
            ids: Vec::new(),
            removal_waits: false,
            after: None,
        }
    }

    /// Whether a member of the batch is among them.
    pub(crate) fn matches(&self, member: &Member) -> bool {
        let waits = member.removed_at.is_some() && member.removal_dispatched_at.is_none();
        (self.statuses.is_empty() || self.statuses.contains(&member.status()))
            && (self.keys.is_empty() || self.keys.contains(&member.key))
            && (self.ids.is_empty() || self.ids.contains(&member.id))
            && (!self.removal_waits || waits)
            && self.after.is_none_or(|after| member.id > after)
    }
}

/// Which part of a list, by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// so many are passed over
    pub offset: usize,
    /// at most this many
    pub limit: usize,
}

/// A part of a list, and how long the whole list is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed<T> {
    /// the part
    pub items: Vec<T>,
    /// all that match; but only the part itself where [`MemberFilter::after`] says where to go on,
    /// because whoever goes on until nothing is left has no use for a count
    pub total: u64,
}

/// A run of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchRun {
    /// its number
    pub number: RunNumber,
    /// its id
    pub run: RunId,
    /// its batch
    pub batch: BatchId,
    /// its member; `None`: it is the batch's own
    pub member: Option<MemberId>,
    /// what it does
    pub role: BatchRole,
}

/// A version of a runbook to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRunbook {
    /// its name
    pub name: String,
    /// the text as it was published
    pub source: String,
    /// what becomes of phases past due in batches under way
    pub overdue: Overdue,
    /// batches under way are prepared again
    pub rerun_init: bool,
    /// when
    pub created_at: Timestamp,
    /// by whom
    pub created_by: String,
}

impl NewRunbook {
    /// Publishing it changes nothing: it is what this version already says.
    pub(crate) fn is_as(&self, known: &RunbookDocument) -> bool {
        self.source == known.source
            && self.overdue == known.overdue
            && self.rerun_init == known.rerun_init
    }

    /// The document as it is stored under a version, which is the active one.
    pub(crate) fn with_version(self, id: i64, version: u32) -> RunbookDocument {
        RunbookDocument {
            id,
            name: self.name,
            version,
            source: self.source,
            is_active: true,
            overdue: self.overdue,
            overdue_applied: false,
            rerun_init: self.rerun_init,
            created_at: self.created_at,
            created_by: self.created_by,
            last_error: None,
            last_error_at: None,
        }
    }
}

/// A stored version of a runbook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunbookDocument {
    /// a number among all versions of all runbooks
    pub id: i64,
    /// its name
    pub name: String,
    /// counted from 1
    pub version: u32,
    /// the text as it was published
    pub source: String,
    /// new batches follow it; at most one version of a name
    pub is_active: bool,
    /// what becomes of phases past due in batches under way
    pub overdue: Overdue,
    /// what is past due was passed over in every batch that was under way
    pub overdue_applied: bool,
    /// batches under way are prepared again
    pub rerun_init: bool,
    /// when
    pub created_at: Timestamp,
    /// by whom
    pub created_by: String,
    /// why the last pass of the scheduler was not clean
    pub last_error: Option<String>,
    /// when that was
    pub last_error_at: Option<Timestamp>,
}

/// Whether the scheduler makes batches of a runbook by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automation {
    /// which runbook
    pub runbook: String,
    /// it does
    pub enabled: bool,
    /// when that was last switched on
    pub enabled_at: Option<Timestamp>,
    /// by whom
    pub enabled_by: Option<String>,
    /// when that was last switched off
    pub disabled_at: Option<Timestamp>,
    /// by whom
    pub disabled_by: Option<String>,
}

/// What is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// batches
    Batch,
    /// members
    Member,
    /// phases
    Phase,
    /// runs of batches
    Run,
}

impl Numbered {
    /// The word stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Member => "member",
            Self::Phase => "phase",
            Self::Run => "run",
        }
    }
}

/// A fact of some batch's history, in the order of all batches.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchEvent {
    /// its place; later facts have higher ones
    pub id: i64,
    /// of which batch
    pub batch: BatchId,
    /// what was decided
    pub record: BatchRecord,
}
