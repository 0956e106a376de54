//! A member as readers see it.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::{BatchId, MemberId, RunId};
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use crate::moment::Moment;
use crate::runbooks::compile::of_step_id;

/// A member as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct MemberRow<'a> {
    /// its number
    pub id: MemberId,
    /// its batch
    pub batch: BatchId,
    /// what identifies it
    pub key: &'a str,
    /// where it stands, as a word
    pub status: &'static str,
    /// its newest run
    pub run: RunId,
    /// where that stands, as a word
    pub run_status: &'static str,
    /// the step that people would call current
    pub current_step: Option<&'a str>,
    /// when it joined
    pub added_at: Timestamp,
    /// when its newest run ended
    pub ended_at: Option<Timestamp>,
    /// when it left
    pub removed_at: Option<Timestamp>,
    /// who removed it
    pub removed_by: Option<&'a str>,
    /// when what its leaving asks for was begun
    pub removal_dispatched_at: Option<Timestamp>,
}

/// A member of a batch.
#[derive(Clone, Debug, Serialize)]
pub struct MemberView<'a> {
    /// its number
    pub id: MemberId,
    /// its batch
    pub batch_id: BatchId,
    /// what identifies it
    pub member_key: &'a str,
    /// where it stands
    pub status: &'static str,
    /// its newest run
    pub run_id: RunId,
    /// where that stands, in the kernel's words
    pub run_status: &'static str,
    /// the step that people would call current
    pub current_step: Option<String>,
    /// what its source says of it
    pub data: Option<&'a Map<String, Value>>,
    /// what its workers have returned for later steps
    pub worker_data: Option<&'a Map<String, Value>>,
    /// when it joined
    pub added_at: Moment,
    /// when it was sent to catch up; null if it was there before anything began
    pub add_dispatched_at: Option<Moment>,
    /// when it left
    pub removed_at: Option<Moment>,
    /// who removed it
    pub removed_by: Option<&'a str>,
    /// when what its leaving asks for was begun
    pub remove_dispatched_at: Option<Moment>,
    /// when it failed
    pub failed_at: Option<Moment>,
    /// why it failed
    pub error: Option<&'a StepError>,
}

/// Shows a member. `began_at` is when the first phase of its batch began; the run is missing if
/// retention has deleted it.
#[must_use]
pub fn member<'a>(
    row: MemberRow<'a>,
    run: Option<&'a Run>,
    began_at: Option<Timestamp>,
) -> MemberView<'a> {
    let is_late = began_at.is_some_and(|began_at| row.added_at >= began_at);
    let has_failed = row.status == "failed";
    MemberView {
        id: row.id,
        batch_id: row.batch,
        member_key: row.key,
        status: row.status,
        run_id: row.run,
        run_status: row.run_status,
        current_step: row.current_step.map(step_label),
        data: run.map(|run| &run.header.input),
        worker_data: run.map(|run| &*run.outputs),
        added_at: Moment(row.added_at),
        add_dispatched_at: is_late.then_some(Moment(row.added_at)),
        removed_at: row.removed_at.map(Moment),
        removed_by: row.removed_by,
        remove_dispatched_at: row.removal_dispatched_at.map(Moment),
        failed_at: row.ended_at.filter(|_| has_failed).map(Moment),
        error: run.and_then(|run| run.error.as_deref()),
    }
}

/// A step as people call it: its phase and its name, without the version of the runbook.
fn step_label(id: &str) -> String {
    of_step_id(id).map_or_else(|| id.to_owned(), |(phase, name)| format!("{phase}/{name}"))
}
