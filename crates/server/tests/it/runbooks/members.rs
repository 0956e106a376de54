//! Members of batches: listed, added, removed.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{
    MAILBOXES, act, batch, detected, in_cutover, is_admin, made, members, quiet, receive, report,
    site_with, until, work,
};
use crate::site::{Site, delete, get, post};

async fn listed(site: &Site, id: i64, query: &str) -> (Vec<String>, Value) {
    let path = format!("/api/batches/{id}/members?{query}");
    let page = site.ask(get(&path)).await.expect(StatusCode::OK);
    let keys = page["items"].as_array().unwrap().iter();
    (keys.map(|it| it["member_key"].as_str().unwrap().to_owned()).collect(), page)
}

#[tokio::test]
async fn members_are_listed_by_status_and_key_in_pages() {
    //
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let (keys, page) = listed(&site, id, "limit=1&offset=1").await;
    assert_eq!((keys, &page["total"]), (vec!["bob@contoso.com".to_owned()], &json!(2)));
    assert_eq!(listed(&site, id, "key=ada@contoso.com").await.0, ["ada@contoso.com"]);
    let both = "key=ada@contoso.com&key=bob@contoso.com";
    assert_eq!(listed(&site, id, both).await.0.len(), 2);
    assert_eq!(listed(&site, id, "status=failed").await.0, Vec::<String>::new());
    assert_eq!(listed(&site, id, "status=active,removed").await.0.len(), 2);
    let path = format!("/api/batches/{id}/members?status=gone");
    site.ask(get(&path)).await.refused(400, "malformed_parameter");
}

#[tokio::test]
async fn who_joins_late_catches_up() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let path = format!("/api/batches/{id}/members");
    let late = "Email,Name\ncyd@contoso.com,Cyd\n";
    let added = site.ask(post(&path).csv(late)).await.expect(StatusCode::CREATED);
    assert_eq!(added["added"][0]["member_key"], "cyd@contoso.com");
    assert_eq!(work(&site, "worker-01", 1).await, ["New-User"]);
    assert_eq!(work(&site, "worker-02", 3).await.len(), 3);
    until(&site, id, |batch| batch.status.word() == "completed").await;
    let member = &members(&site, id).await[2];
    assert_eq!(member["worker_data"], json!({"UserId": "u-1"}));
    assert_eq!(member["add_dispatched_at"], member["added_at"]);
    assert_eq!(batch(&site, id).await["members"]["total"], 3);
}

#[tokio::test]
async fn a_key_that_is_there_already_joins_nobody() {
    //
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let before = site.written().await;
    let path = format!("/api/batches/{id}/members");
    let list = "Email,Name\ncyd@contoso.com,Cyd\nada@contoso.com,Ada\n";
    let problem = site.ask(post(&path).csv(list)).await.refused(409, "member_keys_taken");
    assert_eq!(problem["details"][0]["path"], "ada@contoso.com");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn who_belongs_to_an_automated_batch_its_source_says() {
    //
    let site = site_with(MAILBOXES).await;
    let id = detected(&site, 7 * 86_400).await.id().0;
    let path = format!("/api/batches/{id}/members");
    let late = "Email,Name\ncyd@contoso.com,Cyd\n";
    site.ask(post(&path).csv(late)).await.refused(409, "batch_automated");
    let member = members(&site, id).await[0]["id"].as_i64().unwrap();
    site.ask(delete(&format!("{path}/{member}"))).await.refused(409, "batch_automated");
}

#[tokio::test]
async fn a_member_that_is_removed_is_stopped_and_what_its_leaving_asks_for_is_done() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let job = &receive(&site, "worker-02", 1).await[0];
    let step = job["body"]["CorrelationData"]["StepExecutionId"].as_i64().unwrap();
    let steps = super::steps(&site, id, "").await;
    let member = steps.iter().find(|it| it["id"] == step).unwrap()["batch_member_id"].clone();
    let path = format!("/api/batches/{id}/members/{member}");
    let removed = site.ask(delete(&path)).await.expect(StatusCode::OK);
    assert_eq!(removed["status"], "removed");
    assert!(is_admin(&removed["removed_by"]));
    let again = site.ask(delete(&path)).await.expect(StatusCode::OK);
    assert_eq!(again["removed_at"], removed["removed_at"], "asking again changes nothing");
    let undo = &receive(&site, "worker-01", 1).await[0];
    assert_eq!(undo["body"]["FunctionName"], "Disable-User");
    assert_eq!(undo["body"]["JobId"], format!("removal-{member}-1"));
    assert_eq!(report(&site, undo, "Success", &Value::Null).await, "accepted");
    assert_eq!(report(&site, job, "Success", &Value::Null).await, "ignored");
    let query = format!("member_id={member}");
    let cancelled = super::steps(&site, id, &query).await;
    assert_eq!(cancelled.last().unwrap()["status"], "cancelled");
    let counts = batch(&site, id).await["members"].clone();
    assert_eq!((&counts["removed"], &counts["active"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn a_member_that_failed_is_not_removed() {
    //
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    act(&site, id, "advance").await;
    work(&site, "worker-01", 1).await;
    until(&site, id, |batch| batch.status.word() == "active").await;
    act(&site, id, "advance").await;
    let job = &receive(&site, "worker-01", 1).await[0];
    assert_eq!(report(&site, job, "Failure", &Value::Null).await, "accepted");
    let (failed, page) = listed(&site, id, "status=failed").await;
    assert_eq!(failed.len(), 1);
    let member = &page["items"][0];
    assert_eq!(member["error"]["message"], "no license");
    assert!(member["failed_at"].is_string());
    let path = format!("/api/batches/{id}/members/{}", member["id"]);
    site.ask(delete(&path)).await.refused(409, "member_failed");
    quiet(&site, id).await;
    let path = format!("/api/batches/{id}/members/999999");
    site.ask(delete(&path)).await.refused(404, "member_not_found");
    let path = format!("/api/batches/{id}/members/x");
    site.ask(delete(&path)).await.refused(404, "member_not_found");
}
