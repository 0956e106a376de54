//! `POST /v1/commands`.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::json;
use sha2::{Digest, Sha256};
use stepwell_core::id::Tenant;
use stepwell_server::auth::Role;
use stepwell_store::memory::MemoryStore;

use crate::site::{Site, envelope, envelope_with, post, run_id};

// D-007, D-008: 202 with the job's id once job and steps exist; the work has not begun.
#[tokio::test]
async fn a_command_is_answered_once_its_job_exists() {
    let site = Site::on_sqlite().await;
    let reply = site.ask(post("/v1/commands").json(&envelope())).await;
    let body = reply.expect(StatusCode::ACCEPTED);
    let job = body["jobId"].as_str().unwrap();
    assert_eq!(reply.header("location"), format!("/v1/jobs/{job}"));
    assert_eq!((&body["created"], &body["status"]), (&json!(true), &json!("IN_PROGRESS")));
    assert_eq!(body["links"]["cancel"], format!("/v1/jobs/{job}:cancel"));
    let job = site.job(job).await;
    assert_eq!(job["steps"][0]["status"], "INITIATED");
    assert_eq!(job["steps"][1]["status"], "PENDING");
}

// D-027, D-032, X-132, X-133: the same request under the same key finds the job of the first, in every store.
#[tokio::test]
async fn the_same_request_again_answers_the_same_job_and_starts_nothing() {
    for site in [Site::in_memory().await, Site::on_sqlite().await] {
        let first = post("/v1/commands").json(&envelope_with(&json!({"idempotency_key": "k"})));
        let first = site.ask(first).await.expect(StatusCode::ACCEPTED);
        let before = site.written().await;
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let fields = json!({"idempotency_key": "k", "traceparent": trace});
        let again = site.ask(post("/v1/commands").json(&envelope_with(&fields))).await;
        let again = again.expect(StatusCode::ACCEPTED);
        assert_eq!(again["jobId"], first["jobId"]);
        assert_eq!(again["created"], false);
        assert_eq!(site.written().await, before);
        let hash = Sha256::digest("acmek").into();
        let holder = site.store.by_key(Tenant::new("acme"), hash).await.unwrap().unwrap();
        assert_eq!(holder.run, run_id(first["jobId"].as_str().unwrap()));
        assert_eq!(holder.created_at, site.engine.now());
    }
}

#[tokio::test]
async fn a_key_in_the_header_is_the_same_key() {
    let site = Site::in_memory().await;
    let first = post("/v1/commands").header("Idempotency-Key", "k").json(&envelope());
    let first = site.ask(first).await.expect(StatusCode::ACCEPTED);
    let again = post("/v1/commands").json(&envelope_with(&json!({"idempotency_key": "k"})));
    let again = site.ask(again).await.expect(StatusCode::ACCEPTED);
    assert_eq!(again["jobId"], first["jobId"]);
    let both = post("/v1/commands").header("Idempotency-Key", "other");
    let both = both.json(&envelope_with(&json!({"idempotency_key": "k"})));
    site.ask(both).await.refused(400, "idempotency_key_conflict");
}

// same key with different body -> 409; no key -> no de-duplication.
#[tokio::test]
async fn a_key_that_was_used_for_another_request_is_refused() {
    let site = Site::in_memory().await;
    let keyed = |payload: &str| {
        let fields = json!({"idempotency_key": "k", "payload": {"document": payload}});
        post("/v1/commands").json(&envelope_with(&fields))
    };
    site.ask(keyed("one")).await.expect(StatusCode::ACCEPTED);
    let before = site.written().await;
    site.ask(keyed("two")).await.refused(409, "idempotency_key_reused");
    assert_eq!(site.written().await, before);
    assert_ne!(site.start().await, site.start().await);
}

// the hash has the tenant in it, so tenants cannot meet on a key.
#[tokio::test]
async fn two_tenants_may_use_the_same_key() {
    let site = Site::in_memory().await;
    let of = |tenant: &str| {
        let fields = json!({"idempotency_key": "k", "tenant_id": tenant});
        post("/v1/commands").json(&envelope_with(&fields))
    };
    let one = site.ask(of("acme")).await.expect(StatusCode::ACCEPTED);
    let other = site.ask(of("globex")).await.expect(StatusCode::ACCEPTED);
    assert_ne!(one["jobId"], other["jobId"]);
}

#[tokio::test]
async fn what_was_accepted_once_stays_accepted_when_its_protocol_changes() {
    let site = Site::in_memory().await;
    let keyed = || post("/v1/commands").json(&envelope_with(&json!({"idempotency_key": "k"})));
    let first = site.ask(keyed()).await.expect(StatusCode::ACCEPTED);
    site.publish(&crate::site::INTAKE.replace("required: [document]", "required: [pages]")).await;
    let again = site.ask(keyed()).await.expect(StatusCode::ACCEPTED);
    assert_eq!(again["jobId"], first["jobId"]);
    site.ask(post("/v1/commands").json(&envelope())).await.refused(422, "invalid_request");
}

// D-050, X-143: 429 with Retry-After, and nothing is created.
#[tokio::test]
async fn a_tenant_with_too_many_open_jobs_is_told_to_come_back() {
    let site = Site::with(Arc::new(MemoryStore::new()), |settings| {
        settings.tenant_cap = Some(2);
    });
    let site = site.await;
    site.start().await;
    site.start().await;
    let before = site.written().await;
    let reply = site.ask(post("/v1/commands").json(&envelope())).await;
    reply.refused(429, "tenant_full");
    assert!(reply.header("retry-after").parse::<u32>().unwrap() >= 1);
    assert_eq!(site.written().await, before);
    let other = post("/v1/commands").json(&envelope_with(&json!({"tenant_id": "globex"})));
    site.ask(other).await.expect(StatusCode::ACCEPTED);
}

// the cap is 100 unless the installation says otherwise.
#[tokio::test]
async fn a_tenant_may_have_a_hundred_open_jobs() {
    let site = Site::in_memory().await;
    for _ in 0..100 {
        site.start().await;
    }
    site.ask(post("/v1/commands").json(&envelope())).await.refused(429, "tenant_full");
}

// D-017, D-018: an unknown request type is a validation failure, with a guess at what was meant.
#[tokio::test]
async fn an_unknown_request_type_is_refused_with_a_guess() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    let call =
        post("/v1/commands").json(&envelope_with(&json!({"request_type": "document.ingst"})));
    let problem = site.ask(call).await.refused(422, "invalid_request");
    let detail = &problem["details"][0];
    assert_eq!(detail["code"], "unknown_request_type");
    assert_eq!(detail["path"], "request_type");
    assert_eq!(detail["help"], "did you mean \"document.ingest\"?");
    let call = post("/v1/commands").json(&envelope_with(&json!({"schema_version": "9"})));
    let problem = site.ask(call).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["code"], "unsupported_schema_version");
    assert_eq!(site.written().await, before);
}

// D-016, D-017, X-145: the payload is held against the schema, and all problems come at once.
#[tokio::test]
async fn every_problem_of_a_request_is_listed() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    let call = post("/v1/commands")
        .json(&json!({"payload": [], "mode": "BURST", "correlation_id": "c-7"}));
    let problem = site.ask(call).await.refused(422, "invalid_request");
    let paths: Vec<_> = problem["details"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    for path in [
        "tenant_id",
        "request_type",
        "input_ref",
        "output_ref",
        "payload",
        "schema_version",
        "doc_id",
    ] {
        assert!(paths.contains(&path), "{path} in {paths:?}");
    }
    assert_eq!(problem["correlation_id"], "c-7");
    let call = post("/v1/commands").json(&envelope_with(&json!({"payload": {"document": 7}})));
    let problem = site.ask(call).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["path"], "payload.document");
    assert_eq!(site.written().await, before);
}

// completion webhooks may not lead inside.
#[tokio::test]
async fn a_callback_url_that_leads_inside_is_refused_when_it_is_handed_in() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    for url in ["https://127.0.0.1/hook", "https://169.254.169.254/", "https://elsewhere.example/"]
    {
        let call = post("/v1/commands").json(&envelope_with(&json!({"callback_urls": [url]})));
        let problem = site.ask(call).await.refused(422, "invalid_request");
        assert_eq!(problem["details"][0]["code"], "callback_url_refused", "{url}");
    }
    assert_eq!(site.written().await, before);
    let fields = json!({"callback_urls": ["https://hooks.example/done"]});
    let call = post("/v1/commands").json(&envelope_with(&fields));
    site.ask(call).await.expect(StatusCode::ACCEPTED);
}

// the tenant of the token decides, never the body.
#[tokio::test]
async fn a_client_sends_commands_for_its_own_tenant_only() {
    let site = Site::in_memory().await;
    let token = site.token(Role::Client, Some("globex")).await;
    let before = site.written().await;
    let reply = site.send(post("/v1/commands").token(&token).json(&envelope())).await;
    reply.refused(403, "tenant_mismatch");
    assert_eq!(site.written().await, before);
    let own = post("/v1/commands").json(&envelope_with(&json!({"tenant_id": "globex"})));
    site.send(own.token(&token)).await.expect(StatusCode::ACCEPTED);
}

// 256 KiB for a payload.
#[tokio::test]
async fn a_payload_that_is_too_large_is_refused() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    let document = "x".repeat(256 * 1024);
    let call =
        post("/v1/commands").json(&envelope_with(&json!({"payload": {"document": document}})));
    let problem = site.ask(call).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["code"], "too_large");
    assert_eq!(site.written().await, before);
}
