//! Dead letters.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use crate::site::{Site, envelope_with, get, post};

async fn letters(site: &Site, query: &str) -> Vec<Value> {
    let page = site.ask(get(&format!("/v1/dead-letters{query}"))).await.expect(StatusCode::OK);
    page["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_failed_job_leaves_a_dead_letter_that_can_be_replayed_once() {
    for site in [Site::in_memory().await, Site::on_sqlite().await] {
        let id = site.start().await;
        site.fail().await;
        let [letter] = letters(&site, "").await.try_into().unwrap();
        assert_eq!((&letter["job_id"], &letter["reason"]), (&json!(id), &json!("run_failed")));
        assert_eq!(letter["step_id"], "ocr");
        let path = format!("/v1/dead-letters/{}:replay", letter["id"]);
        let replayed = site.ask(post(&path).json(&json!({"reason": "fixed"}))).await;
        let replayed = replayed.expect(StatusCode::OK);
        let new = site.job(replayed["jobId"].as_str().unwrap()).await;
        assert_eq!((&new["resumes"], &new["status"]), (&json!(id), &json!("IN_PROGRESS")));
        assert_eq!(letters(&site, "").await, Vec::<Value>::new());
        let [settled] = letters(&site, "?settled=true").await.try_into().unwrap();
        assert_eq!(settled["settlement"]["replayed_as"], replayed["jobId"]);
        assert_eq!(settled["settlement"]["reason"], "fixed");
        let before = site.written().await;
        site.ask(post(&path)).await.refused(409, "dead_letter_settled");
        assert_eq!(site.written().await, before);
    }
}

// What is refused stays, and must not keep those behind it from being reached.
#[tokio::test]
async fn many_dead_letters_are_gone_through_page_by_page() {
    let site = Site::in_memory().await;
    for _ in 0..3 {
        site.start().await;
        site.fail().await;
    }
    let ids: Vec<i64> =
        letters(&site, "").await.iter().map(|it| it["id"].as_i64().unwrap()).collect();
    let call = post("/v1/dead-letters:discard");
    let call = call.json(&json!({"reason": "old", "limit": 2, "before": ids[0]}));
    let page = site.ask(call).await.expect(StatusCode::OK);
    let done: Vec<&Value> =
        page["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(done, [&json!(ids[1]), &json!(ids[2])]);
    assert_eq!(letters(&site, "").await.len(), 1);
}

#[tokio::test]
async fn a_dead_letter_is_discarded_with_a_reason() {
    let site = Site::on_sqlite().await;
    site.start().await;
    site.fail().await;
    let [letter] = letters(&site, "").await.try_into().unwrap();
    let path = format!("/v1/dead-letters/{}:discard", letter["id"]);
    let before = site.written().await;
    site.ask(post(&path)).await.refused(422, "invalid_request");
    assert_eq!(site.written().await, before);
    let call = || post(&path).json(&json!({"reason": "a test file"}));
    let settled = site.ask(call()).await.expect(StatusCode::OK);
    assert_eq!(settled["settlement"]["replayed_as"], Value::Null);
    site.ask(call()).await.refused(409, "dead_letter_settled");
    let missing = post("/v1/dead-letters/999:discard").json(&json!({"reason": "x"}));
    site.ask(missing).await.refused(404, "dead_letter_not_found");
}

#[tokio::test]
async fn many_dead_letters_are_replayed_with_one_result_for_each() {
    let site = Site::on_sqlite().await;
    for _ in 0..3 {
        site.start().await;
        site.fail().await;
    }
    let other = post("/v1/commands").json(&envelope_with(&json!({"tenant_id": "globex"})));
    site.ask(other).await.expect(StatusCode::ACCEPTED);
    site.fail().await;
    let call = post("/v1/dead-letters:replay")
        .json(&json!({"filter": {"tenant": "acme"}, "reason": "fixed"}));
    let items = site.ask(call).await.expect(StatusCode::OK)["items"].take();
    let items = items.as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert!(items.iter().all(|item| item["jobId"].is_string()), "{items:?}");
    assert_eq!(letters(&site, "").await.len(), 1);
    assert_eq!(letters(&site, "?tenant=globex").await.len(), 1);
    let none = site
        .ask(post("/v1/dead-letters:replay").json(&json!({"filter": {"workflow": "other"}})))
        .await;
    assert_eq!(none.expect(StatusCode::OK), json!({"items": []}));
}

#[tokio::test]
async fn dead_letters_are_listed_page_by_page() {
    let site = Site::in_memory().await;
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(json!(site.start().await));
        site.fail().await;
    }
    jobs.reverse();
    let mut found = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let page = site.ask(get(&format!("/v1/dead-letters?{query}"))).await.expect(StatusCode::OK);
        found.extend(page["items"].as_array().unwrap().iter().map(|item| item["job_id"].clone()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(found, jobs);
    let one = letters(&site, &format!("?job_id={}", jobs[1].as_str().unwrap())).await;
    assert_eq!(one.len(), 1);
}

// tenants do not see each other's dead letters.
#[tokio::test]
async fn a_dead_letter_of_another_tenant_does_not_exist() {
    let site = Site::in_memory().await;
    site.start().await;
    site.fail().await;
    let [letter] = letters(&site, "").await.try_into().unwrap();
    let token = site.token(Role::Operator, Some("globex")).await;
    let before = site.written().await;
    let list = site.send(get("/v1/dead-letters").token(&token)).await;
    assert_eq!(list.expect(StatusCode::OK)["items"], json!([]));
    let path = format!("/v1/dead-letters/{}", letter["id"]);
    let replay = post(&format!("{path}:replay")).token(&token);
    site.send(replay).await.refused(404, "dead_letter_not_found");
    let discard = post(&format!("{path}:discard")).json(&json!({"reason": "x"})).token(&token);
    site.send(discard).await.refused(404, "dead_letter_not_found");
    let all = post("/v1/dead-letters:replay").token(&token);
    assert_eq!(site.send(all).await.expect(StatusCode::OK)["items"], json!([]));
    let other =
        post("/v1/dead-letters:replay").json(&json!({"filter": {"tenant": "acme"}})).token(&token);
    site.send(other).await.refused(403, "tenant_mismatch");
    assert_eq!(site.written().await, before);
}
