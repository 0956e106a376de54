//! Whoever has subscribed hears of everything that is given up, signed, from a real server over a real
//! connection.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{REPORT, create, path};
use crate::receiver::{self, Receiver};
use crate::site::{Site, get, post};

/// A site that may call this machine, with somebody who hears of dead letters.
async fn heard() -> (Site, String, mpsc::UnboundedReceiver<Value>) {
    let Receiver { address, heard } = Receiver::start().await;
    let site = Site::calling(receiver::policy()).await;
    site.publish(REPORT).await;
    subscribe(&site, &format!("{address}/hook"), "dead_letter.created").await;
    (site, address, heard)
}

async fn subscribe(site: &Site, url: &str, kind: &str) {
    let body = json!({"url": url, "kinds": [kind]});
    site.ask(post("/v1/subscriptions").json(&body)).await.expect(StatusCode::CREATED);
}

/// What the log tells of letters.
async fn logged(site: &Site) -> Vec<Value> {
    let events = get("/v1/events?kind=dead_letter.created").header("Accept", "application/json");
    let events = site.ask(events).await.expect(StatusCode::OK);
    let items = events["items"].as_array().unwrap().iter();
    items.map(|item| item["event"].clone()).collect()
}

#[tokio::test]
async fn an_undelivered_message_is_told_to_whoever_has_subscribed() {
    let (site, address, mut heard) = heard().await;
    subscribe(&site, &format!("{address}/gone"), "workflow_run_completed").await;
    let job = create(&site, &json!({})).await;
    site.ask(post(&format!("{}:cancel", path(&job)))).await.expect(StatusCode::OK);
    let event = heard.recv().await.unwrap();
    assert_eq!(event["type"], "stepwell.dead_letter.created");
    let data = &event["data"];
    assert_eq!((&data["reason"], &data["job_id"]), (&json!("webhook_undelivered"), &job["job_id"]));
    assert_eq!((&data["tenant_id"], &data["dialect"]), (&json!("acme"), &json!("workspaces")));
    assert_eq!(logged(&site).await, [event]);
}

// a poison message is a dead letter, and somebody is told.
#[tokio::test]
async fn a_poison_message_is_told_once_however_often_it_is_handed_in() {
    let (site, _, mut heard) = heard().await;
    for _ in 0..2 {
        let call = post("/v1/workers/messages").json(&json!({"v": 2}));
        site.ask(call).await.refused(422, "poison_message");
    }
    let event = heard.recv().await.unwrap();
    let data = &event["data"];
    assert_eq!((&data["reason"], &data["job_id"]), (&json!("VersionUnknown"), &Value::Null));
    assert_eq!((&data["tenant_id"], &data["dialect"]), (&json!("default"), &json!("workspaces")));
    assert_eq!(logged(&site).await, [event]);
    let letters = site.ask(get("/v1/dead-letters?dialect=workspaces")).await.json();
    assert_eq!(letters["items"].as_array().unwrap().len(), 1, "{letters}");
    let replay = post(&format!("/v1/dead-letters/{}:replay", letters["items"][0]["id"]));
    site.ask(replay).await.refused(409, "not_replayable");
    assert!(heard.try_recv().is_err(), "it was told once");
}
