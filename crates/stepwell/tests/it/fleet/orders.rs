//! Clients of the gateway: they submit orders under a key until one is accepted, and some twice.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::json;

use crate::crash::world::World;

/// Fan-out and fan-in: five nodes, three of them side by side. Short times, so that silence is healed
/// while the test watches; many attempts, so that jobs get through.
pub(super) const WORKFLOW: &str = "\
name: storm
timeout: 4s
retry: {max_attempts: 50, interval: 50ms}
steps:
  - {id: split, type: SPLIT, pool: storm}
  - {id: left, type: LEFT, pool: storm, after: [split]}
  - {id: middle, type: MIDDLE, pool: storm, after: [split]}
  - {id: right, type: RIGHT, pool: storm, after: [split]}
  - {id: join, type: JOIN, pool: storm, after: [left, middle, right]}
";

/// Submits jobs one after the other, not faster than one in every `pace`.
pub(super) async fn client(
    world: Arc<World>,
    numbers: Range<usize>,
    pace: Duration,
    callback_url: String,
    mut rng: StdRng,
) {
    // The pace of the orders is the subject of the test, not a wait for something.
    let mut pace = tokio::time::interval(pace);
    for number in numbers {
        pace.tick().await;
        submit(&world, &key(number), &callback_url, number).await;
        if rng.random_bool(0.1) {
            submit(&world, &key(number), &callback_url, number).await;
        }
    }
}

/// The idempotency key of a job.
pub(super) fn key(number: usize) -> String {
    format!("order-{number}")
}

/// Sends an order to any server until one has accepted it.
async fn submit(world: &World, key: &str, callback_url: &str, number: usize) {
    let order = json!({
        "workflow_id": "storm", "input_params": {"number": number}, "correlation_id": key,
        "idempotency_key": key, "priority": number % 11, "callback_url": callback_url,
    });
    loop {
        match world.answer(world.post("/api/platform/submit", &order)).await {
            Some((200, answer)) => {
                assert_eq!(answer["status"], "queued");
                return;
            }
            // No answer may mean that it was accepted: the key makes the repetition harmless.
            Some((429 | 500 | 503, _)) | None => {
                world.journal.book().tally.commands_repeated += 1;
                world.before_retry().await;
            }
            Some((status, answer)) => panic!("an order was answered with {status}: {answer}"),
        }
    }
}
