//! A decision on a batch as rows, ready to be bound.

use stepwell_core::id::MemberId;
use stepwell_core::time::Timestamp;

use super::{BatchRecordRow, BatchRow, CreateRows, PhaseRow};
use crate::model::{BatchWrite, Create, DataHash, NewMember, Removal};

/// A decision on a batch as rows.
#[derive(Debug)]
pub(crate) struct BatchWriteRows {
    pub(crate) batch: BatchRow,
    /// all of them; those that are there already keep their counters
    pub(crate) phases: Vec<PhaseRow>,
    /// `None`: the batch is new
    pub(crate) from_version: Option<u64>,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) settled: bool,
    pub(crate) record: Option<BatchRecordRow>,
    pub(crate) removed: Vec<Removal>,
    pub(crate) joined: Vec<MemberRow>,
    pub(crate) retaken: Vec<CreateRows>,
    pub(crate) runs: Vec<CreateRows>,
    pub(crate) refreshed: Vec<(MemberId, DataHash)>,
}

/// A member that joins.
#[derive(Debug)]
pub(crate) struct MemberRow {
    pub(crate) id: MemberId,
    pub(crate) key: String,
    pub(crate) data_hash: DataHash,
    pub(crate) added_at: Timestamp,
    pub(crate) run: CreateRows,
}

impl BatchWriteRows {
    pub(crate) fn encode(write: BatchWrite) -> Self {
        let encode = |creates: Vec<Create>| creates.into_iter().map(CreateRows::encode).collect();
        Self {
            batch: BatchRow::encode(&write.batch),
            phases: PhaseRow::encode_all(&write.batch),
            from_version: write.from_version,
            wake_at: write.batch.wake_at(),
            settled: write.batch.is_settled(),
            record: write.record.as_ref().map(BatchRecordRow::encode),
            removed: write.removed,
            joined: write.joined.into_iter().map(MemberRow::encode).collect(),
            retaken: encode(write.retaken),
            runs: encode(write.runs),
            refreshed: write.refreshed,
        }
    }

    /// Every run that begins with it.
    pub(crate) fn creates(&self) -> impl Iterator<Item = &CreateRows> {
        let joined = self.joined.iter().map(|member| &member.run);
        joined.chain(&self.retaken).chain(&self.runs)
    }
}

impl MemberRow {
    fn encode(member: NewMember) -> Self {
        Self {
            id: member.id,
            key: member.key,
            data_hash: member.data_hash,
            added_at: member.added_at,
            run: CreateRows::encode(member.run),
        }
    }
}
