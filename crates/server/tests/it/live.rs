//! What needs a socket: live events, long polls, stopping, slow clients.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::serve;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::site::{Site, get, post};

/// A server on a socket.
struct Served {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

async fn served(site: &Site) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let router = site.router.clone();
    let ended = tokio::spawn(async move {
        serve(listener, router, async { stopped.await.unwrap() }).await;
    });
    Served { address, stop, ended }
}

impl Served {
    async fn open(&self, site: &Site, head: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let token = &site.admin;
        let request = format!(
            "{head}Host: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = String::new();
    let mut buffer = [0; 4096];
    while !read.contains(text) {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "the stream ended before {text:?}:\n{read}");
        read += std::str::from_utf8(&buffer[..count]).unwrap();
    }
    read
}

async fn read_to_end(mut stream: TcpStream) -> String {
    let mut read = Vec::new();
    stream.read_to_end(&mut read).await.unwrap();
    String::from_utf8(read).unwrap()
}

/// The ids of events, in order.
fn ids(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

#[tokio::test]
async fn events_follow_a_job_live_to_its_end() {
    let site = Site::on_sqlite().await;
    let served = served(&site).await;
    let id = site.start().await;
    let mut stream = served.open(&site, &format!("GET /v1/jobs/{id}/events HTTP/1.1\r\n")).await;
    let begun = read_until(&mut stream, "event: step_dispatched").await;
    assert!(begun.contains("text/event-stream"), "{begun}");
    site.finish().await;
    let rest = read_to_end(stream).await;
    let text = begun + &rest;
    assert_eq!(ids(&text), ["1:0", "1:1", "2:0", "2:1", "3:0", "3:1"]);
    assert!(text.contains("event: run_succeeded\n"), "{text}");
}

#[tokio::test]
async fn a_client_that_comes_back_gets_what_it_has_not_seen() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    site.finish().await;
    let path = format!("/v1/jobs/{id}/events");
    let all = site.ask(get(&path)).await.text;
    assert_eq!(ids(&all), ["1:0", "1:1", "2:0", "2:1", "3:0", "3:1"]);
    let rest = site.ask(get(&path).header("Last-Event-ID", "2:0")).await.text;
    assert_eq!(ids(&rest), ["2:1", "3:0", "3:1"]);
    let data = rest.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["step_id"], "embed");
    assert_eq!(data["at"], "2025-03-10T12:00:00.000Z");
    assert_eq!(
        ids(&site.ask(get(&path).header("Last-Event-ID", "3:1")).await.text),
        Vec::<&str>::new()
    );
    let bad = site.ask(get(&path).header("Last-Event-ID", "seven")).await;
    bad.refused(400, "malformed_parameter");
}

#[tokio::test]
async fn a_worker_that_waits_is_answered_as_soon_as_there_is_work() {
    let site = Site::in_memory().await;
    let call = post("/v1/workers/ocr-service/lease").json(&json!({"wait_seconds": 30}));
    let (reply, _) = tokio::join!(site.ask(call), site.start());
    let leased = reply.expect(StatusCode::OK);
    assert_eq!(leased["directives"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_stop_ends_streams_and_long_polls_at_once() {
    let site = Site::in_memory().await;
    let served = served(&site).await;
    let id = site.start().await;
    let mut events = served.open(&site, &format!("GET /v1/jobs/{id}/events HTTP/1.1\r\n")).await;
    read_until(&mut events, "step_dispatched").await;
    let body = r#"{"wait_seconds":30}"#;
    let head = format!(
        "POST /v1/workers/idle/lease HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    let mut poll = served.open(&site, &head).await;
    poll.write_all(body.as_bytes()).await.unwrap();
    // Connections are served in their order: when a later one is answered, the poll is under way.
    let other = served.open(&site, "GET /livez HTTP/1.1\r\n").await;
    assert!(read_to_end(other).await.starts_with("HTTP/1.1 200"));
    served.stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(5), served.ended).await.unwrap().unwrap();
    read_to_end(events).await;
    let answer = read_to_end(poll).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("stopping"), "{answer}");
}

// F98: a client that never finishes its head is cut off.
#[tokio::test(start_paused = true)]
async fn a_client_that_is_too_slow_is_cut_off() {
    let site = Site::in_memory().await;
    let served = served(&site).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: lo").await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), read_to_end(stream)).await;
    assert!(!ended.unwrap().contains("200"));
}

// F98: a client that never finishes its body is cut off, with words.
#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_given_up() {
    let site = Site::in_memory().await;
    let served = served(&site).await;
    let head =
        "POST /v1/commands HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n";
    let mut stream = served.open(&site, head).await;
    stream.write_all(b"{").await.unwrap();
    let answer = read_until(&mut stream, "body_timeout").await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

// F100: no number of onlookers can take the server's memory.
#[tokio::test]
async fn only_so_many_streams_are_open_at_once() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let path = format!("/v1/jobs/{id}/events");
    let mut open = Vec::new();
    for _ in 0..200 {
        open.push(site.open(get(&path).token(&site.admin)).await);
    }
    assert!(open.iter().all(|response| response.status() == StatusCode::OK));
    let refused = site.ask(get(&path)).await;
    refused.refused(429, "too_many_streams");
    assert!(!refused.header("retry-after").is_empty());
    open.pop();
    assert_eq!(site.open(get(&path).token(&site.admin)).await.status(), StatusCode::OK);
}
