//! Workers over HTTP, with the messages that they know from their topics.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use super::{
    MAILBOXES, act, in_cutover, made, receive, report, result, site_with, steps, until, work,
};
use crate::site::{Site, merged, post};

#[tokio::test]
async fn a_job_has_the_exact_schema_of_its_message() {
    //
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    act(&site, id, "advance").await;
    let job = receive(&site, "worker-01", 1).await.remove(0);
    let step = &steps(&site, id, "init=true").await[0]["id"];
    assert_eq!(
        job["body"],
        json!({
            "JobId": format!("init-{step}-attempt-1"),
            "BatchId": id,
            "WorkerId": "worker-01",
            "FunctionName": "New-Group",
            "Parameters": {"Batch": id},
            "CorrelationData": {
                "StepExecutionId": step, "IsInitStep": true,
                "RunbookName": "mailboxes", "RunbookVersion": 1,
            },
        })
    );
    assert_eq!(job["properties"], json!({"WorkerId": "worker-01"}));
    assert_eq!(job["delivery_count"], 1);
    assert_eq!(job["locked_until"], "2025-03-10T12:01:00.000Z");
}

#[tokio::test]
async fn a_worker_receives_the_jobs_of_its_own_id_only() {
    //
    let site = site_with(MAILBOXES).await;
    in_cutover(&site).await;
    let call = post("/api/worker-jobs/worker-01/receive").json(&json!({"max": 10}));
    let reply = site.ask(call).await.expect(StatusCode::OK);
    assert_eq!(reply["messages"], json!([]));
    assert_eq!(receive(&site, "worker-02", 2).await.len(), 2);
}

#[tokio::test]
async fn a_lock_is_renewed_while_the_job_is_the_workers_and_lost_when_it_is_done() {
    //
    let site = site_with(MAILBOXES).await;
    in_cutover(&site).await;
    let jobs = receive(&site, "worker-02", 1).await;
    let tokens = json!({"lock_tokens": [jobs[0]["lock_token"]], "lock_sec": 300});
    let renewed = site.ask(post("/api/worker-jobs/renew").json(&tokens)).await;
    assert_eq!(renewed.expect(StatusCode::OK)["locks"][0]["status"], "ok");
    report(&site, &jobs[0], "Success", &Value::Null).await;
    let renewed = site.ask(post("/api/worker-jobs/renew").json(&tokens)).await;
    assert_eq!(renewed.expect(StatusCode::OK)["locks"][0]["status"], "lost");
}

#[tokio::test]
async fn a_job_whose_lock_ran_out_is_handed_out_again_under_the_same_name() {
    // a crash leads to a redelivery with the same JobId.
    let site = site_with(MAILBOXES).await;
    in_cutover(&site).await;
    let first = receive(&site, "worker-02", 2).await;
    site.clock.advance(Duration::from_secs(61));
    let again = receive(&site, "worker-02", 2).await;
    let names = |jobs: &[Value]| {
        let mut names: Vec<String> =
            jobs.iter().map(|job| job["body"]["JobId"].to_string()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names(&first), names(&again));
    assert!(again.iter().all(|job| job["delivery_count"] == 2));
}

#[tokio::test]
async fn a_list_of_results_is_answered_one_by_one_and_in_any_capitals() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let jobs = receive(&site, "worker-02", 2).await;
    let camel = json!({
        "jobId": jobs[1]["body"]["JobId"], "status": "success", "result": true,
        "correlationData": jobs[1]["body"]["CorrelationData"], "someday": "more",
    });
    let body = json!([result(&jobs[0], "Success", &json!({"data": {"Id": "x"}})), camel]);
    let reply = site.ask(post("/api/worker-results").json(&body)).await;
    let results = reply.expect(StatusCode::ACCEPTED)["results"].clone();
    for (result, job) in results.as_array().unwrap().iter().zip(&jobs) {
        assert_eq!(*result, json!({"JobId": job["body"]["JobId"], "outcome": "accepted"}));
    }
    until(&site, id, |batch| batch.status.word() == "completed").await;
}

#[tokio::test]
async fn unfinished_work_is_asked_for_again_under_a_new_name() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let job = &receive(&site, "worker-02", 2).await[0];
    assert_eq!(report(&site, job, "Success", &json!({"complete": false})).await, "accepted");
    let step = &steps(&site, id, "status=polling").await[0];
    assert_eq!(step["poll_started_at"], step["last_polled_at"]);
    site.advance(31);
    let question = &receive(&site, "worker-02", 1).await[0];
    let name = format!("{}-poll-1", job["body"]["JobId"].as_str().unwrap());
    assert_eq!(question["body"]["JobId"], name);
    assert_eq!(question["body"]["Parameters"], job["body"]["Parameters"]);
    assert_eq!(report(&site, job, "Success", &json!({"complete": true})).await, "ignored");
    assert_eq!(report(&site, question, "Success", &json!({"complete": true})).await, "accepted");
}

#[tokio::test]
async fn a_result_that_comes_late_or_for_nobody_is_no_error() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let job = &receive(&site, "worker-02", 1).await[0];
    assert_eq!(report(&site, job, "Success", &Value::Null).await, "accepted");
    assert_eq!(report(&site, job, "Failure", &Value::Null).await, "ignored");
    let step = job["body"]["CorrelationData"]["StepExecutionId"].clone();
    let found = steps(&site, id, "status=succeeded&phase=cutover").await;
    assert_eq!(found[0]["id"], step, "what has ended stays as it is");
    let unknown = json!({"StepExecutionId": 999 << 16, "IsInitStep": false, "RunbookName": "x", "RunbookVersion": 1});
    let strange = merged(
        &result(job, "Success", &Value::Null),
        &json!({"JobId": format!("step-{}-attempt-1", 999 << 16), "CorrelationData": unknown}),
    );
    let foreign = merged(&result(job, "Success", &Value::Null), &json!({"JobId": "theirs-7"}));
    let reply = site.ask(post("/api/worker-results").json(&json!([strange, foreign]))).await;
    let results = reply.expect(StatusCode::ACCEPTED)["results"].clone();
    assert_eq!(
        (&results[0]["outcome"], &results[1]["outcome"]),
        (&json!("unknown"), &json!("unknown"))
    );
    assert_eq!(results[1]["JobId"], "theirs-7");
}

#[tokio::test]
async fn a_result_that_cannot_be_read_is_refused_with_every_fault() {
    //
    let site = site_with(MAILBOXES).await;
    in_cutover(&site).await;
    let job = &receive(&site, "worker-02", 1).await[0];
    let sound = result(job, "Success", &Value::Null);
    let broken = json!({"JobId": job["body"]["JobId"], "CorrelationData": {}});
    let reply = site.ask(post("/api/worker-results").json(&json!([sound, broken]))).await;
    let problem = reply.refused(400, "invalid_result");
    let paths: Vec<_> =
        problem["details"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(paths, ["[1].Status", "[1].CorrelationData.StepExecutionId"]);
    assert_eq!(report(&site, job, "Success", &Value::Null).await, "accepted", "none was taken");
    for body in [json!([]), json!(7), json!({})] {
        let reply = site.ask(post("/api/worker-results").json(&body)).await;
        reply.refused(400, "invalid_result");
    }
}

#[tokio::test]
async fn steps_of_other_dialects_stay_in_the_pool() {
    let site = Site::in_memory().await;
    site.start().await;
    let call = post("/api/worker-jobs/ocr-service/receive").json(&json!({"max": 10}));
    let reply = site.ask(call).await.expect(StatusCode::OK);
    assert_eq!(reply["messages"], json!([]));
    site.advance(2);
    assert!(site.lease("ocr-service").await["jobId"].is_string());
}

#[tokio::test]
async fn a_worker_needs_the_role_and_all_tenants() {
    let site = site_with(MAILBOXES).await;
    let viewer = site.token(Role::Viewer, None).await;
    let call = post("/api/worker-jobs/worker-01/receive").token(&viewer);
    site.send(call).await.refused(403, "forbidden");
    let bound = site.token(Role::Worker, Some("acme")).await;
    let call = post("/api/worker-jobs/worker-01/receive").token(&bound);
    site.send(call).await.refused(403, "all_tenants_required");
    let worker = site.token(Role::Worker, None).await;
    let call = post("/api/worker-jobs/worker-01/receive").token(&worker);
    site.send(call).await.expect(StatusCode::OK);
    let id = made(&site).await;
    act(&site, id, "advance").await;
    assert_eq!(work(&site, "worker-01", 1).await, ["New-Group"]);
}
