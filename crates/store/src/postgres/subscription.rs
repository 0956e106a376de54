//! Addresses that are told of events.

use stepwell_core::id::Tenant;
use tokio_postgres::Row;

use super::columns::{Columns, Text};
use super::connection::Connection;
use crate::error::StoreError;
use crate::model::Subscription;
use crate::rows::{text, value};

const SUBSCRIPTION_PUT: &str = include_str!("../../sql/postgres/subscription_put.sql");
const SUBSCRIPTIONS: &str = include_str!("../../sql/postgres/subscriptions.sql");
const SUBSCRIPTION_DELETE: &str = include_str!("../../sql/postgres/subscription_delete.sql");

/// Stores one, new or changed.
pub(super) async fn put(
    db: &mut Connection,
    subscription: &Subscription,
) -> Result<(), StoreError> {
    db.execute(
        SUBSCRIPTION_PUT,
        &[
            &Text(&subscription.id),
            &subscription.tenant.as_ref().map(|tenant| Text(tenant.as_str())),
            &text(&subscription.dialects),
            &text(&subscription.kinds),
            &Text(&subscription.url),
            &Text(&subscription.description),
            &subscription.enabled,
            &Text(&subscription.actor),
            &subscription.created_at.as_millis(),
        ],
    )
    .await?;
    Ok(())
}

/// All of them, oldest first.
pub(super) async fn list(db: &mut Connection) -> Result<Vec<Subscription>, StoreError> {
    db.query(SUBSCRIPTIONS, &[]).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Subscription, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Subscription {
        id: columns.take()?,
        tenant: columns.take::<Option<&str>>()?.map(Tenant::new),
        dialects: value("subscription.dialects", columns.take()?)?,
        kinds: value("subscription.kinds", columns.take()?)?,
        url: columns.take()?,
        description: columns.take()?,
        enabled: columns.take()?,
        actor: columns.take()?,
        created_at: columns.moment()?,
    })
}

/// Forgets one; `false` if there is none.
pub(super) async fn delete(db: &mut Connection, id: &str) -> Result<bool, StoreError> {
    Ok(db.execute(SUBSCRIPTION_DELETE, &[&Text(id)]).await? == 1)
}
