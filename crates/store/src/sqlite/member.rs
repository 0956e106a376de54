//! Members of batches, each with where its newest run stands.
//!
//! A page is found in two steps: first numbers, then the rows of those on the page. How long the whole
//! list is, the counters of the batch say.

use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction, params};
use stepwell_core::id::{BatchId, MemberId};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;

use super::batch::cut;
use super::columns::{Columns, limit};
use crate::error::StoreError;
use crate::model::{Listed, Member, MemberFilter, MemberStatus, Slice};

const MEMBERS_PAGE: &str = include_str!("../../sql/sqlite/members_page.sql");
const MEMBERS_FIRST: &str = include_str!("../../sql/sqlite/members_first.sql");
const MEMBERS_BY_STATUS: &str = include_str!("../../sql/sqlite/members_by_status.sql");
const MEMBERS_BY_KEY: &str = include_str!("../../sql/sqlite/members_by_key.sql");
const MEMBERS_LEAVING: &str = include_str!("../../sql/sqlite/members_leaving.sql");
const MEMBERS_COUNT: &str = include_str!("../../sql/sqlite/members_count.sql");
const MEMBER_LOAD: &str = include_str!("../../sql/sqlite/member_load.sql");
const REMOVAL_DISPATCHED: &str = include_str!("../../sql/sqlite/removal_dispatched.sql");
const KEYS_IN_BATCHES: &str = include_str!("../../sql/sqlite/keys_in_batches.sql");

/// A part of the members of a batch, by number.
pub(super) fn list(
    db: &Connection,
    filter: &MemberFilter,
    slice: Slice,
) -> Result<Listed<Member>, StoreError> {
    let tx = db.unchecked_transaction()?;
    let mut listed = match candidates(&tx, filter)? {
        Some(ids) => cut(of_candidates(&tx, filter, ids)?, slice),
        None => page(&tx, filter, slice)?,
    };
    if filter.after.is_some() {
        listed.total = listed.items.len() as u64;
    }
    Ok(listed)
}

/// The few members among whom all are that the filter means, if it names them.
fn candidates(db: &Connection, filter: &MemberFilter) -> Result<Option<Vec<MemberId>>, StoreError> {
    if !filter.ids.is_empty() {
        return Ok(Some(filter.ids.clone()));
    }
    if filter.removal_waits {
        return numbers(db, MEMBERS_LEAVING, [filter.batch.0]).map(Some);
    }
    if filter.keys.is_empty() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for key in &filter.keys {
        found.extend(numbers(db, MEMBERS_BY_KEY, params![filter.batch.0, key])?);
    }
    Ok(Some(found))
}

fn of_candidates(
    db: &Connection,
    filter: &MemberFilter,
    mut ids: Vec<MemberId>,
) -> Result<Vec<Member>, StoreError> {
    ids.sort_unstable();
    ids.dedup();
    let mut members = load(db, filter.batch, &ids)?;
    members.retain(|member| filter.matches(member));
    Ok(members)
}

/// A part of all members, or of those in some statuses.
fn page(
    db: &Connection,
    filter: &MemberFilter,
    slice: Slice,
) -> Result<Listed<Member>, StoreError> {
    let after = filter.after.map_or(i64::MIN, |after| after.0);
    let (rows, offset) = (limit(slice.limit), limit(slice.offset));
    let is_wanted = |status: MemberStatus| filter.statuses.contains(&status);
    let ids = if filter.statuses.is_empty() {
        let (after, offset) = match first_without_gap(db, filter, slice)? {
            Some(first) => (first.saturating_add(offset) - 1, 0),
            None => (after, offset),
        };
        numbers(db, MEMBERS_PAGE, params![filter.batch.0, after, rows, offset])?
    } else {
        let [removed, failed, active] =
            [MemberStatus::Removed, MemberStatus::Failed, MemberStatus::Active].map(is_wanted);
        let bound = params![filter.batch.0, after, rows, offset, removed, failed, active];
        numbers(db, MEMBERS_BY_STATUS, bound)?
    };
    let items = load(db, filter.batch, &ids)?;
    // Whoever goes on from a member has no use for a count, and gets none.
    let total = if filter.after.is_some() { 0 } else { count(db, filter)? };
    Ok(Listed { items, total })
}

/// The number from which an offset can be reckoned, where that is faster than to count to it: the last
/// page of 100,000 members is then as near as the first.
fn first_without_gap(
    db: &Connection,
    filter: &MemberFilter,
    slice: Slice,
) -> Result<Option<i64>, StoreError> {
    if slice.offset == 0 || filter.after.is_some() {
        return Ok(None);
    }
    let mut statement = db.prepare_cached(MEMBERS_FIRST)?;
    Ok(statement.query_row([filter.batch.0], |row| row.get(0)).optional()?)
}

fn count(db: &Connection, filter: &MemberFilter) -> Result<u64, StoreError> {
    let mut statement = db.prepare_cached(MEMBERS_COUNT)?;
    let mut found = statement.query([filter.batch.0])?;
    let Some(row) = found.next()? else { return Ok(0) };
    let mut columns = Columns::of(row);
    let (joined, removed): (i64, i64) = (columns.take()?, columns.take()?);
    let failed_ever: i64 = columns.take()?;
    let failed = failed_ever - columns.take::<i64>()?;
    let of_status = |status: MemberStatus| match status {
        MemberStatus::Removed => removed,
        MemberStatus::Failed => failed,
        MemberStatus::Active => joined - removed - failed,
    };
    let wanted = MemberStatus::ALL
        .into_iter()
        .filter(|status| filter.statuses.is_empty() || filter.statuses.contains(status));
    Ok(wanted.map(of_status).sum::<i64>().unsigned_abs())
}

fn numbers(
    db: &Connection,
    statement: &str,
    bound: impl Params,
) -> Result<Vec<MemberId>, StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let found = statement.query_map(bound, |row| row.get(0).map(MemberId))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn load(db: &Connection, batch: BatchId, ids: &[MemberId]) -> Result<Vec<Member>, StoreError> {
    let mut statement = db.prepare_cached(MEMBER_LOAD)?;
    let mut members = Vec::with_capacity(ids.len());
    for id in ids {
        let mut found = statement.query([id.0, batch.0])?;
        if let Some(row) = found.next()? {
            members.push(read(row)?);
        }
    }
    Ok(members)
}

fn read(row: &Row<'_>) -> Result<Member, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Member {
        id: MemberId(columns.take()?),
        batch: BatchId(columns.take()?),
        key: columns.take()?,
        data_hash: columns.take()?,
        run: columns.run_id()?,
        run_status: columns.word(RunStatus::of_word)?,
        current_step: columns.take()?,
        added_at: columns.moment()?,
        ended_at: columns.moment_if_any()?,
        removed_at: columns.moment_if_any()?,
        removed_by: columns.take()?,
        removal_dispatched_at: columns.moment_if_any()?,
    })
}

/// Notes that what the leaving of members asks for was begun.
pub(super) fn removals_dispatched(
    tx: &Transaction<'_>,
    members: &[MemberId],
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut statement = tx.prepare_cached(REMOVAL_DISPATCHED)?;
    for member in members {
        statement.execute(params![member.0, at.as_millis()])?;
    }
    Ok(())
}

/// Members of batches of a runbook that have not ended, who have not left.
pub(super) fn keys_in_batches(
    db: &Connection,
    runbook: &str,
) -> Result<Vec<(String, BatchId)>, StoreError> {
    let mut statement = db.prepare_cached(KEYS_IN_BATCHES)?;
    let found = statement.query_map([runbook], |row| Ok((row.get(0)?, BatchId(row.get(1)?))))?;
    Ok(found.collect::<Result<_, _>>()?)
}
