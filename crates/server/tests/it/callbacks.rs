//! Callbacks of platform workers.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_core::command::Fence;
use stepwell_core::id::{LeaseId, RunId};
use stepwell_server::auth::callback::{CallbackKey, KEY_NAME, Subject};
use uuid::Uuid;

use crate::site::{Call, Site, get, merged, post, report_body, run_id};

/// The path and query of a callback URL.
fn path(url: &Value) -> String {
    url.as_str().unwrap().strip_prefix("http://stepwell.test").unwrap().to_owned()
}

fn ack(directive: &Value) -> Call {
    post(&path(&directive["callback_urls"]["ack"])).json(&report_body(directive, &json!({})))
}

fn result(directive: &Value, fields: &Value) -> Call {
    let body = report_body(directive, &merged(&json!({"status": "SUCCEEDED"}), fields));
    post(&path(&directive["callback_urls"]["result"])).json(&body)
}

// D-002, D-003, D-007, D-035, D-036, X-140: a worker without a token of ours answers over the URLs it was given.
#[tokio::test]
async fn a_worker_needs_nothing_but_the_urls_of_its_directive() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let told = site.send(ack(&directive)).await.expect(StatusCode::ACCEPTED);
    assert_eq!(told, json!({"applied": true}));
    assert_eq!(site.job(&id).await["steps"][0]["status"], "PROCESSING");
    let told = site.send(result(&directive, &json!({}))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(told, json!({"applied": true}));
    let job = site.job(&id).await;
    assert_eq!(job["steps"][0]["status"], "SUCCEEDED");
    let directive = site.lease("embed-service").await;
    site.send(result(&directive, &json!({"status": "FAILED_FINAL"}))).await;
    assert_eq!(site.job(&id).await["status"], "FAILED_FINAL");
}

#[tokio::test]
async fn the_proof_may_stand_in_the_header_instead() {
    let site = Site::in_memory().await;
    site.start().await;
    let directive = site.lease("ocr-service").await;
    let url = path(&directive["callback_urls"]["ack"]);
    let token = url.split_once("token=").unwrap().1;
    let call = post("/v1/callbacks/ack").token(token).json(&report_body(&directive, &json!({})));
    site.send(call).await.expect(StatusCode::ACCEPTED);
}

// D-037: every missing field is named, and nothing changes.
#[tokio::test]
async fn a_callback_without_its_fields_is_refused_with_all_of_them() {
    let site = Site::on_sqlite().await;
    site.start().await;
    let directive = site.lease("ocr-service").await;
    let before = site.written().await;
    let missing = |problem: &Value| -> Vec<String> {
        let details = problem["details"].as_array().unwrap();
        details.iter().map(|it| it["path"].as_str().unwrap().to_owned()).collect()
    };
    let call = post(&path(&directive["callback_urls"]["ack"])).json(&json!({}));
    let problem = site.send(call).await.refused(422, "invalid_request");
    assert_eq!(missing(&problem), ["jobId", "stepId", "tenant_id", "attempt_no", "lease_id"]);
    let call = post(&path(&directive["callback_urls"]["result"])).json(&json!({}));
    let problem = site.send(call).await.refused(422, "invalid_request");
    assert_eq!(
        missing(&problem),
        ["jobId", "stepId", "tenant_id", "attempt_no", "lease_id", "status"]
    );
    assert_eq!(site.written().await, before);
}

// D-065, X-140: forged, expired, somebody else's: 401 without a reason, and nothing changes.
#[tokio::test]
async fn a_callback_that_proves_nothing_is_turned_away() {
    let site = Site::on_sqlite().await;
    site.start().await;
    site.start().await;
    let directive = site.lease("ocr-service").await;
    let other = site.lease("ocr-service").await;
    let before = site.written().await;
    let body = report_body(&directive, &json!({"status": "SUCCEEDED"}));
    let call = |token: &str| post(&format!("/v1/callbacks/result?token={token}")).json(&body);
    site.send(post("/v1/callbacks/result").json(&body)).await.refused(401, "unauthenticated");
    let foreign = path(&other["callback_urls"]["result"]);
    let foreign = foreign.split_once("token=").unwrap().1;
    let forged = format!("{}A", &foreign[..foreign.len() - 1]);
    for token in ["x", "cb1.9999999999.AAAA", foreign, &forged, &site.admin] {
        site.send(call(token)).await.refused(401, "invalid_callback_token");
    }
    // A day after the end of the lease the proof is worth nothing more.
    site.advance(15 * 60 + 24 * 60 * 60);
    let late = site.send(result(&directive, &json!({}))).await;
    late.refused(401, "invalid_callback_token");
    let job =
        site.store.history(run_id(directive["jobId"].as_str().unwrap()), 0, 10).await.unwrap();
    let words =
        job.iter().flat_map(|record| &record.entries).map(stepwell_core::entry::Entry::word);
    assert!(!words.collect::<Vec<_>>().contains(&"step_succeeded"));
    assert!(before.contains("records"));
}

// a worker that names the wrong tenant for its own attempt is told so.
#[tokio::test]
async fn a_callback_with_the_wrong_tenant_is_refused() {
    let site = Site::on_sqlite().await;
    site.start().await;
    let directive = site.lease("ocr-service").await;
    let before = site.written().await;
    let call = result(&directive, &json!({"tenant_id": "globex"}));
    site.send(call).await.refused(403, "tenant_mismatch");
    assert_eq!(site.written().await, before);
}

// unknown job -> 404, for whoever can prove that it once was theirs.
#[tokio::test]
async fn a_callback_for_a_job_that_no_longer_exists_is_refused() {
    let site = Site::on_sqlite().await;
    let key = site.store.secret(KEY_NAME.to_owned(), Vec::new()).await.unwrap();
    let (run, lease) = (Uuid::from_u128(5), Uuid::from_u128(6));
    let fence = Fence { attempt: 1, lease: LeaseId(lease) };
    let subject = Subject { tenant: "acme", run: RunId(run), step: "ocr", fence };
    let token = CallbackKey::new(key).token(&subject, site.engine.now());
    let body = json!({"jobId": run, "stepId": "ocr", "tenant_id": "acme", "attempt_no": 1, "lease_id": lease});
    let call = |path: &str| post(&format!("/v1/callbacks/{path}?token={token}"));
    let before = site.written().await;
    site.send(call("ack").json(&body)).await.refused(404, "job_not_found");
    let body = merged(&body, &json!({"status": "SUCCEEDED"}));
    site.send(call("result").json(&body)).await.refused(404, "job_not_found");
    assert_eq!(site.written().await, before);
}

// D-038, X-139: attempt or lease not current, step or job terminal: recorded, 202 {applied:false, reason}.
#[tokio::test]
async fn a_callback_without_effect_is_recorded_and_says_why() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let first = site.lease("ocr-service").await;
    site.send(result(&first, &json!({"status": "FAILED_RETRYABLE"}))).await;
    let second = site.lease("ocr-service").await;
    let version = site.job(&id).await["version"].clone();
    let told = site.send(result(&first, &json!({}))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(told, json!({"applied": false, "reason": "stale_attempt"}));
    assert_eq!(site.job(&id).await["version"], version);
    site.send(result(&second, &json!({}))).await.expect(StatusCode::ACCEPTED);
    // A result that comes twice counts once.
    let told = site.send(result(&second, &json!({}))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(told, json!({"applied": false, "reason": "step_ended"}));
    let told = site.send(ack(&second)).await.expect(StatusCode::ACCEPTED);
    assert_eq!(told["applied"], false);
    let third = site.lease("embed-service").await;
    site.send(result(&third, &json!({}))).await;
    let told = site.send(result(&third, &json!({}))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(told, json!({"applied": false, "reason": "step_ended"}));
    let reports = site.ask(get(&format!("/v1/jobs/{id}/stale-reports"))).await.json();
    let reasons: Vec<_> =
        reports["items"].as_array().unwrap().iter().map(|it| it["reason"].clone()).collect();
    assert_eq!(reasons, ["stale_attempt", "step_ended", "step_ended", "step_ended"]);
}

// matched by step id, whichever step is current.
#[tokio::test]
async fn a_callback_for_one_step_is_never_taken_for_another() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let body = report_body(&directive, &json!({"status": "SUCCEEDED", "stepId": "embed"}));
    let reply = site.ask(post("/v1/workers/results").json(&json!({"results": [body]}))).await;
    assert_eq!(reply.json()["answers"][0]["applied"], false);
    let job = site.job(&id).await;
    assert_eq!(
        (&job["steps"][0]["status"], &job["steps"][1]["status"]),
        (&json!("INITIATED"), &json!("PENDING"))
    );
}
