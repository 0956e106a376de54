//! What a commit may have moved beside its runs: what others are told, and accounts.

use std::collections::BTreeSet;

use stepwell_core::credit::MovementKind;
use stepwell_core::id::{RunId, Tenant};
use stepwell_store::{EventFilter, EventPlace, Store, StoredHeader};

use super::ALL;
use crate::bugs::Bug;
use crate::oracle::{BooksSeen, Observed, is_told};
use crate::shared::Shared;

/// How often others were told that a run has ended.
pub(super) async fn observe_ends(shared: &Shared, header: &StoredHeader) -> usize {
    if !is_told(header) {
        return 0;
    }
    let filter = EventFilter {
        run: Some(header.id),
        kinds: vec!["workflow_run_completed".to_owned()],
        ..EventFilter::default()
    };
    let told = shared.memory.events(filter, EventPlace::default(), ALL).await;
    told.map_or(0, |told| told.events.len())
}

/// The accounts of the tenants of these runs.
pub(super) async fn observe_books(
    shared: &Shared,
    observed: &[(RunId, Observed)],
) -> Vec<BooksSeen> {
    let told = observed.iter().filter(|(_, seen)| is_told(&seen.stored.header));
    let tenants: BTreeSet<Tenant> =
        told.map(|(_, seen)| seen.stored.header.tenant.clone()).collect();
    let mut books = Vec::new();
    for tenant in tenants {
        let account = shared.memory.account(tenant.clone()).await;
        let lines = shared.memory.ledger(tenant.clone(), None, None, ALL).await;
        if let (Ok(account), Ok(mut lines)) = (account, lines) {
            lines.reverse();
            if shared.has(Bug::DropOldLines) {
                lines.retain(|line| line.movement.kind != MovementKind::Carried);
            }
            books.push(BooksSeen { tenant, account, lines });
        }
    }
    books
}
