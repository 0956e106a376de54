//! Batches live.

use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::Value;

use super::{MAILBOXES, act, in_cutover, made, site_with, work};
use crate::site::get;

/// The next event of a stream, without comments; nothing at its end.
async fn next(stream: &mut Response) -> Option<Value> {
    loop {
        let frame = stream.body_mut().frame().await?.unwrap();
        let text = String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap();
        let Some(data) = text.split("data: ").nth(1) else { continue };
        assert!(text.contains("event: batch\n"), "{text}");
        return Some(serde_json::from_str(data.trim_end()).unwrap());
    }
}

#[tokio::test]
async fn a_batch_is_shown_at_once_and_whenever_it_has_changed() {
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let call = get(&format!("/api/batches/{id}/watch")).token(&site.admin);
    let mut stream = site.open(call).await;
    assert_eq!(stream.status(), StatusCode::OK);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(next(&mut stream).await.unwrap()["status"], "detected");
    act(&site, id, "advance").await;
    while next(&mut stream).await.unwrap()["status"] != "init_dispatched" {}
}

#[tokio::test]
async fn a_stream_ends_when_nothing_will_change_any_more() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let call = get(&format!("/api/batches/{id}/watch")).token(&site.admin);
    let mut stream = site.open(call).await;
    work(&site, "worker-02", 2).await;
    let mut last = Value::Null;
    while let Some(shown) = next(&mut stream).await {
        assert_ne!(shown, last, "what has not changed is not shown again");
        last = shown;
    }
    assert_eq!(last["status"], "completed");
    assert_eq!(last["members"]["succeeded"], 2);
}
