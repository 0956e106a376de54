//! The older way in, and cancelling.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{job, jobs, request, request_with, show, site, submit, until_settled};
use crate::site::{Call, Reply, Site, get, post};

async fn create(site: &Site, fields: &Value) -> Reply {
    site.ask(post("/api/v1/jobs").json(&request_with(fields))).await
}

// B-066: it works, at once, and says that there is a better way.
#[tokio::test]
async fn a_job_can_be_made_without_the_queue() {
    for site in [Site::in_memory().await, Site::on_sqlite().await] {
        site.publish(super::DIAMOND).await;
        let reply = create(&site, &json!({"correlation_id": "c-1"})).await;
        let job = reply.expect(StatusCode::CREATED);
        assert_eq!(reply.header("deprecation"), "@1770076800");
        assert_eq!(reply.header("link"), "</api/platform/submit>; rel=\"successor-version\"");
        let location = reply.header("location");
        assert_eq!(location, format!("/api/v1/jobs/{}", job["job_id"].as_str().unwrap()));
        assert_eq!(
            (&job["status"], &job["nodes"][0]["status"]),
            (&json!("running"), &json!("dispatched"))
        );
        assert_eq!(site.ask(get(location)).await.expect(StatusCode::OK), job);
        assert_eq!(show(&site, job["job_id"].as_str().unwrap()).await, job);
        assert_eq!(reply.header("etag"), format!("\"{}\"", job["version"]));
        assert_ne!(job["submitted_by"], "platform-gateway", "it is the caller's own name");
    }
}

// B-048, B-066, X-099: the key is the same by either way.
#[tokio::test]
async fn a_key_makes_one_job_whichever_way_it_comes() {
    let site = site().await;
    submit(&site, &json!({"idempotency_key": "k-1"})).await;
    let first = job(&site, "idempotency_key=k-1").await;
    let again = create(&site, &json!({"idempotency_key": "k-1"})).await;
    assert_eq!(again.expect(StatusCode::OK)["job_id"], first["job_id"]);
    let second =
        create(&site, &json!({"idempotency_key": "k-2"})).await.expect(StatusCode::CREATED);
    submit(&site, &json!({"idempotency_key": "k-2"})).await;
    until_settled(&site).await;
    assert_eq!(job(&site, "idempotency_key=k-2").await["job_id"], second["job_id"]);
    assert_eq!(jobs(&site).await, 4);
}

#[tokio::test]
async fn without_a_key_every_request_is_a_new_job() {
    let site = site().await;
    let first = create(&site, &json!({})).await.expect(StatusCode::CREATED);
    let second = create(&site, &json!({})).await.expect(StatusCode::CREATED);
    assert_ne!(first["job_id"], second["job_id"]);
    assert_eq!(site.ask(post("/api/v1/jobs").json(&request())).await.status, StatusCode::CREATED);
}

// the node under way may end, nothing new starts, and asking again changes nothing.
#[tokio::test]
async fn a_cancelled_job_lets_its_nodes_end() {
    let site = site().await;
    // Whatever the workflow says of cancelling: on this wire it drains.
    site.publish(&format!("{}cancel: immediate\n", super::DIAMOND)).await;
    let job = create(&site, &json!({})).await.expect(StatusCode::CREATED);
    let directive = site.lease("io").await;
    let id = job["job_id"].as_str().unwrap();
    let cancel = || -> Call {
        post(&format!("/api/v1/jobs/{id}/cancel")).json(&json!({"reason": "wrong file"}))
    };
    let first = site.ask(cancel()).await.expect(StatusCode::ACCEPTED);
    assert_eq!((&first["status"], &first["cancelling"]), (&json!("running"), &json!(true)));
    let again = site.ask(cancel()).await.expect(StatusCode::ACCEPTED);
    assert_eq!(again, first);
    assert_eq!(site.report(&directive, "SUCCEEDED").await, json!({"applied": true}));
    let ended = show(&site, id).await;
    assert_eq!(ended["status"], "cancelled");
    let nodes: Vec<_> = ended["nodes"].as_array().unwrap().iter().map(|it| &it["status"]).collect();
    assert_eq!(nodes, ["completed", "cancelled", "cancelled", "cancelled"]);
    site.ask(cancel()).await.refused(409, "run_ended");
    let missing = "/api/v1/jobs/019b8d3c-0000-7000-8000-000000000001/cancel";
    site.ask(post(missing)).await.refused(404, "job_not_found");
}
