//! Batches that a person makes, and moves from phase to phase.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use super::{
    MAILBOXES, TWO, act, batch, detected, in_cutover, is_admin, made, members, quiet, site_with,
    until, without_init, work,
};
use crate::site::{Site, get, post};

#[tokio::test]
async fn a_batch_is_made_of_a_list_of_members() {
    //
    let site = site_with(MAILBOXES).await;
    let reply = site.ask(post("/api/batches?runbook=mailboxes").csv(TWO)).await;
    let made = reply.expect(StatusCode::CREATED);
    let id = made["id"].as_i64().unwrap();
    assert_eq!(reply.header("location"), format!("/api/batches/{id}"));
    assert_eq!((&made["status"], &made["is_manual"]), (&json!("detected"), &json!(true)));
    assert_eq!((&made["batch_start_time"], &made["mode"]), (&Value::Null, &json!("manual")));
    assert!(is_admin(&made["created_by"]));
    assert_eq!(made["members"]["total"], 2);
    assert!(made["phases"].as_array().unwrap().iter().all(|phase| phase["due_at"].is_null()));
    assert_eq!(made["warnings"], json!([]));
    let read = site.ask(get(&format!("/api/batches/{id}"))).await;
    assert_eq!(read.header("etag"), format!("\"{}\"", read.json()["version"]));
    assert_eq!(read.expect(StatusCode::OK)["runbook_id"], made["runbook_id"]);
    let members = members(&site, id).await;
    assert_eq!(members[0]["member_key"], "ada@contoso.com");
    assert_eq!(members[0]["data"], json!({"Email": "ada@contoso.com", "Name": "Ada"}));
}

#[tokio::test]
async fn a_manual_batch_goes_through_init_and_its_phases_as_it_is_advanced() {
    // init first, then one phase a call, then nothing is left.
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    assert_eq!(act(&site, id, "advance").await["status"], "init_dispatched");
    let early = site.ask(post(&format!("/api/batches/{id}/advance"))).await;
    early.refused(409, "batch_under_way");
    assert_eq!(work(&site, "worker-01", 1).await, ["New-Group"]);
    until(&site, id, |batch| batch.status.word() == "active").await;
    let advanced = act(&site, id, "advance").await;
    assert_eq!(advanced["current_phase"], "prepare");
    let early = site.ask(post(&format!("/api/batches/{id}/advance"))).await;
    early.refused(409, "batch_under_way");
    assert_eq!(work(&site, "worker-01", 2).await, ["New-User", "New-User"]);
    until(&site, id, |batch| batch.phases[0].status.word() == "completed").await;
    assert_eq!(act(&site, id, "advance").await["current_phase"], "cutover");
    assert_eq!(work(&site, "worker-02", 2).await, ["Start-Move", "Start-Move"]);
    until(&site, id, |batch| batch.status.word() == "completed").await;
    let ended = batch(&site, id).await;
    assert_eq!(ended["members"]["succeeded"], 2);
    assert_eq!(ended["phases"][1]["members"]["succeeded"], 2);
    assert_eq!(ended["phases"][1]["steps_ended"], 2);
    let late = site.ask(post(&format!("/api/batches/{id}/advance"))).await;
    late.refused(409, "batch_ended");
}

#[tokio::test]
async fn a_batch_without_init_is_active_with_its_first_advance() {
    //
    let site = site_with(&without_init()).await;
    let id = made(&site).await;
    let advanced = act(&site, id, "advance").await;
    assert_eq!(
        (&advanced["status"], &advanced["current_phase"]),
        (&json!("active"), &json!("prepare"))
    );
}

#[tokio::test]
async fn a_batch_that_follows_its_timeline_is_not_advanced_by_hand() {
    //
    let site = site_with(MAILBOXES).await;
    let id = detected(&site, 7 * 86_400).await.id().0;
    site.ask(post(&format!("/api/batches/{id}/advance"))).await.refused(409, "batch_not_manual");
}

#[tokio::test]
async fn cancelling_ends_a_batch_once_and_asking_again_is_no_fault() {
    //
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let cancelled = act(&site, id, "cancel").await;
    assert_eq!(cancelled["status"], "cancelled");
    until(&site, id, stepwell_core::batch::Batch::is_settled).await;
    let again = act(&site, id, "cancel").await;
    assert_eq!(again["status"], "cancelled");
    let settled = batch(&site, id).await;
    assert_eq!(settled["members"]["cancelled"], 2);
    assert_eq!(settled["members"]["active"], 2, "members keep their status");
    let other = in_cutover(&site).await;
    work(&site, "worker-02", 2).await;
    until(&site, other, |batch| batch.status.is_terminal()).await;
    site.ask(post(&format!("/api/batches/{other}/cancel"))).await.refused(409, "batch_ended");
}

#[tokio::test]
async fn a_paused_batch_begins_nothing_until_it_is_resumed() {
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    assert_eq!(act(&site, id, "pause").await["paused"], true);
    quiet(&site, id).await;
    site.ask(post(&format!("/api/batches/{id}/advance"))).await.refused(409, "batch_paused");
    assert_eq!(act(&site, id, "resume").await["paused"], false);
    quiet(&site, id).await;
    act(&site, id, "advance").await;
}

#[tokio::test]
async fn a_moved_start_moves_the_phases_that_have_not_begun() {
    let site = site_with(&without_init()).await;
    let id = detected(&site, 3_600).await.id().0;
    until(&site, id, |batch| batch.phases[0].status.word() == "dispatched").await;
    let path = format!("/api/batches/{id}/move");
    let body =
        json!({"batch_start_time": "2025-03-12T09:00:00+01:00", "reason": "the window moved"});
    let moved = site.ask(post(&path).json(&body)).await.expect(StatusCode::OK);
    assert_eq!(moved["batch_start_time"], "2025-03-12T08:00:00.000Z");
    assert_eq!(moved["phases"][0]["due_at"], "2025-03-09T13:00:00.000Z", "it has begun");
    assert_eq!(moved["phases"][1]["due_at"], "2025-03-12T08:00:00.000Z");
    assert_eq!(
        moved["next_due"],
        json!({"phase": "cutover", "due_at": "2025-03-12T08:00:00.000Z"})
    );
    let manual = made(&site).await;
    let path = format!("/api/batches/{manual}/move");
    site.ask(post(&path).json(&body)).await.refused(409, "batch_manual");
}

#[tokio::test]
async fn what_does_not_exist_is_not_found() {
    let site = site_with(MAILBOXES).await;
    for path in ["1", "x", "-1", "9999999999999999999999"] {
        site.ask(get(&format!("/api/batches/{path}"))).await.refused(404, "batch_not_found");
        let call = post(&format!("/api/batches/{path}/advance"));
        site.ask(call).await.refused(404, "batch_not_found");
    }
}

#[tokio::test]
async fn a_batch_of_another_tenant_does_not_exist() {
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let other = site.token(Role::Admin, Some("acme")).await;
    for path in ["", "/members", "/phases", "/steps", "/plan", "/events", "/explain", "/watch"] {
        let call = get(&format!("/api/batches/{id}{path}")).token(&other);
        site.send(call).await.refused(404, "batch_not_found");
    }
    let list = site.send(get("/api/batches").token(&other)).await.expect(StatusCode::OK);
    assert_eq!(list["total"], 0);
    let reply = site.send(post("/api/batches?runbook=mailboxes").csv(TWO).token(&other)).await;
    reply.refused(403, "tenant_mismatch");
}

#[tokio::test]
async fn an_operator_moves_batches_and_only_an_administrator_makes_them() {
    //
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let operator = site.token(Role::Operator, None).await;
    let call = post(&format!("/api/batches/{id}/advance")).token(&operator);
    site.send(call).await.expect(StatusCode::OK);
    let call = post("/api/batches?runbook=mailboxes").csv(TWO).token(&operator);
    site.send(call).await.refused(403, "forbidden");
    let viewer = site.token(Role::Viewer, None).await;
    let call = post(&format!("/api/batches/{id}/cancel")).token(&viewer);
    site.send(call).await.refused(403, "forbidden");
}

#[tokio::test]
async fn the_same_holds_on_a_file() {
    //
    let site = Site::on_sqlite().await;
    super::publish(&site, MAILBOXES).await;
    let id = in_cutover(&site).await;
    work(&site, "worker-02", 2).await;
    until(&site, id, |batch| batch.status.word() == "completed").await;
    assert_eq!(batch(&site, id).await["members"]["succeeded"], 2);
}
