//! A real server that takes signed notices, and what lets a site call it.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use stepwell_connectors::egress::{Policy, SignedHeaders, verify};
use tokio::sync::mpsc;

use crate::site::SECRET;

/// Where notices may be sent, and those that came to `/hook` with a signature that holds. At `/gone` nobody
/// takes anything.
pub(crate) struct Receiver {
    pub(crate) address: String,
    pub(crate) heard: mpsc::UnboundedReceiver<Value>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let gone = post(|| std::future::ready(StatusCode::GONE));
        let app = Router::new().route("/hook", post(hear)).route("/gone", gone).with_state(sender);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, heard }
    }
}

/// Lets a site call this machine.
pub(crate) fn policy() -> Policy {
    Policy {
        allow_hosts: vec!["127.0.0.1".parse().unwrap()],
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        allow_http: true,
        ports: (1..=u16::MAX).collect(),
        ..Policy::default()
    }
}

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
