//! What instances take from one another: numbers, each once, and the right to do something alone.

use stepwell_core::time::Timestamp;

use super::columns::{Columns, Text};
use super::connection::Connection;
use crate::error::StoreError;
use crate::model::Numbered;

const NUMBERS_RESERVE: &str = include_str!("../../sql/postgres/numbers_reserve.sql");
const LEASE_TAKE: &str = include_str!("../../sql/postgres/lease_take.sql");

/// Takes `count` numbers that nobody had before; answers the first.
pub(super) async fn reserve(
    db: &mut Connection,
    kind: Numbered,
    count: u32,
) -> Result<i64, StoreError> {
    let rows = db.query(NUMBERS_RESERVE, &[&kind.word(), &i64::from(count)]).await?;
    let row = rows.first().ok_or_else(|| StoreError::broken("no number was answered"))?;
    Columns::of(row).take()
}

/// Takes or keeps the right to do something alone for the time from `now` to `until`; `false` while
/// somebody else has it. How long that is counts, not when: whether it has passed is asked of the
/// server's clock, so that instances need not agree on the time.
pub(super) async fn take(
    db: &mut Connection,
    name: &str,
    holder: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, StoreError> {
    let length = until.as_millis().saturating_sub(now.as_millis());
    let rows = db.query(LEASE_TAKE, &[&Text(name), &Text(holder), &length]).await?;
    Ok(!rows.is_empty())
}
