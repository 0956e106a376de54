//! Orders from the queue become runs, each exactly once, and each is settled once.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;
use stepwell_store::memory::MemoryStore;
use stepwell_store::{DeadLetter, DeadLetterFilter, Filter, NewSubmission, Page, RunSummary};

use crate::faulty::{Fault, Faulty};
use crate::world::{THREE_STEPS, World, sqlite};

const ALL: Page = Page { before: None, limit: 1_000 };

fn order(world: &World, message_id: &str, body: &Value) -> NewSubmission {
    let mut body = body.clone();
    body["message_id"] = json!(message_id);
    NewSubmission {
        queue: "dag-jobs".to_owned(),
        message_id: message_id.to_owned(),
        workflow: body["workflow_id"].as_str().unwrap_or_default().to_owned(),
        priority: 0,
        body: body.to_string(),
        enqueued_at: world.engine.now(),
        expires_at: world.engine.now().after(Interval::from_secs(86_400)),
    }
}

async fn runs(world: &World) -> Vec<RunSummary> {
    world.store.runs(Filter::default(), ALL).await.expect("lists")
}

async fn letters(world: &World) -> Vec<DeadLetter> {
    world.store.dead_letters(DeadLetterFilter::default()).await.expect("lists")
}

/// Waits until nothing is left in the queue, whoever has it.
async fn until_drained(world: &World, message_id: &str) {
    let probe = order(world, message_id, &json!({ "workflow_id": "none" }));
    // A message of the same id is taken in only when the one before is settled.
    while !world.store.submit(vec![probe.clone()]).await.expect("answers")[0] {
        tokio::task::yield_now().await;
    }
}

// B-018, B-048, B-049, B-072, X-099: a message becomes one owned job; its repetition none.
#[tokio::test]
async fn an_order_becomes_a_run_once() {
    let place = tempfile::tempdir().expect("a place");
    let world = World::on(sqlite(&place)).await;
    world.publish(THREE_STEPS).await;
    let body = json!({
        "workflow_id": "three-steps", "input_params": {"document": "d-1"},
        "correlation_id": "case-7", "submitted_by": "platform-gateway", "idempotency_key": "once",
        "priority": 7,
    });
    let first = order(&world, "m-1", &body);
    assert_eq!(world.engine.submit(vec![first]).await.expect("taken in"), [true]);
    let taken = world.take_one().await;
    until_drained(&world, "m-1").await;
    assert_eq!(taken.run.header.dialect, Dialect::Platform);
    assert_eq!(taken.run.header.correlation_id.as_deref(), Some("case-7"));
    assert_eq!((taken.run.header.priority, &taken.run.header.actor[..]), (7, "platform-gateway"));
    let again = order(&world, "m-2", &body);
    world.engine.submit(vec![again]).await.expect("taken in");
    until_drained(&world, "m-2").await;
    assert_eq!(runs(&world).await.len(), 1, "the key was known");
    assert_eq!(world.engine.stats().jobs_claimed, 1);
}

// B-034, X-109: without a key the message id makes a repetition recognizable.
#[tokio::test]
async fn the_same_message_again_is_the_same_run() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let body = json!({ "workflow_id": "three-steps" });
    for _ in 0..2 {
        world.engine.submit(vec![order(&world, "m-1", &body)]).await.expect("taken in");
        until_drained(&world, "m-1").await;
    }
    assert_eq!(runs(&world).await.len(), 1);
}

// B-015, B-047, X-098, X-108: what can never become a run is kept with its reason, and not retried.
#[tokio::test]
async fn an_order_that_cannot_become_a_run_is_a_dead_letter() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let unknown = order(&world, "m-1", &json!({ "workflow_id": "no-such-workflow" }));
    let broken = NewSubmission { body: "{broken".to_owned(), ..order(&world, "m-2", &json!({})) };
    let expired = NewSubmission {
        expires_at: world.engine.now(),
        ..order(&world, "m-3", &json!({ "workflow_id": "three-steps" }))
    };
    for (id, order) in [("m-1", unknown), ("m-2", broken), ("m-3", expired)] {
        world.engine.submit(vec![order]).await.expect("taken in");
        until_drained(&world, id).await;
    }
    let letters = letters(&world).await;
    // The probes of `until_drained` name no workflow that exists either.
    let of = |message: &str| {
        let found = letters
            .iter()
            .rev()
            .find(|letter| letter.message.as_ref().is_some_and(|body| body.contains(message)));
        found.map(|letter| (&letter.letter.reason[..], &letter.letter.error.message[..]))
    };
    let (reason, why) = of("no-such-workflow").expect("kept");
    assert_eq!(reason, "WorkflowNotFound");
    assert!(why.contains("no-such-workflow"), "the description names the workflow: {why}");
    assert_eq!(of("{broken").expect("kept").0, "MessageInvalid");
    assert_eq!(of("three-steps").expect("kept").0, "MessageExpired");
    assert!(runs(&world).await.is_empty());
}

// B-050: a failure while creating gives the message back; nothing is lost and nothing is doubled.
#[tokio::test]
async fn a_failed_creation_is_tried_again() {
    let faulty = Faulty::new(Arc::new(MemoryStore::new()));
    let world = World::on(Arc::clone(&faulty) as _).await;
    world.publish(THREE_STEPS).await;
    faulty.fail_next(&[Fault::WrittenButUnknown]);
    let body = json!({ "workflow_id": "three-steps" });
    world.engine.submit(vec![order(&world, "m-1", &body)]).await.expect("taken in");
    while world.engine.stats().errors == 0 {
        tokio::task::yield_now().await;
    }
    world.clock.advance(Duration::from_secs(2));
    until_drained(&world, "m-1").await;
    assert_eq!(runs(&world).await.len(), 1, "the second try found what the first had made");
}
