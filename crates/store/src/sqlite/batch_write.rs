//! A decision on a batch: the batch, its phases, its members and the runs that begin with it, together or
//! not at all.

use rusqlite::{Transaction, params};
use stepwell_core::batch::Tally;
use stepwell_core::definition::Workflow;

use super::columns::{key, millis, number};
use super::commit::write_create;
use crate::error::StoreError;
use crate::model::Verdict;
use crate::rows::{BatchWriteRows, CreateRows, HeaderRow, MemberRow, SpecRow, Tallies};

const SAVE: &str = "SAVEPOINT batch_item";
const KEEP: &str = "RELEASE batch_item";
const UNDO: &str = "ROLLBACK TO batch_item";

const BATCH_INSERT: &str = include_str!("../../sql/sqlite/batch_insert.sql");
const BATCH_UPDATE: &str = include_str!("../../sql/sqlite/batch_update.sql");
const PHASE_WRITE: &str = include_str!("../../sql/sqlite/batch_phase_write.sql");
const MEMBER_INSERT: &str = include_str!("../../sql/sqlite/member_insert.sql");
const MEMBER_REMOVE: &str = include_str!("../../sql/sqlite/member_remove.sql");
const MEMBER_RETAKE: &str = include_str!("../../sql/sqlite/member_retake.sql");
const MEMBER_REFRESH: &str = include_str!("../../sql/sqlite/member_refresh.sql");
const HISTORY_INSERT: &str = include_str!("../../sql/sqlite/batch_history_insert.sql");
const RUN_INSERT: &str = include_str!("../../sql/sqlite/batch_run_insert.sql");
const SPEC_EXISTS: &str = include_str!("../../sql/sqlite/step_spec_exists.sql");
const SPEC_INSERT: &str = include_str!("../../sql/sqlite/step_spec_insert.sql");
const BATCH_TALLY: &str = include_str!("../../sql/sqlite/batch_tally.sql");
const PHASE_TALLY: &str = include_str!("../../sql/sqlite/batch_phase_tally.sql");

/// Writes a decision on a batch. What hinders one part of it hinders all.
pub(super) fn write(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<Verdict, StoreError> {
    tx.prepare_cached(SAVE)?.execute([])?;
    let verdict = write_parts(tx, write)?;
    if verdict != Verdict::Done {
        tx.prepare_cached(UNDO)?.execute([])?;
    }
    tx.prepare_cached(KEEP)?.execute([])?;
    Ok(verdict)
}

fn write_parts(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<Verdict, StoreError> {
    if !write_batch(tx, write)? {
        return Ok(Verdict::Stale);
    }
    write_phases(tx, write)?;
    remove_members(tx, write)?;
    for member in &write.joined {
        if !insert_member(tx, write, member)? {
            return Ok(Verdict::Stale);
        }
    }
    retake_members(tx, write)?;
    note_specs(tx, write)?;
    for create in write.creates() {
        let verdict = write_create(tx, create)?;
        if verdict != Verdict::Done {
            return Ok(verdict);
        }
    }
    for (member, data_hash) in &write.refreshed {
        let bound = params![member.0, write.batch.id.0, data_hash];
        tx.prepare_cached(MEMBER_REFRESH)?.execute(bound)?;
    }
    append_history(tx, write)?;
    Ok(Verdict::Done)
}

/// Writes the batch itself; `false` if it is not at the version it was decided from.
fn write_batch(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<bool, StoreError> {
    let batch = &write.batch;
    let statement = if write.from_version.is_some() { BATCH_UPDATE } else { BATCH_INSERT };
    let mut statement = tx.prepare_cached(statement)?;
    let state = params![
        batch.id.0,
        number(batch.version),
        batch.status.word(),
        batch.paused,
        batch.runbook_version,
        millis(batch.start),
        millis(batch.advanced_at),
        batch.init,
        millis(batch.init_dispatched_at),
        batch.sweeps,
        batch.current_phase,
        batch.joined,
        batch.removed,
        batch.updated_at.as_millis(),
        millis(batch.ended_at),
        millis(write.wake_at),
        write.settled,
    ];
    let from = write.from_version.map(number);
    let header = params![
        batch.tenant.as_str(),
        batch.runbook,
        batch.mode.word(),
        millis(batch.slot),
        batch.actor,
        batch.created_at.as_millis(),
    ];
    let bound =
        if from.is_some() { [state, params![from]].concat() } else { [state, header].concat() };
    Ok(statement.execute(bound.as_slice())? == 1)
}

fn write_phases(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(PHASE_WRITE)?;
    for phase in &write.phases {
        statement.execute(params![
            phase.id.0,
            write.batch.id.0,
            phase.name,
            phase.version,
            phase.gate,
            phase.offset_minutes,
            phase.steps,
            millis(phase.due_at),
            phase.status.word(),
            millis(phase.dispatched_at),
            millis(phase.completed_at),
        ])?;
    }
    Ok(())
}

fn remove_members(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(MEMBER_REMOVE)?;
    for removal in &write.removed {
        statement.execute(params![
            removal.member.0,
            write.batch.id.0,
            removal.at.as_millis(),
            removal.actor,
        ])?;
    }
    Ok(())
}

/// Inserts a member without its run; `false` if somebody in the batch has its number or its key.
fn insert_member(
    tx: &Transaction<'_>,
    write: &BatchWriteRows,
    member: &MemberRow,
) -> Result<bool, StoreError> {
    let rows = tx.prepare_cached(MEMBER_INSERT)?.execute(params![
        member.id.0,
        write.batch.id.0,
        member.key,
        member.data_hash,
        key(&member.run.header.id),
        member.added_at.as_millis(),
    ])?;
    Ok(rows == 1)
}

/// Makes runs the newest of their members.
fn retake_members(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(MEMBER_RETAKE)?;
    for CreateRows { header, .. } in &write.retaken {
        if let Some(member) = header.membership.and_then(|membership| membership.member) {
            statement.execute(params![member.0, write.batch.id.0, key(&header.id)])?;
        }
    }
    Ok(())
}

fn append_history(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<(), StoreError> {
    let Some(record) = &write.record else { return Ok(()) };
    tx.prepare_cached(HISTORY_INSERT)?.execute(params![
        write.batch.id.0,
        number(record.version),
        record.at.as_millis(),
        record.entries,
    ])?;
    Ok(())
}

/// Notes what the steps of the runs follow, once for each of the few workflows they have in common.
fn note_specs(tx: &Transaction<'_>, write: &BatchWriteRows) -> Result<(), StoreError> {
    let mut noted: Vec<&Workflow> = Vec::new();
    for workflow in write.creates().filter_map(|create| create.workflow.as_deref()) {
        let is_it = |it: &&Workflow| it.version == workflow.version && it.name == workflow.name;
        if !noted.iter().any(is_it) {
            note_spec(tx, workflow)?;
            noted.push(workflow);
        }
    }
    Ok(())
}

/// Notes what the steps of a workflow are, if that is not known yet.
pub(super) fn note_spec(tx: &Transaction<'_>, workflow: &Workflow) -> Result<(), StoreError> {
    if tx.prepare_cached(SPEC_EXISTS)?.exists(params![workflow.name, workflow.version])? {
        return Ok(());
    }
    let mut statement = tx.prepare_cached(SPEC_INSERT)?;
    for spec in SpecRow::encode_all(workflow) {
        statement.execute(params![
            workflow.name,
            workflow.version,
            spec.position,
            spec.step,
            spec.gate,
            spec.gate_position,
            spec.kind,
            spec.pool,
            spec.on_failure,
            spec.poll_interval_s.map(number),
            spec.poll_timeout_s.map(number),
            spec.retries_max,
            number(spec.retry_interval_s),
        ])?;
    }
    Ok(())
}

/// Gives a run of a batch its number. What undoes a step shares that of the run it undoes.
pub(super) fn number_run(tx: &Transaction<'_>, header: &HeaderRow) -> Result<(), StoreError> {
    let Some(membership) = header.membership else { return Ok(()) };
    tx.prepare_cached(RUN_INSERT)?.execute(params![
        membership.number.0,
        key(&header.id),
        membership.batch.0,
        membership.member.map(|member| member.0),
        membership.role.word(),
    ])?;
    Ok(())
}

/// Moves the counters by what a group has moved in all: one statement a batch and one a phase.
pub(super) fn move_counters(tx: &Transaction<'_>, tallies: &Tallies) -> Result<(), StoreError> {
    for Tally { batch, members, phases } in tallies.iter() {
        tx.prepare_cached(BATCH_TALLY)?.execute(params![
            batch.0,
            members.open,
            members.succeeded,
            members.failed,
            members.cancelled,
        ])?;
        for (gate, phase) in phases {
            tx.prepare_cached(PHASE_TALLY)?.execute(params![
                batch.0,
                gate,
                phase.open,
                phase.succeeded,
                phase.failed,
                phase.cancelled,
                phase.skipped,
                phase.steps_ended,
            ])?;
        }
    }
    Ok(())
}
