//! What is agreed for tenants.

use stepwell_core::id::Tenant;
use tokio_postgres::Row;

use super::columns::{Columns, Text};
use super::connection::Connection;
use crate::error::StoreError;
use crate::model::TenantPolicy;
use crate::rows::{text, value};

const POLICIES: &str = include_str!("../../sql/postgres/tenant_policies.sql");
const POLICY_SET: &str = include_str!("../../sql/postgres/tenant_policy_set.sql");
const POLICY_DELETE: &str = include_str!("../../sql/postgres/tenant_policy_delete.sql");

/// What is agreed for tenants.
pub(super) async fn list(db: &mut Connection) -> Result<Vec<(Tenant, TenantPolicy)>, StoreError> {
    let found = db.query(POLICIES, &[]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        let tenant = columns.tenant()?;
        Ok((tenant, value("tenant_policy.policy", columns.take()?)?))
    };
    found.iter().map(read).collect()
}

/// Agrees on something for a tenant; `None`: nothing any more.
pub(super) async fn set(
    db: &mut Connection,
    tenant: &Tenant,
    policy: Option<&TenantPolicy>,
) -> Result<(), StoreError> {
    let tenant = Text(tenant.as_str());
    match policy {
        Some(policy) => db.execute(POLICY_SET, &[&tenant, &text(policy)]).await?,
        None => db.execute(POLICY_DELETE, &[&tenant]).await?,
    };
    Ok(())
}
