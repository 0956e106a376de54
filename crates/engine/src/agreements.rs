//! What is agreed for tenants in place of the settings of the installation, as it was last read.
//!
//! Every decision that ends a run asks for it, so it is kept in memory. It is read anew when somebody
//! changes it here, when another instance says so, and from time to time, because words may be lost.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::run::{Dialect, Header, RunStatus};
use stepwell_store::{Signal, TenantPolicy};

use crate::Engine;
use crate::error::EngineError;
use crate::shared::Shared;

/// What is agreed for tenants, as it was last read.
#[derive(Debug, Default)]
pub(crate) struct Agreements(RwLock<BTreeMap<Tenant, TenantPolicy>>);

impl Agreements {
    /// What is agreed for a tenant; empty if nothing is.
    pub(crate) fn of(&self, tenant: &Tenant) -> TenantPolicy {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        known.get(tenant).cloned().unwrap_or_default()
    }

    fn replace(&self, policies: Vec<(Tenant, TenantPolicy)>) {
        // Written whole or not at all, so what a panicking holder left can be used.
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *known = policies.into_iter().collect();
    }
}

impl Shared {
    /// How long a run is kept that ends like this (C-041); `None`: for ever.
    ///
    /// What is agreed for a workspace holds for its jobs alone: a tenant that also has runs of another
    /// dialect has not asked for those to be deleted.
    pub(crate) fn keeps(&self, header: &Header, status: RunStatus) -> Option<Interval> {
        let keep = self.settings.retention.of(header.dialect);
        let agreed = match header.dialect {
            Dialect::Workspaces => self.agreements.of(&header.tenant),
            Dialect::Runbooks | Dialect::Platform | Dialect::Commands => TenantPolicy::default(),
        };
        match status {
            RunStatus::Failed => agreed.keep_failed.or(keep.failed),
            RunStatus::Succeeded | RunStatus::Cancelled => agreed.keep.or(keep.ended),
            RunStatus::Created
            | RunStatus::Ready
            | RunStatus::Running
            | RunStatus::RetryWait
            | RunStatus::Cancelling => None,
        }
    }

    /// What is agreed for a tenant; empty if nothing is.
    pub(crate) fn tenant_policy(&self, tenant: &Tenant) -> TenantPolicy {
        self.agreements.of(tenant)
    }

    /// Reads what is agreed for tenants.
    pub(crate) async fn read_agreements(&self) -> Result<(), EngineError> {
        let policies = self.store.tenant_policies().await?;
        self.agreements.replace(policies);
        Ok(())
    }

    /// The same where nobody waits for it; if it fails, what was read before holds on.
    pub(crate) async fn look_at_agreements(&self) {
        if let Err(error) = self.read_agreements().await {
            tracing::warn!(%error, "agreements_not_read");
        }
    }
}

impl Engine {
    /// What is agreed for a tenant; empty if nothing is.
    #[must_use]
    pub fn tenant_policy(&self, tenant: &Tenant) -> TenantPolicy {
        self.shared.tenant_policy(tenant)
    }

    /// Agrees on something for a tenant, and tells the other instances; `None`: nothing any more. Times of
    /// retention hold for runs that end from now on.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn set_tenant_policy(
        &self,
        tenant: Tenant,
        policy: Option<TenantPolicy>,
    ) -> Result<(), EngineError> {
        self.shared.store.set_tenant_policy(tenant, policy).await?;
        self.shared.read_agreements().await?;
        if self.shared.store.is_shared() {
            // Others look by themselves, only later.
            let _ = self.shared.store.tell(self.shared.epoch(), Signal::Published).await;
        }
        Ok(())
    }
}
