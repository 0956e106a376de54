//! Who may not, and what is not taken.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use super::{JOBS, create, path, request, request_with, site};
use crate::site::{Call, get, post, put};

/// Every address of a workspace, with something that it would take.
fn calls(job: &Value) -> Vec<Call> {
    let job = path(job);
    let grant = json!({"amount": 5, "reason": "x"});
    vec![
        post(JOBS).json(&request()),
        get(JOBS),
        get(&job),
        post(&format!("{job}:cancel")),
        post(&format!("{job}:retry")),
        get(&format!("{job}/explain")),
        get(&format!("{job}/history")),
        get("/v1/workspaces/acme/credits"),
        post("/v1/workspaces/acme/credits/grants").json(&grant),
        get("/v1/workspaces/acme/credits/ledger"),
        get("/v1/workspaces/acme/policy"),
        put("/v1/workspaces/acme/policy").json(&json!({})),
    ]
}

// a foreign workspace is answered as one that does not exist, whatever is asked of it.
#[tokio::test]
async fn a_workspace_of_another_tenant_does_not_exist() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let token = site.token(Role::Admin, Some("globex")).await;
    let before = site.written().await;
    for call in calls(&job) {
        site.send(call.token(&token)).await.refused(404, "workspace_not_found");
    }
    assert_eq!(site.written().await, before);
    // A job of one workspace is not found under another, nor is a job of another dialect.
    let elsewhere = path(&job).replace("acme", "globex");
    site.send(get(&elsewhere).token(&token)).await.refused(404, "job_not_found");
    let command = site.start().await;
    site.ask(get(&format!("{JOBS}/{command}"))).await.refused(404, "job_not_found");
    site.ask(get(&format!("{JOBS}/7"))).await.refused(404, "job_not_found");
    let own = site.token(Role::Client, Some("acme")).await;
    site.send(get(&path(&job)).token(&own)).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn credits_and_policies_are_for_administrators() {
    let site = site().await;
    for role in [Role::Operator, Role::Client, Role::Viewer] {
        let token = site.token(role, Some("acme")).await;
        let grant = post("/v1/workspaces/acme/credits/grants").token(&token);
        site.send(grant.json(&json!({"amount": 5, "reason": "x"}))).await.refused(403, "forbidden");
        let policy = put("/v1/workspaces/acme/policy").token(&token).json(&json!({}));
        site.send(policy).await.refused(403, "forbidden");
        site.send(get("/v1/workspaces/acme/credits").token(&token)).await.expect(StatusCode::OK);
    }
    let viewer = site.token(Role::Viewer, Some("acme")).await;
    site.send(post(JOBS).token(&viewer).json(&request())).await.refused(403, "forbidden");
}

// C-007: anything but the four words is refused; every problem is told at once.
#[tokio::test]
async fn a_request_that_is_not_sound_makes_no_job_and_is_told_everything_at_once() {
    let site = site().await;
    let before = site.written().await;
    let body = json!({"workflow_id": 7, "trigger_type": "telepathy", "max_attempts": 0,
        "credits_estimate": -1, "colour": "red"});
    let problem = site.ask(post(JOBS).json(&body)).await.refused(422, "invalid_request");
    let mut paths: Vec<_> =
        problem["details"].as_array().unwrap().iter().map(|it| it["path"].clone()).collect();
    paths.sort_by_key(Value::to_string);
    let expected =
        ["colour", "credits_estimate", "max_attempts", "trigger_type", "user_id", "workflow_id"];
    assert_eq!(json!(paths), json!(expected));
    let unknown = post(JOBS).json(&request_with(&json!({"workflow_id": "nothing"})));
    site.ask(unknown).await.refused(404, "workflow_not_found");
    let input = post(JOBS).json(&request_with(&json!({"input": {"day": 7}})));
    let problem = site.ask(input).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["path"], "input.day");
    let keys = post(JOBS).header("Idempotency-Key", "a");
    let keys = keys.json(&request_with(&json!({"idempotency_key": "b"})));
    site.ask(keys).await.refused(422, "invalid_request");
    let mismatch = post(JOBS).json(&request_with(&json!({"workspace_id": "globex"})));
    site.ask(mismatch).await.refused(422, "invalid_request");
    assert_eq!(site.written().await, before);
}

// C-016, X-163: large data stays outside, and the answer says so.
#[tokio::test]
async fn an_input_that_is_too_large_is_told_to_be_a_reference() {
    let site = site().await;
    let large = json!({"input": {"day": "x".repeat(257 * 1024)}});
    let problem = site.ask(post(JOBS).json(&request_with(&large))).await;
    let problem = problem.refused(422, "invalid_request");
    assert!(problem["details"][0]["help"].as_str().unwrap().contains("reference"), "{problem}");
}

// C-024: a report of somebody who has lost the attempt changes nothing.
#[tokio::test]
async fn a_job_that_has_ended_takes_no_attempt_any_more() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let directive = site.lease(super::QUEUE).await;
    site.ask(post(&format!("{}:cancel", path(&job)))).await.expect(StatusCode::OK);
    let before = super::record(&site, &job).await;
    let acks = json!({"acks": [crate::site::report_body(&directive, &json!({}))]});
    let told = site.ask(post("/v1/workers/acks").json(&acks)).await.expect(StatusCode::OK);
    assert_eq!(told["answers"][0]["applied"], false, "C-022, C-037");
    assert_eq!(super::record(&site, &job).await, before);
}

fn text<'a>(problem: &'a Value, field: &str) -> &'a str {
    problem[field].as_str().unwrap()
}

// C-024, X-124: what is refused is told with the ids, the status words and the addresses of workspaces.
#[tokio::test]
async fn a_refusal_speaks_of_jobs_as_workspaces_do() {
    let site = site().await;
    let job = create(&site, &json!({"idempotency_key": "k-1"})).await;
    let other = post(JOBS).json(&request_with(&json!({"idempotency_key": "k-1", "priority": 9})));
    let reused = site.ask(other).await.refused(409, "idempotency_key_reused");
    assert!(
        text(&reused, "detail").ends_with(&format!("job {}", text(&job, "job_id"))),
        "{reused}"
    );

    let cancel = || post(&format!("{}:cancel", path(&job))).json(&json!({"reason": "no need"}));
    site.ask(cancel()).await.expect(StatusCode::OK);
    let ended = site.ask(cancel()).await.refused(409, "run_ended");
    assert_eq!(ended["detail"], "the job is canceled already");
    assert!(text(&ended, "next").contains("/v1/workspaces/"), "{ended}");

    let open = create(&site, &json!({})).await;
    let early = site.ask(post(&format!("{}:retry", path(&open)))).await;
    assert_eq!(early.refused(409, "run_not_retryable")["detail"], "the job is queued");

    let nobody = "01a1e471-72ac-4082-a845-96ff3050ec39";
    let missing = site.ask(get(&format!("{JOBS}/{nobody}"))).await.refused(404, "job_not_found");
    assert!(text(&missing, "next").contains("/v1/workspaces/"), "{missing}");
}

#[tokio::test]
async fn a_name_that_no_workspace_can_have_is_told_as_such_and_nothing_is_made_under_it() {
    let site = site().await;
    let before = site.written().await;
    for id in ["a%20b", "%2e%2e", "%2e", &"x".repeat(129)] {
        let call = post(&format!("/v1/workspaces/{id}/jobs")).json(&request());
        let problem = site.ask(call).await.refused(404, "workspace_not_found");
        assert_eq!(problem["detail"], "no workspace can have this id", "{id}");
    }
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_job_that_is_taken_up_again_counts_as_one_that_is_open() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    site.ask(post(&format!("{}:cancel", path(&job)))).await.expect(StatusCode::OK);
    let policy = put("/v1/workspaces/acme/policy").json(&json!({"jobs_open_max": 1}));
    site.ask(policy).await.expect(StatusCode::OK);
    create(&site, &json!({})).await;
    let retry = site.ask(post(&format!("{}:retry", path(&job)))).await;
    retry.refused(429, "tenant_full");
}
