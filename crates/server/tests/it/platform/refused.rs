//! Requests that are refused: the client is told why, and nothing waits in the queue.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{jobs, request, request_with, site, submit, until_settled};
use crate::site::{Site, get, post};

/// Refuses each of these requests on both ways in; the first problem is at this field.
async fn refused(site: &Site, body: &Value, field: &str) {
    for path in ["/api/platform/submit", "/api/v1/jobs"] {
        let reply = site.ask(post(path).json(body)).await;
        let problem = reply.refused(422, "invalid_request");
        assert_eq!(problem["details"][0]["path"], field, "{path} {body} {problem}");
    }
}

/// Nothing was written, and nothing is on its way to be.
async fn nothing_came_of_it(site: &Site) {
    until_settled(site).await;
    assert_eq!(jobs(site).await, 2, "only the two that were waited for");
    let letters = site.ask(get("/v1/dead-letters")).await.expect(StatusCode::OK);
    assert_eq!(letters["items"], json!([]));
}

// B-033, B-061, B-064: lengths, ranges, types.
#[tokio::test]
async fn a_field_that_is_out_of_bounds_is_named() {
    let site = site().await;
    let long = |chars| "ø".repeat(chars);
    let url = format!("https://hooks.example/{}", "x".repeat(512));
    let wrong = [
        ("workflow_id", json!(long(65))),
        ("workflow_id", json!(7)),
        ("workflow_id", json!("")),
        ("input_params", json!([1])),
        ("input_params", json!({"blob_name": "x".repeat(256 * 1024)})),
        ("correlation_id", json!(long(65))),
        ("correlation_id", json!("a\nb")),
        ("callback_url", json!(url)),
        ("callback_url", json!("hooks.example")),
        ("priority", json!(11)),
        ("priority", json!(-1)),
        ("priority", json!(1.5)),
        ("priority", json!("high")),
        ("idempotency_key", json!(long(65))),
        ("submitted_by", json!("root")),
        ("message_id", json!("m-1")),
    ];
    for (field, value) in wrong {
        refused(&site, &request_with(&json!({field: value})), field).await;
    }
    refused(&site, &json!({}), "workflow_id").await;
    nothing_came_of_it(&site).await;
}

// B-064: what the workflow does not take is refused before it is enqueued.
#[tokio::test]
async fn an_input_that_the_workflow_does_not_take_is_refused() {
    let site = site().await;
    refused(&site, &request_with(&json!({"input_params": {}})), "input_params.blob_name").await;
    let wrong = json!({"input_params": {"blob_name": 7}});
    refused(&site, &request_with(&wrong), "input_params.blob_name").await;
    nothing_came_of_it(&site).await;
}

// X-110: the registry knows that it is absent, so the client learns it.
#[tokio::test]
async fn an_unknown_workflow_is_not_found() {
    let site = site().await;
    let body = request_with(&json!({"workflow_id": "raster_ingst", "correlation_id": "c-1"}));
    for path in ["/api/platform/submit", "/api/v1/jobs"] {
        let problem = site.ask(post(path).json(&body)).await.refused(404, "workflow_not_found");
        assert_eq!(problem["detail"], "workflow \"raster_ingst\" does not exist");
        assert_eq!(problem["correlation_id"], "c-1");
    }
    nothing_came_of_it(&site).await;
}

// X-100: a callback URL may not lead inside, in whatever way it is written.
#[tokio::test]
async fn a_callback_url_that_leads_inside_is_refused() {
    let site = site().await;
    let inside = [
        "https://127.0.0.1/done",
        "https://localhost/done",
        "https://10.0.0.7/done",
        "https://192.168.1.1/done",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/done",
        "https://[::ffff:10.0.0.7]/done",
        "https://2130706433/done",
        "https://0x7f.1/done",
        "http://hooks.example/done",
        "https://elsewhere.example/done",
    ];
    for url in inside {
        refused(&site, &request_with(&json!({"callback_url": url})), "callback_url").await;
    }
    nothing_came_of_it(&site).await;
    submit(&site, &json!({"callback_url": "https://hooks.example/done"})).await;
}

// B-064: whatever keeps the queue from taking the order, the client is told that enqueueing failed.
#[tokio::test]
async fn an_order_that_the_queue_does_not_take_is_an_error_of_ours() {
    let site = site().await;
    let id = site.start().await;
    let body = request_with(&json!({"correlation_id": "c-1"}));
    let check = async |why: &str| {
        let reply = site.ask(post("/api/platform/submit").json(&body)).await;
        let problem = reply.refused(500, "enqueue_failed");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("failed to enqueue the job: "), "{detail}");
        assert!(detail.contains(why), "{detail}");
        assert_eq!(problem["correlation_id"], "c-1");
        assert!(!reply.header("retry-after").is_empty());
    };
    // The store belongs to somebody else, as the first write shows.
    site.store.open_epoch("another process").await.unwrap();
    site.ask(post(&format!("/v1/jobs/{id}:pause"))).await.refused(503, "stopping");
    check("the engine is stopping").await;
    // Not even the workflow can be looked up.
    site.engine.stop().await;
    check("the store is closed").await;
}

// B-001, B-061: the documented request asks for what the dialect asks for, and no more.
#[tokio::test]
async fn the_documented_request_is_the_one_that_is_read() {
    let site = site().await;
    let document = site.ask(get("/openapi.json")).await.json();
    let schema = &document["components"]["schemas"]["JobSubmitRequest"];
    let read = |body: &[u8]| stepwell_dialects::platform::request::read(body).unwrap_err();
    let required: Vec<_> = read(b"{}").problems.iter().map(|it| it.path.clone()).collect();
    assert_eq!(schema["required"], json!(required));
    let unknown = read(br#"{"qqqqqqqqqqqq": 1}"#);
    let unknown = unknown.problems.iter().find(|it| it.code == "unknown_field").unwrap();
    let known = unknown.help.as_deref().unwrap().strip_prefix("known fields are ").unwrap();
    let mut known: Vec<_> = known.split(", ").collect();
    known.sort_unstable();
    let documented: Vec<_> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(documented, known);
    let example = schema["example"].to_string();
    stepwell_dialects::platform::request::read(example.as_bytes()).unwrap();
    assert_eq!(request()["workflow_id"], schema["example"]["workflow_id"]);
}
