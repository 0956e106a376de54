//! Whatever is given up is told with its letter, and telling of it never feeds itself.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_core::duration::Interval;
use stepwell_core::run::{Dialect, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use stepwell_engine::{EventSettings, Settings, Unusable};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{
    DeadLetter, DeadLetterFilter, EventFilter, EventPlace, NewDeadLetter, NewSubmission,
    Settlement, Store, Submission, Subscription,
};

use crate::webhooks::{may_call_here, receiver};
use crate::world::{THREE_STEPS, World, sqlite};

/// An engine that may call this machine, tries once, and logs what is told of every dialect.
async fn world(store: Arc<dyn Store>) -> World {
    let dialects =
        vec![Dialect::Runbooks, Dialect::Platform, Dialect::Workspaces, Dialect::Commands];
    let settings = Settings {
        webhook_tries_max: 1,
        events: EventSettings { dialects },
        ..Settings::default()
    };
    let world = World::with(store, settings, may_call_here()).await;
    world.publish(THREE_STEPS).await;
    world
}

/// Has an address told of everybody's events of these kinds.
async fn subscribe(world: &World, id: &str, to: SocketAddr, kinds: &[&str]) {
    let subscription = Subscription {
        id: id.to_owned(),
        tenant: None,
        dialects: Vec::new(),
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        url: format!("http://{to}/hook"),
        description: String::new(),
        enabled: true,
        actor: "tester".to_owned(),
        created_at: world.engine.now(),
    };
    world.engine.put_subscription(subscription).await.expect("stored");
}

/// An address at which nobody answers.
async fn nobody() -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("bound")
}

async fn letters(world: &World) -> Vec<DeadLetter> {
    world.store.dead_letters(DeadLetterFilter::default()).await.expect("lists")
}

/// What the log tells of letters.
async fn told(world: &World) -> Vec<Value> {
    let kinds = vec!["dead_letter.created".to_owned()];
    let filter = EventFilter { kinds, ..EventFilter::default() };
    let all = world.store.events(filter, EventPlace::default(), 1_000).await.expect("a log");
    all.events.iter().map(|it| serde_json::from_str(&it.event.body).expect("JSON")).collect()
}

/// Waits until nothing is left to be sent. What is given up goes in one step with what is told of it, so
/// there is no moment between the two.
async fn until_all_is_sent(world: &World) {
    let (later, keep) = (Timestamp::from_millis(i64::MAX), Interval::from_secs(0));
    while !world.store.outbox(later, keep, 1).await.expect("reads").due.is_empty() {
        tokio::task::yield_now().await;
    }
}

/// A run whose end is told.
async fn end_one(world: &World) {
    let run = world.start("three-steps").await;
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
}

fn why(message: &Submission, now: Timestamp) -> Option<NewDeadLetter> {
    Some(NewDeadLetter {
        first_error: None,
        reason: "Odd".to_owned(),
        step: None,
        error: StepError::new("odd", format!("{} is odd", message.message.workflow)),
        at: now,
    })
}

async fn keep_odd(world: &World, body: &str) {
    let odd = Unusable {
        queue: "odd",
        dialect: Dialect::Runbooks,
        about: "seven",
        body: body.as_bytes(),
        keep: Interval::from_secs(60),
    };
    world.engine.keep_unusable(odd, why).await.expect("kept");
}

#[tokio::test]
async fn a_message_that_nobody_took_is_told_to_the_others() {
    let place = tempfile::tempdir().expect("a place");
    for store in [Arc::new(MemoryStore::new()) as Arc<dyn Store>, sqlite(&place)] {
        let world = world(store).await;
        let (deaf_at, mut deaf) = receiver(&[StatusCode::GONE]).await;
        let (others_at, mut others) = receiver(&[]).await;
        subscribe(&world, "deaf", deaf_at, &["workflow_run_completed", "dead_letter.created"])
            .await;
        subscribe(&world, "others", others_at, &["dead_letter.created"]).await;
        end_one(&world).await;
        let end = deaf.recv().await.expect("it is told of the end").body;
        let heard = others.recv().await.expect("the others are told").body;
        assert_eq!(heard["type"], "stepwell.dead_letter.created");
        assert_eq!(heard["data"]["reason"], "webhook_undelivered");
        assert_eq!(heard["data"]["tenant_id"], "acme");
        assert_eq!(
            (&heard["data"]["dialect"], &heard["subject"]),
            (&json!("commands"), &end["subject"])
        );
        until_all_is_sent(&world).await;
        assert!(deaf.try_recv().is_err(), "an address is not told of what it did not take");
        assert_eq!(told(&world).await, [heard]);
        assert_eq!(letters(&world).await.len(), 1);
        world.engine.stop().await;
    }
}

// Two that are down tell each other of each other's failures, once; the letters of that are only logged.
#[tokio::test]
async fn addresses_that_are_down_do_not_feed_each_other() {
    let place = tempfile::tempdir().expect("a place");
    for store in [Arc::new(MemoryStore::new()) as Arc<dyn Store>, sqlite(&place)] {
        let world = world(store).await;
        for id in ["one", "other"] {
            let kinds = ["workflow_run_completed", "dead_letter.created"];
            subscribe(&world, id, nobody().await, &kinds).await;
        }
        end_one(&world).await;
        until_all_is_sent(&world).await;
        let letters = letters(&world).await;
        assert_eq!(letters.len(), 4, "each did not take the end, nor that the other did not");
        let told = told(&world).await;
        let ids: BTreeSet<String> = told.iter().map(|event| event["id"].to_string()).collect();
        assert_eq!((told.len(), ids.len()), (4, 4), "one event a letter: {told:?}");
        world.engine.stop().await;
    }
}

// an order that can never become a run is told with its letter, as the default tenant's.
#[tokio::test]
async fn an_order_that_nobody_can_read_is_told() {
    let place = tempfile::tempdir().expect("a place");
    for store in [Arc::new(MemoryStore::new()) as Arc<dyn Store>, sqlite(&place)] {
        let world = world(store).await;
        let (address, mut hears) = receiver(&[]).await;
        subscribe(&world, "all", address, &[]).await;
        let order = NewSubmission {
            queue: "dag-jobs".to_owned(),
            message_id: "m-1".to_owned(),
            workflow: String::new(),
            priority: 0,
            body: "?".to_owned(),
            enqueued_at: world.engine.now(),
            expires_at: world.engine.now().after(Interval::from_secs(60)),
        };
        world.engine.submit(vec![order]).await.expect("taken in");
        let heard = hears.recv().await.expect("it is told").body;
        let data = &heard["data"];
        assert_eq!((&data["reason"], &data["job_id"]), (&json!("MessageInvalid"), &Value::Null));
        assert_eq!((&data["tenant_id"], &data["dialect"]), (&json!("default"), &json!("platform")));
        assert_eq!(told(&world).await, [heard]);
        world.engine.stop().await;
    }
}

// a message that nobody can follow leaves one letter and one event, however often it is handed in.
#[tokio::test]
async fn the_same_useless_message_is_told_once() {
    let place = tempfile::tempdir().expect("a place");
    for store in [Arc::new(MemoryStore::new()) as Arc<dyn Store>, sqlite(&place)] {
        let world = world(store).await;
        let (address, mut hears) = receiver(&[]).await;
        subscribe(&world, "all", address, &[]).await;
        keep_odd(&world, "7").await;
        keep_odd(&world, "7").await;
        keep_odd(&world, "9").await;
        let first = hears.recv().await.expect("the first is told").body;
        let second = hears.recv().await.expect("the second is told").body;
        assert_eq!(
            (&first["data"]["reason"], &first["data"]["dialect"]),
            (&json!("Odd"), &json!("runbooks"))
        );
        assert_ne!(first["id"], second["id"]);
        assert_eq!(told(&world).await.len(), 2);
        let open = letters(&world).await;
        assert_eq!(open.len(), 2);
        // Once somebody has dealt with it, it is news again.
        let settlement = Settlement {
            at: world.engine.now(),
            actor: "ada".to_owned(),
            replayed_as: None,
            reason: "seen".to_owned(),
        };
        let first = open.last().expect("a letter").id;
        assert!(world.store.settle_dead_letter(first, settlement).await.expect("settled"));
        keep_odd(&world, "7").await;
        assert_eq!(told(&world).await.len(), 3);
        world.engine.stop().await;
    }
}
