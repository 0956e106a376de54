//! The log of events: pages, live, and going on from where one was.

use std::time::Duration;

use axum::http::StatusCode;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use super::{create, finish, kill, path, request, site, site_on_sqlite};
use crate::site::{Site, get, post};

async fn page(site: &Site, query: &str) -> Value {
    let call = get(&format!("/v1/events{query}")).header("Accept", "application/json");
    site.ask(call).await.expect(StatusCode::OK)
}

fn kinds(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap();
    items.iter().map(|item| item["event"]["type"].as_str().unwrap()).collect()
}

// C-017, C-031, X-128: one terminal event for each job, however it ended, under the job's own id.
#[tokio::test]
async fn every_job_that_ends_tells_it_exactly_once() {
    for site in [site().await, site_on_sqlite().await] {
        let done = create(&site, &json!({})).await;
        finish(&site).await;
        let dead = create(&site, &json!({})).await;
        kill(&site).await;
        let canceled = create(&site, &json!({})).await;
        site.ask(post(&format!("{}:cancel", path(&canceled)))).await.expect(StatusCode::OK);
        for (job, success, outcome) in
            [(&done, true, "completed"), (&dead, false, "dead"), (&canceled, false, "canceled")]
        {
            let id = job["job_id"].as_str().unwrap();
            let ended = page(&site, &format!("?job_id={id}&kind=workflow_run_completed")).await;
            let [item] = ended["items"].as_array().unwrap().as_slice() else { panic!("{ended}") };
            let data = &item["event"]["data"];
            assert_eq!((&data["success"], &data["outcome"]), (&json!(success), &json!(outcome)));
            assert_eq!(data["job_id"], id);
            assert_eq!(item["event"]["type"], "workflow_run_completed");
            assert_eq!(item["event"]["specversion"], "1.0");
        }
        let of_one = page(&site, &format!("?job_id={}", done["job_id"].as_str().unwrap())).await;
        assert_eq!(kinds(&of_one).last(), Some(&"workflow_run_completed"), "{of_one}");
    }
}

#[tokio::test]
async fn pages_go_on_from_where_the_last_one_ended() {
    let site = site_on_sqlite().await;
    create(&site, &json!({})).await;
    finish(&site).await;
    let all = page(&site, "").await;
    let mut read = Vec::new();
    let mut after = json!(0);
    loop {
        let next = page(&site, &format!("?limit=2&after={after}")).await;
        let items = next["items"].as_array().unwrap().clone();
        if items.is_empty() {
            break;
        }
        read.extend(items);
        after = next["next_after"].clone();
    }
    assert_eq!(json!(read), all["items"]);
    assert!(read.len() > 3, "{all}");
    create(&site, &json!({})).await;
    let later = page(&site, &format!("?after={after}")).await;
    assert_eq!(later["items"].as_array().unwrap().len(), 1, "{later}");
}

#[tokio::test]
async fn tenants_see_their_own_events_only() {
    let site = site().await;
    create(&site, &json!({})).await;
    let other = post("/v1/workspaces/globex/jobs").json(&request());
    site.ask(other).await.expect(StatusCode::CREATED);
    let all = page(&site, "").await;
    let token = site.token(Role::Viewer, Some("globex")).await;
    let own = get("/v1/events").header("Accept", "application/json").token(&token);
    let own = site.send(own).await.expect(StatusCode::OK);
    assert_eq!(own["items"].as_array().unwrap().len() * 2, all["items"].as_array().unwrap().len());
    let foreign = get("/v1/events?tenant=acme").header("Accept", "application/json").token(&token);
    site.send(foreign).await.refused(403, "tenant_mismatch");
    for query in ["?dialect=esperanto", "?after=-1", "?after=x", "?kinds=x"] {
        let call = get(&format!("/v1/events{query}")).header("Accept", "application/json");
        site.ask(call).await.refused(400, "malformed_parameter");
    }
}

/// Reads a live stream until a text has come.
async fn read_until(body: &mut axum::body::Body, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let frame = tokio::time::timeout(Duration::from_secs(20), body.frame()).await;
        let frame = frame.unwrap_or_else(|_| panic!("no {text:?} in {read}"));
        let bytes = frame.expect("the stream goes on").unwrap().into_data().unwrap();
        read += std::str::from_utf8(&bytes).unwrap();
    }
    read
}

fn last_id(text: &str) -> &str {
    text.lines().rev().find_map(|line| line.strip_prefix("id: ")).unwrap()
}

#[tokio::test]
async fn events_are_sent_live_and_a_consumer_that_comes_back_misses_none() {
    let site = site().await;
    create(&site, &json!({})).await;
    let response = site.open(get("/v1/events").token(&site.admin)).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let first = read_until(&mut body, "event: workflow_run_queued\n").await;
    finish(&site).await;
    let more = read_until(&mut body, "event: workflow_run_completed\n").await;
    drop(body);
    create(&site, &json!({})).await;
    kill(&site).await;
    // It names the first event it saw, and is sent everything after it once more, and what is new.
    let seen = last_id(&first);
    let again = get("/v1/events").header("Last-Event-ID", seen).token(&site.admin);
    let mut body = site.open(again).await.into_body();
    let rest = read_until(&mut body, "\"outcome\":\"dead\"").await;
    assert!(rest.contains("workflow_run_completed") && !rest.contains(&format!("id: {seen}\n")));
    assert!(rest.contains(&format!("id: {}\n", last_id(&more))), "{rest}");
}

// A consumer that was away for longer than events are kept is told so, and goes on with what is left.
#[tokio::test]
async fn a_consumer_that_was_away_for_too_long_is_told_what_it_missed() {
    let site = site().await;
    create(&site, &json!({})).await;
    let first = page(&site, "").await["items"][0]["id"].clone();
    site.advance(1_000);
    finish(&site).await;
    site.advance(1_000);
    create(&site, &json!({})).await;
    let before = site.engine.now();
    let before = stepwell_core::time::Timestamp::from_millis(before.as_millis() - 500_000);
    assert!(site.store.sweep_events(before, 1_000).await.unwrap() > 2);
    let call = get(&format!("/v1/events?after={first}"));
    let gone = site.ask(call.header("Accept", "application/json")).await;
    let problem = gone.refused(410, "events_missed");
    let left = page(&site, "").await;
    let oldest = left["oldest"].as_i64().unwrap();
    assert!(problem["next"].as_str().unwrap().contains(&format!("after={}", oldest - 1)));
    let live = get("/v1/events").header("Last-Event-ID", &first.to_string()).token(&site.admin);
    let mut body = site.open(live).await.into_body();
    let text = read_until(&mut body, "event: workflow_run_queued").await;
    assert!(text.starts_with(&format!("id: {}\nevent: missed\n", oldest - 1)), "{text}");
}

// A quiet stream is kept open by comments.
#[tokio::test(start_paused = true)]
async fn a_quiet_stream_says_now_and_then_that_it_is_still_there() {
    let site = site().await;
    let mut body = site.open(get("/v1/events").token(&site.admin)).await.into_body();
    let text = read_until(&mut body, ": still here").await;
    assert_eq!(text, ": still here\n\n");
}
