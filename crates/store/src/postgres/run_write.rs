//! The rows of runs as arrays, one statement for all rows of a kind: how they are written, and nothing
//! about when.

use std::borrow::Cow;

use stepwell_core::credit::Credits;
use stepwell_core::id::{BatchId, RunId};
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepError;
use uuid::Uuid;

use super::columns::{Bound, Text, bind, column, epoch, millis, number, small, text};
use crate::model::Epoch;
use crate::rows::{
    AdvanceRows, CreateRows, RecordRow, StepRow, cancel_word, moment_to_store, stage_word,
};

pub(super) const RUN_INSERT: &str = include_str!("../../sql/postgres/run_insert.sql");
pub(super) const RUN_HEADER_INSERT: &str = include_str!("../../sql/postgres/run_header_insert.sql");
pub(super) const RUN_ADVANCE: &str = include_str!("../../sql/postgres/run_advance.sql");
pub(super) const STEP_WRITE: &str = include_str!("../../sql/postgres/step_write.sql");
pub(super) const HISTORY_INSERT: &str = include_str!("../../sql/postgres/history_insert.sql");

/// A run that is to be created.
#[derive(Clone, Copy)]
pub(super) struct NewRun<'a> {
    pub(super) rows: &'a CreateRows,
    /// the run whose decision causes it; `None`: it was asked for
    pub(super) cause: Option<RunId>,
    /// the batch whose decision it begins with
    pub(super) batch: Option<BatchId>,
}

impl<'a> NewRun<'a> {
    /// By itself, or with a decision on a batch.
    pub(super) fn asked_for(rows: &'a CreateRows, batch: Option<BatchId>) -> Self {
        Self { rows, cause: None, batch }
    }

    /// By a decision on another run.
    pub(super) fn caused_by(cause: RunId, rows: &'a CreateRows) -> Self {
        Self { rows, cause: Some(cause), batch: None }
    }

    /// What its tenant's account must cover. Runs that begin with a batch are not asked.
    pub(super) fn reserves(&self) -> Option<Credits> {
        let credits = self.rows.credits.as_ref().filter(|_| self.batch.is_none())?;
        credits.reservation()
    }

    fn ended(&self) -> bool {
        self.rows.state.status.is_terminal()
    }

    fn hash(&self) -> Option<&[u8]> {
        self.rows.key.as_ref().map(|key| key.hash.as_slice())
    }
}

/// Something that belongs to a run.
pub(super) struct Of<'a, T> {
    pub(super) run: RunId,
    pub(super) row: &'a T,
}

/// A step of a run, with the name that the workflow gives it.
pub(super) struct NamedStep<'a> {
    pub(super) run: RunId,
    pub(super) node: Cow<'a, str>,
    pub(super) row: &'a StepRow,
}

/// What creates runs.
pub(super) fn inserts<'a>(owner: Epoch, runs: &'a [NewRun<'a>]) -> Vec<Bound<'a>> {
    vec![
        bind(epoch(owner)),
        column(runs, |run| run.rows.header.id.0),
        column(runs, |run| Text(run.rows.header.tenant.as_str())),
        column(runs, |run| run.rows.header.dialect.word()),
        column(runs, |run| Text(&run.rows.header.workflow)),
        column(runs, |run| small(run.rows.header.workflow_version)),
        column(runs, |run| text(run.rows.header.compensation.as_ref())),
        column(runs, |run| run.rows.header.parent.as_ref().map(|parent| parent.run.0)),
        column(runs, |run| run.rows.header.parent.as_ref().map(|it| i32::from(it.step.0))),
        column(runs, |run| text(run.rows.header.correlation_id.as_ref())),
        column(runs, |run| run.rows.header.created_at.as_millis()),
        column(runs, |run| i32::from(run.rows.header.step_count)),
        column(runs, |run| number(run.rows.state.version)),
        column(runs, |run| run.rows.state.status.word()),
        column(runs, |run| small(run.rows.state.attempt)),
        column(runs, |run| run.rows.state.paused),
        column(runs, |run| run.rows.state.cancel.map(cancel_word)),
        column(runs, |run| text(run.rows.state.gates_open.as_ref())),
        column(runs, |run| text(run.rows.state.outputs.as_ref())),
        column(runs, |run| text(run.rows.state.current_step.as_ref())),
        column(runs, |run| code(run.rows.state.error.as_deref())),
        column(runs, |run| message(run.rows.state.error.as_deref())),
        column(runs, |run| millis(run.rows.state.retry_at)),
        column(runs, |run| millis(moment_to_store(None, run.rows.state.wake_at, run.ended()))),
        column(runs, |run| run.rows.state.updated_at.as_millis()),
        column(runs, |run| millis(run.rows.state.started_at)),
        column(runs, |run| millis(run.rows.state.ended_at)),
        column(runs, |run| millis(run.rows.expires_at.filter(|_| run.ended()))),
        column(runs, NewRun::hash),
        column(runs, |run| run.cause.map(|cause| cause.0)),
        column(runs, |run| run.rows.state.credits.map(|credits| credits.reserved.0)),
        column(runs, |run| run.rows.state.credits.map(|credits| credits.spent.0)),
    ]
}

/// What is true of runs from their first moment on.
pub(super) fn headers<'a>(runs: &'a [NewRun<'a>]) -> Vec<Bound<'a>> {
    vec![
        column(runs, |run| run.rows.header.id.0),
        column(runs, |run| run.rows.header.resumes.map(|resumed| resumed.0)),
        column(runs, |run| text(run.rows.header.input.as_ref())),
        column(runs, |run| text(run.rows.header.special.as_ref())),
        column(runs, |run| text(run.rows.header.context.as_ref())),
        column(runs, |run| run.rows.header.routing.as_ref().map(|it| i32::from(it.lane.number()))),
        column(runs, |run| run.rows.header.routing.as_ref().map(|it| Text(&it.key))),
        column(runs, |run| i32::from(run.rows.header.priority)),
        column(runs, |run| text(run.rows.header.traceparent.as_ref())),
        column(runs, |run| Text(&run.rows.header.actor)),
        column(runs, NewRun::hash),
        column(runs, |run| run.rows.header.membership.map(|it| it.batch.0)),
        column(runs, |run| Some(run.rows.header.membership?.member?.0)),
        column(runs, |run| run.rows.header.membership.map(|it| it.role.word())),
        column(runs, |run| run.rows.header.membership.map(|it| it.number.0)),
        column(runs, |run| text(run.rows.header.terms.as_ref())),
    ]
}

/// What moves runs on.
pub(super) fn advances<'a>(owner: Epoch, runs: &'a [&'a AdvanceRows]) -> Vec<Bound<'a>> {
    let ended = |status: RunStatus| status.is_terminal();
    vec![
        bind(epoch(owner)),
        column(runs, |run| run.run.0),
        column(runs, |run| number(run.from_version)),
        column(runs, |run| number(run.state.version)),
        column(runs, |run| small(run.state.attempt)),
        column(runs, |run| run.state.paused),
        column(runs, |run| run.state.cancel.map(cancel_word)),
        column(runs, |run| text(run.state.gates_open.as_ref())),
        column(runs, |run| text(run.state.outputs.as_ref())),
        column(runs, |run| text(run.state.current_step.as_ref())),
        column(runs, |run| code(run.state.error.as_deref())),
        column(runs, |run| message(run.state.error.as_deref())),
        column(runs, |run| run.state.updated_at.as_millis()),
        column(runs, |run| millis(run.state.started_at)),
        column(runs, |run| run.state.status.word()),
        column(runs, |run| millis(run.state.retry_at)),
        column(runs, |run| millis(run.state.wake_at)),
        column(runs, |run| millis(run.state.ended_at)),
        column(runs, move |run| millis(run.expires_at.filter(|_| ended(run.state.status)))),
        column(runs, |run| run.state.credits.map(|credits| credits.reserved.0)),
        column(runs, |run| run.state.credits.map(|credits| credits.spent.0)),
    ]
}

/// What writes steps.
pub(super) fn steps<'a>(steps: &'a [NamedStep<'a>]) -> Vec<Bound<'a>> {
    vec![
        column(steps, |step| step.run.0),
        column(steps, |step| i32::from(step.row.position)),
        column(steps, |step| Text(&step.node)),
        column(steps, |step| step.row.status.word()),
        column(steps, |step| small(step.row.attempt)),
        column(steps, |step| small(step.row.tries)),
        column(steps, |step| step.row.lease.as_ref().map(|lease| lease.id.0)),
        column(steps, |step| step.row.lease.as_ref().map(|lease| stage_word(lease.stage))),
        column(steps, |step| step.row.lease.as_ref().map(|lease| lease.expires_at.as_millis())),
        column(steps, |step| step.row.queued.as_ref().map(|queued| Text(&queued.pool))),
        column(steps, |step| step.row.queued.as_ref().map(|queued| i32::from(queued.rank))),
        column(steps, |step| step.row.queued.as_ref().map(|queued| i32::from(queued.lane))),
        column(steps, |step| step.row.queued.as_ref().map(|queued| small(queued.poll_count))),
        column(steps, |step| text(step.row.kind.as_deref())),
        column(steps, |step| text(step.row.params.as_ref())),
        column(steps, |step| text(step.row.result.as_ref())),
        column(steps, |step| text(step.row.detail.as_ref())),
        column(steps, |step| code(step.row.error.as_deref())),
        column(steps, |step| message(step.row.error.as_deref())),
        column(steps, |step| millis(step.row.wake_at)),
        column(steps, |step| millis(step.row.dispatched_at)),
        column(steps, |step| millis(step.row.ended_at)),
    ]
}

/// What appends to histories.
pub(super) fn records<'a>(records: &'a [Of<'a, RecordRow>]) -> Vec<Bound<'a>> {
    vec![
        column(records, |record| record.run.0),
        column(records, |record| number(record.row.version)),
        column(records, |record| record.row.at.as_millis()),
        column(records, |record| Text(&record.row.entries)),
    ]
}

/// Ids as an array.
pub(super) fn ids(runs: impl IntoIterator<Item = RunId>) -> Vec<Uuid> {
    runs.into_iter().map(|run| run.0).collect()
}

fn code(error: Option<&StepError>) -> Option<Text<'_>> {
    error.map(|error| Text(&error.code))
}

fn message(error: Option<&StepError>) -> Option<Text<'_>> {
    error.map(|error| Text(&error.message))
}
