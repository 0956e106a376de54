//! Whoever puts credits into accounts, too little or too late, and takes some out again.

use std::sync::Arc;

use stepwell_core::credit::Credits;
use stepwell_core::id::Tenant;
use stepwell_store::Grant;

use crate::chance::Chance;
use crate::door::Door;
use crate::shared::Shared;

/// How often a grant that nobody confirms is sent again.
const TRIES: u32 = 20;

/// Grants credits until the faults end.
pub struct Accountant {
    /// what everybody shares
    pub shared: Arc<Shared>,
    /// where it asks
    pub door: Arc<Door>,
}

impl Accountant {
    /// Grants something to everybody at first, and to somebody now and then.
    pub async fn work(self) {
        let chance = &mut Chance::of(self.shared.plan.seed, "accountant");
        let tenants = self.shared.plan.tenants.clone();
        let mut number = 0;
        for tenant in &tenants {
            number += 1;
            let amount = Credits::whole(chance.below(40).try_into().unwrap_or(0));
            self.grant(chance, tenant, amount, number).await;
        }
        while !self.shared.is_over() {
            self.shared.clock.sleep_ms(chance.between(30_000, 900_000)).await;
            number += 1;
            let amount = i64::try_from(chance.below(30)).unwrap_or(0) - 6;
            let tenant = chance.one_of(&tenants).clone();
            self.grant(chance, &tenant, Credits::whole(amount), number).await;
        }
    }

    /// Asks until it is told what became of it; the key makes it one grant.
    async fn grant(&self, chance: &mut Chance, tenant: &str, amount: Credits, number: u32) {
        for _ in 0..TRIES {
            if let Some(instance) = self.door.newest() {
                let grant = Grant {
                    tenant: Tenant::new(tenant),
                    amount,
                    actor: "accountant".to_owned(),
                    reason: format!("grant {number}"),
                    key: Some(format!("grant-{number}")),
                    at: instance.engine.now(),
                };
                if let Ok(granted) = instance.engine.store().grant(grant).await {
                    self.shared.note("accountant", format_args!("{amount} {granted:?}"));
                    return;
                }
            }
            self.shared.clock.sleep_ms(chance.between(500, 10_000)).await;
        }
    }
}
