//! Who asked to be told of the end is told, once it is committed, until they have heard it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use stepwell_connectors::egress::{Policy, SignedHeaders, verify};
use stepwell_core::duration::Interval;
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use stepwell_engine::{Ask, Reply, Settings, Start};
use stepwell_store::memory::MemoryStore;
use tokio::sync::mpsc;

use crate::world::{NOON_MS, SECRET, THREE_STEPS, World};

/// What a receiver heard.
pub(crate) struct Heard {
    id: String,
    timestamp: String,
    signature: String,
    raw: Bytes,
    pub(crate) body: Value,
}

impl Heard {
    /// Which of these secrets it was signed with.
    pub(crate) fn signed_with(&self, secrets: &[&[u8]]) -> Vec<bool> {
        let Self { id, timestamp, signature, raw, .. } = self;
        let signed = SignedHeaders { id, timestamp, signature };
        let now_s = timestamp.parse().expect("a number");
        secrets.iter().map(|secret| verify(&[secret], signed, raw, now_s).is_ok()).collect()
    }
}

#[derive(Clone)]
struct Receiver {
    /// what to answer next; 200 when it is empty
    answers: Arc<Mutex<Vec<StatusCode>>>,
    heard: mpsc::UnboundedSender<Heard>,
    /// what everything must be signed with
    secret: Option<&'static [u8]>,
}

/// A receiver that checks the signature of everything it hears.
pub(crate) async fn receiver(
    answers: &[StatusCode],
) -> (SocketAddr, mpsc::UnboundedReceiver<Heard>) {
    receiver_with(answers, Some(SECRET)).await
}

/// A receiver that may leave it to the test to check signatures.
pub(crate) async fn receiver_with(
    answers: &[StatusCode],
    secret: Option<&'static [u8]>,
) -> (SocketAddr, mpsc::UnboundedReceiver<Heard>) {
    let (heard, hears) = mpsc::unbounded_channel();
    let answers = Arc::new(Mutex::new(answers.iter().rev().copied().collect()));
    let app =
        Router::new().route("/hook", post(hear)).with_state(Receiver { answers, heard, secret });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move { axum::serve(listener, app).await });
    (address, hears)
}

async fn hear(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers[name].to_str().expect("text").to_owned();
    let (id, timestamp, signature) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"));
    let body_read = serde_json::from_slice(&body).expect("JSON");
    let heard = Heard { id, timestamp, signature, raw: body, body: body_read };
    let ours = receiver.secret.is_none_or(|secret| heard.signed_with(&[secret]) == [true]);
    assert!(ours, "the signature is ours");
    let _ = receiver.heard.send(heard);
    receiver.answers.lock().expect("unpoisoned").pop().unwrap_or(StatusCode::OK)
}

/// This machine may be called, for the test.
pub(crate) fn may_call_here() -> Policy {
    Policy {
        allow_hosts: vec!["127.0.0.1".parse().expect("a host")],
        allow_private: vec!["127.0.0.0/8".parse().expect("a range")],
        allow_http: true,
        ports: (1..=u16::MAX).collect(),
        ..Policy::default()
    }
}

/// An engine that may call this machine.
async fn world(tries_max: u32) -> World {
    let settings = Settings { webhook_tries_max: tries_max, ..Settings::default() };
    let world = World::with(Arc::new(MemoryStore::new()), settings, may_call_here()).await;
    world.publish(THREE_STEPS).await;
    world
}

async fn start(world: &World, address: SocketAddr) -> stepwell_core::id::RunId {
    let mut header = world.header("three-steps", "acme").await;
    let url = format!("http://{address}/hook");
    header.context.insert("callback_urls".to_owned(), json!([url]));
    let start = Start { header: Arc::new(header), carried: vec![], key: None, tenant_cap: None };
    match world.engine.ask_one(Ask::Start(Box::new(start))).await {
        Ok(Reply::Started(run)) => run.id(),
        other => panic!("not started: {other:?}"),
    }
}

// the envelope's callback URLs are told of the end; a receiver that is busy is told again, with
// the same id, so that it can tell a repetition.
#[tokio::test]
async fn a_receiver_that_is_busy_is_told_again_under_the_same_id() {
    let (address, mut hears) = receiver(&[StatusCode::SERVICE_UNAVAILABLE]).await;
    let world = world(10).await;
    let run = start(&world, address).await;
    assert_eq!(world.work_off(run).await, RunStatus::Succeeded);
    let first = hears.recv().await.expect("it is told");
    assert_eq!(first.body["data"]["jobId"], json!(run.to_string()));
    assert_eq!(first.body["data"]["status"], json!("SUCCEEDED"));
    put_off(&world, 1).await;
    world.clock.advance(Duration::from_secs(5));
    let second = hears.recv().await.expect("it is told again");
    assert_eq!((second.id, second.body), (first.id, first.body));
    put_off(&world, 0).await;
}

// a receiver that says no for good leaves a dead letter; the run is as it was.
#[tokio::test]
async fn a_receiver_that_says_no_leaves_a_dead_letter() {
    let (address, mut hears) = receiver(&[StatusCode::GONE]).await;
    let world = world(10).await;
    let run = start(&world, address).await;
    world.work_off(run).await;
    hears.recv().await.expect("it is told");
    put_off(&world, 0).await;
    let letters = world.store.dead_letters(Default::default()).await.expect("reads");
    assert_eq!(letters[0].letter.reason, "webhook_undelivered");
    assert_eq!(world.run(run).await.status, RunStatus::Succeeded);
}

/// Waits until so many messages are left, none of them due now.
async fn put_off(world: &World, left: usize) {
    let (noon, later) = (Timestamp::from_millis(NOON_MS), Timestamp::from_millis(i64::MAX));
    loop {
        let keep = Interval::from_secs(0);
        let now = world.store.outbox(noon, keep, 10).await.expect("reads");
        let all = world.store.outbox(later, keep, 10).await.expect("reads");
        if all.due.len() == left && now.due.is_empty() {
            return;
        }
        tokio::task::yield_now().await;
    }
}
