//! What runs cost, on every store.

use stepwell_store::conformance;

use crate::conformance::on_each_store;

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
