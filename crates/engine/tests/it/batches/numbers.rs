//! Results that name their job by number.

use serde_json::{Value, json};
use stepwell_core::id::BatchId;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_dialects::runbooks::outcome::{WorkerResult, read};
use stepwell_engine::NumberedReport;

use super::story::{PREPARE_MS, Story, names, story, well};
use super::world::{RUNBOOK, START_MS};
use crate::world::failure;

/// A result as it comes over the wire.
fn result(job_id: &str, execution: &str, more: Value) -> WorkerResult {
    let mut body = json!({
        "JobId": job_id,
        "Status": "Success",
        "Result": { "target": "t-1" },
        "CorrelationData": { "StepExecutionId": execution.parse::<i64>().expect("a number") },
    });
    for (key, value) in more.as_object().expect("an object") {
        body[key] = value.clone();
    }
    read(body.to_string().as_bytes()).expect("a sound result")
}

/// The number of a step of a member's newest run, as it stands in job ids.
async fn execution(told: &Story, id: BatchId, key: &str, step: u16) -> String {
    use stepwell_dialects::runbooks::message::StepExecutionId;
    let membership = told.run(id, key).await.header.membership.expect("of a batch");
    StepExecutionId::of(membership.number, stepwell_core::id::StepIndex(step)).to_string()
}

async fn report(told: &Story, result: &WorkerResult) -> NumberedReport {
    let reported = told.place.world.engine.report_numbered(result).await.expect("answers");
    told.rest().await;
    reported
}

#[test]
fn a_result_counts_only_for_the_job_that_is_under_way() {
    // a late result of one attempt does not settle the next.
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let id = told.place.batch(&["ada"]).await;
        told.succeed().await;
        told.to(START_MS).await;
        told.work(|taken| {
            if names(std::slice::from_ref(taken)) == ["Switch ada"] {
                failure(true)
            } else {
                well(taken)
            }
        })
        .await;
        told.later(5).await;
        assert_eq!(told.all().await[0].directive.attempt, 2);
        let number = execution(&told, id, "ada", 2).await;
        let first = result(&format!("step-{number}-attempt-1"), &number, json!({}));
        let ignored = report(&told, &first).await;
        assert!(matches!(ignored, NumberedReport::Ignored(_)), "{ignored:?}");
        assert_eq!(told.run(id, "ada").await.steps[2].status, StepStatus::Dispatched);
        let second = result(&format!("step-{number}-retry-1"), &number, json!({}));
        assert_eq!(report(&told, &second).await, NumberedReport::Accepted);
        assert_eq!(told.run(id, "ada").await.status, RunStatus::Succeeded);
        let again = report(&told, &second).await;
        assert!(matches!(again, NumberedReport::Ignored(_)), "{again:?}");
    });
}

#[test]
fn the_same_result_twice_at_once_counts_once() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let id = told.place.batch(&["ada"]).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        told.all().await;
        let number = execution(&told, id, "ada", 0).await;
        let done = result(&format!("step-{number}-attempt-1"), &number, json!({}));
        let engine = &told.place.world.engine;
        let (one, other) =
            tokio::join!(engine.report_numbered(&done), engine.report_numbered(&done));
        let reports = [one.expect("answers"), other.expect("answers")];
        let counted = reports.iter().filter(|report| **report == NumberedReport::Accepted).count();
        assert_eq!(counted, 1, "{reports:?}");
        assert_eq!(names(&told.all().await), ["Copy ada"], "and the next step is dispatched once");
    });
}

#[test]
fn questions_of_a_poll_have_numbers_of_their_own() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let id = told.place.batch(&["ada"]).await;
        told.succeed().await;
        told.to(PREPARE_MS).await;
        let create = told.all().await.remove(0);
        told.report(&create, well(&create)).await;
        told.all().await;
        let number = execution(&told, id, "ada", 1).await;
        let unfinished = json!({ "Result": { "complete": false } });
        let first = result(&format!("step-{number}-attempt-1"), &number, unfinished);
        assert_eq!(report(&told, &first).await, NumberedReport::Accepted);
        assert_eq!(told.run(id, "ada").await.steps[1].status, StepStatus::Polling);
        told.later(1).await;
        assert_eq!(names(&told.all().await), ["Copy ada"]);
        let ignored = report(&told, &first).await;
        assert!(matches!(ignored, NumberedReport::Ignored(_)), "{ignored:?}");
        let asked = result(&format!("step-{number}-attempt-1-poll-1"), &number, json!({}));
        assert_eq!(report(&told, &asked).await, NumberedReport::Accepted);
        assert_eq!(told.run(id, "ada").await.steps[1].status, StepStatus::Succeeded);
    });
}

#[test]
fn a_number_that_nothing_has_is_unknown_and_no_error() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        told.place.batch(&["ada"]).await;
        told.rest().await;
        let unknown = result("step-999424-attempt-1", "999424", json!({}));
        assert_eq!(report(&told, &unknown).await, NumberedReport::Unknown);
        let unknown = result("removal-77-1", "999424", json!({}));
        assert_eq!(report(&told, &unknown).await, NumberedReport::Unknown);
    });
}

#[test]
fn rollbacks_and_removals_are_reported_by_number_too() {
    //
    story(async |told: Story| {
        told.place.publish(RUNBOOK).await;
        let members = vec![super::world::member("ada"), super::world::member("bob")];
        let engine = &told.place.world.engine;
        let id = engine.create_batch("move", members, "lead").await.expect("made").id();
        let advance = || stepwell_core::batch::BatchCommand::Advance { by: super::story::by() };
        told.command(id, advance()).await.expect("init");
        told.succeed().await;
        told.command(id, advance()).await.expect("prepare");
        let create = told.all().await;
        for create in create {
            told.report(&create, well(&create)).await;
        }
        let copies = told.all().await;
        let copy = copies.iter().find(|it| super::story::user(it) == "ada").expect("taken");
        told.report(copy, failure(false)).await;
        assert_eq!(names(&told.all().await), ["Revert ada"]);
        let failed = execution(&told, id, "ada", 1).await;
        let undone = result(&format!("rollback-{failed}-1"), &failed, json!({}));
        assert_eq!(report(&told, &undone).await, NumberedReport::Accepted);
        let undoing = told.run(id, "ada").await.steps[1].compensation.expect("recorded");
        assert_eq!(told.place.world.run(undoing).await.status, RunStatus::Succeeded);

        let bob = told.member(id, "bob").await.id;
        told.place.world.engine.remove_member(id, bob, "lead").await.expect("removed");
        let forget = told.all().await.remove(0);
        let membership = forget.run.header.membership.expect("of a batch");
        let number = stepwell_dialects::runbooks::message::StepExecutionId::of(
            membership.number,
            forget.directive.step,
        );
        let job = format!("removal-{bob}-1");
        let forgotten = result(&job, &number.to_string(), json!({}));
        assert_eq!(report(&told, &forgotten).await, NumberedReport::Accepted);
        assert_eq!(told.place.world.run(forget.run.id()).await.status, RunStatus::Succeeded);
    });
}
