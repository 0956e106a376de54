//! What is agreed for tenants.

use rusqlite::{Connection, Transaction, params};
use stepwell_core::id::Tenant;

use super::columns::Columns;
use crate::error::StoreError;
use crate::model::TenantPolicy;
use crate::rows::{text, value};

const POLICIES: &str = include_str!("../../sql/sqlite/tenant_policies.sql");
const POLICY_SET: &str = include_str!("../../sql/sqlite/tenant_policy_set.sql");
const POLICY_DELETE: &str = include_str!("../../sql/sqlite/tenant_policy_delete.sql");

/// What is agreed for tenants.
pub(super) fn list(db: &Connection) -> Result<Vec<(Tenant, TenantPolicy)>, StoreError> {
    let mut statement = db.prepare_cached(POLICIES)?;
    let found = statement.query_and_then([], |row| {
        let mut columns = Columns::of(row);
        let tenant = columns.tenant()?;
        Ok((tenant, value("tenant_policy.policy", &columns.take::<String>()?)?))
    })?;
    found.collect()
}

/// Agrees on something for a tenant; `None`: nothing any more.
pub(super) fn set(
    tx: &Transaction<'_>,
    tenant: &Tenant,
    policy: Option<&TenantPolicy>,
) -> Result<(), StoreError> {
    match policy {
        Some(policy) => {
            let bound = params![tenant.as_str(), text(policy)];
            tx.prepare_cached(POLICY_SET)?.execute(bound)?;
        }
        None => {
            tx.prepare_cached(POLICY_DELETE)?.execute([tenant.as_str()])?;
        }
    }
    Ok(())
}
