//! What workers of jobs are given, and what they say.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{QUEUE, create, record, report, site, site_on_sqlite, take};
use crate::site::{Site, get, post, report_body};

// C-025, C-026, X-118, X-126: one message an attempt, exactly as the contract has it.
#[tokio::test]
async fn a_worker_is_given_the_message_of_the_attempt_with_the_values_of_the_record() {
    for site in [site().await, site_on_sqlite().await] {
        let fields =
            json!({"idempotency_key": "k-1", "trigger_type": "webhook", "trace_id": "t-1"});
        let job = create(&site, &fields).await;
        let directive = site.lease(QUEUE).await;
        let expected = json!({
            "v": 1, "job_id": job["job_id"], "workspace_id": "acme", "trigger_type": "webhook",
            "attempt": 1, "max_attempts": 5, "trace_id": "t-1", "idempotency_key": "k-1",
        });
        assert_eq!(directive["message"], expected);
        for field in ["job_id", "workspace_id", "trigger_type", "max_attempts", "idempotency_key"] {
            assert_eq!(directive["message"][field], job[field], "{field}");
        }
        assert_eq!(directive["jobId"], job["job_id"]);
        let key = format!("{}:0", job["job_id"].as_str().unwrap());
        assert_eq!(
            (&directive["idempotency_key"], &directive["step_index"]),
            (&json!(key), &json!(0))
        );
        // Nobody else is given the same attempt.
        assert_eq!(site.lease(QUEUE).await, Value::Null);
    }
}

// C-038: whoever did a step goes on with the next, without another message.
#[tokio::test]
async fn a_worker_that_did_a_step_is_given_the_next_one_with_the_answer() {
    let site = site_on_sqlite().await;
    let job = create(&site, &json!({})).await;
    let first = take(&site).await;
    let told = report(&site, &first, &json!({"status": "SUCCEEDED", "credits_spent": 1.5})).await;
    let next = &told["next"]["directive"];
    assert_eq!((&next["stepId"], &next["jobId"]), (&json!("write"), &job["job_id"]));
    assert_eq!(next["message"]["attempt"], 1);
    assert!(told["next"]["locked_until"].is_string());
    assert_eq!(site.lease(QUEUE).await, Value::Null, "no second message");
    assert_eq!(record(&site, &job).await["credits_spent"], 1.5);
    // The answer was lost: the same report again is answered with the same next step.
    let again = report(&site, &first, &json!({"status": "SUCCEEDED"})).await;
    assert_eq!(
        (&again["applied"], &again["next"]["directive"]["lease_id"]),
        (&json!(false), &next["lease_id"])
    );
    assert_eq!(record(&site, &job).await["credits_spent"], 1.5);
    let last = report(&site, next, &json!({"status": "SUCCEEDED"})).await;
    assert_eq!(last, json!({"applied": true}));
}

#[tokio::test]
async fn a_worker_that_answers_by_callback_is_given_the_next_step_too() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let mut directive = take(&site).await;
    for is_last in [false, true] {
        let url = directive["callback_urls"]["result"].as_str().unwrap();
        let body = report_body(&directive, &json!({"status": "SUCCEEDED"}));
        let reply = site.send(post(&url["http://stepwell.test".len()..]).json(&body)).await;
        let mut told = reply.expect(StatusCode::ACCEPTED);
        assert_eq!((&told["applied"], told["next"].is_null()), (&json!(true), is_last), "{told}");
        directive = told["next"]["directive"].take();
    }
    assert_eq!(record(&site, &job).await["status"], "completed");
}

async fn beat(site: &Site, directive: &Value) -> Value {
    let body = json!({"heartbeats": [report_body(directive, &json!({}))]});
    let reply = site.ask(post("/v1/workers/heartbeats").json(&body)).await;
    reply.expect(StatusCode::OK)["heartbeats"][0].take()
}

// signs of life keep the attempt; silence fails it, and the next message has the next number.
#[tokio::test]
async fn signs_of_life_keep_an_attempt_and_silence_fails_it() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let directive = take(&site).await;
    for _ in 0..3 {
        site.advance(200);
        let kept = beat(&site, &directive).await;
        assert_eq!((&kept["status"], &kept["jobId"]), (&json!("ok"), &job["job_id"]), "{kept}");
        assert!(kept["locked_until"].is_string());
    }
    assert_eq!(record(&site, &job).await["status"], "running");
    let mut changes = site.engine.changes();
    site.advance(301);
    changes.recv().await.unwrap();
    let failed = record(&site, &job).await;
    assert_eq!((&failed["status"], &failed["attempts"]), (&json!("failed"), &json!(1)));
    let lost = beat(&site, &directive).await;
    assert_eq!(lost["status"], "lost", "{lost}");
    assert!(lost["reason"].is_string());
    let late = report(&site, &directive, &json!({"status": "SUCCEEDED"})).await;
    assert_eq!(late["applied"], false);
}

#[tokio::test]
async fn signs_of_life_are_judged_one_by_one() {
    let site = site().await;
    create(&site, &json!({})).await;
    let directive = take(&site).await;
    let body = json!({"heartbeats": [
        report_body(&directive, &json!({})),
        {"jobId": "x"},
        report_body(&directive, &json!({"tenant_id": "globex"})),
        report_body(&directive, &json!({"attempt_no": 9})),
    ]});
    let reply = site.ask(post("/v1/workers/heartbeats").json(&body)).await.expect(StatusCode::OK);
    let statuses: Vec<_> =
        reply["heartbeats"].as_array().unwrap().iter().map(|it| it["status"].clone()).collect();
    assert_eq!(json!(statuses), json!(["ok", "lost", "lost", "lost"]));
    let empty = post("/v1/workers/heartbeats").json(&json!({"heartbeats": []}));
    site.ask(empty).await.refused(422, "invalid_request");
}

// A workspace's job is a job for every general address, under either form of its id.
#[tokio::test]
async fn a_job_can_be_followed_under_the_id_that_it_is_shown_with() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    super::finish(&site).await;
    let id = job["job_id"].as_str().unwrap();
    let events = site.ask(get(&format!("/v1/jobs/{id}/events"))).await;
    assert!(events.text.contains("event: run_succeeded"), "{}", events.text);
}
