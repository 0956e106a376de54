//! Every case of the suite about runbooks, batches and members, on every store.

use stepwell_store::conformance;

use crate::conformance::on_each_store;

// batch, phases, members and runs in one unit.
#[tokio::test]
async fn a_batch_is_stored_whole() {
    on_each_store(conformance::a_batch_is_stored_whole).await;
}

// of two who make or move the same batch, one does, and the other leaves nothing behind.
//
#[tokio::test]
async fn a_batch_is_made_once_under_a_key() {
    on_each_store(conformance::a_batch_is_made_once_under_a_key).await;
}

#[tokio::test]
async fn a_stale_decision_on_a_batch_writes_nothing() {
    on_each_store(conformance::a_stale_decision_on_a_batch_writes_nothing).await;
}

//
#[tokio::test]
async fn a_batch_is_stored_with_all_its_runs_or_not_at_all() {
    on_each_store(conformance::a_batch_is_stored_with_all_its_runs_or_not_at_all).await;
}

#[tokio::test]
async fn a_decision_never_writes_counters() {
    on_each_store(conformance::a_decision_never_writes_counters).await;
}

// phases of both versions stand side by side; a run's input is rewritten.
#[tokio::test]
async fn a_batch_goes_over_to_another_version() {
    on_each_store(conformance::a_batch_goes_over_to_another_version).await;
}

#[tokio::test]
async fn batches_are_listed_newest_first() {
    on_each_store(conformance::batches_are_listed_newest_first).await;
}

#[tokio::test]
async fn a_history_of_batches_is_read_on() {
    on_each_store(conformance::a_history_of_batches_is_read_on).await;
}

#[tokio::test]
async fn runs_of_a_batch_have_numbers() {
    on_each_store(conformance::runs_of_a_batch_have_numbers).await;
}

//
#[tokio::test]
async fn numbers_are_given_once() {
    on_each_store(conformance::numbers_are_given_once).await;
}

#[tokio::test]
async fn a_right_is_held_by_one() {
    on_each_store(conformance::a_right_is_held_by_one).await;
}

#[tokio::test]
async fn batches_are_there_after_a_restart() {
    on_each_store(conformance::batches_are_there_after_a_restart).await;
}

#[tokio::test]
async fn a_key_is_in_a_batch_once() {
    on_each_store(conformance::a_key_is_in_a_batch_once).await;
}

// removed once, by whom and when; what that asks for is begun once.
#[tokio::test]
async fn a_member_leaves_once() {
    on_each_store(conformance::a_member_leaves_once).await;
}

// active, removed, failed.
#[tokio::test]
async fn members_are_listed_by_number() {
    on_each_store(conformance::members_are_listed_by_number).await;
}

#[tokio::test]
async fn a_member_shows_its_run() {
    on_each_store(conformance::a_member_shows_its_run).await;
}

#[tokio::test]
async fn a_member_goes_on_in_another_run() {
    on_each_store(conformance::a_member_goes_on_in_another_run).await;
}

// whoever sits in an active batch of the runbook is known.
#[tokio::test]
async fn keys_of_open_batches_are_known() {
    on_each_store(conformance::keys_of_open_batches_are_known).await;
}

#[tokio::test]
async fn a_sweep_leaves_batches_under_way_alone() {
    on_each_store(conformance::a_sweep_leaves_batches_under_way_alone).await;
}

#[tokio::test]
async fn many_join_at_once() {
    on_each_store(conformance::many_join_at_once).await;
}

//
#[tokio::test]
async fn a_runbook_has_one_active_version() {
    on_each_store(conformance::a_runbook_has_one_active_version).await;
}

//
#[tokio::test]
async fn a_version_is_taken_out_of_use() {
    on_each_store(conformance::a_version_is_taken_out_of_use).await;
}

//
#[tokio::test]
async fn a_pass_is_noted_with_its_version() {
    on_each_store(conformance::a_pass_is_noted_with_its_version).await;
}

//
#[tokio::test]
async fn automation_is_switched_by_somebody() {
    on_each_store(conformance::automation_is_switched_by_somebody).await;
}

//
#[tokio::test]
async fn a_key_is_seen_until_it_is_absent() {
    on_each_store(conformance::a_key_is_seen_until_it_is_absent).await;
}

// how many members of a phase succeeded, failed and were cancelled.
#[tokio::test]
async fn counters_follow_every_run() {
    on_each_store(conformance::counters_follow_every_run).await;
}

// of two writers one counts.
#[tokio::test]
async fn what_is_stale_is_not_counted() {
    on_each_store(conformance::what_is_stale_is_not_counted).await;
}

#[tokio::test]
async fn children_are_counted_with_their_parent() {
    on_each_store(conformance::children_are_counted_with_their_parent).await;
}

#[tokio::test]
async fn a_store_agrees_with_the_reference_on_batches() {
    on_each_store(conformance::a_store_agrees_with_the_reference_on_batches).await;
}
