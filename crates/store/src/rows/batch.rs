//! A batch and its phases as columns, and back.

use std::sync::Arc;

use stepwell_core::batch::{
    Batch, BatchHeader, BatchMode, BatchRecord, BatchStatus, MemberTally, Overdue, Phase,
    PhaseStatus, PhaseTally,
};
use stepwell_core::id::{BatchId, PhaseId, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;

use super::{text, value};
use crate::error::StoreError;

/// A batch without its phases. Its tally is read from here and never written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BatchRow {
    pub(crate) id: BatchId,
    pub(crate) tenant: Tenant,
    pub(crate) runbook: String,
    pub(crate) mode: BatchMode,
    pub(crate) slot: Option<Timestamp>,
    pub(crate) actor: String,
    pub(crate) created_at: Timestamp,
    pub(crate) version: u64,
    pub(crate) status: BatchStatus,
    pub(crate) paused: bool,
    pub(crate) runbook_version: u32,
    pub(crate) start: Option<Timestamp>,
    pub(crate) advanced_at: Option<Timestamp>,
    pub(crate) init: String,
    pub(crate) init_dispatched_at: Option<Timestamp>,
    pub(crate) sweeps: String,
    pub(crate) current_phase: Option<String>,
    pub(crate) joined: i64,
    pub(crate) removed: i64,
    pub(crate) tally: MemberTally,
    pub(crate) updated_at: Timestamp,
    pub(crate) ended_at: Option<Timestamp>,
}

/// One phase of a batch. Its tally is read from here and never written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PhaseRow {
    pub(crate) id: PhaseId,
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) gate: String,
    pub(crate) offset_minutes: i32,
    pub(crate) steps: u16,
    pub(crate) due_at: Option<Timestamp>,
    pub(crate) status: PhaseStatus,
    pub(crate) dispatched_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) tally: PhaseTally,
}

/// One decision of a batch's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BatchRecordRow {
    pub(crate) version: u64,
    pub(crate) at: Timestamp,
    pub(crate) entries: String,
}

impl BatchRow {
    pub(crate) fn encode(batch: &Batch) -> Self {
        let header = &batch.header;
        Self {
            id: header.id,
            tenant: header.tenant.clone(),
            runbook: header.runbook.clone(),
            mode: header.mode,
            slot: header.slot,
            actor: header.actor.clone(),
            created_at: header.created_at,
            version: batch.version,
            status: batch.status,
            paused: batch.paused,
            runbook_version: batch.runbook_version,
            start: batch.start,
            advanced_at: batch.advanced_at,
            init: text(&batch.init),
            init_dispatched_at: batch.init_dispatched_at,
            sweeps: text(&batch.sweeps),
            current_phase: batch.current_phase.clone(),
            joined: batch.joined,
            removed: batch.removed,
            tally: batch.tally,
            updated_at: batch.updated_at,
            ended_at: batch.ended_at,
        }
    }

    /// The batch, with its phases in any order: a later one has a higher number.
    pub(crate) fn decode(self, mut phases: Vec<PhaseRow>) -> Result<Batch, StoreError> {
        phases.sort_unstable_by_key(|phase| phase.id);
        let header = BatchHeader {
            id: self.id,
            tenant: self.tenant,
            runbook: self.runbook,
            mode: self.mode,
            slot: self.slot,
            actor: self.actor,
            created_at: self.created_at,
        };
        Ok(Batch {
            header: Arc::new(header),
            version: self.version,
            status: self.status,
            paused: self.paused,
            runbook_version: self.runbook_version,
            start: self.start,
            advanced_at: self.advanced_at,
            init: value("batch.init", &self.init)?,
            init_dispatched_at: self.init_dispatched_at,
            phases: phases.into_iter().map(PhaseRow::decode).collect(),
            sweeps: value("batch.sweeps", &self.sweeps)?,
            current_phase: self.current_phase,
            joined: self.joined,
            removed: self.removed,
            tally: self.tally,
            updated_at: self.updated_at,
            ended_at: self.ended_at,
        })
    }
}

impl PhaseRow {
    pub(crate) fn encode_all(batch: &Batch) -> Vec<Self> {
        let encode = |phase: &Phase| Self {
            id: phase.id,
            name: phase.name.clone(),
            version: phase.version,
            gate: phase.gate.clone(),
            offset_minutes: phase.offset_minutes,
            steps: phase.steps,
            due_at: phase.due_at,
            status: phase.status,
            dispatched_at: phase.dispatched_at,
            completed_at: phase.completed_at,
            tally: phase.tally,
        };
        batch.phases.iter().map(encode).collect()
    }

    fn decode(self) -> Phase {
        Phase {
            id: self.id,
            name: self.name,
            version: self.version,
            gate: self.gate,
            offset_minutes: self.offset_minutes,
            steps: self.steps,
            due_at: self.due_at,
            status: self.status,
            dispatched_at: self.dispatched_at,
            completed_at: self.completed_at,
            tally: self.tally,
        }
    }
}

impl BatchRecordRow {
    pub(crate) fn encode(record: &BatchRecord) -> Self {
        Self { version: record.version, at: record.at, entries: text(&record.entries) }
    }

    pub(crate) fn decode(self) -> Result<BatchRecord, StoreError> {
        let entries = value("batch_history.entries", &self.entries)?;
        Ok(BatchRecord { version: self.version, at: self.at, entries })
    }
}

/// What a run does in its batch, from its stored word.
pub(crate) fn role_of_word(word: &str) -> Option<BatchRole> {
    [BatchRole::Init, BatchRole::Member, BatchRole::Removal]
        .into_iter()
        .find(|role| role.word() == word)
}

/// The word stored for what becomes of phases past due.
pub(crate) fn overdue_word(overdue: Overdue) -> &'static str {
    match overdue {
        Overdue::Rerun => "rerun",
        Overdue::Ignore => "ignore",
    }
}

/// What becomes of phases past due, from its stored word.
pub(crate) fn overdue_of_word(word: &str) -> Option<Overdue> {
    [Overdue::Rerun, Overdue::Ignore].into_iter().find(|overdue| overdue_word(*overdue) == word)
}
