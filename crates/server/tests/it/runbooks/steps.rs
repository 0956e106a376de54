//! Steps of batches, page by page.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{MAILBOXES, in_cutover, receive, report, site_with, steps, until};
use crate::site::{Site, get, post};

/// All pages of so many steps, one after another.
async fn walked(site: &Site, id: i64, query: &str) -> Vec<i64> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/batches/{id}/steps?{query}{after}");
        let page = site.ask(get(&path)).await.expect(StatusCode::OK);
        ids.extend(page["items"].as_array().unwrap().iter().map(|it| it["id"].as_i64().unwrap()));
        match page["next"].as_i64() {
            Some(next) => after = format!("&after={next}"),
            None => return ids,
        }
    }
}

#[tokio::test]
async fn the_steps_of_a_batch_are_listed_init_first_then_member_by_member() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let all = steps(&site, id, "").await;
    let told: Vec<_> = all
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                text("member_key"),
                text("phase_name"),
                text("step_name"),
                text("status")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "- - create-group succeeded",
            "ada@contoso.com prepare create-user succeeded",
            "ada@contoso.com cutover start-move dispatched",
            "bob@contoso.com prepare create-user succeeded",
            "bob@contoso.com cutover start-move dispatched",
        ]
    );
    assert_eq!(all[0]["is_init"], true);
    assert_eq!(all[1]["params"], json!({"Email": "ada@contoso.com", "Name": "Ada"}));
    assert_eq!(all[2]["params"], json!({"UserId": "u-1"}));
    assert_eq!(all[2]["step_index"], 0, "counted within the phase");
}

#[tokio::test]
async fn pages_of_any_size_lead_through_all_steps_once() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let all = walked(&site, id, "limit=200").await;
    assert_eq!(all.len(), 5);
    for limit in 1..=6 {
        assert_eq!(walked(&site, id, &format!("limit={limit}")).await, all, "{limit}");
    }
    assert_eq!(walked(&site, id, "limit=1&init=false").await, all[1..]);
    assert_eq!(walked(&site, id, "limit=1&init=true").await, all[..1]);
    assert_eq!(walked(&site, id, "limit=1&phase=cutover").await, [all[2], all[4]]);
    assert_eq!(walked(&site, id, "limit=1&status=dispatched").await, [all[2], all[4]]);
    let bob = super::members(&site, id).await[1]["id"].clone();
    assert_eq!(walked(&site, id, &format!("limit=1&member_id={bob}")).await, all[3..]);
}

#[tokio::test]
async fn a_step_that_failed_for_good_shows_what_became_of_its_rollback() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let first = &receive(&site, "worker-02", 2).await[0];
    assert_eq!(report(&site, first, "Failure", &Value::Null).await, "accepted");
    let waiting = &steps(&site, id, "phase=cutover&status=pending").await[0];
    assert_eq!((&waiting["job_id"], &waiting["retry_count"]), (&Value::Null, &json!(1)));
    site.advance(31);
    let second = &receive(&site, "worker-02", 1).await[0];
    assert_ne!(second["body"]["JobId"], first["body"]["JobId"]);
    assert_eq!(report(&site, second, "Failure", &Value::Null).await, "accepted");
    let failed = &steps(&site, id, "status=failed").await[0];
    assert_eq!(failed["error_code"], "Forbidden");
    assert_eq!(failed["compensation"], "sent");
    let undo = &receive(&site, "worker-01", 1).await[0];
    assert_eq!(undo["body"]["JobId"], format!("rollback-{}-1", failed["id"]));
    assert_eq!(report(&site, undo, "Success", &Value::Null).await, "accepted");
    let failed = &steps(&site, id, "status=failed,poll_timeout").await[0];
    assert_eq!(
        (&failed["status"], &failed["compensation"]),
        (&json!("failed"), &json!("succeeded"))
    );
    until(&site, id, |batch| batch.tally.failed == 1).await;
}

#[tokio::test]
async fn the_dead_letter_of_a_member_is_not_replayed_beside_its_batch() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    for count in [2, 1] {
        let job = &receive(&site, "worker-02", count).await[0];
        report(&site, job, "Failure", &Value::Null).await;
        site.advance(31);
    }
    let undo = &receive(&site, "worker-01", 1).await[0];
    report(&site, undo, "Success", &Value::Null).await;
    until(&site, id, |batch| batch.tally.failed == 1).await;
    let letters = site.ask(get("/v1/dead-letters")).await.expect(StatusCode::OK);
    let letter = &letters["items"][0];
    let before = site.written().await;
    let replay = post(&format!("/v1/dead-letters/{}:replay", letter["id"]));
    let refused = site.ask(replay).await.refused(409, "run_not_retryable");
    assert_eq!(refused["detail"], format!("the job is part of batch {id}"));
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_parameter_that_cannot_be_used_is_refused() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    for query in [
        "status=open",
        "init=maybe",
        "after=x",
        "after=-1",
        "after=1",
        "limit=0",
        "member=1",
        "member_id=x",
    ] {
        let path = format!("/api/batches/{id}/steps?{query}");
        site.ask(get(&path)).await.refused(400, "malformed_parameter");
    }
    let other = super::made(&site).await;
    super::act(&site, other, "advance").await;
    let step = steps(&site, other, "init=true").await[0]["id"].clone();
    let path = format!("/api/batches/{id}/steps?after={step}");
    site.ask(get(&path)).await.refused(400, "malformed_parameter");
}

#[tokio::test]
async fn a_rare_status_does_not_make_a_request_read_the_whole_batch() {
    let site = Site::on_sqlite().await;
    super::publish(&site, &super::without_init()).await;
    let mut list = "Email,Name\n".to_owned();
    for number in 0..1_200 {
        list += &format!("m{number}@contoso.com,M\n");
    }
    let made = site.ask(post("/api/batches?runbook=mailboxes").csv(&list)).await;
    let id = made.expect(StatusCode::CREATED)["id"].as_i64().unwrap();
    let path = format!("/api/batches/{id}/steps?status=polling");
    let page = site.ask(get(&path)).await.expect(StatusCode::OK);
    assert_eq!(page["items"], json!([]));
    assert!(page["next"].is_i64(), "there is more to look at");
    assert_eq!(walked(&site, id, "status=polling").await, Vec::<i64>::new());
    assert_eq!(walked(&site, id, "limit=200").await.len(), 2_400);
}
