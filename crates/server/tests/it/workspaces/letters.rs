//! Dead letters of jobs.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{create, kill, record, report, site, site_on_sqlite, take};
use crate::site::{Site, get, post};

async fn letters(site: &Site, query: &str) -> Vec<Value> {
    let page = site.ask(get(&format!("/v1/dead-letters{query}"))).await.expect(StatusCode::OK);
    page["items"].as_array().unwrap().clone()
}

// C-021, C-032: a dead job leaves a letter that says how it came to that, and where its data lies.
#[tokio::test]
async fn a_dead_job_leaves_a_letter_with_its_first_and_last_error_its_age_and_its_references() {
    for site in [site().await, site_on_sqlite().await] {
        let fields =
            json!({"max_attempts": 2, "references": {"input": "s3://in/1", "scan": "s3://in/2"}});
        let job = create(&site, &fields).await;
        let directive = take(&site).await;
        let fail = |code: &str| json!({"status": "FAILED_RETRYABLE", "error": {"code": code, "message": code}});
        report(&site, &directive, &fail("first")).await;
        let mut changes = site.engine.changes();
        site.advance(40);
        changes.recv().await.unwrap();
        let directive = take(&site).await;
        report(&site, &directive, &fail("last")).await;
        assert_eq!(record(&site, &job).await["status"], "dead");
        site.advance(90);
        let [letter] = letters(&site, "?dialect=workspaces").await.try_into().unwrap();
        assert_eq!(letter["job_id"], job["job_id"]);
        assert_eq!(
            (&letter["first_error"]["code"], &letter["error"]["code"]),
            (&json!("first"), &json!("last"))
        );
        assert_eq!(letter["age_seconds"], 90);
        let whole = site.ask(get(&format!("/v1/dead-letters/{}", letter["id"]))).await;
        let whole = whole.expect(StatusCode::OK);
        assert_eq!(whole["attempts"], 2);
        assert_eq!(whole["references"]["scan"], "s3://in/2");
        assert_eq!(whole["references"]["input_ref"], "s3://in/1");
    }
}

// The filters choose, and never widen by a misspelling.
#[tokio::test]
async fn letters_are_chosen_by_what_is_known_of_them() {
    let site = site_on_sqlite().await;
    create(&site, &json!({})).await;
    kill(&site).await;
    site.start().await;
    site.fail().await;
    let count = async |query: &str| letters(&site, query).await.len();
    assert_eq!(count("").await, 2);
    assert_eq!(count("?dialect=workspaces").await, 1);
    assert_eq!(count("?dialect=commands").await, 1);
    assert_eq!(count("?error_code=no_such_day").await, 1);
    assert_eq!(count("?reason=run_failed").await, 2);
    assert_eq!(count("?reason=webhook_undelivered").await, 0);
    assert_eq!(count("?workflow=report&tenant=acme").await, 1);
    assert_eq!(count("?from=2025-03-10T12:00:00Z&until=2025-03-10T12:00:01Z").await, 2);
    assert_eq!(count("?until=2025-03-10T12:00:00Z").await, 0);
    for query in ["?dialect=esperanto", "?from=noon", "?reasons=run_failed"] {
        let path = format!("/v1/dead-letters{query}");
        site.ask(get(&path)).await.refused(400, "malformed_parameter");
    }
    let before = site.written().await;
    let filter = json!({"filter": {"dialect": "esperanto"}, "reason": "x"});
    for verb in ["replay", "discard"] {
        let call = post(&format!("/v1/dead-letters:{verb}")).json(&filter);
        site.ask(call).await.refused(422, "invalid_request");
    }
    assert_eq!(site.written().await, before);
}

// C-040: a replay makes a new job that begins at the cursor of the dead one.
#[tokio::test]
async fn many_letters_are_replayed_by_filter_with_one_result_for_each() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let directive = take(&site).await;
    let told = report(&site, &directive, &json!({"status": "SUCCEEDED"})).await;
    report(&site, &told["next"]["directive"], &json!({"status": "FAILED_FINAL"})).await;
    site.start().await;
    site.fail().await;
    let body = json!({"filter": {"dialect": "workspaces"}, "reason": "mended"});
    let replayed = site.ask(post("/v1/dead-letters:replay").json(&body)).await;
    let items = replayed.expect(StatusCode::OK)["items"].take();
    let [item] = items.as_array().unwrap().as_slice() else { panic!("{items}") };
    assert_eq!(item["status"], "replayed");
    let new = record(&site, &json!({"job_id": item["jobId"]})).await;
    assert_eq!((&new["resumes"], &new["step_cursor"]), (&job["job_id"], &json!(1)));
    assert_eq!(letters(&site, "").await.len(), 1, "the other dialect's letter is left");
    let [settled] = letters(&site, "?settled=true&dialect=workspaces").await.try_into().unwrap();
    assert_eq!(settled["settlement"]["replayed_as"], new["job_id"]);
}

#[tokio::test]
async fn many_letters_are_discarded_by_filter_and_never_without_a_reason() {
    let site = site_on_sqlite().await;
    for _ in 0..2 {
        create(&site, &json!({})).await;
        kill(&site).await;
    }
    site.start().await;
    site.fail().await;
    let call = |body: &Value| post("/v1/dead-letters:discard").json(body);
    let filter = json!({"dialect": "workspaces", "error_code": "no_such_day"});
    site.ask(call(&json!({"filter": filter}))).await.refused(422, "invalid_request");
    let body = json!({"filter": filter, "reason": "a bad calendar"});
    let items = site.ask(call(&body)).await.expect(StatusCode::OK)["items"].take();
    assert_eq!(items.as_array().unwrap().len(), 2);
    assert!(items.as_array().unwrap().iter().all(|item| item["status"] == "discarded"), "{items}");
    assert_eq!(letters(&site, "").await.len(), 1);
    let none = site.ask(call(&body)).await.expect(StatusCode::OK);
    assert_eq!(none, json!({"items": []}));
}
