//! Addresses that are told of events.

use rusqlite::{Connection, Row, Transaction, params};
use stepwell_core::id::Tenant;

use super::columns::Columns;
use crate::error::StoreError;
use crate::model::Subscription;
use crate::rows::{text, value};

const SUBSCRIPTION_PUT: &str = include_str!("../../sql/sqlite/subscription_put.sql");
const SUBSCRIPTIONS: &str = include_str!("../../sql/sqlite/subscriptions.sql");
const SUBSCRIPTION_DELETE: &str = include_str!("../../sql/sqlite/subscription_delete.sql");

/// Stores one, new or changed.
pub(super) fn put(tx: &Transaction<'_>, subscription: &Subscription) -> Result<(), StoreError> {
    tx.prepare_cached(SUBSCRIPTION_PUT)?.execute(params![
        subscription.id,
        subscription.tenant.as_ref().map(Tenant::as_str),
        text(&subscription.dialects),
        text(&subscription.kinds),
        subscription.url,
        subscription.description,
        subscription.enabled,
        subscription.actor,
        subscription.created_at.as_millis(),
    ])?;
    Ok(())
}

/// All of them, oldest first. There are few.
pub(super) fn list(db: &Connection) -> Result<Vec<Subscription>, StoreError> {
    let mut statement = db.prepare_cached(SUBSCRIPTIONS)?;
    let found = statement.query_and_then([], read)?;
    let mut all = found.collect::<Result<Vec<Subscription>, StoreError>>()?;
    all.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
    Ok(all)
}

fn read(row: &Row<'_>) -> Result<Subscription, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Subscription {
        id: columns.take()?,
        tenant: columns.take::<Option<_>>()?.map(Tenant),
        dialects: value("subscription.dialects", &columns.take::<String>()?)?,
        kinds: value("subscription.kinds", &columns.take::<String>()?)?,
        url: columns.take()?,
        description: columns.take()?,
        enabled: columns.take()?,
        actor: columns.take()?,
        created_at: columns.moment()?,
    })
}

/// Forgets one; `false` if there is none.
pub(super) fn delete(tx: &Transaction<'_>, id: &str) -> Result<bool, StoreError> {
    Ok(tx.prepare_cached(SUBSCRIPTION_DELETE)?.execute([id])? == 1)
}
