//! Orders that came into the queue in another way than through the gateway.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_core::duration::Interval;

use super::{
    DIAMOND, enqueue, enqueue_for, found, job, jobs, request, request_with, show, site,
    until_settled,
};
use crate::site::{Site, get, post};

/// The one dead letter, as soon as it is there.
async fn letter(site: &Site) -> Value {
    until_settled(site).await;
    let page = site.ask(get("/v1/dead-letters")).await.expect(StatusCode::OK);
    let [letter] = page["items"].as_array().unwrap().clone().try_into().unwrap();
    assert_eq!(letter["job_id"], json!(null));
    assert_eq!(letter["tenant_id"], "default");
    assert!(letter.get("message").is_none(), "lists leave the order out");
    letter
}

async fn replay(site: &Site, letter: &Value) -> crate::site::Reply {
    let path = format!("/v1/dead-letters/{}:replay", letter["id"]);
    site.ask(post(&path).json(&json!({"reason": "published"}))).await
}

// B-030, B-034, B-036, X-109: another sender's message becomes a job, and a second one of its id none.
#[tokio::test]
async fn a_message_of_another_sender_becomes_one_job() {
    let site = site().await;
    let fields =
        json!({"message_id": "m-1", "submitted_by": "ddh-gateway", "correlation_id": "c-1"});
    let body = request_with(&fields).to_string();
    enqueue(&site, "m-1", &body).await;
    let first = job(&site, "correlation_id=c-1").await;
    assert_eq!(first["submitted_by"], "ddh-gateway");
    until_settled(&site).await;
    enqueue(&site, "m-1", &body).await;
    until_settled(&site).await;
    assert_eq!(found(&site, "correlation_id=c-1").await.len(), 1);
}

// B-016, B-047, X-098: a dead letter with the reason, not a loop; replayed once its workflow exists.
#[tokio::test]
async fn an_order_for_an_unknown_workflow_is_kept_until_there_is_one() {
    for site in [Site::in_memory().await, Site::on_sqlite().await] {
        site.publish(DIAMOND).await;
        let body = request_with(&json!({"workflow_id": "later", "correlation_id": "c-1"}));
        enqueue(&site, "m-1", &body.to_string()).await;
        let letter = letter(&site).await;
        assert_eq!(letter["reason"], "WorkflowNotFound");
        assert_eq!(letter["error"]["message"], "workflow \"later\" does not exist");
        let path = format!("/v1/dead-letters/{}", letter["id"]);
        let whole = site.ask(get(&path)).await.expect(StatusCode::OK);
        assert_eq!(
            serde_json::from_str::<Value>(whole["message"].as_str().unwrap()).unwrap(),
            body
        );
        let before = site.written().await;
        replay(&site, &letter).await.refused(404, "workflow_not_found");
        assert_eq!(site.written().await, before);
        site.publish(&DIAMOND.replace("raster_ingest", "later")).await;
        let replayed = replay(&site, &letter).await.expect(StatusCode::OK);
        let job = show(&site, replayed["jobId"].as_str().unwrap()).await;
        assert_eq!((&job["workflow_id"], &job["correlation_id"]), (&json!("later"), &json!("c-1")));
        replay(&site, &letter).await.refused(409, "dead_letter_settled");
        let settled = site.ask(get(&path)).await.expect(StatusCode::OK);
        assert_eq!(settled["settlement"]["replayed_as"], job["job_id"]);
    }
}

// B-015: what cannot be read is never redelivered in a loop.
#[tokio::test]
async fn an_order_that_cannot_be_read_is_kept_for_a_person() {
    let site = site().await;
    enqueue(&site, "m-1", "{").await;
    let letter = letter(&site).await;
    assert_eq!(letter["reason"], "MessageInvalid");
    assert_eq!(letter["protocol_id"], "as it says");
    let problem = replay(&site, &letter).await.refused(409, "not_replayable");
    assert!(problem["detail"].as_str().unwrap().contains("not JSON"), "{problem}");
    let discard = post(&format!("/v1/dead-letters/{}:discard", letter["id"]));
    let discarded = site.ask(discard.json(&json!({"reason": "noise"}))).await;
    assert_eq!(discarded.expect(StatusCode::OK)["message"], "{");
}

#[tokio::test]
async fn an_order_whose_input_is_not_taken_can_be_replayed_after_the_workflow_has_changed() {
    let site = site().await;
    let body = request_with(&json!({"input_params": {}, "correlation_id": "c-1"}));
    enqueue(&site, "m-1", &body.to_string()).await;
    let letter = letter(&site).await;
    assert_eq!(letter["reason"], "InputInvalid");
    replay(&site, &letter).await.refused(409, "not_replayable");
    site.publish(&DIAMOND.replace("required: [blob_name]", "required: []")).await;
    replay(&site, &letter).await.expect(StatusCode::OK);
    assert_eq!(found(&site, "correlation_id=c-1").await[0]["workflow_version"], 2);
}

// an order that nobody took in time is kept, not lost.
#[tokio::test]
async fn an_order_that_waited_too_long_is_kept_and_can_be_replayed() {
    let site = site().await;
    enqueue_for(&site, "m-1", &request().to_string(), Interval::ZERO).await;
    let letter = letter(&site).await;
    assert_eq!(letter["reason"], "MessageExpired");
    let before = jobs(&site).await;
    let call = post("/v1/dead-letters:replay").json(&json!({"filter": {"workflow": "as it says"}}));
    let items = site.ask(call).await.expect(StatusCode::OK)["items"].take();
    assert!(items[0]["jobId"].is_string(), "{items}");
    assert_eq!(jobs(&site).await, before + 1);
}

// B-048, X-099: a replay finds the job that the same key has made in the meantime.
#[tokio::test]
async fn a_replayed_order_makes_no_second_job_either() {
    let site = site().await;
    let body = request_with(&json!({"workflow_id": "later", "idempotency_key": "k-1"}));
    enqueue(&site, "m-1", &body.to_string()).await;
    let letter = letter(&site).await;
    site.publish(&DIAMOND.replace("raster_ingest", "later")).await;
    enqueue(&site, "m-2", &body.to_string()).await;
    let made = job(&site, "idempotency_key=k-1").await;
    let replayed = replay(&site, &letter).await.expect(StatusCode::OK);
    assert_eq!(replayed["jobId"], made["job_id"]);
}
