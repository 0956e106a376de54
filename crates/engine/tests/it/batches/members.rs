//! What members do: each at its own pace, failing alone, undone, joining late, leaving early.

use serde_json::json;
use stepwell_core::batch::{BatchStatus, PhaseStatus};
use stepwell_core::id::BatchId;
use stepwell_core::run::{BatchRole, RunStatus};
use stepwell_core::step::{Outcome, StepStatus};
use stepwell_engine::EngineError;
use stepwell_store::MemberStatus;

use super::story::{PLAIN, PREPARE_MS, Story, broken, names, row, story, user, well};
use super::world::{RUNBOOK, START_MS, kind, params, phase};
use crate::world::failure;

/// A batch of the whole runbook whose first phase has just begun.
async fn begun(told: &Story, keys: &[&str]) -> BatchId {
    told.place.publish(RUNBOOK).await;
    told.rows(keys.iter().map(|key| row(key, 1, START_MS)).collect());
    told.automate(true).await;
    assert_eq!(told.succeed().await, ["Announce"]);
    told.to(PREPARE_MS).await;
    told.only_batch().await
}

#[test]
fn every_member_goes_at_its_own_pace() {
    //
    story(async |told: Story| {
        begun(&told, &["ada", "bob"]).await;
        let first = told.all().await;
        assert_eq!(names(&first), ["Create ada", "Create bob"], "side by side");
        let of = |key: &str| first.iter().find(|taken| user(taken) == key).expect("taken");
        told.report(of("ada"), well(of("ada"))).await;
        assert_eq!(names(&told.all().await), ["Copy ada"], "ada does not wait for bob");
        told.to(START_MS).await;
        assert!(
            told.all().await.is_empty(),
            "nobody begins what comes after its open steps (X-063)"
        );
    });
}

#[test]
fn a_member_that_fails_does_nothing_more_and_harms_nobody() {
    // succeeded, failed and cancelled are counted apart.
    story(async |told: Story| {
        let id = begun(&told, &["ada", "bob"]).await;
        let worked = told.fail("ada").await;
        assert_eq!(
            worked,
            ["Create ada", "Create bob", "Copy bob"],
            "create names no rollback (A-111)"
        );
        let run = told.run(id, "ada").await;
        assert_eq!(run.status, RunStatus::Failed);
        let steps: Vec<StepStatus> = run.steps.iter().map(|step| step.status).collect();
        assert_eq!(steps[0], StepStatus::Failed);
        assert!(steps[1..].iter().all(|status| status.is_terminal()), "in all phases: {steps:?}");
        assert_eq!(told.keys(id, MemberStatus::Failed).await, ["ada"]);
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Completed, "bob did all of it");
        let tally = batch.phases[0].tally;
        assert_eq!((tally.succeeded, tally.failed, tally.open), (1, 1, 0));
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch bob"], "failed members get no steps (A-064)");
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn a_batch_in_which_everybody_fails_has_failed() {
    // no member is left for the second phase.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.fail("ada").await;
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Failed);
        told.to(START_MS).await;
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "cutover"), PhaseStatus::Skipped);
        assert_eq!(batch.status, BatchStatus::Failed);
    });
}

#[test]
fn what_fails_is_tried_again_and_then_undone() {
    // the failure does not wait for the undoing.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.succeed().await;
        told.to(START_MS).await;
        let first = told.all().await.remove(0);
        told.report(&first, failure(true)).await;
        assert!(told.all().await.is_empty(), "the retry waits for its time");
        assert_eq!(told.get(id).await.status, BatchStatus::Active);
        told.later(5).await;
        let second = told.all().await.remove(0);
        assert_eq!(second.directive.attempt, 2);
        told.report(&second, failure(true)).await;
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Completed, "the first phase was completed (A-123)");
        assert_eq!(phase(&batch, "cutover"), PhaseStatus::Failed);
        let revert = told.all().await.remove(0);
        assert_eq!(
            (kind(&revert), params(&revert)),
            ("Revert".to_owned(), json!({ "user": "ada" }))
        );
        told.report(&revert, well(&revert)).await;
        let run = told.run(id, "ada").await;
        assert_eq!(run.steps[2].status, StepStatus::Failed, "it stays failed");
        let undoing = run.steps[2].compensation.expect("recorded");
        assert_eq!(told.place.world.run(undoing).await.status, RunStatus::Succeeded);
    });
}

#[test]
fn a_poll_that_never_ends_times_out_without_a_retry_and_is_undone() {
    //
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        let create = told.all().await.remove(0);
        told.report(&create, well(&create)).await;
        let mut questions = 0;
        for _ in 0..65 {
            for taken in told.all().await.iter().filter(|taken| kind(taken) == "Copy") {
                questions += 1;
                told.report(taken, Outcome::Incomplete).await;
            }
            told.later(1).await;
        }
        let run = told.run(id, "ada").await;
        assert_eq!(run.steps[1].status, StepStatus::TimedOut);
        assert_eq!(run.steps[1].attempt, 1, "never tried again");
        assert!(run.steps[1].compensation.is_some());
        assert!(questions > 50, "asked every minute, whatever the tick: {questions}");
    });
}

#[test]
fn a_variable_that_nobody_knows_fails_its_member_alone() {
    //
    story(async |told: Story| {
        let yaml =
            RUNBOOK.replace("output_params: {Target: target}", "output_params: {Target: given}");
        told.place.publish(&yaml).await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.automate(true).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        let worked = told
            .work(|taken| match user(taken) {
                "ada" => well(taken),
                _ => Outcome::Succeeded { result: json!({ "given": "t-1" }) },
            })
            .await;
        assert_eq!(
            worked,
            ["Create ada", "Create bob", "Copy bob", "Revert ada"],
            "the rollback runs"
        );
        let id = told.only_batch().await;
        let run = told.run(id, "ada").await;
        let error = run.steps[1].error.as_ref().expect("why");
        assert_eq!(error.code, "template_unresolved");
        assert_eq!(run.steps[1].attempt, 0, "it was never dispatched");
        assert_eq!(told.keys(id, MemberStatus::Failed).await, ["ada"]);
    });
}

#[test]
fn whoever_joins_late_does_what_has_begun_and_holds_the_end() {
    // the phase that is over stays as it ended.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.succeed().await;
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Completed);
        told.rows(vec![row("ada", 1, START_MS), row("bob", 3, START_MS)]);
        told.pass().await;
        told.to(START_MS).await;
        let taken = told.all().await;
        assert_eq!(names(&taken), ["Create bob", "Switch ada"]);
        for taken in &taken {
            if user(taken) == "ada" {
                told.report(taken, well(taken)).await;
            }
        }
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Completed);
        assert_eq!(batch.status, BatchStatus::Active, "bob still catches up");
        let create = taken.iter().find(|taken| user(taken) == "bob").expect("taken");
        assert_eq!(params(create)["size"], 3);
        told.report(create, well(create)).await;
        assert_eq!(told.succeed().await, ["Copy bob", "Switch bob"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn a_failed_phase_stays_failed_though_a_late_joiner_does_all_of_it() {
    //
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.fail("ada").await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.succeed().await, ["Create bob", "Copy bob"]);
        let batch = told.get(id).await;
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Failed);
        assert_eq!((batch.phases[0].tally.succeeded, batch.phases[0].tally.failed), (1, 1));
    });
}

#[test]
fn whoever_leaves_is_stopped_and_what_its_leaving_asks_for_is_done_once() {
    //
    story(async |told: Story| {
        let id = begun(&told, &["ada", "bob"]).await;
        let first = told.all().await;
        for taken in &first {
            told.report(taken, well(taken)).await;
        }
        let copies = told.all().await;
        let copy = copies.iter().find(|taken| user(taken) == "ada").expect("taken");
        told.report(copy, Outcome::Incomplete).await;
        told.rows(vec![row("bob", 1, START_MS)]);
        told.pass().await;
        told.pass().await;
        let run = told.run(id, "ada").await;
        assert_eq!(run.status, RunStatus::Cancelled, "polling is stopped too");
        assert_eq!(run.steps[0].status, StepStatus::Succeeded, "what is done stays done (A-216)");
        let late = told.place.world.report(copy, well(copy)).await;
        assert!(matches!(late, Err(EngineError::Refused(_))), "{late:?}");
        assert_eq!(told.succeed().await, ["Forget ada"]);
        assert_eq!(told.keys(id, MemberStatus::Removed).await, ["ada"]);
        let batch = told.get(id).await;
        assert_eq!(batch.phases[0].tally.cancelled, 1);
        assert_eq!(phase(&batch, "prepare"), PhaseStatus::Dispatched, "bob is still at it");
        let runs = told.place.world.store.batch_runs(id, Some(BatchRole::Removal), None).await;
        assert_eq!(runs.expect("the store answers").len(), 1);
    });
}

#[test]
fn a_phase_ends_when_the_last_open_member_leaves() {
    //
    story(async |told: Story| {
        told.place.publish(PLAIN).await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.automate(true).await;
        told.to(PREPARE_MS).await;
        let id = told.only_batch().await;
        let taken = told.all().await;
        let ada = taken.iter().find(|taken| user(taken) == "ada").expect("taken");
        told.report(ada, well(ada)).await;
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Dispatched);
        told.rows(vec![row("ada", 1, START_MS)]);
        told.pass().await;
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Completed);
    });
}

#[test]
fn a_batch_whose_preparation_fails_never_begins() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        let id = told.only_batch().await;
        told.to(PREPARE_MS).await;
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Pending, "not before init");
        assert_eq!(told.work(|_| broken()).await, ["Announce"]);
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Failed);
        assert!(batch.phases.iter().all(|phase| phase.status == PhaseStatus::Skipped));
        assert_eq!(told.run(id, "ada").await.status, RunStatus::Cancelled);
        assert!(batch.is_settled());
    });
}

#[test]
fn phases_that_fell_due_during_the_preparation_begin_when_it_is_done() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        told.to(PREPARE_MS + 60_000).await;
        let announce = told.all().await;
        assert_eq!(names(&announce), ["Announce"]);
        told.report(&announce[0], well(&announce[0])).await;
        assert_eq!(names(&told.all().await), ["Create ada"]);
    });
}
