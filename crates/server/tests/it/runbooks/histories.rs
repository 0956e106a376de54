//! What happened to a batch, and why it is where it is.

use axum::http::StatusCode;
use serde_json::json;

use super::{MAILBOXES, act, is_admin, made, site_with};
use crate::site::{get, post};

#[tokio::test]
async fn the_history_of_a_batch_says_who_did_what_and_why() {
    //
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    act(&site, id, "advance").await;
    act(&site, id, "cancel").await;
    let path = format!("/api/batches/{id}/events");
    let page = site.ask(get(&path)).await.expect(StatusCode::OK);
    let entries: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|record| record["entries"].as_array().unwrap())
        .collect();
    let told: Vec<_> = entries.iter().map(|it| it["event"].as_str().unwrap()).collect();
    assert_eq!(
        told,
        [
            "detected",
            "advanced",
            "init_dispatched",
            "cancel_requested",
            "phase_ended",
            "phase_ended",
            "ended"
        ]
    );
    assert!(is_admin(&entries[3]["actor"]));
    assert_eq!(entries[3]["reason"], "the window");
    assert_eq!(entries[4]["phase_name"], "prepare");
    let first = site.ask(get(&format!("{path}?limit=1"))).await.expect(StatusCode::OK);
    let next = first["next"].as_i64().unwrap();
    let rest = site.ask(get(&format!("{path}?after={next}"))).await.expect(StatusCode::OK);
    assert_eq!(
        rest["items"].as_array().unwrap().len(),
        page["items"].as_array().unwrap().len() - 1
    );
    assert_eq!(rest["next"], json!(null));
}

#[tokio::test]
async fn a_batch_that_does_not_move_says_why() {
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let path = format!("/api/batches/{id}/explain");
    let told = site.ask(get(&path)).await.expect(StatusCode::OK);
    assert_eq!(told["waits"][0]["waiting_for"], "advance");
    site.ask(post(&format!("/api/batches/{id}/advance"))).await.expect(StatusCode::OK);
    super::quiet(&site, id).await;
    let told = site.ask(get(&path)).await.expect(StatusCode::OK);
    assert_eq!(told["waits"][0]["waiting_for"], "init");
    assert!(told["waits"][0]["reason"].as_str().unwrap().contains("create-group"), "{told}");
}
