//! A worker against a real server: same process, real sockets, real store.

mod items;
mod jobs;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_worker::{ClientError, Directive, Outcome, Tally, Worker};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;

use world::World;

/// Runs a worker of the pool until it is told to stop.
fn start<H: stepwell_worker::Handler>(worker: Worker, handler: H) -> Running {
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = stopped.await;
    };
    Running { stop, task: tokio::spawn(worker.run(handler, shutdown)) }
}

struct Running {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<Tally, ClientError>>,
}

impl Running {
    async fn stop(self) -> Tally {
        let _ = self.stop.send(());
        self.task.await.expect("no panic").expect("the server let it work")
    }
}

fn done() -> Outcome {
    Outcome::succeeded(json!({}))
}

// D-034, D-036: what a function returns becomes the result of its step.
#[tokio::test]
async fn many_directives_are_worked_on_at_once_and_each_is_reported() {
    let world = World::start().await;
    let jobs = world.submit_many(40).await;
    let worker = start(world.worker().concurrency(16), async |directive: Directive| {
        Outcome::succeeded(json!({ "double": directive.payload["number"].as_u64().map(|n| n * 2) }))
    });
    for (number, job) in jobs.iter().enumerate() {
        assert_eq!(world.ended(job).await, "SUCCEEDED");
        assert_eq!(world.step(job).await["result"]["double"], number * 2);
    }
    let tally = worker.stop().await;
    assert_eq!(tally, Tally { applied: 40, ..Tally::default() });
}

// a panic says nothing about the next attempt, so there is one.
#[tokio::test]
async fn a_function_that_panics_is_tried_again() {
    let world = World::start().await;
    let job = world.submit(1).await;
    let worker = start(world.worker(), async |directive: Directive| {
        assert!(directive.attempt.attempt_no > 1, "the first attempt panics");
        done()
    });
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    let step = world.step(&job).await;
    assert_eq!(step["attempts"][0]["error"]["code"], "worker_panicked");
    worker.stop().await;
}

#[tokio::test]
async fn work_that_takes_longer_than_its_visibility_stays_with_its_worker() {
    let world = World::start().await;
    let job = world.submit(1).await;
    let calls = Arc::new(AtomicU32::new(0));
    let worker = start(world.worker().visibility(Duration::from_secs(1)).concurrency(2), {
        let calls = Arc::clone(&calls);
        move |_: Directive| {
            calls.fetch_add(1, Ordering::SeqCst);
            async {
                // The work itself: longer than the delivery would be kept without a heartbeat.
                tokio::time::sleep(Duration::from_millis(2_500)).await;
                done()
            }
        }
    });
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    worker.stop().await;
}

/// Says so when it is dropped.
struct Dropped(mpsc::UnboundedSender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

// D-038: when a person overrides the step, the worker is told to stop.
#[tokio::test]
async fn work_that_is_no_longer_wanted_is_dropped() {
    let world = World::start().await;
    let job = world.submit(1).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let (dropped, mut was_dropped) = mpsc::unbounded_channel();
    let worker = start(world.worker().visibility(Duration::from_secs(1)), move |_: Directive| {
        let (begun, guard) = (begun.clone(), Dropped(dropped.clone()));
        async move {
            let _guard = guard;
            let _ = begun.send(());
            std::future::pending().await
        }
    });
    has_begun.recv().await.expect("the work begins");
    world.post(&format!("/v1/jobs/{job}/steps/work:skip"), &json!({})).await;
    was_dropped.recv().await.expect("the work is dropped");
    assert_eq!(worker.stop().await.lost, 1);
}

#[tokio::test]
async fn a_worker_that_stops_finishes_its_work_and_takes_nothing_new() {
    let world = World::start().await;
    let job = world.submit(1).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let finish = Arc::new(Notify::new());
    let worker = start(world.worker(), {
        let finish = Arc::clone(&finish);
        move |_: Directive| {
            let (begun, finish) = (begun.clone(), Arc::clone(&finish));
            async move {
                let _ = begun.send(());
                finish.notified().await;
                done()
            }
        }
    });
    has_begun.recv().await.expect("the work begins");
    let later = world.submit(2).await;
    let Running { stop, task } = worker;
    stop.send(()).expect("the worker listens");
    finish.notify_one();
    assert_eq!(task.await.expect("no panic").expect("it may work").applied, 1);
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    assert_eq!(world.job(&later).await["steps"][0]["status"], "INITIATED");
}

#[tokio::test]
async fn work_that_does_not_end_in_time_is_given_back_at_once() {
    let world = World::start().await;
    let job = world.submit(1).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let worker = start(world.worker().drain(Duration::ZERO), move |_: Directive| {
        let begun = begun.clone();
        async move {
            let _ = begun.send(());
            std::future::pending().await
        }
    });
    has_begun.recv().await.expect("the work begins");
    assert_eq!(worker.stop().await.given_back, 1);
    let other = start(world.worker(), async |_: Directive| done());
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    assert_eq!(world.step(&job).await["attempt_no"], 1, "giving back costs no attempt");
    other.stop().await;
}

// D-045: a result that was finished while the server was away counts when it is back.
#[tokio::test]
async fn a_result_outlives_a_restart_of_the_server() {
    let mut world = World::start().await;
    let job = world.submit(1).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let finish = Arc::new(Notify::new());
    let worker = start(world.worker(), {
        let finish = Arc::clone(&finish);
        move |_: Directive| {
            let (begun, finish) = (begun.clone(), Arc::clone(&finish));
            async move {
                let _ = begun.send(());
                finish.notified().await;
                done()
            }
        }
    });
    has_begun.recv().await.expect("the work begins");
    world.stop().await;
    finish.notify_one();
    world.start_again().await;
    // The restarted server forgot who holds the directive, so the same attempt may be handed out
    // again; whichever report comes first counts, and the other is refused.
    finish.notify_one();
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    assert_eq!(world.step(&job).await["attempt_no"], 1);
    assert_eq!(worker.stop().await.applied, 1);
}

#[tokio::test]
async fn a_token_that_may_not_work_ends_the_worker_with_the_reason() {
    let world = World::start().await;
    let viewer = world.token("viewer").await;
    let client = world.client(&viewer);
    let worker = start(Worker::new(client, world::POOL), async |_: Directive| done());
    let error = worker.task.await.expect("no panic").expect_err("a viewer does not work");
    assert!(matches!(error, ClientError::Refused { status: 403, .. }), "{error}");
}

// D-033: every field of the contract reaches the function.
#[tokio::test]
async fn a_function_sees_the_whole_directive() {
    let world = World::start().await;
    let job = world.submit(7).await;
    let (seen, mut was_seen) = mpsc::unbounded_channel();
    let worker = start(world.worker(), move |directive: Directive| {
        let _ = seen.send(serde_json::to_value(&directive));
        async { done() }
    });
    let directive: Value = was_seen.recv().await.expect("it comes").expect("it is JSON");
    for field in ["tenant_id", "protocol_id", "step_type", "lease_id", "input_ref", "output_ref"] {
        assert!(directive[field].is_string(), "{field} in {directive}");
    }
    assert_eq!(directive["jobId"], job.as_str());
    assert_eq!(directive["payload"], json!({ "number": 7 }));
    assert!(directive["callback_urls"]["result"].is_string());
    worker.stop().await;
}
