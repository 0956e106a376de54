//! Acting on jobs.

use axum::http::StatusCode;
use serde_json::json;

use crate::site::{GATED, Site, envelope_with, get, post};

// D-051, D-052, X-138: CANCELLING, no new step; CANCELLED when the current step completes; repeat -> 202.
#[tokio::test]
async fn a_job_is_cancelled_when_its_current_step_has_ended() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let cancel = || post(&format!("/v1/jobs/{id}:cancel")).json(&json!({"reason": "a mistake"}));
    let job = site.ask(cancel()).await.expect(StatusCode::ACCEPTED);
    assert_eq!(job["status"], "CANCELLING");
    assert_eq!(site.ask(cancel()).await.expect(StatusCode::ACCEPTED)["status"], "CANCELLING");
    assert_eq!(site.report(&directive, "SUCCEEDED").await, json!({"applied": true}));
    let job = site.job(&id).await;
    assert_eq!(job["status"], "CANCELLED");
    assert_eq!(job["steps"][1]["status"], "CANCELLED");
    // D-051: nothing of the second step was ever dispatched.
    assert_eq!(job["steps"][1]["attempt_no"], 0);
    // terminal job -> 409.
    site.ask(cancel()).await.refused(409, "run_ended");
}

// no current step -> CANCELLED at once.
#[tokio::test]
async fn a_job_that_nobody_works_on_is_cancelled_at_once() {
    let site = Site::in_memory().await;
    site.publish(GATED).await;
    let call =
        post("/v1/commands").json(&envelope_with(&json!({"request_type": "document.approve"})));
    let id = site.ask(call).await.json()["jobId"].as_str().unwrap().to_owned();
    let job = site.ask(post(&format!("/v1/jobs/{id}:cancel"))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(job["status"], "CANCELLED");
}

// D-053: late callbacks do not change a terminal job.
#[tokio::test]
async fn a_late_result_does_not_change_a_cancelled_job() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let cancel = post(&format!("/v1/jobs/{id}:cancel")).json(&json!({"mode": "immediate"}));
    let job = site.ask(cancel).await.expect(StatusCode::ACCEPTED);
    assert_eq!(job["status"], "CANCELLED");
    let told = site.report(&directive, "SUCCEEDED").await;
    assert_eq!(told["applied"], false);
    assert_eq!(site.job(&id).await, job);
}

// D-031: a change that the caller has not seen is not overwritten.
#[tokio::test]
async fn an_act_on_a_job_that_has_changed_is_refused() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let tag = site.ask(get(&format!("/v1/jobs/{id}"))).await.header("etag").to_owned();
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "SUCCEEDED").await;
    let before = site.written().await;
    let cancel = |tag: &str| post(&format!("/v1/jobs/{id}:cancel")).header("If-Match", tag);
    site.ask(cancel(&tag)).await.refused(412, "version_mismatch");
    assert_eq!(site.written().await, before);
    let tag = site.ask(get(&format!("/v1/jobs/{id}"))).await.header("etag").to_owned();
    site.ask(cancel(&tag)).await.expect(StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_paused_job_dispatches_nothing_until_it_is_resumed() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let paused = post(&format!("/v1/jobs/{id}:pause")).json(&json!({"reason": "wait"}));
    assert_eq!(site.ask(paused).await.expect(StatusCode::ACCEPTED)["paused"], true);
    site.report(&directive, "SUCCEEDED").await;
    assert!(site.lease("embed-service").await.is_null());
    site.ask(post(&format!("/v1/jobs/{id}:resume"))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(site.lease("embed-service").await["stepId"], "embed");
}

#[tokio::test]
async fn a_failed_job_is_taken_up_again_once_with_what_it_had_done() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "SUCCEEDED").await;
    let retry = || post(&format!("/v1/jobs/{id}:retry"));
    site.ask(retry()).await.refused(409, "run_not_retryable");
    let directive = site.lease("embed-service").await;
    site.report(&directive, "FAILED_FINAL").await;
    assert_eq!(site.job(&id).await["status"], "FAILED_FINAL");
    let new = site.ask(retry()).await.expect(StatusCode::ACCEPTED);
    assert_eq!((&new["created"], &new["resumes"]), (&json!(true), &json!(id)));
    let again = site.ask(retry()).await.expect(StatusCode::ACCEPTED);
    assert_eq!((&again["created"], &again["jobId"]), (&json!(false), &new["jobId"]));
    let job = site.job(new["jobId"].as_str().unwrap()).await;
    assert_eq!(job["steps"][0]["status"], "SUCCEEDED");
    assert_eq!(job["steps"][0]["attempt_no"], 0);
    let directive = site.lease("embed-service").await;
    assert_eq!(directive["jobId"], new["jobId"]);
    site.report(&directive, "SUCCEEDED").await;
    assert_eq!(site.job(new["jobId"].as_str().unwrap()).await["status"], "SUCCEEDED");
    // D-053: the job that had ended stays as it was.
    assert_eq!(site.job(&id).await["status"], "FAILED_FINAL");
}

#[tokio::test]
async fn a_person_may_retry_skip_and_complete_steps() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let step = |step: &str, verb: &str| post(&format!("/v1/jobs/{id}/steps/{step}:{verb}"));
    let job = site.ask(step("ocr", "retry")).await.expect(StatusCode::ACCEPTED);
    assert_eq!(job["steps"][0]["attempt_no"], 2);
    let done = step("ocr", "complete").json(&json!({"result": {"pages": 3}, "reason": "by hand"}));
    let job = site.ask(done).await.expect(StatusCode::ACCEPTED);
    assert_eq!(job["steps"][0]["status"], "SUCCEEDED");
    let steps = site.ask(get(&format!("/v1/jobs/{id}/steps"))).await.json();
    assert_eq!(steps["items"][0]["result"], json!({"pages": 3}));
    let job = site.ask(step("embed", "skip")).await.expect(StatusCode::ACCEPTED);
    assert_eq!(job["status"], "SUCCEEDED");
    site.ask(step("ocr", "retry")).await.refused(409, "run_ended");
    let id = site.start().await;
    let unknown = post(&format!("/v1/jobs/{id}/steps/nope:skip"));
    site.ask(unknown).await.refused(404, "unknown_step");
}

#[tokio::test]
async fn a_gate_lets_a_step_pass_once_it_is_opened() {
    let site = Site::in_memory().await;
    site.publish(GATED).await;
    let call =
        post("/v1/commands").json(&envelope_with(&json!({"request_type": "document.approve"})));
    let id = site.ask(call).await.json()["jobId"].as_str().unwrap().to_owned();
    assert!(site.lease("ocr-service").await.is_null());
    let gate = |gate: &str| post(&format!("/v1/jobs/{id}/gates/{gate}:open"));
    site.ask(gate("nope")).await.refused(404, "unknown_gate");
    site.ask(gate("approval")).await.expect(StatusCode::ACCEPTED);
    assert_eq!(site.lease("ocr-service").await["stepId"], "publish");
}

#[tokio::test]
async fn who_did_what_and_why_stands_in_the_history() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let cancel = post(&format!("/v1/jobs/{id}:cancel")).json(&json!({"reason": "wrong file"}));
    site.ask(cancel).await.expect(StatusCode::ACCEPTED);
    let history = site.ask(get(&format!("/v1/jobs/{id}/history"))).await.json();
    let by = &history["items"][1]["entries"][0]["by"];
    assert_eq!(by["reason"], "wrong file");
    assert!(by["actor"].as_str().unwrap().starts_with("first administrator (swl_"), "{by}");
}
