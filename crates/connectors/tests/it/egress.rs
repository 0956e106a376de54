//! The guarded client against a real server on this machine.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use stepwell_connectors::bus::Answer;
use stepwell_connectors::egress::{
    Delivered, Egress, EgressError, Policy, Refusal, Resolver, SignedHeaders, Webhook, verify,
};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;

const SECRET: &[u8] = b"a secret of the receiver";
const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const INSIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// Serves until the test's runtime ends.
async fn serve(router: Router) -> u16 {
    let listener = TcpListener::bind(SocketAddr::new(LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

fn answering(answer: fn() -> Response<Body>) -> Router {
    Router::new().route("/hook", post(move || async move { answer() }))
}

fn with_status(status: u16) -> Response<Body> {
    Response::builder().status(status).body(Body::from("said the server")).unwrap()
}

/// Allows this machine's server and nothing else inside.
fn policy(port: u16) -> Policy {
    Policy {
        allow_hosts: vec!["*".parse().unwrap()],
        allow_http: true,
        allow_private: vec![LOOPBACK.into()],
        ports: vec![port],
        ..Policy::default()
    }
}

async fn call(egress: &Egress, url: &str) -> Result<Delivered, EgressError> {
    let body = &Bytes::from_static(b"{}");
    let webhook = Webhook { id: "msg_1", timestamp_s: 1_700_000_000, body, secrets: &[SECRET] };
    egress.post_signed(url, webhook).await
}

async fn call_server(answer: fn() -> Response<Body>) -> Result<Delivered, EgressError> {
    let port = serve(answering(answer)).await;
    call(&Egress::new(policy(port)).unwrap(), &format!("http://127.0.0.1:{port}/hook")).await
}

/// Gives its answers in turn, whatever the name, and counts how often it is asked.
struct Scripted {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
}

impl Scripted {
    fn new(answers: &[&[IpAddr]]) -> Arc<Self> {
        let answers = answers.iter().map(|addresses| addresses.to_vec()).collect();
        Arc::new(Self { answers: Mutex::new(answers) })
    }

    fn left(&self) -> usize {
        self.answers.lock().unwrap().len()
    }
}

impl Resolver for Scripted {
    fn resolve(&self, _host: String) -> Answer<'static, io::Result<Vec<IpAddr>>> {
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(async { answer.ok_or_else(|| io::Error::other("no such name")) })
    }
}

// X-100: a completion notice arrives, signed.
#[tokio::test]
async fn a_webhook_arrives_signed_over_the_bytes_that_arrive() {
    let (sender, mut received) = mpsc::unbounded_channel();
    let take = move |headers: HeaderMap, body: Bytes| async move {
        sender.send((headers, body)).unwrap();
        StatusCode::ACCEPTED
    };
    let port = serve(Router::new().route("/hook", post(take))).await;
    let body = &Bytes::from_static(br#"{"status":  "succeeded"}"#);
    let secrets: &[&[u8]] = &[b"old", SECRET];
    let webhook = Webhook { id: "msg_7", timestamp_s: 1_700_000_000, body, secrets };
    let egress = Egress::new(policy(port)).unwrap();
    let url = format!("http://127.0.0.1:{port}/hook");
    assert_eq!(egress.post_signed(&url, webhook).await.unwrap().status, 202);

    let (headers, body) = received.recv().await.unwrap();
    let header = |name: &str| headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("webhook-id"), "msg_7");
    let signed = SignedHeaders {
        id: header("webhook-id"),
        timestamp: header("webhook-timestamp"),
        signature: header("webhook-signature"),
    };
    assert_eq!(verify(&[SECRET], signed, &body, 1_700_000_010), Ok(()));
}

#[tokio::test]
async fn an_answer_is_sorted_by_what_to_do_next() {
    let delivered = call_server(|| with_status(200)).await.unwrap();
    assert_eq!((delivered.status, &delivered.answer[..]), (200, &b"said the server"[..]));

    let busy = call_server(|| {
        let mut answer = with_status(429);
        answer.headers_mut().insert("retry-after", "120".parse().unwrap());
        answer
    });
    let error = busy.await.unwrap_err();
    assert!(error.is_retryable());
    let retry_after = Some(Duration::from_secs(120));
    assert!(
        matches!(error, EgressError::Busy { status: 429, retry_after: it } if it == retry_after)
    );

    let error = call_server(|| with_status(503)).await.unwrap_err();
    assert!(matches!(error, EgressError::Busy { status: 503, retry_after: None }));

    let error = call_server(|| with_status(410)).await.unwrap_err();
    assert!(!error.is_retryable());
    assert!(matches!(error, EgressError::Rejected { status: 410, .. }));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let error = call_server(|| {
        let mut answer = with_status(307);
        answer.headers_mut().insert("location", "http://169.254.169.254/".parse().unwrap());
        answer
    });
    assert!(matches!(error.await, Err(EgressError::Rejected { status: 307, .. })));
}

#[tokio::test]
async fn an_endless_answer_is_cut_and_its_status_counts() {
    let port = serve(answering(|| Response::new(Body::from(vec![b'x'; 4_000_000])))).await;
    let egress = Egress::new(Policy { answer_max: 1_000, ..policy(port) }).unwrap();
    let delivered = call(&egress, &format!("http://127.0.0.1:{port}/hook")).await.unwrap();
    assert_eq!(delivered.answer.len(), 1_000);
}

#[tokio::test]
async fn a_silent_server_is_a_timeout_and_a_closed_port_is_unavailable() {
    let listener = TcpListener::bind(SocketAddr::new(LOOPBACK, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let total_timeout = Duration::from_millis(50);
    let egress = Egress::new(Policy { total_timeout, ..policy(port) }).unwrap();
    let url = format!("http://127.0.0.1:{port}/hook");
    let error = call(&egress, &url).await.unwrap_err();
    assert!(matches!(error, EgressError::Timeout(_)) && error.is_retryable(), "{error:?}");

    // Bound and not listening: the port is taken from other tests, and refuses connections.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind(SocketAddr::new(LOOPBACK, 0)).unwrap();
    let port = closed.local_addr().unwrap().port();
    let egress = Egress::new(policy(port)).unwrap();
    let url = format!("http://127.0.0.1:{port}/hook");
    let error = call(&egress, &url).await.unwrap_err();
    assert!(matches!(error, EgressError::Unavailable(_)) && error.is_retryable(), "{error:?}");
}

// X-141: the address is judged when the connection is made, not only the text of the URL.
#[tokio::test]
async fn a_name_that_resolves_inside_is_refused_at_the_connection() {
    let egress = Egress::with_resolver(policy(80), Scripted::new(&[&[INSIDE]])).unwrap();
    let url = "http://harmless.example:80/hook";
    assert_eq!(egress.check(url), Ok(()), "its text is harmless");
    let error = call(&egress, url).await.unwrap_err();
    let EgressError::Refused(Refusal::Address { host, address, kind }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((&*host, address, kind), ("harmless.example", INSIDE, "private"));
}

#[tokio::test]
async fn one_inside_address_among_others_spoils_a_name() {
    let port = serve(answering(|| with_status(200))).await;
    let resolver = Scripted::new(&[&[LOOPBACK, INSIDE]]);
    let egress = Egress::with_resolver(policy(port), resolver).unwrap();
    let answer = call(&egress, &format!("http://harmless.example:{port}/hook")).await;
    assert!(matches!(answer, Err(EgressError::Refused(Refusal::Address { .. }))));
}

// X-141: rebinding. The name answers well first and ill next.
#[tokio::test]
async fn a_name_that_changes_its_mind_is_judged_again_at_each_connection() {
    let port = serve(answering(|| {
        let mut answer = with_status(200);
        answer.headers_mut().insert("connection", "close".parse().unwrap());
        answer
    }))
    .await;
    let resolver = Scripted::new(&[&[LOOPBACK], &[INSIDE]]);
    let egress = Egress::with_resolver(policy(port), resolver.clone()).unwrap();
    let url = format!("http://rebinding.example:{port}/hook");
    assert_eq!(call(&egress, &url).await.unwrap().status, 200);
    assert_eq!(resolver.left(), 1, "asked once: what was judged is what was connected to");
    let answer = call(&egress, &url).await;
    assert!(matches!(answer, Err(EgressError::Refused(Refusal::Address { .. }))), "{answer:?}");
}

#[tokio::test]
async fn a_name_that_does_not_resolve_may_do_so_later() {
    let egress = Egress::with_resolver(policy(80), Scripted::new(&[])).unwrap();
    let error = call(&egress, "http://unknown.example:80/").await.unwrap_err();
    assert!(matches!(error, EgressError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn an_id_that_could_move_the_signed_text_is_refused() {
    let egress = Egress::with_resolver(policy(80), Scripted::new(&[])).unwrap();
    for id in ["", "msg.1", "msg\r\nx: y", "größe"] {
        let body = &Bytes::new();
        let webhook = Webhook { id, timestamp_s: 0, body, secrets: &[SECRET] };
        let answer = egress.post_signed("http://harmless.example:80/", webhook).await;
        assert!(matches!(answer, Err(EgressError::BadId { .. })), "{id:?}");
    }
}
