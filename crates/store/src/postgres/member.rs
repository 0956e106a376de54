//! The members of batches, with where each stands.

use std::collections::HashSet;

use stepwell_core::id::{BatchId, MemberId};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::columns::{Columns, Text, limit};
use super::connection::Connection;
use super::load::BEGIN_READ;
use super::send::COMMIT;
use crate::error::StoreError;
use crate::model::{Listed, Member, MemberFilter, MemberStatus, Slice};

const MEMBERS: &str = include_str!("../../sql/postgres/members.sql");
const MEMBERS_BY_KEY: &str = include_str!("../../sql/postgres/members_by_key.sql");
const MEMBERS_COUNT: &str = include_str!("../../sql/postgres/members_count.sql");
const MEMBERS_BY_STATUS: &str = include_str!("../../sql/postgres/members_by_status.sql");
const MEMBERS_BY_STATUS_COUNT: &str =
    include_str!("../../sql/postgres/members_by_status_count.sql");
const MEMBERS_COUNTED: &str = include_str!("../../sql/postgres/members_counted.sql");
const REMOVALS_DISPATCHED: &str = include_str!("../../sql/postgres/removals_dispatched.sql");
const KEYS_IN_BATCHES: &str = include_str!("../../sql/postgres/keys_in_batches.sql");

/// A part of the members of a batch, by number, and how many there are: both as of one moment.
pub(super) async fn list(
    db: &mut Connection,
    filter: &MemberFilter,
    slice: Slice,
) -> Result<Listed<Member>, StoreError> {
    db.batch(BEGIN_READ).await?;
    let question = Question::of(filter, named(db, filter).await?, slice);
    let found = question.page(db).await?;
    let items: Vec<Member> = found.iter().map(read).collect::<Result<_, _>>()?;
    let total = match filter.after {
        Some(_) => items.len() as u64,
        None if question.is_of_all() => counted(db, filter).await?,
        None => question.count(db).await?,
    };
    db.batch(COMMIT).await?;
    Ok(Listed { items, total })
}

/// The numbers that are asked for, by number or by key; `None`: any.
async fn named(db: &mut Connection, filter: &MemberFilter) -> Result<Option<Vec<i64>>, StoreError> {
    let ids = (!filter.ids.is_empty()).then(|| filter.ids.iter().map(|id| id.0).collect());
    if filter.keys.is_empty() {
        return Ok(ids);
    }
    let keys: Vec<Text<'_>> = filter.keys.iter().map(|key| Text(key)).collect();
    let found = db.query(MEMBERS_BY_KEY, &[&filter.batch.0, &keys]).await?;
    let with_key = found.iter().map(|row| Columns::of(row).take());
    let mut with_key = with_key.collect::<Result<Vec<i64>, StoreError>>()?;
    if let Some(ids) = ids {
        let ids: HashSet<i64> = HashSet::from_iter(ids);
        with_key.retain(|id| ids.contains(id));
    }
    Ok(Some(with_key))
}

/// How many members of a whole batch stand where it is asked: that was counted when it happened.
async fn counted(db: &mut Connection, filter: &MemberFilter) -> Result<u64, StoreError> {
    let found = db.query(MEMBERS_COUNTED, &[&filter.batch.0]).await?;
    let Some(row) = found.first() else { return Ok(0) };
    let mut columns = Columns::of(row);
    let (joined, removed, failed, both): (u64, u64, u64, u64) =
        (columns.count()?, columns.count()?, columns.count()?, columns.count()?);
    let failed = failed.saturating_sub(both);
    let count = |status: MemberStatus| match status {
        MemberStatus::Removed => removed,
        MemberStatus::Failed => failed,
        MemberStatus::Active => joined.saturating_sub(removed + failed),
    };
    let asked =
        |status: &MemberStatus| filter.statuses.is_empty() || filter.statuses.contains(status);
    Ok(MemberStatus::ALL.into_iter().filter(asked).map(count).sum())
}

/// What is asked, as it is bound. Planned for these very values, so that what does not restrict falls
/// away.
struct Question {
    batch: i64,
    after: i64,
    ids: Option<Vec<i64>>,
    removal_waits: bool,
    statuses: Option<Vec<&'static str>>,
    offset: i64,
    rows: i64,
}

impl Question {
    fn of(filter: &MemberFilter, ids: Option<Vec<i64>>, slice: Slice) -> Self {
        let statuses: Vec<&str> = filter.statuses.iter().map(|status| status.word()).collect();
        Self {
            batch: filter.batch.0,
            // Numbers are counted from 1.
            after: filter.after.map_or(0, |after| after.0),
            ids,
            removal_waits: filter.removal_waits,
            statuses: (!statuses.is_empty()).then_some(statuses),
            offset: limit(slice.offset),
            rows: limit(slice.limit),
        }
    }

    /// Nobody is picked out by name or number.
    fn is_of_all(&self) -> bool {
        self.ids.is_none() && !self.removal_waits
    }

    async fn page(&self, db: &Connection) -> Result<Vec<Row>, StoreError> {
        let mut bound = self.restrictions();
        bound.extend([(&self.offset as _, Type::INT8), (&self.rows as _, Type::INT8)]);
        match &self.statuses {
            Some(statuses) => {
                bound.push((statuses, Type::TEXT_ARRAY));
                db.query_planned(MEMBERS_BY_STATUS, &bound).await
            }
            None => db.query_planned(MEMBERS, &bound).await,
        }
    }

    async fn count(&self, db: &Connection) -> Result<u64, StoreError> {
        let mut bound = self.restrictions();
        let found = match &self.statuses {
            Some(statuses) => {
                bound.push((statuses, Type::TEXT_ARRAY));
                db.query_planned(MEMBERS_BY_STATUS_COUNT, &bound).await?
            }
            None => db.query_planned(MEMBERS_COUNT, &bound).await?,
        };
        found.first().map_or(Ok(0), |row| Columns::of(row).count())
    }

    fn restrictions(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        vec![
            (&self.batch, Type::INT8),
            (&self.after, Type::INT8),
            (&self.ids, Type::INT8_ARRAY),
            (&self.removal_waits, Type::BOOL),
        ]
    }
}

fn read(row: &Row) -> Result<Member, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Member {
        id: MemberId(columns.take()?),
        batch: BatchId(columns.take()?),
        key: columns.take()?,
        data_hash: columns.hash()?,
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

/// Notes that what the leaving of these members asks for was begun.
pub(super) async fn removals_dispatched(
    db: &mut Connection,
    members: &[MemberId],
    at: Timestamp,
) -> Result<(), StoreError> {
    let members: Vec<i64> = members.iter().map(|member| member.0).collect();
    db.execute(REMOVALS_DISPATCHED, &[&members, &at.as_millis()]).await?;
    Ok(())
}

/// Members of a runbook's batches that have not ended, who have not left: key and batch.
pub(super) async fn keys_in_batches(
    db: &mut Connection,
    runbook: &str,
) -> Result<Vec<(String, BatchId)>, StoreError> {
    let found = db.query(KEYS_IN_BATCHES, &[&Text(runbook)]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok((columns.take()?, BatchId(columns.take()?)))
    };
    found.iter().map(read).collect()
}
