//! What is agreed for tenants.

use stepwell_core::id::Tenant;

use super::Tables;
use crate::model::TenantPolicy;

impl Tables {
    pub(super) fn tenant_policies(&self) -> Vec<(Tenant, TenantPolicy)> {
        self.policies.iter().map(|(tenant, policy)| (tenant.clone(), policy.clone())).collect()
    }

    pub(super) fn set_tenant_policy(&mut self, tenant: Tenant, policy: Option<TenantPolicy>) {
        match policy {
            Some(policy) => drop(self.policies.insert(tenant, policy)),
            None => drop(self.policies.remove(&tenant)),
        }
    }
}
