//! Addresses that are told of events.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use super::{create, site, site_on_sqlite};
use crate::site::{Site, delete, get, post};

async fn subscribe(site: &Site, fields: &Value) -> Value {
    let body = crate::site::merged(&json!({"url": "https://hooks.example/events"}), fields);
    site.ask(post("/v1/subscriptions").json(&body)).await.expect(StatusCode::CREATED)
}

async fn waiting(site: &Site) -> Vec<Value> {
    let keep = stepwell_core::duration::Interval::from_secs(1);
    let outgoing = site.store.outbox(site.engine.now(), keep, 100).await.unwrap();
    outgoing.due.iter().map(|row| serde_json::from_str(&row.message.body).unwrap()).collect()
}

#[tokio::test]
async fn a_subscription_is_made_listed_and_deleted() {
    for site in [site().await, site_on_sqlite().await] {
        let fields = json!({"kinds": ["workflow_run_completed"], "dialects": ["workspaces"],
            "tenant": "acme", "description": "analytics"});
        let made = subscribe(&site, &fields).await;
        assert_eq!((&made["kinds"], &made["enabled"]), (&fields["kinds"], &json!(true)));
        let list = site.ask(get("/v1/subscriptions")).await.expect(StatusCode::OK);
        assert_eq!(list, json!({"items": [made]}));
        let path = format!("/v1/subscriptions/{}", made["id"].as_str().unwrap());
        let foreign = site.token(Role::Operator, Some("globex")).await;
        site.send(delete(&path).token(&foreign)).await.refused(404, "subscription_not_found");
        let none = site.send(get("/v1/subscriptions").token(&foreign)).await;
        assert_eq!(none.expect(StatusCode::OK), json!({"items": []}));
        assert_eq!(site.ask(delete(&path)).await.status, StatusCode::NO_CONTENT);
        site.ask(delete(&path)).await.refused(404, "subscription_not_found");
    }
}

#[tokio::test]
async fn whoever_is_bound_to_a_tenant_subscribes_to_its_events_only() {
    let site = site().await;
    let token = site.token(Role::Operator, Some("globex")).await;
    let body = json!({"url": "https://hooks.example/events"});
    let made = site.send(post("/v1/subscriptions").token(&token).json(&body)).await;
    assert_eq!(made.expect(StatusCode::CREATED)["tenant"], "globex");
    let foreign = json!({"url": "https://hooks.example/events", "tenant": "acme"});
    let foreign = post("/v1/subscriptions").token(&token).json(&foreign);
    site.send(foreign).await.refused(403, "tenant_mismatch");
    for role in [Role::Client, Role::Viewer, Role::Worker] {
        let token = site.token(role, None).await;
        site.send(get("/v1/subscriptions").token(&token)).await.refused(403, "forbidden");
    }
}

// A name that nobody gives to an event would be a subscription, or a stream, that is silent for ever.
#[tokio::test]
async fn a_kind_is_named_as_a_kind_or_as_the_type_of_its_events_and_no_other_way() {
    let site = site().await;
    let made = subscribe(&site, &json!({"kinds": ["stepwell.workflow_run_queued"]})).await;
    assert_eq!(made["kinds"], json!(["workflow_run_queued"]));
    let body = json!({"url": "https://hooks.example/x", "kinds": ["workflow_run_ended"]});
    let problem = site.ask(post("/v1/subscriptions").json(&body)).await;
    let problem = problem.refused(422, "invalid_request");
    let help = problem["details"][0]["help"].as_str().unwrap();
    assert!(help.contains("workflow_run_completed"), "{problem}");
    let unknown = get("/v1/events?kind=workflow_run_ended");
    site.ask(unknown).await.refused(400, "malformed_parameter");
}

#[tokio::test]
async fn an_address_that_may_not_be_called_is_refused() {
    let site = site().await;
    for url in ["http://hooks.example/x", "https://127.0.0.1/x", "https://elsewhere.example/x", "x"]
    {
        let call = post("/v1/subscriptions").json(&json!({"url": url}));
        let problem = site.ask(call).await.refused(422, "invalid_request");
        assert_eq!(problem["details"][0]["path"], "url", "{url}");
    }
    let words = json!({"url": "https://hooks.example/x", "dialects": ["esperanto"], "secret": "s"});
    let problem = site.ask(post("/v1/subscriptions").json(&words)).await;
    let problem = problem.refused(422, "invalid_request");
    assert_eq!(problem["details"].as_array().unwrap().len(), 2);
}

// A new dead letter is told to whoever has subscribed, in the transaction that writes it.
#[tokio::test]
async fn a_dead_letter_is_told_to_whoever_has_subscribed() {
    let site = site().await;
    subscribe(&site, &json!({"kinds": ["dead_letter.created"], "tenant": "acme"})).await;
    let job = create(&site, &json!({})).await;
    let secret = "grace@example.com";
    let directive = super::take(&site).await;
    let error = json!({"status": "FAILED_FINAL", "error": format!("no {secret}")});
    super::report(&site, &directive, &error).await;
    let events = site
        .ask(get("/v1/events?kind=dead_letter.created").header("Accept", "application/json"))
        .await;
    let events = events.expect(StatusCode::OK);
    let [logged] = events["items"].as_array().unwrap().as_slice() else { panic!("{events}") };
    let event = &logged["event"];
    assert_eq!(event["type"], "stepwell.dead_letter.created");
    assert!(event.to_string().contains(job["job_id"].as_str().unwrap()), "{event}");
    assert!(!event.to_string().contains(secret), "{event}");
    // The row waits until its receiver has accepted it; here nobody answers.
    let row = waiting(&site).await;
    assert!(row.is_empty() || row == [event.clone()], "{row:?}");
}

#[tokio::test]
async fn a_test_says_what_came_of_it() {
    let site = site().await;
    let made = subscribe(&site, &json!({})).await;
    let path = format!("/v1/subscriptions/{}:test", made["id"].as_str().unwrap());
    let tested = site.ask(post(&path)).await.expect(StatusCode::OK);
    assert_eq!(tested["delivered"], false, "nobody is called hooks.example");
    assert!(tested["error"].is_string());
    site.ask(post("/v1/subscriptions/nobody:test")).await.refused(404, "subscription_not_found");
}

// Issue 6: a subscription is given a secret of its own in the same words as a trigger.
#[tokio::test]
async fn the_secret_of_a_subscription_is_shown_once() {
    let site = site().await;
    let made = subscribe(&site, &json!({"tenant": "acme"})).await;
    let path = format!("/v1/subscriptions/{}:rotate-secret", made["id"].as_str().unwrap());
    let rotated = site.ask(post(&path).json(&json!({"grace": "2h"}))).await;
    let rotated = rotated.expect(StatusCode::OK);
    assert!(rotated["secret"].as_str().unwrap().starts_with("whsec_"));
    assert_eq!(rotated["previous_valid_until"], "2025-03-10T14:00:00.000Z");
    let list = site.ask(get("/v1/subscriptions")).await.expect(StatusCode::OK);
    assert_eq!(list, json!({"items": [made]}), "nothing else shows it");
    let foreign = site.token(Role::Operator, Some("globex")).await;
    site.send(post(&path).token(&foreign)).await.refused(404, "subscription_not_found");
    site.ask(post(&path).json(&json!({"grace": "31d"}))).await.refused(422, "invalid_request");
}
