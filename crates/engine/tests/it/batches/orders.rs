//! What a person does to many members at once, with an answer for each.

use serde_json::json;
use stepwell_core::batch::{BatchCommand, BatchStatus, PhaseStatus};
use stepwell_core::id::BatchId;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_engine::{BatchOperation, BatchOrder, OrderFilter, OrderOutcome};
use stepwell_store::MemberStatus;

use super::story::{PREPARE_MS, Story, by, code, keyed, name, names, story, user, well};
use super::world::{RUNBOOK, START_MS, member, phase};

/// A batch in its first phase in which these members have failed at their first copy.
async fn failed(told: &Story, keys: &[&str], failing: &[&str]) -> BatchId {
    told.place.publish(RUNBOOK).await;
    let id = told.place.batch(keys).await;
    told.succeed().await;
    told.to(PREPARE_MS).await;
    told.work(|taken| {
        let fails = failing.contains(&user(taken)) && name(taken).starts_with("Copy");
        if fails { super::story::broken() } else { well(taken) }
    })
    .await;
    id
}

fn those_who_failed() -> OrderFilter {
    OrderFilter { member_statuses: vec![MemberStatus::Failed], ..OrderFilter::default() }
}

#[test]
fn a_member_that_failed_goes_on_where_it_failed() {
    // with new job ids, counted once, and with what it had done before.
    story(async |told: Story| {
        let id = failed(&told, &["ada", "bob"], &["ada"]).await;
        let before = told.run(id, "ada").await;
        let results = told.order(id, BatchOperation::Retry, those_who_failed()).await;
        assert_eq!(results.len(), 1);
        assert_eq!((results[0].key.as_str(), &results[0].outcome), ("ada", &OrderOutcome::Done));
        let copy = told.all().await.remove(0);
        assert_eq!(name(&copy), "Copy ada", "what it has created is not created again");
        let membership = copy.run.header.membership.expect("of a batch");
        assert_ne!(membership.number, before.header.membership.expect("of a batch").number);
        assert_eq!(super::world::params(&copy), json!({ "to": "t-ada" }), "outputs are kept");
        told.report(&copy, well(&copy)).await;
        assert_eq!(told.keys(id, MemberStatus::Active).await, ["ada", "bob"]);
        let batch = told.get(id).await;
        assert_eq!((batch.tally.open, batch.tally.failed), (2, 0));
        assert_eq!(batch.phases[0].tally.succeeded, 2);
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch ada", "Switch bob"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn the_same_retry_twice_at_once_takes_a_member_up_once() {
    //
    story(async |told: Story| {
        let id = failed(&told, &["ada", "bob"], &["ada"]).await;
        let filter = those_who_failed();
        let operation = BatchOperation::Retry;
        let order = BatchOrder { operation, filter, by: by(), dry_run: false, limit: None };
        let engine = &told.place.world.engine;
        let (one, other) =
            tokio::join!(engine.operate_batch(id, &order), engine.operate_batch(id, &order));
        let done = [one, other].into_iter().flat_map(|results| results.expect("carried out"));
        let done = done.filter(|result| result.outcome == OrderOutcome::Done).count();
        assert_eq!(done, 1);
        assert_eq!(names(&told.all().await), ["Copy ada"]);
        assert_eq!(told.get(id).await.tally.open, 2);
    });
}

#[test]
fn a_failed_step_is_passed_over_or_taken_as_done() {
    // a result given by hand sets what the step would have set.
    story(async |told: Story| {
        let id = failed(&told, &["ada", "bob"], &["ada", "bob"]).await;
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Failed);
        told.order(id, BatchOperation::Skip, keyed(&["ada"])).await;
        let result = json!({ "by": "hand" });
        told.order(id, BatchOperation::MarkDone { result }, keyed(&["bob"])).await;
        assert!(told.all().await.is_empty(), "both wait for the next phase");
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch ada", "Switch bob"]);
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Completed);
        assert_eq!(batch.tally.succeeded, 2);
    });
}

#[test]
fn steps_under_way_are_meant_by_phase_step_and_status() {
    // the words of the dialect are the words of the filter.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let id = told.place.batch(&["ada", "bob"]).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        let creates = told.all().await;
        let ada = creates.iter().find(|taken| user(taken) == "ada").expect("taken");
        told.report(ada, well(ada)).await;
        let filter = OrderFilter {
            phase: Some("prepare".to_owned()),
            step: Some("create".to_owned()),
            step_statuses: vec!["dispatched".to_owned()],
            ..OrderFilter::default()
        };
        let results = told.order(id, BatchOperation::Skip, filter).await;
        let meant: Vec<&str> = results.iter().map(|result| result.key.as_str()).collect();
        assert_eq!(meant, ["bob"], "ada's is done");
        assert_eq!(told.run(id, "bob").await.steps[0].status, StepStatus::Skipped);
    });
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    story(async |told: Story| {
        let id = failed(&told, &["ada", "bob"], &["ada"]).await;
        let (operation, filter) = (BatchOperation::Retry, OrderFilter::default());
        let order = BatchOrder { operation, filter, by: by(), dry_run: true, limit: None };
        let results = told.place.world.engine.operate_batch(id, &order).await.expect("answers");
        assert_eq!(results.iter().map(code).collect::<Vec<_>>(), ["would", "would"]);
        assert!(told.all().await.is_empty());
        assert_eq!(told.keys(id, MemberStatus::Failed).await, ["ada"]);
        let limited = BatchOrder { limit: Some(1), ..order };
        let results = told.place.world.engine.operate_batch(id, &limited).await.expect("answers");
        assert_eq!(results.len(), 1);
    });
}

#[test]
fn a_rollback_by_hand_stops_the_member_and_runs_once() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let id = told.place.batch(&["ada", "bob"]).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        for create in told.all().await {
            told.report(&create, well(&create)).await;
        }
        assert_eq!(told.all().await.len(), 2, "both copy");
        let results = told.order(id, BatchOperation::Rollback, keyed(&["ada"])).await;
        assert_eq!(code(&results[0]), "");
        assert_eq!(names(&told.all().await), ["Revert ada"]);
        assert_eq!(told.run(id, "ada").await.status, RunStatus::Cancelled);
        assert_eq!(told.run(id, "bob").await.status, RunStatus::Running);
        let named = OrderFilter { step: Some("copy".to_owned()), ..keyed(&["ada"]) };
        let again = told.order(id, BatchOperation::Rollback, named).await;
        assert_eq!(code(&again[0]), "rollback_begun");
        assert!(told.all().await.is_empty());
    });
}

#[test]
fn members_are_stopped_by_filter_and_what_has_ended_says_so() {
    //
    story(async |told: Story| {
        let id = failed(&told, &["ada", "bob", "cy"], &["ada"]).await;
        let results = told.order(id, BatchOperation::Cancel, keyed(&["ada", "bob"])).await;
        assert_eq!(results.iter().map(code).collect::<Vec<_>>(), ["run_ended", ""]);
        assert_eq!(told.run(id, "bob").await.status, RunStatus::Cancelled);
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch cy"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn members_are_removed_by_filter_only_where_no_source_says_who_is_there() {
    //
    story(async |told: Story| {
        let id = failed(&told, &["ada"], &[]).await;
        let results = told.order(id, BatchOperation::Remove, keyed(&["ada"])).await;
        assert_eq!(code(&results[0]), "batch_automated");
        let members = vec![member("bob"), member("cy")];
        let manual = told.place.world.engine.create_batch("move", members, "lead").await;
        let manual = manual.expect("made").id();
        let results = told.order(manual, BatchOperation::Remove, keyed(&["bob"])).await;
        assert_eq!(code(&results[0]), "");
        assert_eq!(told.keys(manual, MemberStatus::Removed).await, ["bob"]);
        assert_eq!(told.succeed().await, ["Forget bob"]);
        let again = told.order(manual, BatchOperation::Remove, keyed(&["bob"])).await;
        assert_eq!(code(&again[0]), "member_removed");
    });
}

#[test]
fn nobody_is_taken_up_again_in_a_batch_that_is_paused_or_over() {
    //
    story(async |told: Story| {
        let id = failed(&told, &["ada", "bob"], &["ada"]).await;
        told.command(id, BatchCommand::Pause { by: by() }).await.expect("pauses");
        let results = told.order(id, BatchOperation::Retry, those_who_failed()).await;
        assert_eq!(code(&results[0]), "batch_paused");
        told.command(id, BatchCommand::Cancel { by: by() }).await.expect("stops");
        let results = told.order(id, BatchOperation::Retry, those_who_failed()).await;
        assert_eq!(code(&results[0]), "batch_ended");
        assert!(told.all().await.is_empty());
    });
}
