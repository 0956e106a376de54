//! The rows of a run: how they are written, and nothing about when.

use rusqlite::{OptionalExtension, Transaction, params};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::step::{StepError, StepStatus};
use stepwell_core::time::Timestamp;

use super::columns::{key, lease_key, millis, number};
use crate::error::StoreError;
use crate::rows::{
    AdvanceRows, CreateRows, HeaderRow, NewHeader, RecordRow, StepRow, cancel_word,
    moment_to_store, stage_word,
};

const RUN_INSERT: &str = include_str!("../../sql/sqlite/run_insert.sql");
const RUN_HEADER_INSERT: &str = include_str!("../../sql/sqlite/run_header_insert.sql");
const RUN_HEADER_UPDATE: &str = include_str!("../../sql/sqlite/run_header_update.sql");
const RUN_ADOPT: &str = include_str!("../../sql/sqlite/run_adopt.sql");
const STEPS_CUT: &str = include_str!("../../sql/sqlite/steps_cut.sql");
const RUN_ADVANCE: &str = include_str!("../../sql/sqlite/run_advance.sql");
const RUN_AT_VERSION: &str = include_str!("../../sql/sqlite/run_at_version.sql");
const RUN_MOVE: &str = include_str!("../../sql/sqlite/run_move.sql");
const STEP_INSERT: &str = include_str!("../../sql/sqlite/step_insert.sql");
const STEP_UPDATE: &str = include_str!("../../sql/sqlite/step_update.sql");
const HISTORY_INSERT: &str = include_str!("../../sql/sqlite/history_insert.sql");

/// What the transaction must know of a run before its status or moment changes.
pub(super) struct Before {
    pub(super) tenant: Tenant,
    pub(super) is_compensation: bool,
    pub(super) ended: bool,
    wake_at: Option<Timestamp>,
}

/// Inserts a run with its header, steps and first decision; `false` if the run exists.
pub(super) fn insert(tx: &Transaction<'_>, create: &CreateRows) -> Result<bool, StoreError> {
    let (header, state) = (&create.header, &create.state);
    let ended = state.status.is_terminal();
    let rows = tx.prepare_cached(RUN_INSERT)?.execute(params![
        key(&header.id),
        header.tenant.as_str(),
        header.dialect.word(),
        header.workflow,
        header.workflow_version,
        header.compensation,
        header.parent.as_ref().map(|parent| key(&parent.run)),
        header.parent.as_ref().map(|parent| parent.step.0),
        header.correlation_id,
        header.created_at.as_millis(),
        header.step_count,
        number(state.version),
        state.status.word(),
        state.attempt,
        state.paused,
        state.cancel.map(cancel_word),
        state.gates_open,
        state.outputs,
        state.current_step,
        code(state.error.as_deref()),
        message(state.error.as_deref()),
        millis(state.retry_at),
        millis(moment_to_store(None, state.wake_at, ended)),
        state.updated_at.as_millis(),
        millis(state.started_at),
        millis(state.ended_at),
        millis(create.expires_at.filter(|_| ended)),
        state.credits.map(|credits| credits.reserved.0),
        state.credits.map(|credits| credits.spent.0),
    ])?;
    if rows == 0 {
        return Ok(false);
    }
    insert_header(tx, header, create.key.as_ref().map(|taken| &taken.hash))?;
    for step in &create.steps {
        write_step(tx, &header.id, step)?;
    }
    append_history(tx, &header.id, &create.record)?;
    Ok(true)
}

fn insert_header(
    tx: &Transaction<'_>,
    header: &HeaderRow,
    idempotency_hash: Option<&[u8; 32]>,
) -> Result<(), StoreError> {
    let membership = header.membership.as_ref();
    tx.prepare_cached(RUN_HEADER_INSERT)?.execute(params![
        key(&header.id),
        header.resumes.as_ref().map(key),
        header.input,
        header.special,
        header.context,
        header.routing.as_ref().map(|routing| routing.lane.number()),
        header.routing.as_ref().map(|routing| &routing.key),
        header.priority,
        header.traceparent,
        header.actor,
        idempotency_hash,
        membership.map(|membership| membership.batch.0),
        membership.and_then(|membership| membership.member).map(|member| member.0),
        membership.map(|membership| membership.role.word()),
        membership.map(|membership| membership.number.0),
        header.terms,
    ])?;
    Ok(())
}

/// Writes anew what a run was given, and which workflow it follows.
pub(super) fn replace_header(tx: &Transaction<'_>, new: &NewHeader) -> Result<(), StoreError> {
    let header = &new.header;
    let run = key(&header.id);
    tx.prepare_cached(RUN_HEADER_UPDATE)?.execute(params![run, header.input, header.special])?;
    tx.prepare_cached(RUN_ADOPT)?.execute(params![
        run,
        header.workflow,
        header.workflow_version,
        header.step_count,
    ])?;
    tx.prepare_cached(STEPS_CUT)?.execute(params![run, new.steps])?;
    Ok(())
}

/// Moves a run on if neither its status nor its stored moment changes; `false` if that is not so,
/// or the run is no longer at the version it was decided from.
pub(super) fn advance(tx: &Transaction<'_>, advance: &AdvanceRows) -> Result<bool, StoreError> {
    let state = &advance.state;
    if state.status.is_terminal() {
        return Ok(false);
    }
    let rows = tx.prepare_cached(RUN_ADVANCE)?.execute(params![
        number(state.version),
        state.attempt,
        state.paused,
        state.cancel.map(cancel_word),
        state.gates_open,
        state.outputs,
        state.current_step,
        code(state.error.as_deref()),
        message(state.error.as_deref()),
        state.updated_at.as_millis(),
        millis(state.started_at),
        key(&advance.run),
        number(advance.from_version),
        state.status.word(),
        millis(state.retry_at),
        millis(state.wake_at),
        state.credits.map(|credits| credits.reserved.0),
        state.credits.map(|credits| credits.spent.0),
    ])?;
    Ok(rows == 1)
}

/// The run as it stands, if it is still at this version.
pub(super) fn before(
    tx: &Transaction<'_>,
    run: &RunId,
    version: u64,
) -> Result<Option<Before>, StoreError> {
    let before = tx
        .prepare_cached(RUN_AT_VERSION)?
        .query_row(params![key(run), number(version)], |row| {
            Ok(Before {
                tenant: Tenant(row.get(0)?),
                is_compensation: row.get(1)?,
                ended: row.get(2)?,
                wake_at: row.get::<_, Option<i64>>(3)?.map(Timestamp::from_millis),
            })
        })
        .optional()?;
    Ok(before)
}

/// Moves a run on, with its status, its moment and its end.
pub(super) fn move_run(
    tx: &Transaction<'_>,
    advance: &AdvanceRows,
    before: &Before,
) -> Result<(), StoreError> {
    let state = &advance.state;
    let ended = state.status.is_terminal();
    let rows = tx.prepare_cached(RUN_MOVE)?.execute(params![
        number(state.version),
        state.attempt,
        state.paused,
        state.cancel.map(cancel_word),
        state.gates_open,
        state.outputs,
        state.current_step,
        code(state.error.as_deref()),
        message(state.error.as_deref()),
        state.updated_at.as_millis(),
        millis(state.started_at),
        state.status.word(),
        millis(state.retry_at),
        millis(moment_to_store(before.wake_at, state.wake_at, ended)),
        millis(state.ended_at),
        millis(advance.expires_at.filter(|_| ended)),
        key(&advance.run),
        state.credits.map(|credits| credits.reserved.0),
        state.credits.map(|credits| credits.spent.0),
    ])?;
    assert_eq!(rows, 1, "run.id is the primary key, and the run was there a statement ago");
    Ok(())
}

/// Writes one step, whether or not it has a row.
///
/// Two statements are cheaper than one that does either: that one would check the row twice. The
/// likelier one goes first: a first attempt is nearly always the first thing that happens to a step.
pub(super) fn write_step(
    tx: &Transaction<'_>,
    run: &RunId,
    step: &StepRow,
) -> Result<(), StoreError> {
    let statements = if step.status == StepStatus::Dispatched && step.attempt == 1 {
        [STEP_INSERT, STEP_UPDATE]
    } else {
        [STEP_UPDATE, STEP_INSERT]
    };
    for statement in statements {
        if execute_step(tx, statement, run, step)? == 1 {
            return Ok(());
        }
    }
    Err(StoreError::broken(format!("step {} of run {run} has a row and has none", step.position)))
}

fn execute_step(
    tx: &Transaction<'_>,
    statement: &str,
    run: &RunId,
    step: &StepRow,
) -> Result<usize, StoreError> {
    let (lease, queued) = (step.lease.as_ref(), step.queued.as_ref());
    let rows = tx.prepare_cached(statement)?.execute(params![
        key(run),
        step.position,
        step.status.word(),
        step.attempt,
        step.tries,
        lease.map(|lease| lease_key(&lease.id)),
        lease.map(|lease| stage_word(lease.stage)),
        lease.map(|lease| lease.expires_at.as_millis()),
        queued.map(|queued| &queued.pool),
        queued.map(|queued| queued.rank),
        queued.map(|queued| queued.lane),
        queued.map(|queued| queued.poll_count),
        step.kind.as_deref(),
        step.params,
        step.result,
        step.detail,
        code(step.error.as_deref()),
        message(step.error.as_deref()),
        millis(step.wake_at),
        millis(step.dispatched_at),
        millis(step.ended_at),
    ])?;
    Ok(rows)
}

/// Appends one decision to the history of its run.
pub(super) fn append_history(
    tx: &Transaction<'_>,
    run: &RunId,
    record: &RecordRow,
) -> Result<(), StoreError> {
    tx.prepare_cached(HISTORY_INSERT)?.execute(params![
        key(run),
        number(record.version),
        record.at.as_millis(),
        record.entries,
    ])?;
    Ok(())
}

fn code(error: Option<&StepError>) -> Option<&str> {
    error.map(|error| error.code.as_str())
}

fn message(error: Option<&StepError>) -> Option<&str> {
    error.map(|error| error.message.as_str())
}
