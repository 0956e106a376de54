//! From an order to a job.

use axum::http::StatusCode;
use serde_json::json;
use stepwell_server::auth::Role;

use super::{DIAMOND, found, job, jobs, request, request_with, show, site, submit, until_settled};
use crate::site::{Site, get, post};

// B-018, B-049, B-061, B-062, B-063, B-065, B-070: gateway, queue, instance, job; also with one
// instance on a store of its own.
#[tokio::test]
async fn an_order_is_answered_at_once_and_becomes_a_job() {
    for site in [Site::in_memory().await, Site::on_sqlite().await] {
        site.publish(DIAMOND).await;
        let answer = submit(&site, &json!({"correlation_id": "c-1", "priority": 7})).await;
        let mut fields: Vec<&str> =
            answer.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        assert_eq!(fields, ["message_id", "status", "submitted_at", "workflow_id"]);
        assert_eq!(answer["status"], "queued");
        assert_eq!(answer["workflow_id"], "raster_ingest");
        assert_eq!(answer["submitted_at"], "2025-03-10T12:00:00.000Z");
        let message_id: uuid::Uuid = answer["message_id"].as_str().unwrap().parse().unwrap();
        assert_eq!(message_id.get_version_num(), 4);
        let job = job(&site, "correlation_id=c-1").await;
        assert_eq!(job["message_id"], answer["message_id"]);
        assert_eq!(job["submitted_by"], "platform-gateway");
        assert_eq!((&job["priority"], &job["correlation_id"]), (&json!(7), &json!("c-1")));
        assert_eq!(job["input_params"], json!({"blob_name": "data/file.tif"}));
        assert_eq!(job["owner_id"], site.engine.stats().owner_id);
        assert_eq!(job["nodes"][0]["status"], "dispatched");
        assert_eq!(site.engine.stats().jobs_claimed, 1);
    }
}

// B-021, B-025, X-111: nodes run when what they depend on has ended.
#[tokio::test]
async fn a_job_goes_along_its_graph_to_its_end() {
    let site = site().await;
    submit(&site, &json!({"correlation_id": "c-1"})).await;
    let id = job(&site, "correlation_id=c-1").await["job_id"].as_str().unwrap().to_owned();
    for (pool, ended) in [("io", "fetch"), ("tiles", "tile"), ("stats", "stats")] {
        assert_eq!(show(&site, &id).await["status"], "running");
        let directive = site.lease(pool).await;
        assert_eq!(
            (&directive["stepId"], &directive["tenant_id"]),
            (&json!(ended), &json!("default"))
        );
        assert_eq!(site.lease("io").await, json!(null), "nothing runs before its time");
        site.report(&directive, "SUCCEEDED").await;
    }
    let directive = site.lease("io").await;
    site.report(&directive, "SUCCEEDED").await;
    let job = show(&site, &id).await;
    assert_eq!((&job["status"], &job["cancelling"]), (&json!("completed"), &json!(false)));
    assert_eq!(job["completed_at"], "2025-03-10T12:00:00.000Z");
}

// B-042, B-048, X-099: one job under a key, however many orders ask for it.
#[tokio::test]
async fn a_repeated_order_makes_no_second_job() {
    for site in [Site::in_memory().await, Site::on_sqlite().await] {
        site.publish(DIAMOND).await;
        let first = submit(&site, &json!({"idempotency_key": "k-1"})).await;
        let job = job(&site, "idempotency_key=k-1").await;
        let again = submit(&site, &json!({"idempotency_key": "k-1", "priority": 9})).await;
        assert_ne!(again["message_id"], first["message_id"]);
        until_settled(&site).await;
        let found = found(&site, "idempotency_key=k-1").await;
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["job_id"], job["job_id"]);
        assert_eq!(jobs(&site).await, 3, "the job, and two to wait for");
        let letters = site.ask(get("/v1/dead-letters")).await.expect(StatusCode::OK);
        assert_eq!(letters["items"], json!([]));
    }
}

#[tokio::test]
async fn the_key_may_come_in_the_header() {
    let site = site().await;
    let call = post("/api/platform/submit").json(&request()).header("Idempotency-Key", "k-1");
    site.ask(call).await.expect(StatusCode::OK);
    assert_eq!(job(&site, "idempotency_key=k-1").await["idempotency_key"], "k-1");
    let both = request_with(&json!({"idempotency_key": "k-2"}));
    let both = post("/api/platform/submit").json(&both).header("Idempotency-Key", "k-1");
    site.ask(both).await.refused(400, "idempotency_key_conflict");
    let long = post("/api/platform/submit").json(&request());
    let long = long.header("Idempotency-Key", &"k".repeat(65));
    site.ask(long).await.refused(400, "malformed_parameter");
}

// jobs are found by what their requester chose.
#[tokio::test]
async fn jobs_are_found_by_correlation_id_page_by_page() {
    let site = site().await;
    for number in 0..3 {
        submit(&site, &json!({"correlation_id": "c-1", "idempotency_key": format!("k-{number}")}))
            .await;
        job(&site, &format!("idempotency_key=k-{number}")).await;
    }
    let mut ids = Vec::new();
    let mut query = "correlation_id=c-1&limit=2".to_owned();
    loop {
        let path = format!("/api/platform/jobs?{query}");
        let page = site.ask(get(&path)).await.expect(StatusCode::OK);
        ids.extend(page["items"].as_array().unwrap().iter().map(|it| it["job_id"].to_string()));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("correlation_id=c-1&limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(ids.len(), 3);
    assert!(ids.is_sorted_by(|one, other| one > other), "newest first: {ids:?}");
    assert_eq!(found(&site, "correlation_id=other").await.len(), 0);
    assert_eq!(found(&site, "idempotency_key=other").await.len(), 0);
}

#[tokio::test]
async fn a_search_names_exactly_one_thing_to_search_for() {
    let site = site().await;
    for query in ["", "?limit=1", "?correlation_id=a&idempotency_key=b"] {
        let reply = site.ask(get(&format!("/api/platform/jobs{query}"))).await;
        let problem = reply.refused(400, "malformed_parameter");
        assert_eq!(problem["details"][0]["path"], "correlation_id", "{query}");
    }
    let reply = site.ask(get("/api/platform/jobs?correlation=c-1")).await;
    reply.refused(400, "malformed_parameter");
    let reply = site.ask(get("/api/platform/jobs?correlation_id=c-1&cursor=zzz")).await;
    reply.refused(400, "malformed_parameter");
}

// everything here belongs to the default tenant.
#[tokio::test]
async fn a_token_of_another_tenant_has_no_part_in_it() {
    let site = site().await;
    submit(&site, &json!({"correlation_id": "c-1"})).await;
    let id = job(&site, "correlation_id=c-1").await["job_id"].as_str().unwrap().to_owned();
    let before = site.written().await;
    let token = site.token(Role::Operator, Some("acme")).await;
    let before_token = before.replace("1 tokens", "2 tokens");
    for path in ["/api/platform/submit", "/api/v1/jobs"] {
        let reply = site.send(post(path).json(&request()).token(&token)).await;
        reply.refused(403, "tenant_mismatch");
    }
    let list = site.send(get("/api/platform/jobs?correlation_id=c-1").token(&token)).await;
    list.refused(403, "tenant_mismatch");
    for path in [format!("/api/platform/jobs/{id}"), format!("/api/v1/jobs/{id}")] {
        site.send(get(&path).token(&token)).await.refused(404, "job_not_found");
    }
    let cancel = post(&format!("/api/v1/jobs/{id}/cancel")).token(&token);
    site.send(cancel).await.refused(404, "job_not_found");
    assert_eq!(site.written().await, before_token);
    let own = site.token(Role::Client, Some("default")).await;
    let reply = site.send(post("/api/platform/submit").json(&request()).token(&own)).await;
    reply.expect(StatusCode::OK);
}

// each dialect shows its own jobs.
#[tokio::test]
async fn a_job_of_another_dialect_is_not_shown_here() {
    let site = site().await;
    let id = site.start().await;
    for path in [format!("/api/platform/jobs/{id}"), format!("/api/v1/jobs/{id}")] {
        site.ask(get(&path)).await.refused(404, "job_not_found");
    }
    site.ask(post(&format!("/api/v1/jobs/{id}/cancel"))).await.refused(404, "job_not_found");
}

// the kernel is one: what operates a job of another dialect operates this one too.
#[tokio::test]
async fn a_job_can_be_explained_paused_and_taken_up_again_like_any_other() {
    let site = site().await;
    submit(&site, &json!({"correlation_id": "c-1"})).await;
    let id = job(&site, "correlation_id=c-1").await["job_id"].as_str().unwrap().to_owned();
    for part in ["", "/steps", "/history", "/explain", "/stale-reports"] {
        site.ask(get(&format!("/v1/jobs/{id}{part}"))).await.expect(StatusCode::OK);
    }
    site.ask(post(&format!("/v1/jobs/{id}:pause"))).await.expect(StatusCode::ACCEPTED);
    assert_eq!(show(&site, &id).await["paused"], true);
    site.ask(post(&format!("/v1/jobs/{id}:resume"))).await.expect(StatusCode::ACCEPTED);
    let directive = site.lease("io").await;
    site.report(&directive, "FAILED_FINAL").await;
    assert_eq!(show(&site, &id).await["status"], "failed");
    let new = site.ask(post(&format!("/v1/jobs/{id}:retry"))).await.expect(StatusCode::ACCEPTED);
    let new = show(&site, new["jobId"].as_str().unwrap()).await;
    assert_eq!((&new["resumes"], &new["status"]), (&json!(id), &json!("running")));
    assert_eq!(new["correlation_id"], "c-1");
}

/// One node for each parcel, and one that is not always needed.
const PARCELS: &str = "
name: parcels
steps:
  - {id: pack, type: PACK, pool: warehouse, for_each: \"{{parcels}}\", max_items: 3}
  - {id: customs, type: CUSTOMS, pool: carriers, after: [pack], when: \"{{abroad}}\"}
";

// B-021, X-111, X-112: a node for each item of a list, and one whose condition does not hold.
#[tokio::test]
async fn a_job_shows_the_items_of_a_node_and_why_another_was_passed_over() {
    let site = site().await;
    site.publish(PARCELS).await;
    let parcels = json!({"parcels": ["book", "lamp"], "abroad": false});
    let order = json!({"workflow_id": "parcels", "input_params": parcels, "correlation_id": "c-1"});
    site.ask(post("/api/platform/submit").json(&order)).await.expect(StatusCode::OK);
    let id = job(&site, "correlation_id=c-1").await["job_id"].as_str().unwrap().to_owned();
    let first = site.lease("warehouse").await;
    site.report(&first, "SUCCEEDED").await;
    let pack = show(&site, &id).await["nodes"][0].take();
    assert_eq!((&pack["node_id"], &pack["status"]), (&json!("pack"), &json!("running")));
    let items = json!({"count": 2, "ended": 1, "failed": 0, "under_way": 1, "waiting": 0});
    assert_eq!(pack["items"], items);
    let steps = site.ask(get(&format!("/v1/jobs/{id}/steps"))).await.expect(StatusCode::OK);
    let ids: Vec<_> = steps["items"].as_array().unwrap().iter().map(|it| &it["step_id"]).collect();
    assert_eq!(ids, ["pack", "pack[0]", "pack[1]", "customs"]);
    let second = site.lease("warehouse").await;
    site.report(&second, "SUCCEEDED").await;
    let job = show(&site, &id).await;
    assert_eq!(
        (&job["status"], &job["nodes"][0]["status"]),
        (&json!("completed"), &json!("completed"))
    );
    let customs = &job["nodes"][1];
    assert_eq!(
        (&customs["status"], &customs["skip_reason"]),
        (&json!("skipped"), &json!("condition"))
    );
}

// a list that is too long is refused before anything is written.
#[tokio::test]
async fn a_list_with_more_items_than_its_node_allows_is_refused() {
    let site = site().await;
    site.publish(PARCELS).await;
    let parcels = |count: usize| {
        let input = json!({"parcels": vec![0; count], "abroad": false});
        json!({"workflow_id": "parcels", "input_params": input})
    };
    for path in ["/api/platform/submit", "/api/v1/jobs"] {
        for count in [4, 100_000] {
            let reply = site.ask(post(path).json(&parcels(count))).await;
            let problem = reply.refused(422, "invalid_request");
            let detail = &problem["details"][0];
            assert_eq!(detail["path"], "input_params.parcels", "{problem}");
            assert_eq!(detail["message"], format!("the list has {count} items"));
        }
        let million = post(path).json(&parcels(1_000_000));
        site.ask(million).await.refused(413, "body_too_large");
        let text = json!({"workflow_id": "parcels", "input_params": {"parcels": 7}});
        site.ask(post(path).json(&text)).await.refused(422, "invalid_request");
    }
    until_settled(&site).await;
    assert_eq!(jobs(&site).await, 2, "only the two that were waited for");
}
