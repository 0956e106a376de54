//! Every case of the suite, on every store.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use stepwell_core::time::Timestamp;
use stepwell_store::Store;
use stepwell_store::conformance::{self, Subject};
use stepwell_store::memory::MemoryStore;
use stepwell_store::sqlite::{Options, SqliteStore};

use crate::postgres::Place;

/// Runs a case on each store, fresh and empty.
pub(crate) async fn on_each_store<F: Future<Output = ()>>(case: impl Fn(Subject) -> F) {
    case(Subject { store: Arc::new(MemoryStore::new()), reopen: None }).await;

    // A clock that goes on with every reading, so that silence has a length.
    let reading = AtomicI64::new(1_741_996_800_000);
    let now = move || Timestamp::from_millis(reading.fetch_add(1, Ordering::SeqCst));
    case(Subject { store: Arc::new(MemoryStore::shared(now)), reopen: None }).await;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let store = SqliteStore::open(&path, Options::default()).unwrap();
    let reopen = move || {
        let store = SqliteStore::open(&path, Options::default());
        let store = store.map(|store| Arc::new(store) as Arc<dyn Store>);
        Box::pin(std::future::ready(store)) as stepwell_store::Answer<'static, Arc<dyn Store>>
    };
    case(Subject { store: Arc::new(store), reopen: Some(Box::new(reopen)) }).await;

    let Some(place) = Place::fresh() else { return };
    let store = Arc::new(place.open().await);
    let place = Arc::new(place);
    let reopen = move || {
        let place = Arc::clone(&place);
        Box::pin(async move { Ok(Arc::new(place.open().await) as Arc<dyn Store>) })
            as stepwell_store::Answer<'static, Arc<dyn Store>>
    };
    case(Subject { store, reopen: Some(Box::new(reopen)) }).await;
}

// D-025, D-026, D-029, D-030, X-147, X-158: state, steps, attempt, lease and history land together.
#[tokio::test]
async fn a_decision_is_stored_whole() {
    on_each_store(conformance::a_decision_is_stored_whole).await;
}

// D-031, X-148: a write from another version than the stored one changes nothing.
#[tokio::test]
async fn a_stale_item_does_not_cost_its_neighbors() {
    on_each_store(conformance::a_stale_item_does_not_cost_its_neighbors).await;
}

// B-021: the items of a step are rows of their own, and come back with it.
#[tokio::test]
async fn items_come_back_as_they_were() {
    on_each_store(conformance::items_come_back_as_they_were).await;
}

// B-021
#[tokio::test]
async fn items_wait_in_the_queue_each_on_its_own() {
    on_each_store(conformance::items_wait_in_the_queue_each_on_its_own).await;
}

#[tokio::test]
async fn a_run_that_does_not_exist_is_stale() {
    on_each_store(conformance::a_run_that_does_not_exist_is_stale).await;
}

#[tokio::test]
async fn a_repeated_creation_is_stale() {
    on_each_store(conformance::a_repeated_creation_is_stale).await;
}

#[tokio::test]
async fn an_earlier_epoch_writes_nothing() {
    on_each_store(conformance::an_earlier_epoch_writes_nothing).await;
}

#[tokio::test]
async fn several_decisions_on_a_run_are_several_records() {
    on_each_store(conformance::several_decisions_on_a_run_are_several_records).await;
}

#[tokio::test]
async fn children_come_with_their_parent() {
    on_each_store(conformance::children_come_with_their_parent).await;
}

#[tokio::test]
async fn callers_at_once_each_get_their_own_answer() {
    on_each_store(conformance::callers_at_once_each_get_their_own_answer).await;
}

// D-027, D-032: the same hash answers with the run that holds it and starts nothing.
#[tokio::test]
async fn a_taken_key_stores_nothing() {
    on_each_store(conformance::a_taken_key_stores_nothing).await;
}

#[tokio::test]
async fn a_key_is_taken_by_the_first_of_a_group() {
    on_each_store(conformance::a_key_is_taken_by_the_first_of_a_group).await;
}

// D-028, X-132, X-133: the index row is unique by tenant and hash, and found by them alone.
#[tokio::test]
async fn a_key_belongs_to_its_tenant() {
    on_each_store(conformance::a_key_belongs_to_its_tenant).await;
}

#[tokio::test]
async fn a_repetition_is_recognized_before_the_cap() {
    on_each_store(conformance::a_repetition_is_recognized_before_the_cap).await;
}

// D-050, X-143: counted in the creating transaction; a refused run leaves nothing.
#[tokio::test]
async fn a_tenant_is_full_at_its_cap() {
    on_each_store(conformance::a_tenant_is_full_at_its_cap).await;
}

#[tokio::test]
async fn a_run_that_ends_makes_room() {
    on_each_store(conformance::a_run_that_ends_makes_room).await;
}

#[tokio::test]
async fn a_compensation_takes_no_room() {
    on_each_store(conformance::a_compensation_takes_no_room).await;
}

#[tokio::test]
async fn runs_come_due_earliest_first() {
    on_each_store(conformance::runs_come_due_earliest_first).await;
}

#[tokio::test]
async fn a_stored_moment_is_early_never_late() {
    on_each_store(conformance::a_stored_moment_is_early_never_late).await;
}

#[tokio::test]
async fn an_earlier_moment_is_stored_at_once() {
    on_each_store(conformance::an_earlier_moment_is_stored_at_once).await;
}

#[tokio::test]
async fn a_first_moment_is_stored() {
    on_each_store(conformance::a_first_moment_is_stored).await;
}

#[tokio::test]
async fn an_ended_run_waits_for_nothing() {
    on_each_store(conformance::an_ended_run_waits_for_nothing).await;
}

#[tokio::test]
async fn urgent_work_goes_first_then_the_oldest() {
    on_each_store(conformance::urgent_work_goes_first_then_the_oldest).await;
}

#[tokio::test]
async fn pools_do_not_mix() {
    on_each_store(conformance::pools_do_not_mix).await;
}

// D-030, X-134: what the bus is handed is the recorded attempt and lease, never another.
#[tokio::test]
async fn a_queued_step_names_its_attempt() {
    on_each_store(conformance::a_queued_step_names_its_attempt).await;
}

#[tokio::test]
async fn work_that_is_taken_leaves_the_queue() {
    on_each_store(conformance::work_that_is_taken_leaves_the_queue).await;
}

#[tokio::test]
async fn runs_are_listed_newest_first() {
    on_each_store(conformance::runs_are_listed_newest_first).await;
}

#[tokio::test]
async fn filters_restrict_together() {
    on_each_store(conformance::filters_restrict_together).await;
}

#[tokio::test]
async fn a_list_says_what_the_run_says() {
    on_each_store(conformance::a_list_says_what_the_run_says).await;
}

#[tokio::test]
async fn unknown_runs_are_missing_in_the_answer() {
    on_each_store(conformance::unknown_runs_are_missing_in_the_answer).await;
}

#[tokio::test]
async fn a_history_is_read_from_a_version_on() {
    on_each_store(conformance::a_history_is_read_from_a_version_on).await;
}

#[tokio::test]
async fn the_beginnings_of_histories_come_in_the_order_asked() {
    on_each_store(conformance::the_beginnings_of_histories_come_in_the_order_asked).await;
}

// a stale callback is persisted for audit and changes nothing.
#[tokio::test]
async fn stale_reports_are_kept_up_to_a_limit() {
    on_each_store(conformance::stale_reports_are_kept_up_to_a_limit).await;
}

#[tokio::test]
async fn dead_letters_are_found_again() {
    on_each_store(conformance::dead_letters_are_found_again).await;
}

#[tokio::test]
async fn a_dead_letter_is_settled_once() {
    on_each_store(conformance::a_dead_letter_is_settled_once).await;
}

#[tokio::test]
async fn a_message_waits_until_it_is_settled() {
    on_each_store(conformance::a_message_waits_until_it_is_settled).await;
}

// A dead letter and its event land together.
#[tokio::test]
async fn a_run_given_up_is_told_with_its_letter() {
    on_each_store(conformance::a_run_given_up_is_told_with_its_letter).await;
}

#[tokio::test]
async fn a_message_given_up_is_told_once() {
    on_each_store(conformance::a_message_given_up_is_told_once).await;
}

// what nobody can follow is a dead letter, and told once.
#[tokio::test]
async fn what_belongs_to_no_run_is_told_once() {
    on_each_store(conformance::what_belongs_to_no_run_is_told_once).await;
}

#[tokio::test]
async fn what_is_told_of_no_run_goes_by_its_age() {
    on_each_store(conformance::what_is_told_of_no_run_goes_by_its_age).await;
}

#[tokio::test]
async fn workflows_are_versioned_by_name() {
    on_each_store(conformance::workflows_are_versioned_by_name).await;
}

#[tokio::test]
async fn a_request_type_leads_to_its_last_claimer() {
    on_each_store(conformance::a_request_type_leads_to_its_last_claimer).await;
}

#[tokio::test]
async fn tokens_are_revoked_once() {
    on_each_store(conformance::tokens_are_revoked_once).await;
}

#[tokio::test]
async fn a_secret_is_drawn_once() {
    on_each_store(conformance::a_secret_is_drawn_once).await;
}

#[tokio::test]
async fn a_secret_is_replaced_by_whoever_saw_it() {
    on_each_store(conformance::a_secret_is_replaced_by_whoever_saw_it).await;
}

// deleting a run deletes its data and leaves a stub.
#[tokio::test]
async fn a_sweep_deletes_what_has_expired() {
    on_each_store(conformance::a_sweep_deletes_what_has_expired).await;
}

#[tokio::test]
async fn a_sweep_goes_in_small_chunks() {
    on_each_store(conformance::a_sweep_goes_in_small_chunks).await;
}

#[tokio::test]
async fn figures_follow_every_commit() {
    on_each_store(conformance::figures_follow_every_commit).await;
}

#[tokio::test]
async fn a_closed_store_refuses_politely() {
    on_each_store(conformance::a_closed_store_refuses_politely).await;
}

// D-045: a restart loses no recorded decision.
#[tokio::test]
async fn everything_is_there_after_a_restart() {
    on_each_store(conformance::everything_is_there_after_a_restart).await;
}

#[tokio::test]
async fn a_store_agrees_with_the_reference() {
    on_each_store(conformance::a_store_agrees_with_the_reference).await;
}

// B-020, B-037, B-038, B-071: inserted with its owner; only the owner's work is its work.
#[tokio::test]
async fn an_instance_owns_what_it_creates() {
    on_each_store(conformance::an_instance_owns_what_it_creates).await;
}

// only the owner advances a run.
#[tokio::test]
async fn only_the_owner_writes_a_run() {
    on_each_store(conformance::only_the_owner_writes_a_run).await;
}

// a run of nobody is lost to nobody.
#[tokio::test]
async fn whoever_writes_a_free_run_owns_it() {
    on_each_store(conformance::whoever_writes_a_free_run_owns_it).await;
}

// B-039, B-057, B-060, X-107: signs of life by the store's clock keep the runs.
#[tokio::test]
async fn a_living_owner_keeps_its_runs() {
    on_each_store(conformance::a_living_owner_keeps_its_runs).await;
}

// B-040, B-058, B-071, X-103: taken over, and the zombie is refused.
#[tokio::test]
async fn the_runs_of_a_silent_owner_are_taken_over() {
    on_each_store(conformance::the_runs_of_a_silent_owner_are_taken_over).await;
}

// Issue 6: triggers of the dead are looked after as soon as its runs are.
#[tokio::test]
async fn what_the_dead_did_alone_is_free() {
    on_each_store(conformance::what_the_dead_did_alone_is_free).await;
}

// runs of nobody too, until nothing is left.
#[tokio::test]
async fn a_takeover_goes_page_by_page() {
    on_each_store(conformance::a_takeover_goes_page_by_page).await;
}

// B-041, B-071: only one winner in a race.
#[tokio::test]
async fn a_takeover_has_one_winner() {
    on_each_store(conformance::a_takeover_has_one_winner).await;
}

#[tokio::test]
async fn runs_are_handed_over_to_the_living() {
    on_each_store(conformance::runs_are_handed_over_to_the_living).await;
}

// ownership is released on stop.
#[tokio::test]
async fn good_bye_frees_everything() {
    on_each_store(conformance::good_bye_frees_everything).await;
}

#[tokio::test]
async fn words_reach_the_others() {
    on_each_store(conformance::words_reach_the_others).await;
}

#[tokio::test]
async fn an_input_waits_for_the_owner() {
    on_each_store(conformance::an_input_waits_for_the_owner).await;
}

#[tokio::test]
async fn an_answer_strikes_the_input_off() {
    on_each_store(conformance::an_answer_strikes_the_input_off).await;
}

#[tokio::test]
async fn an_answer_without_ground_leaves_the_input() {
    on_each_store(conformance::an_answer_without_ground_leaves_the_input).await;
}

#[tokio::test]
async fn inputs_follow_their_run() {
    on_each_store(conformance::inputs_follow_their_run).await;
}

// B-030, X-100: priority orders claiming.
#[tokio::test]
async fn urgent_orders_go_first_without_starving_others() {
    on_each_store(conformance::urgent_orders_go_first_without_starving_others).await;
}

// B-014, B-016, B-068, X-098: one settlement a delivery.
#[tokio::test]
async fn an_order_is_kept_from_others_for_a_while() {
    on_each_store(conformance::an_order_is_kept_from_others_for_a_while).await;
}

// B-034, X-109: the message id makes it the same message.
#[tokio::test]
async fn a_message_waits_once_in_its_queue() {
    on_each_store(conformance::a_message_waits_once_in_its_queue).await;
}

// B-016, B-047: kept with its reason.
#[tokio::test]
async fn an_order_given_up_is_a_dead_letter() {
    on_each_store(conformance::an_order_given_up_is_a_dead_letter).await;
}

#[tokio::test]
async fn an_input_for_an_ended_run_is_not_left_alone() {
    on_each_store(conformance::an_input_for_an_ended_run_is_not_left_alone).await;
}

// C-021, C-032: what was given up is found by dialect, reason, code and time.
#[tokio::test]
async fn dead_letters_are_found_by_what_happened() {
    on_each_store(conformance::dead_letters_are_found_by_what_happened).await;
}

// C-021
#[tokio::test]
async fn dead_letters_are_settled_by_the_dozen() {
    on_each_store(conformance::dead_letters_are_settled_by_the_dozen).await;
}

// C-021: the depth of the dead letters, by reason.
#[tokio::test]
async fn figures_tell_dead_letters_apart() {
    on_each_store(conformance::figures_tell_dead_letters_apart).await;
}

// C-005, C-041, C-042: `ttl_at` is set on what has ended, and on nothing else.
#[tokio::test]
async fn what_is_not_ended_never_expires() {
    on_each_store(conformance::what_is_not_ended_never_expires).await;
}

// the stub that is left is not kept for ever either.
#[tokio::test]
async fn stubs_are_forgotten_in_the_end() {
    on_each_store(conformance::stubs_are_forgotten_in_the_end).await;
}

#[tokio::test]
async fn a_trigger_is_changed_from_the_version_before() {
    on_each_store(conformance::a_trigger_is_changed_from_the_version_before).await;
}

#[tokio::test]
async fn triggers_are_found_again() {
    on_each_store(conformance::triggers_are_found_again).await;
}

#[tokio::test]
async fn triggers_are_due_in_their_order() {
    on_each_store(conformance::triggers_are_due_in_their_order).await;
}

#[tokio::test]
async fn progress_from_an_old_version_is_refused() {
    on_each_store(conformance::progress_from_an_old_version_is_refused).await;
}

#[tokio::test]
async fn firings_are_found_again() {
    on_each_store(conformance::firings_are_found_again).await;
}

#[tokio::test]
async fn firings_are_forgotten_in_the_end() {
    on_each_store(conformance::firings_are_forgotten_in_the_end).await;
}

#[tokio::test]
async fn agreements_hold_until_changed() {
    on_each_store(conformance::agreements_hold_until_changed).await;
}
