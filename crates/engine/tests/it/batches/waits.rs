//! Polls and retries: on time, by the settings they began with, and nobody is hurried.

use serde_json::json;
use stepwell_core::batch::{BatchCommand, BatchStatus, PhaseStatus};
use stepwell_core::step::{Outcome, StepStatus};
use stepwell_engine::{BatchOperation, OrderFilter};
use stepwell_store::MemberStatus;

use super::story::{PLAIN, PREPARE_MS, Story, by, code, names, row, story, well};
use super::world::{RUNBOOK, START_MS, kind, member, phase};
use crate::world::failure;

#[test]
fn polls_go_on_whoever_made_the_batch_and_whatever_became_of_the_runbook() {
    // made by hand, automation never switched on, and the version taken out of use.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let engine = &told.place.world.engine;
        let id = engine.create_batch("move", vec![member("ada")], "lead").await.expect("made").id();
        for _ in 0..2 {
            let advance = BatchCommand::Advance { by: by() };
            told.command(id, advance).await.expect("advances");
            told.work(
                |taken| if kind(taken) == "Copy" { Outcome::Incomplete } else { well(taken) },
            )
            .await;
        }
        engine.deactivate_runbook("move", 1).await.expect("it is there");
        assert_eq!(told.run(id, "ada").await.steps[1].status, StepStatus::Polling);
        told.later(1).await;
        assert_eq!(told.succeed().await, ["Copy ada"]);
        assert_eq!(phase(&told.get(id).await, "prepare"), PhaseStatus::Completed);
    });
}

#[test]
fn a_preparation_is_asked_again_and_tried_again_like_any_step() {
    //
    story(async |told: Story| {
        let waits =
            "retry: {max_retries: 1, interval: 5m}, poll: {interval: 1m, timeout: 1h}, params";
        told.place.publish(&RUNBOOK.replacen("params", waits, 1)).await;
        let id = told.place.batch(&["ada"]).await;
        let first = told.all().await.remove(0);
        told.report(&first, failure(true)).await;
        assert_eq!(told.get(id).await.status, BatchStatus::InitDispatched);
        told.later(4).await;
        assert!(told.all().await.is_empty(), "not before its time");
        told.later(1).await;
        let second = told.all().await.remove(0);
        assert_eq!(second.directive.attempt, 2);
        told.report(&second, Outcome::Incomplete).await;
        told.later(1).await;
        assert_eq!(told.succeed().await, ["Announce"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Active);
    });
}

#[test]
fn what_has_begun_is_tried_again_by_the_settings_that_it_began_with() {
    // a newer version with more retries changes nothing for a step that exists.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        told.succeed().await;
        told.to(START_MS).await;
        let id = told.only_batch().await;
        let switch = told.all().await.remove(0);
        told.place.publish(&RUNBOOK.replace("max_retries: 1", "max_retries: 9")).await;
        told.report(&switch, failure(true)).await;
        told.later(5).await;
        let second = told.all().await.remove(0);
        assert_eq!((kind(&second).as_str(), second.directive.attempt), ("Switch", 2));
        told.report(&second, failure(true)).await;
        assert_eq!(told.keys(id, MemberStatus::Failed).await, ["ada"], "one retry, as it began");
    });
}

#[test]
fn a_step_that_waits_for_its_retry_is_hurried_by_nobody() {
    // neither by the word that its phase is due nor by a pass.
    story(async |told: Story| {
        let retried = "retry: {max_retries: 2, interval: 30m}, params";
        told.place.publish(&PLAIN.replace("params", retried)).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        told.to(PREPARE_MS).await;
        let id = told.only_batch().await;
        let create = told.all().await.remove(0);
        told.report(&create, failure(true)).await;
        let first = told.get(id).await.phases[0].id;
        let again = BatchCommand::BeginPhase { phase: first, by: by() };
        told.command(id, again).await.expect("without effect");
        told.pass().await;
        told.later(29).await;
        assert!(told.all().await.is_empty());
        told.later(1).await;
        assert_eq!(names(&told.all().await), ["Create ada"]);
    });
}

#[test]
fn a_step_that_has_moved_on_is_not_tried_again() {
    // a step that timed out may be, by a person only.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let id = told.place.batch(&["ada"]).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        told.work(|taken| if kind(taken) == "Copy" { Outcome::Incomplete } else { well(taken) })
            .await;
        let create = OrderFilter { step: Some("create".to_owned()), ..OrderFilter::default() };
        let results = told.order(id, BatchOperation::Retry, create.clone()).await;
        assert_eq!(code(&results[0]), "step_ended", "it succeeded");
        for _ in 0..65 {
            told.later(1).await;
            told.work(
                |taken| if kind(taken) == "Copy" { Outcome::Incomplete } else { well(taken) },
            )
            .await;
        }
        let results = told.order(id, BatchOperation::Retry, create).await;
        assert_eq!(code(&results[0]), "step_not_failed");
        assert_eq!(told.run(id, "ada").await.steps[1].status, StepStatus::TimedOut);
        let timed_out = vec!["poll_timeout".to_owned()];
        let copy = OrderFilter { step_statuses: timed_out, ..OrderFilter::default() };
        let results = told.order(id, BatchOperation::Retry, copy).await;
        assert_eq!(code(&results[0]), "");
        let copy = told.all().await.remove(0);
        assert_eq!(super::world::params(&copy), json!({ "to": "t-ada" }));
    });
}
