//! Batches under way follow a newer version of their runbook.

use serde_json::json;
use stepwell_core::batch::{Batch, BatchStatus, PhaseStatus};
use stepwell_core::id::BatchId;
use stepwell_core::run::RunStatus;
use stepwell_engine::BatchOperation;

use super::story::{PLAIN, PREPARE_MS, Story, broken, code, keyed, names, row, story, well};
use super::world::{DAY_MS, RUNBOOK, START_MS, params};

/// The phases of a batch as `name@version status`.
fn phases(batch: &Batch) -> Vec<String> {
    batch.phases.iter().map(|phase| format!("{} {}", phase.gate, phase.status.word())).collect()
}

/// The same runbook with other functions.
fn second() -> String {
    PLAIN.replace("function: Create", "function: Create2").replace("Switch", "Switch2")
}

/// The same runbook with one more phase.
fn longer() -> String {
    let params = "params: {user: \"{{user}}\"}";
    let step = format!("{{name: tidy, worker_id: workers, function: Tidy, {params}}}");
    format!("{PLAIN}  - name: after\n    offset: T+1d\n    steps:\n      - {step}\n")
}

async fn begun(told: &Story, keys: &[&str]) -> BatchId {
    told.place.publish(PLAIN).await;
    told.rows(keys.iter().map(|key| row(key, 1, START_MS)).collect());
    told.automate(true).await;
    told.to(PREPARE_MS).await;
    told.only_batch().await
}

#[test]
fn what_has_not_begun_is_replaced_and_what_is_past_due_is_passed_over() {
    // what has begun ends under its own version.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        let create = told.all().await.remove(0);
        let published = told.place.publish(&second()).await;
        assert_eq!(published.batches, [id]);
        let batch = told.get(id).await;
        let expected = [
            "prepare@1 dispatched",
            "cutover@1 superseded",
            "prepare@2 skipped",
            "cutover@2 pending",
        ];
        assert_eq!(phases(&batch), expected);
        assert_eq!(batch.runbook_version, 2);
        told.report(&create, well(&create)).await;
        assert_eq!(phases(&told.get(id).await)[0], "prepare@1 completed");
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch2 ada"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
        let document = told.place.world.store.runbook("move".to_owned(), None).await;
        assert!(document.expect("reads").expect("there").overdue_applied);
    });
}

#[test]
fn what_is_past_due_is_done_again_if_the_author_wants_it() {
    // open steps of replaced phases are taken back first.
    story(async |told: Story| {
        let id = begun(&told, &["ada", "bob"]).await;
        let first = told.all().await;
        told.report(&first[0], well(&first[0])).await;
        told.place.publish_with(&second(), &json!({ "overdue_behavior": "rerun" })).await;
        let batch = told.get(id).await;
        let expected = [
            "prepare@1 superseded",
            "cutover@1 superseded",
            "prepare@2 dispatched",
            "cutover@2 pending",
        ];
        assert_eq!(phases(&batch), expected);
        let late = told.place.world.report(&first[1], well(&first[1])).await;
        assert!(late.is_err(), "its step was taken back");
        assert_eq!(told.succeed().await, ["Create2 ada", "Create2 bob"]);
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch2 ada", "Switch2 bob"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn a_phase_that_is_over_is_done_again_by_those_who_had_done_it() {
    // the rows of both versions stand side by side.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.succeed().await;
        told.place.publish_with(&second(), &json!({ "overdue_behavior": "rerun" })).await;
        let batch = told.get(id).await;
        assert_eq!(phases(&batch)[0], "prepare@1 completed");
        assert_eq!(told.succeed().await, ["Create2 ada"]);
        assert_eq!(phases(&told.get(id).await)[2], "prepare@2 completed");
    });
}

#[test]
fn a_member_that_had_done_everything_goes_on_with_what_is_new() {
    // the batch is open because another member is, and a new phase is for both.
    story(async |told: Story| {
        let id = begun(&told, &["ada", "bob"]).await;
        told.succeed().await;
        told.to(START_MS).await;
        let switches = told.all().await;
        told.report(&switches[0], well(&switches[0])).await;
        told.place.publish(&longer()).await;
        // Nobody rests here: this run ends while it is about to be told of the new version.
        told.report(&switches[1], well(&switches[1])).await;
        assert_eq!(told.get(id).await.status, BatchStatus::Active);
        told.to(START_MS + DAY_MS).await;
        assert_eq!(told.succeed().await, ["Tidy ada", "Tidy bob"]);
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Completed);
        assert_eq!((batch.tally.succeeded, batch.tally.open), (2, 0), "each is counted once");
    });
}

#[test]
fn what_steps_have_set_is_there_for_the_phases_of_a_newer_version() {
    // for a member that had come to the end of the older one, too.
    story(async |told: Story| {
        let first = PLAIN
            .replace("function: Create,", "function: Create, output_params: {Target: target},");
        told.place.publish(&first).await;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, START_MS)]);
        told.automate(true).await;
        told.to(START_MS).await;
        for create in told.all().await {
            told.report(&create, well(&create)).await;
        }
        let switches = told.all().await;
        told.report(&switches[0], well(&switches[0])).await;
        let tidy = "{name: tidy, worker_id: workers, function: Tidy, params: {to: \"{{Target}}\"}}";
        let after = format!("  - name: after\n    offset: T+1d\n    steps:\n      - {tidy}\n");
        told.place.publish(&format!("{first}{after}")).await;
        told.rest().await;
        told.report(&switches[1], well(&switches[1])).await;
        told.to(START_MS + DAY_MS).await;
        let mut given: Vec<_> =
            told.all().await.iter().map(|it| params(it)["to"].clone()).collect();
        given.sort_by_key(ToString::to_string);
        assert_eq!(given, [json!("t-ada"), json!("t-bob")]);
    });
}

#[test]
fn whoever_joins_after_a_change_of_version_does_what_began_before_it() {
    // passed over for the others, because they had done it under the version before.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.succeed().await;
        told.place.publish(&second()).await;
        told.rows(vec![row("ada", 1, START_MS), row("late", 1, START_MS)]);
        told.pass().await;
        assert_eq!(told.succeed().await, ["Create late"], "as ada did, under version 1");
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch2 ada", "Switch2 late"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}

#[test]
fn whoever_failed_stays_failed_under_a_newer_version() {
    //
    story(async |told: Story| {
        let id = begun(&told, &["ada", "bob"]).await;
        told.fail("ada").await;
        told.place.publish_with(&second(), &json!({ "overdue_behavior": "rerun" })).await;
        assert_eq!(told.succeed().await, ["Create2 bob"]);
        assert_eq!(told.run(id, "ada").await.status, RunStatus::Failed);
    });
}

#[test]
fn without_its_wish_the_preparation_is_not_done_again() {
    // and with it, no phase begins until it is done.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        assert_eq!(told.succeed().await, ["Announce"]);
        let id = told.only_batch().await;
        told.place.publish(&RUNBOOK.replace("Announce", "Announce2")).await;
        assert!(told.all().await.is_empty());
        let rerun = json!({ "rerun_init": true });
        told.place.publish_with(&RUNBOOK.replace("Announce", "Announce3"), &rerun).await;
        assert_eq!(told.get(id).await.status, BatchStatus::InitDispatched);
        told.to(PREPARE_MS).await;
        let announce = told.all().await;
        assert_eq!(names(&announce), ["Announce3"], "the phase that is due waits");
        told.report(&announce[0], well(&announce[0])).await;
        assert_eq!(told.get(id).await.status, BatchStatus::Active);
        assert_eq!(names(&told.all().await), ["Create ada"]);
        let runs =
            told.place.world.store.batch_runs(id, Some(stepwell_core::run::BatchRole::Init), None);
        assert_eq!(runs.await.expect("reads").len(), 2, "both sets stand side by side");
    });
}

#[test]
fn a_preparation_that_fails_again_fails_the_batch() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        told.succeed().await;
        let id = told.only_batch().await;
        let rerun = json!({ "rerun_init": true });
        told.place.publish_with(&RUNBOOK.replace("Announce", "Announce2"), &rerun).await;
        assert_eq!(told.work(|_| broken()).await, ["Announce2"]);
        let batch = told.get(id).await;
        assert_eq!(batch.status, BatchStatus::Failed);
        assert!(batch.phases.iter().all(|phase| phase.status.is_terminal()));
        assert_eq!(told.run(id, "ada").await.status, RunStatus::Cancelled);
    });
}

#[test]
fn a_preparation_under_way_is_stopped_when_another_takes_its_place() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.rows(vec![row("ada", 1, START_MS)]);
        told.automate(true).await;
        let first = told.all().await.remove(0);
        let rerun = json!({ "rerun_init": true });
        told.place.publish_with(&RUNBOOK.replace("Announce", "Announce2"), &rerun).await;
        let id = told.only_batch().await;
        assert!(told.place.world.report(&first, well(&first)).await.is_err(), "it was stopped");
        assert_eq!(told.get(id).await.status, BatchStatus::InitDispatched);
        assert_eq!(told.succeed().await, ["Announce2"]);
        assert_eq!(told.get(id).await.status, BatchStatus::Active);
    });
}

#[test]
fn a_batch_found_later_skips_nothing() {
    // what is passed over is passed over in batches that were under way.
    story(async |told: Story| {
        begun(&told, &["ada"]).await;
        told.succeed().await;
        told.place.publish(&second()).await;
        let other_ms = START_MS + 60_000;
        told.rows(vec![row("ada", 1, START_MS), row("bob", 1, other_ms)]);
        told.to(PREPARE_MS + 120_000).await;
        told.pass().await;
        assert_eq!(told.succeed().await, ["Create2 bob"], "past due, and done");
        let batch = told.batches().await.pop().expect("two batches");
        assert_eq!(phases(&batch), ["prepare@2 completed", "cutover@2 pending"]);
        assert_eq!(
            batch.current_phases().filter(|it| it.status == PhaseStatus::Skipped).count(),
            0
        );
    });
}

#[test]
fn whoever_is_tried_again_late_does_what_began_under_every_version_since() {
    // the second version began a phase, the third only replaced what was to come.
    story(async |told: Story| {
        let id = begun(&told, &["ada", "bob"]).await;
        told.fail("ada").await;
        let newer = |suffix: &str| {
            longer()
                .replace("Switch", &format!("Switch{suffix}"))
                .replace("Tidy", &format!("Tidy{suffix}"))
        };
        told.place.publish(&newer("2")).await;
        told.to(START_MS).await;
        assert_eq!(told.succeed().await, ["Switch2 bob"]);
        told.place.publish(&newer("3")).await;
        let results = told.order(id, BatchOperation::Retry, keyed(&["ada"])).await;
        assert_eq!(code(&results[0]), "");
        assert_eq!(told.succeed().await, ["Create ada", "Switch2 ada"]);
        told.to(START_MS + DAY_MS).await;
        assert_eq!(told.succeed().await, ["Tidy3 ada", "Tidy3 bob"]);
        let batch = told.get(id).await;
        assert_eq!((batch.status, batch.tally.succeeded), (BatchStatus::Completed, 2));
    });
}

#[test]
fn a_batch_without_phases_left_waits_for_whoever_still_catches_up() {
    // the phase is over, and so is the timeline; a member is not.
    story(async |told: Story| {
        let id = begun(&told, &["ada"]).await;
        told.succeed().await;
        told.rows(vec![row("ada", 1, START_MS), row("late", 1, START_MS)]);
        told.pass().await;
        let create = told.all().await.remove(0);
        let shorter = PLAIN.split("  - name: cutover").next().expect("the first phase");
        told.place.publish(shorter).await;
        let batch = told.get(id).await;
        let expected = ["prepare@1 completed", "cutover@1 superseded", "prepare@2 skipped"];
        assert_eq!(phases(&batch), expected);
        assert_eq!(batch.status, BatchStatus::Active);
        told.report(&create, well(&create)).await;
        assert_eq!(told.get(id).await.status, BatchStatus::Completed);
    });
}
