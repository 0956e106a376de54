//! Decisions on batches as arrays: one statement for all rows of a kind.
//!
//! Rows are locked in one order by everybody: runs, then batches by number, then phases by batch and
//! gate. So whoever decides about a batch locks, before it writes, everything that its group will count
//! in; and what it finds then is true until it has committed.

use stepwell_core::id::{BatchId, MemberId};

use super::columns::{Bound, Text, column, millis, number, small, text};
use super::pipeline::Pipeline;
use crate::model::{DataHash, Removal};
use crate::rows::{BatchRecordRow, BatchWriteRows, CreateRows, MemberRow, PhaseRow};

pub(super) const BATCH_LOCK: &str = include_str!("../../sql/postgres/batch_lock.sql");
pub(super) const BATCH_PHASE_LOCK: &str = include_str!("../../sql/postgres/batch_phase_lock.sql");
pub(super) const BATCH_MEMBER_CONFLICTS: &str =
    include_str!("../../sql/postgres/batch_member_conflicts.sql");
const BATCH_INSERT: &str = include_str!("../../sql/postgres/batch_insert.sql");
const BATCH_ADVANCE: &str = include_str!("../../sql/postgres/batch_advance.sql");
const BATCH_PHASE_WRITE: &str = include_str!("../../sql/postgres/batch_phase_write.sql");
const BATCH_MEMBER_REMOVE: &str = include_str!("../../sql/postgres/batch_member_remove.sql");
const BATCH_MEMBER_INSERT: &str = include_str!("../../sql/postgres/batch_member_insert.sql");
const BATCH_MEMBER_RETAKE: &str = include_str!("../../sql/postgres/batch_member_retake.sql");
const BATCH_MEMBER_REFRESH: &str = include_str!("../../sql/postgres/batch_member_refresh.sql");
const BATCH_HISTORY_LOCK: &str = include_str!("../../sql/postgres/batch_history_lock.sql");
const BATCH_HISTORY_INSERT: &str = include_str!("../../sql/postgres/batch_history_insert.sql");

/// What a connection has prepared that commits a decision on a batch.
pub(super) const STATEMENTS: [&str; 12] = [
    BATCH_LOCK,
    BATCH_PHASE_LOCK,
    BATCH_MEMBER_CONFLICTS,
    BATCH_INSERT,
    BATCH_ADVANCE,
    BATCH_PHASE_WRITE,
    BATCH_MEMBER_REMOVE,
    BATCH_MEMBER_INSERT,
    BATCH_MEMBER_RETAKE,
    BATCH_MEMBER_REFRESH,
    BATCH_HISTORY_LOCK,
    BATCH_HISTORY_INSERT,
];

/// Something that belongs to a batch.
struct In<'a, T> {
    batch: BatchId,
    row: &'a T,
}

/// Decisions on batches, sorted by statement.
#[derive(Default)]
pub(super) struct Writes<'a> {
    new: Vec<&'a BatchWriteRows>,
    known: Vec<&'a BatchWriteRows>,
    phases: Vec<In<'a, PhaseRow>>,
    removed: Vec<In<'a, Removal>>,
    joined: Vec<In<'a, MemberRow>>,
    retaken: Vec<In<'a, CreateRows>>,
    refreshed: Vec<In<'a, (MemberId, DataHash)>>,
    records: Vec<In<'a, BatchRecordRow>>,
}

impl<'a> Writes<'a> {
    /// Sorts those decisions that can be done.
    pub(super) fn of(decisions: impl Iterator<Item = &'a BatchWriteRows>) -> Self {
        let mut writes = Self::default();
        for write in decisions {
            let batch = write.batch.id;
            match write.from_version {
                None => writes.new.push(write),
                Some(_) => writes.known.push(write),
            }
            writes.phases.extend(of(batch, &write.phases));
            writes.removed.extend(of(batch, &write.removed));
            writes.joined.extend(of(batch, &write.joined));
            writes.retaken.extend(of(batch, &write.retaken));
            writes.refreshed.extend(of(batch, &write.refreshed));
            writes.records.extend(of(batch, &write.record));
        }
        writes
    }

    /// Sends batches, phases and members. Whoever leaves goes first, so that the same key may join.
    pub(super) fn send<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        let mut send =
            |statement: &'static str, rows: usize, bound: &dyn Fn() -> Vec<Bound<'b>>| {
                if rows > 0 {
                    pipeline.send(statement, bound());
                }
            };
        send(BATCH_INSERT, self.new.len(), &|| insert(&self.new));
        send(BATCH_ADVANCE, self.known.len(), &|| states(&self.known));
        send(BATCH_PHASE_WRITE, self.phases.len(), &|| phases(&self.phases));
        send(BATCH_MEMBER_REMOVE, self.removed.len(), &|| removals(&self.removed));
        send(BATCH_MEMBER_INSERT, self.joined.len(), &|| members(&self.joined));
        send(BATCH_MEMBER_RETAKE, self.retaken.len(), &|| retaken(&self.retaken));
        send(BATCH_MEMBER_REFRESH, self.refreshed.len(), &|| refreshed(&self.refreshed));
    }

    /// Sends what was decided. Late: others who do the same wait from here on.
    pub(super) fn send_history<'b>(&'b self, pipeline: &mut Pipeline<'b>) {
        if !self.records.is_empty() {
            pipeline.send(BATCH_HISTORY_LOCK, vec![]);
            pipeline.send(BATCH_HISTORY_INSERT, records(&self.records));
        }
    }
}

fn of<'a, T: 'a>(
    batch: BatchId,
    rows: impl IntoIterator<Item = &'a T>,
) -> impl Iterator<Item = In<'a, T>> {
    rows.into_iter().map(move |row| In { batch, row })
}

/// Members that are to join, to see who is in their way.
pub(super) fn joining<'a>(writes: &[&'a BatchWriteRows]) -> Vec<Bound<'a>> {
    let joining = || {
        let of = |write: &&'a BatchWriteRows| {
            let write: &'a BatchWriteRows = write;
            write.joined.iter().map(|member| (write.batch.id, member))
        };
        writes.iter().flat_map(of)
    };
    vec![
        Box::new(joining().map(|(batch, _)| batch.0).collect::<Vec<_>>()),
        Box::new(joining().map(|(_, member)| member.id.0).collect::<Vec<_>>()),
        Box::new(joining().map(|(_, member)| Text(&member.key)).collect::<Vec<_>>()),
    ]
}

/// What every decision may change about batches.
fn states<'a>(writes: &'a [&'a BatchWriteRows]) -> Vec<Bound<'a>> {
    vec![
        column(writes, |it| it.batch.id.0),
        column(writes, |it| number(it.batch.version)),
        column(writes, |it| it.batch.status.word()),
        column(writes, |it| it.batch.paused),
        column(writes, |it| small(it.batch.runbook_version)),
        column(writes, |it| millis(it.batch.start)),
        column(writes, |it| millis(it.batch.advanced_at)),
        column(writes, |it| Text(&it.batch.init)),
        column(writes, |it| millis(it.batch.init_dispatched_at)),
        column(writes, |it| Text(&it.batch.sweeps)),
        column(writes, |it| text(it.batch.current_phase.as_ref())),
        column(writes, |it| it.batch.joined),
        column(writes, |it| it.batch.removed),
        column(writes, |it| it.batch.updated_at.as_millis()),
        column(writes, |it| millis(it.batch.ended_at)),
        column(writes, |it| millis(it.wake_at)),
        column(writes, |it| it.settled),
    ]
}

/// The same, and what never changes about them.
fn insert<'a>(writes: &'a [&'a BatchWriteRows]) -> Vec<Bound<'a>> {
    let mut bound = states(writes);
    bound.extend([
        column(writes, |it| Text(it.batch.tenant.as_str())),
        column(writes, |it| Text(&it.batch.runbook)),
        column(writes, |it| it.batch.mode.word()),
        column(writes, |it| millis(it.batch.slot)),
        column(writes, |it| Text(&it.batch.actor)),
        column(writes, |it| it.batch.created_at.as_millis()),
    ]);
    bound
}

fn phases<'a>(phases: &'a [In<'a, PhaseRow>]) -> Vec<Bound<'a>> {
    vec![
        column(phases, |it| it.row.id.0),
        column(phases, |it| it.batch.0),
        column(phases, |it| Text(&it.row.name)),
        column(phases, |it| small(it.row.version)),
        column(phases, |it| Text(&it.row.gate)),
        column(phases, |it| it.row.offset_minutes),
        column(phases, |it| i32::from(it.row.steps)),
        column(phases, |it| millis(it.row.due_at)),
        column(phases, |it| it.row.status.word()),
        column(phases, |it| millis(it.row.dispatched_at)),
        column(phases, |it| millis(it.row.completed_at)),
    ]
}

fn removals<'a>(removals: &'a [In<'a, Removal>]) -> Vec<Bound<'a>> {
    vec![
        column(removals, |it| it.batch.0),
        column(removals, |it| it.row.member.0),
        column(removals, |it| it.row.at.as_millis()),
        column(removals, |it| Text(&it.row.actor)),
    ]
}

fn members<'a>(members: &'a [In<'a, MemberRow>]) -> Vec<Bound<'a>> {
    vec![
        column(members, |it| it.row.id.0),
        column(members, |it| it.batch.0),
        column(members, |it| Text(&it.row.key)),
        column(members, |it| it.row.data_hash.as_slice()),
        column(members, |it| it.row.run.header.id.0),
        column(members, |it| it.row.added_at.as_millis()),
    ]
}

fn retaken<'a>(runs: &'a [In<'a, CreateRows>]) -> Vec<Bound<'a>> {
    let member = |it: &In<'_, CreateRows>| it.row.header.membership?.member;
    vec![
        column(runs, |it| it.batch.0),
        column(runs, move |it| member(it).map(|member| member.0)),
        column(runs, |it| it.row.header.id.0),
    ]
}

fn refreshed<'a>(members: &'a [In<'a, (MemberId, DataHash)>]) -> Vec<Bound<'a>> {
    vec![
        column(members, |it| it.batch.0),
        column(members, |it| it.row.0.0),
        column(members, |it| it.row.1.as_slice()),
    ]
}

fn records<'a>(records: &'a [In<'a, BatchRecordRow>]) -> Vec<Bound<'a>> {
    vec![
        column(records, |it| it.batch.0),
        column(records, |it| number(it.row.version)),
        column(records, |it| it.row.at.as_millis()),
        column(records, |it| Text(&it.row.entries)),
    ]
}
