//! Whoever asked to be told: counts the completion notices that arrive.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// A place that notices are sent to.
pub(super) struct Receiver {
    pub(super) url: String,
    received: Arc<Received>,
}

#[derive(Default)]
struct Received {
    /// how often each notice came, by the idempotency key of its job and the id of the event
    notices: Mutex<BTreeMap<String, BTreeMap<String, u32>>>,
    /// of how many jobs the end is known
    jobs: watch::Sender<usize>,
}

impl Receiver {
    pub(super) async fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/ended", listener.local_addr().expect("an address"));
        let received = Arc::new(Received::default());
        let app = Router::new().route("/ended", post(take)).with_state(Arc::clone(&received));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, received }
    }

    /// Waits until the end of so many jobs is known; how many it is in the end.
    pub(super) async fn until(&self, jobs: usize, patience: Duration) -> usize {
        let mut known = self.received.jobs.subscribe();
        let _ = tokio::time::timeout(patience, known.wait_for(|known| *known >= jobs)).await;
        *known.borrow()
    }

    /// How often each notice came, by the idempotency key of its job and the id of the event.
    pub(super) fn notices(&self) -> BTreeMap<String, BTreeMap<String, u32>> {
        self.received.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn take(State(received): State<Arc<Received>>, Json(event): Json<Value>) -> StatusCode {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let (key, id) = (text(&event["data"]["idempotency_key"]), text(&event["id"]));
    let mut notices = received.notices.lock().unwrap_or_else(PoisonError::into_inner);
    *notices.entry(key).or_default().entry(id).or_default() += 1;
    received.jobs.send_replace(notices.len());
    StatusCode::NO_CONTENT
}
