//! Messages of a queue of the workers' own.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{QUEUE, create, finish, path, record, report, site, site_on_sqlite};
use crate::site::{Site, get, merged, post};

async fn hand_in(site: &Site, message: &Value) -> crate::site::Reply {
    site.ask(post("/v1/workers/messages").json(message)).await
}

/// The message of a job that was just made, as a queue would deliver it.
fn message(job: &Value, fields: &Value) -> Value {
    let mut message = json!({"v": 1, "attempt": 1, "trace_id": job["trace_id"]});
    for field in ["job_id", "workspace_id", "trigger_type", "max_attempts", "idempotency_key"] {
        message[field] = job[field].clone();
    }
    merged(&message, fields)
}

// C-025, C-026: the body says which attempt; the record says whether it is wanted.
#[tokio::test]
async fn a_message_begins_its_attempt_once_however_often_it_is_delivered() {
    let site = site_on_sqlite().await;
    let job = create(&site, &json!({})).await;
    let message = message(&job, &json!({"priority": "attributes are only additive"}));
    let begun = hand_in(&site, &message).await.expect(StatusCode::OK);
    assert_eq!(
        (&begun["action"], &begun["next"]["directive"]["stepId"]),
        (&json!("run"), &json!("fetch"))
    );
    assert_eq!(record(&site, &job).await["status"], "running");
    let again = hand_in(&site, &message).await.expect(StatusCode::OK);
    assert_eq!(again, json!({"action": "acknowledge", "reason": "stale_attempt"}));
    assert_eq!(site.lease(QUEUE).await, Value::Null, "nobody polls what was begun");
    let told = report(&site, &begun["next"]["directive"], &json!({"status": "SUCCEEDED"})).await;
    assert_eq!(told["applied"], true);
}

// C-022, C-037: a message for a job that has ended is acknowledged and changes nothing.
#[tokio::test]
async fn a_message_of_a_job_that_has_ended_is_acknowledged_and_changes_nothing() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    finish(&site).await;
    let canceled = create(&site, &json!({})).await;
    site.ask(post(&format!("{}:cancel", path(&canceled)))).await.expect(StatusCode::OK);
    for job in [job, canceled] {
        let before = record(&site, &job).await;
        let verdict = hand_in(&site, &message(&job, &json!({}))).await.expect(StatusCode::OK);
        assert_eq!(verdict, json!({"action": "acknowledge", "reason": "run_ended"}));
        assert_eq!(record(&site, &job).await, before);
    }
}

// unknown version, unknown job, foreign workspace: a dead letter each, and no job is touched.
#[tokio::test]
async fn a_message_that_nobody_can_follow_becomes_a_dead_letter() {
    for site in [site().await, site_on_sqlite().await] {
        let job = create(&site, &json!({})).await;
        let before = record(&site, &job).await;
        let bad = [
            ("VersionUnknown", json!({"v": 2})),
            ("MessageInvalid", json!({"attempt": 0})),
            ("JobNotFound", json!({"job_id": "00000000-0000-4000-8000-000000000001"})),
            ("WorkspaceMismatch", json!({"workspace_id": "globex"})),
        ];
        for (reason, fields) in bad {
            hand_in(&site, &message(&job, &fields)).await.refused(422, "poison_message");
            let letters = site.ask(get(&format!("/v1/dead-letters?reason={reason}"))).await;
            let letters = letters.expect(StatusCode::OK);
            let [letter] = letters["items"].as_array().unwrap().as_slice() else {
                panic!("{reason}: {letters}")
            };
            let shown = site.ask(get(&format!("/v1/dead-letters/{}", letter["id"]))).await;
            let kept = shown.expect(StatusCode::OK)["message"].take();
            let kept: Value = serde_json::from_str(kept.as_str().unwrap()).unwrap();
            assert_eq!(kept, message(&job, &fields));
        }
        assert_eq!(record(&site, &job).await, before);
    }
}
