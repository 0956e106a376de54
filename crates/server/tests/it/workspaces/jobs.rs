//! Making, listing, showing, canceling and retrying jobs.

use axum::http::StatusCode;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    JOBS, QUEUE, create, finish, kill, path, record, report, request, request_with, site,
    site_on_sqlite, take,
};
use crate::site::{Site, get, post};

// C-006, C-009, C-010, C-011, C-012, C-014, C-017, C-018: every field of the record, from the beginning.
#[tokio::test]
async fn a_job_is_made_with_every_field_of_its_record() {
    for site in [site().await, site_on_sqlite().await] {
        let fields = json!({"idempotency_key": "k-1", "trace_id": "trace-9",
            "references": {"input": "s3://bucket/in.csv"}});
        let reply = site.ask(post(JOBS).json(&request_with(&fields))).await;
        let job = reply.expect(StatusCode::CREATED);
        let id: Uuid = job["job_id"].as_str().unwrap().parse().unwrap();
        assert_eq!(id.get_version_num(), 4, "C-003");
        assert_eq!(reply.header("location"), path(&job));
        let noon = "2025-03-10T12:00:00.000Z";
        let expected = json!({
            "workspace_id": "acme", "user_id": "user-7", "workflow_id": "report",
            "trigger_type": "manual", "status": "queued", "attempts": 0, "max_attempts": 5,
            "step_cursor": 0, "steps_total": 2, "credits_estimate": 3, "credits_spent": 0,
            "idempotency_key": "k-1", "last_error_code": null, "last_error_message": null,
            "created_at": noon, "updated_at": noon, "started_at": null, "completed_at": null,
            "ttl_at": null, "next_attempt_at": null, "trace_id": "trace-9",
            "references": {"input": "s3://bucket/in.csv"},
        });
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&job[field], value, "{field}");
        }
        assert_eq!(record(&site, &job).await, job);
    }
}

// C-014, C-015, C-018, C-019, C-039, C-041: the record follows the work to its end.
#[tokio::test]
async fn a_job_is_queued_then_running_then_completed_and_says_when_it_is_deleted() {
    let site = site_on_sqlite().await;
    let job = create(&site, &json!({})).await;
    site.advance(10);
    let directive = take(&site).await;
    let running = record(&site, &job).await;
    assert_eq!((&running["status"], &running["attempts"]), (&json!("running"), &json!(1)));
    assert_eq!(running["started_at"], "2025-03-10T12:00:10.000Z");
    site.advance(10);
    let told = report(&site, &directive, &json!({"status": "SUCCEEDED"})).await;
    let between = record(&site, &job).await;
    assert_eq!((&between["step_cursor"], &between["status"]), (&json!(1), &json!("running")));
    assert_eq!(between["updated_at"], "2025-03-10T12:00:20.000Z");
    site.advance(10);
    let next = &told["next"]["directive"];
    assert_eq!(
        report(&site, next, &json!({"status": "SUCCEEDED"})).await,
        json!({"applied": true})
    );
    let done = record(&site, &job).await;
    assert_eq!((&done["step_cursor"], &done["status"]), (&json!(2), &json!("completed")));
    assert_eq!(done["completed_at"], "2025-03-10T12:00:30.000Z");
    assert_eq!(done["started_at"], running["started_at"]);
    let day_s = 24 * 60 * 60;
    assert_eq!(done["ttl_at"], 1_741_608_030 + 30 * day_s, "30 days");
}

// C-009, C-020, C-021, C-029, C-031, C-034, X-120: failed attempts, the rest between them, the end.
#[tokio::test]
async fn a_job_that_fails_waits_for_its_next_attempt_and_is_dead_after_the_last() {
    let site = site().await;
    let job = create(&site, &json!({"max_attempts": 2})).await;
    let directive = take(&site).await;
    let error = json!({"code": "Upstream.Busy", "message": "come back later"});
    report(&site, &directive, &json!({"status": "FAILED_RETRYABLE", "error": error})).await;
    let failed = record(&site, &job).await;
    assert_eq!((&failed["status"], &failed["attempts"]), (&json!("failed"), &json!(1)));
    assert_eq!(failed["last_error_code"], "upstream.busy");
    assert_eq!(failed["last_error_message"], "come back later");
    let rest = failed["next_attempt_at"].as_str().unwrap();
    assert!(("2025-03-10T12:00:27.000Z"..="2025-03-10T12:00:33.000Z").contains(&rest), "{rest}");
    assert_eq!(failed["ttl_at"], Value::Null, "C-042");
    site.advance(34);
    let directive = next_message(&site).await;
    assert_eq!(directive["message"]["attempt"], 2);
    report(&site, &directive, &json!({"status": "FAILED_RETRYABLE", "error": error})).await;
    let dead = record(&site, &job).await;
    assert_eq!((&dead["status"], &dead["attempts"]), (&json!("dead"), &json!(2)));
    assert_eq!(dead["completed_at"], "2025-03-10T12:00:34.000Z");
    assert_eq!(dead["ttl_at"], 1_741_608_034 + 90 * 24 * 60 * 60, "90 days");
}

/// Waits for the message of the next attempt.
async fn next_message(site: &Site) -> Value {
    let call =
        || post(&format!("/v1/workers/{}/lease", super::QUEUE)).json(&json!({"wait_seconds": 5}));
    let mut leased = site.ask(call()).await.expect(StatusCode::OK);
    leased["directives"][0]["directive"].take()
}

// C-012, C-036, X-124: one key, one job; another request under the key is refused.
#[tokio::test]
async fn the_same_request_under_one_key_makes_one_job() {
    for site in [site().await, site_on_sqlite().await] {
        let call = || post(JOBS).json(&request_with(&json!({"idempotency_key": "k"})));
        let first = site.ask(call()).await.expect(StatusCode::CREATED);
        let again = site.ask(call()).await.expect(StatusCode::OK);
        assert_eq!(first["job_id"], again["job_id"]);
        let by_header = post(JOBS).header("Idempotency-Key", "k").json(&request());
        assert_eq!(site.ask(by_header).await.expect(StatusCode::OK)["job_id"], first["job_id"]);
        let before = site.written().await;
        site.publish(OTHER).await;
        let other = json!({"idempotency_key": "k", "workflow_id": "other"});
        let refused = site.ask(post(JOBS).json(&request_with(&other))).await;
        refused.refused(409, "idempotency_key_reused");
        let input = json!({"idempotency_key": "k", "input": {"day": "tuesday"}});
        site.ask(post(JOBS).json(&request_with(&input)))
            .await
            .refused(409, "idempotency_key_reused");
        assert_eq!(site.store.runs(Default::default(), page()).await.unwrap().len(), 1);
        assert!(!before.is_empty());
        // Another workspace has keys of its own.
        let elsewhere = post("/v1/workspaces/globex/jobs");
        let elsewhere = elsewhere.json(&request_with(&json!({"idempotency_key": "k"})));
        let elsewhere = site.ask(elsewhere).await.expect(StatusCode::CREATED);
        assert_ne!(elsewhere["job_id"], first["job_id"]);
    }
}

// C-001: the names of the contract's resources are configuration. A queue is what the workflow calls it:
// the contract's own name and any other work alike, and neither sees the other's messages.
#[tokio::test]
async fn the_queue_of_a_job_has_the_name_that_its_workflow_gives_it() {
    let site = site().await;
    site.publish(&OTHER.replace("lifebook-orchestrator-queue", "night-shift")).await;
    let contract = create(&site, &json!({})).await;
    let named = create(&site, &json!({"workflow_id": "other"})).await;
    let of = |directive: Value| directive["message"]["job_id"].clone();
    assert_eq!(of(site.lease("night-shift").await), named["job_id"]);
    assert_eq!(of(site.lease(QUEUE).await), contract["job_id"]);
    assert_eq!(site.lease(QUEUE).await, Value::Null);
}

const OTHER: &str = "
name: other
steps:
  - {id: only, type: ONLY, pool: lifebook-orchestrator-queue}
";

fn page() -> stepwell_store::Page {
    stepwell_store::Page { before: None, limit: 100 }
}

// C-004: by creation time, newest first, page by page, with what the index projects.
#[tokio::test]
async fn the_jobs_of_a_workspace_are_listed_newest_first_and_by_status() {
    let site = site_on_sqlite().await;
    let mut made = Vec::new();
    for number in 0..3 {
        site.advance(1);
        made.push(create(&site, &json!({"user_id": format!("user-{number}")})).await);
    }
    site.ask(post("/v1/workspaces/globex/jobs").json(&request())).await.expect(StatusCode::CREATED);
    finish(&site).await;
    let mut found = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let page = site.ask(get(&format!("{JOBS}?{query}"))).await.expect(StatusCode::OK);
        found.extend(page["items"].as_array().unwrap().clone());
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=2&cursor={cursor}"),
            None => break,
        }
    }
    let ids: Vec<&Value> = found.iter().map(|job| &job["job_id"]).collect();
    let expected: Vec<&Value> = made.iter().rev().map(|job| &job["job_id"]).collect();
    assert_eq!(ids, expected);
    let projected = ["status", "workflow_id", "trigger_type", "credits_estimate", "created_at"];
    for field in projected {
        assert!(!found[0][field].is_null(), "{field}");
    }
    let completed = site.ask(get(&format!("{JOBS}?status=completed,dead"))).await;
    let completed = completed.expect(StatusCode::OK)["items"].take();
    assert_eq!(completed.as_array().unwrap().len(), 1);
    site.ask(get(&format!("{JOBS}?status=done"))).await.refused(400, "malformed_parameter");
    let later = site.ask(get(&format!("{JOBS}?created_from=2025-03-10T12:00:03Z"))).await;
    assert_eq!(later.expect(StatusCode::OK)["items"].as_array().unwrap().len(), 1);
}

// C-022, X-123, X-152: canceled at once; the worker's report is recorded and changes nothing.
#[tokio::test]
async fn a_job_is_canceled_at_once_and_its_worker_is_told_that_it_is_lost() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let directive = take(&site).await;
    let call = || post(&format!("{}:cancel", path(&job))).json(&json!({"reason": "not needed"}));
    let canceled = site.ask(call()).await.expect(StatusCode::OK);
    assert_eq!((&canceled["status"], &canceled["attempts"]), (&json!("canceled"), &json!(1)));
    let beat = json!({"heartbeats": [crate::site::report_body(&directive, &json!({}))]});
    let beat = site.ask(post("/v1/workers/heartbeats").json(&beat)).await.expect(StatusCode::OK);
    assert_eq!(beat["heartbeats"][0]["status"], "lost");
    let told = report(&site, &directive, &json!({"status": "SUCCEEDED"})).await;
    assert_eq!(told["applied"], false, "{told}");
    assert_eq!(record(&site, &job).await, canceled);
    // C-024: what has ended stays as it ended.
    site.ask(call()).await.refused(409, "run_ended");
}

// C-040, X-116: a dead job is taken up where it stopped, by a new one.
#[tokio::test]
async fn a_dead_job_is_taken_up_at_its_cursor_by_a_new_job() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let directive = take(&site).await;
    let told =
        report(&site, &directive, &json!({"status": "SUCCEEDED", "result": {"rows": 3}})).await;
    report(&site, &told["next"]["directive"], &json!({"status": "FAILED_FINAL"})).await;
    assert_eq!(record(&site, &job).await["status"], "dead");
    let retry = || post(&format!("{}:retry", path(&job))).json(&json!({"reason": "mended"}));
    let reply = site.ask(retry()).await;
    let new = reply.expect(StatusCode::CREATED);
    assert_eq!(reply.header("location"), path(&new));
    assert_eq!((&new["resumes"], &new["step_cursor"]), (&job["job_id"], &json!(1)));
    assert_eq!(site.ask(retry()).await.expect(StatusCode::OK)["job_id"], new["job_id"]);
    let directive = take(&site).await;
    assert_eq!((&directive["stepId"], &directive["jobId"]), (&json!("write"), &new["job_id"]));
    report(&site, &directive, &json!({"status": "SUCCEEDED"})).await;
    assert_eq!(record(&site, &new).await["status"], "completed");
    let again = post(&format!("{}:retry", path(&new)));
    site.ask(again).await.refused(409, "run_not_retryable");
}

#[tokio::test]
async fn a_job_says_why_it_waits_and_what_happened_to_it() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let explained = site.ask(get(&format!("{}/explain", path(&job)))).await.expect(StatusCode::OK);
    assert!(explained.to_string().contains(super::QUEUE), "{explained}");
    kill(&site).await;
    let history = site.ask(get(&format!("{}/history", path(&job)))).await.expect(StatusCode::OK);
    let items = history["items"].as_array().unwrap();
    assert_eq!(items[0]["version"], 1);
    assert!(history.to_string().contains("run_failed"), "{history}");
    let tag = site.ask(get(&path(&job))).await;
    let unchanged = get(&path(&job)).header("If-None-Match", tag.header("etag"));
    assert_eq!(site.ask(unchanged).await.status, StatusCode::NOT_MODIFIED);
}
