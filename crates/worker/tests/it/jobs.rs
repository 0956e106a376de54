//! Jobs of workspaces: one worker does all steps of an attempt.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_worker::{Directive, Outcome};
use tokio::sync::mpsc;

use crate::start;
use crate::world::World;

const THREE_STEPS: &str = "\
name: report
steps:
  - {id: fetch, type: FETCH, pool: workers}
  - {id: shape, type: SHAPE, pool: workers}
  - {id: write, type: WRITE, pool: workers}
";

async fn job(world: &World) -> String {
    let body = json!({"workflow_id": "report", "user_id": "ada"});
    let answer = world.post("/v1/workspaces/acme/jobs", &body).await;
    answer["job_id"].as_str().expect("a job").to_owned()
}

async fn record(world: &World, job: &str) -> Value {
    world.get(&format!("/v1/workspaces/acme/jobs/{job}")).await
}

// C-038, X-118: one message for the attempt, and every step of it done once, by one worker, in order.
#[tokio::test]
async fn a_worker_goes_from_step_to_step_of_a_job() {
    let world = World::start().await;
    world.publish(THREE_STEPS).await;
    let id = job(&world).await;
    let (done, mut steps) = mpsc::unbounded_channel();
    // It takes no word of acks, and takes a job all the same.
    let worker = start(world.worker().acknowledge(false), move |directive: Directive| {
        let attempt = &directive.attempt;
        let key = directive.more["idempotency_key"].as_str().map(str::to_owned);
        let _ = done.send((attempt.step_id.clone(), attempt.job_id.clone(), key));
        async { Outcome::succeeded(json!({})) }
    });
    world.ended(&id).await;
    for (index, step) in ["fetch", "shape", "write"].into_iter().enumerate() {
        let key = format!("{id}:{index}");
        assert_eq!(steps.recv().await, Some((step.to_owned(), id.clone(), Some(key))));
    }
    let record = record(&world, &id).await;
    assert_eq!((&record["status"], &record["attempts"]), (&json!("completed"), &json!(1)));
    let tally = worker.stop().await;
    assert_eq!((tally.applied, tally.refused, tally.lost), (3, 0, 0));
}

// a worker that gives signs of life is told by them when the job is canceled.
#[tokio::test]
async fn work_on_a_job_that_was_canceled_is_dropped() {
    let world = World::start().await;
    world.publish(THREE_STEPS).await;
    let id = job(&world).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let worker = start(world.worker().visibility(Duration::from_secs(1)), move |_: Directive| {
        let _ = begun.send(());
        std::future::pending()
    });
    has_begun.recv().await.expect("the work begins");
    world.post(&format!("/v1/workspaces/acme/jobs/{id}:cancel"), &json!({})).await;
    // The slot is free again only once the work was dropped.
    let next = job(&world).await;
    has_begun.recv().await.expect("the next job begins");
    assert_eq!(record(&world, &next).await["status"], "running");
    assert_eq!(record(&world, &id).await["status"], "canceled");
    drop(worker);
}

// C-020, C-029: what a worker cannot finish is a failed attempt, at once and not after a silence.
#[tokio::test]
async fn a_worker_that_passes_a_job_on_ends_the_attempt() {
    let world = World::start().await;
    world.publish(THREE_STEPS).await;
    let id = job(&world).await;
    let (called, mut calls) = mpsc::unbounded_channel();
    let worker = start(world.worker(), {
        let count = Arc::new(AtomicU32::new(0));
        move |_: Directive| {
            let first = count.fetch_add(1, Ordering::SeqCst) == 0;
            let _ = called.send(());
            async move {
                if first {
                    Outcome::succeeded(json!({}))
                } else {
                    Outcome::GivenBack { delay: Duration::ZERO }
                }
            }
        }
    });
    for _ in 0..2 {
        calls.recv().await.expect("the step begins");
    }
    let tally = worker.stop().await;
    assert_eq!((tally.applied, tally.given_back), (2, 0));
    let record = record(&world, &id).await;
    assert_eq!((&record["status"], &record["step_cursor"]), (&json!("failed"), &json!(1)));
    assert_eq!(record["last_error_code"], "given_back");
}

// C-011, X-127: what a function says that its steps have cost is in the ledger, to the millionth, also when
// they failed; a sum that no double holds exactly is no reason to refuse the report.
#[tokio::test]
async fn what_a_job_has_cost_is_taken_from_its_workspace() {
    let world = World::start().await;
    world.publish(THREE_STEPS).await;
    let grant = json!({"amount": 10, "reason": "for a test"});
    world.post("/v1/workspaces/acme/credits/grants", &grant).await;
    let id = job(&world).await;
    let worker = start(world.worker(), async |directive: Directive| {
        match directive.attempt.step_id.as_str() {
            "fetch" => Outcome::succeeded(json!({})).credits_spent(0.1 + 0.2),
            "shape" => Outcome::succeeded(json!({})),
            _ => Outcome::failed("no_printer", "there is none").credits_spent(1.25),
        }
    });
    world.ended(&id).await;
    let record = record(&world, &id).await;
    assert_eq!((&record["status"], &record["credits_spent"]), (&json!("dead"), &json!(1.55)));
    let ledger = world.get(&format!("/v1/workspaces/acme/credits/ledger?job_id={id}")).await;
    let movements = ledger["items"].as_array().expect("a list").iter();
    let spent: Vec<&Value> = movements.map(|line| &line["spent"]).filter(|it| **it != 0).collect();
    assert_eq!(spent, [&json!(1.25), &json!(0.3)], "{ledger}");
    worker.stop().await;
}
