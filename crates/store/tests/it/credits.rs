//! What runs cost, on every store.

use std::sync::Arc;

use stepwell_core::credit::{CreditState, Credits};
use stepwell_core::id::Tenant;
use stepwell_core::run::Header;
use stepwell_store::conformance::{self, world};
use stepwell_store::postgres::PostgresStore;
use stepwell_store::{Account, Create, Epoch, Grant, Group, Item, Store, Verdict};
use tokio::task::JoinSet;

use crate::conformance::on_each_store;
use crate::postgres::Place;

// C-011, X-127: what is granted to a run, set aside for it and spent stands in its record.
#[tokio::test]
async fn terms_and_credits_come_back() {
    on_each_store(conformance::terms_and_credits_come_back).await;
}

// C-011, X-127: reserved at creation, spent as the run proceeds, the rest released, all in the ledger.
#[tokio::test]
async fn an_account_is_the_sum_of_its_ledger() {
    on_each_store(conformance::an_account_is_the_sum_of_its_ledger).await;
}

// what the account does not cover is not begun.
#[tokio::test]
async fn a_run_that_cannot_be_paid_is_not_stored() {
    on_each_store(conformance::a_run_that_cannot_be_paid_is_not_stored).await;
}

#[tokio::test]
async fn a_repetition_is_recognized_before_the_credits() {
    on_each_store(conformance::a_repetition_is_recognized_before_the_credits).await;
}

#[tokio::test]
async fn a_stale_decision_moves_no_credits() {
    on_each_store(conformance::a_stale_decision_moves_no_credits).await;
}

#[tokio::test]
async fn a_grant_is_booked_once() {
    on_each_store(conformance::a_grant_is_booked_once).await;
}

#[tokio::test]
async fn nobody_takes_out_what_is_not_there() {
    on_each_store(conformance::nobody_takes_out_what_is_not_there).await;
}

#[tokio::test]
async fn an_account_begins_with_its_first_movement() {
    on_each_store(conformance::an_account_begins_with_its_first_movement).await;
}

//
#[tokio::test(flavor = "multi_thread")]
async fn accounts_agree_with_their_ledgers_at_once() {
    on_each_store(conformance::accounts_agree_with_their_ledgers_at_once).await;
}

// a run goes with its data; what it cost stays.
#[tokio::test]
async fn retention_leaves_the_ledger() {
    on_each_store(conformance::retention_leaves_the_ledger).await;
}

/// A run of a tenant that sets two credits aside.
fn reserving(number: u64, tenant: &str) -> Item {
    let header = Header { tenant: Tenant::new(tenant), ..world::header(number) };
    let movement = CreditState::reserve(Credits::whole(2));
    world::item(Create { credits: vec![movement], ..world::started(header) })
}

/// Asks for runs of two tenants, in one order or the other, and answers how many began.
async fn asks(store: Arc<PostgresStore>, epoch: Epoch, first: u64, turned: bool) -> usize {
    let mut begun = 0;
    for number in 0..20 {
        let number = first + 2 * number;
        let mut items = vec![reserving(number, "acme"), reserving(number + 1, "globex")];
        if turned {
            items.reverse();
        }
        let verdicts = store.commit(Group::of(epoch, items)).await.unwrap();
        begun += verdicts.iter().filter(|verdict| **verdict == Verdict::Done).count();
    }
    begun
}

// two instances draw on the same accounts, and neither waits for the other for ever.
#[tokio::test(flavor = "multi_thread")]
async fn instances_draw_on_the_same_accounts() {
    let Some(place) = Place::fresh() else { return };
    let stores = [Arc::new(place.open().await), Arc::new(place.open().await)];
    let tenants = ["acme", "globex"].map(Tenant::new);
    for tenant in &tenants {
        let grant = Grant {
            tenant: tenant.clone(),
            amount: Credits::whole(50),
            actor: "ada".to_owned(),
            reason: String::new(),
            key: None,
            at: world::at(0),
        };
        stores[0].grant(grant).await.unwrap();
    }
    let mut callers = JoinSet::new();
    for (place, store) in stores.iter().enumerate() {
        let epoch = store.open_epoch(&format!("instance {place}")).await.unwrap();
        for turned in [false, true] {
            let first = 1 + 100 * (2 * place as u64 + u64::from(turned));
            callers.spawn(asks(Arc::clone(store), epoch, first, turned));
        }
    }
    let begun: usize = callers.join_all().await.into_iter().sum();
    assert_eq!(begun, 50, "25 runs of each tenant can be paid");
    for tenant in tenants {
        let account = stores[1].account(tenant.clone()).await.unwrap();
        let drained = Account { reserved: Credits::whole(50), ..Account::default() };
        assert_eq!(account, drained);
        let lines = stores[1].ledger(tenant, None, None, 99).await.unwrap();
        let sum = lines.iter().fold(Account::default(), |sum, line| sum.after(&line.movement));
        assert_eq!((lines.len(), sum), (26, drained));
    }
}
