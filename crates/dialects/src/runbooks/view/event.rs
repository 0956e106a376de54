//! The history of a batch as readers see it: who did what, and why.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::batch::{Batch, BatchEntry, BatchRecord};
use stepwell_core::command::Act;
use stepwell_core::id::{BatchId, PhaseId};

use crate::moment::Moment;

/// What one decision wrote.
#[derive(Clone, Debug, Serialize)]
pub struct RecordView {
    /// its place among the histories of all batches; later ones have higher ones
    pub id: i64,
    /// of which batch
    pub batch_id: BatchId,
    /// the batch's version after it
    pub version: u64,
    /// when
    pub at: Moment,
    /// what happened, in order; each has an `event`
    pub entries: Vec<Map<String, Value>>,
}

/// Shows a record of a batch's history.
#[must_use]
pub fn record(id: i64, batch: &Batch, record: &BatchRecord) -> RecordView {
    RecordView {
        id,
        batch_id: batch.id(),
        version: record.version,
        at: Moment(record.at),
        entries: record.entries.iter().map(|it| entry(batch, it)).collect(),
    }
}

fn entry(batch: &Batch, entry: &BatchEntry) -> Map<String, Value> {
    match entry {
        BatchEntry::Detected => Fields::new("detected"),
        BatchEntry::InitDispatched { version, .. } => {
            Fields::new("init_dispatched").with("runbook_version", *version)
        }
        BatchEntry::InitSucceeded => Fields::new("init_succeeded"),
        BatchEntry::InitFailed => Fields::new("init_failed"),
        BatchEntry::Activated => Fields::new("activated"),
        BatchEntry::Advanced { by } => Fields::new("advanced").by(by),
        BatchEntry::PhaseDispatched { phase, by } => {
            let fields = Fields::new("phase_dispatched").phase(batch, *phase);
            by.iter().fold(fields, Fields::by)
        }
        BatchEntry::PhaseEnded { phase, status } => {
            Fields::new("phase_ended").phase(batch, *phase).with("status", status.word())
        }
        BatchEntry::MembersJoined { members, by } => {
            Fields::new("members_joined").with("members", *members).by(by)
        }
        BatchEntry::MembersRemoved { members, by } => {
            Fields::new("members_removed").with("members", *members).by(by)
        }
        BatchEntry::StartMoved { start, by } => {
            Fields::new("start_moved").with("batch_start_time", start.to_string()).by(by)
        }
        BatchEntry::VersionAdopted { timeline, by } => {
            Fields::new("version_adopted").with("runbook_version", timeline.version).by(by)
        }
        BatchEntry::Paused { by } => Fields::new("paused").by(by),
        BatchEntry::Resumed { by } => Fields::new("resumed").by(by),
        BatchEntry::CancelRequested { by } => Fields::new("cancel_requested").by(by),
        // How far a sweep has come is of interest only until it is done, and is not kept.
        BatchEntry::SweepBegun { .. } => Fields::new("sweep_begun"),
        BatchEntry::SweepAdvanced { .. } => Fields::new("sweep_advanced"),
        BatchEntry::SweepEnded => Fields::new("sweep_ended"),
        BatchEntry::Ended { status } => Fields::new("ended").with("status", status.word()),
    }
    .0
}

struct Fields(Map<String, Value>);

impl Fields {
    fn new(event: &str) -> Self {
        Self(Map::new()).with("event", event)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    fn by(self, act: &Act) -> Self {
        self.with("actor", act.actor.as_str()).with("reason", act.reason.as_str())
    }

    fn phase(self, batch: &Batch, id: PhaseId) -> Self {
        let phase = batch.phases.iter().find(|phase| phase.id == id);
        let fields = self.with("phase_execution_id", id.0);
        phase.into_iter().fold(fields, |fields, phase| fields.with("phase_name", &*phase.name))
    }
}
