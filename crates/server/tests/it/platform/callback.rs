//! Who asked to be told of the end is told.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use stepwell_connectors::egress::{Policy, SignedHeaders, verify};
use tokio::sync::mpsc;

use super::{DIAMOND, job, submit};
use crate::site::{SECRET, Site};

/// Takes a notice whose signature holds.
async fn hear(
    State(heard): State<mpsc::UnboundedSender<Value>>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let header = |name: &str| headers[name].to_str().unwrap();
    let signed = SignedHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    verify(&[SECRET], signed, &body, signed.timestamp.parse().unwrap()).unwrap();
    heard.send(serde_json::from_slice(&body).unwrap()).unwrap();
    StatusCode::NO_CONTENT
}

/// A site that may call this machine, for the test.
async fn site() -> Site {
    let site = Site::calling(Policy {
        allow_hosts: vec!["127.0.0.1".parse().unwrap()],
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        allow_http: true,
        ports: (1..=u16::MAX).collect(),
        ..Policy::default()
    });
    let site = site.await;
    site.publish(DIAMOND).await;
    site
}

// the callback URL of an order is kept through the queue, and told of the end, signed.
#[tokio::test]
async fn the_callback_url_of_an_order_is_told_of_the_end() {
    let (sender, mut heard) = mpsc::unbounded_channel();
    let app = Router::new().route("/done", post(hear)).with_state(sender);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/done", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let site = site().await;
    let answer = submit(&site, &json!({"correlation_id": "c-1", "callback_url": url})).await;
    let job = job(&site, "correlation_id=c-1").await;
    let directive = site.lease("io").await;
    site.report(&directive, "FAILED_FINAL").await;
    let event = heard.recv().await.unwrap();
    let data = &event["data"];
    assert_eq!((&data["job_id"], &data["status"]), (&job["job_id"], &json!("failed")));
    assert_eq!(data["message_id"], answer["message_id"]);
    assert_eq!(data["correlation_id"], "c-1");
}
