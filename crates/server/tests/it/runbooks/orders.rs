//! What people do to many members or steps at once.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{
    MAILBOXES, batch, in_cutover, members, receive, report, result, site_with, steps, until, work,
};
use crate::site::{Site, merged, post};

async fn operate(site: &Site, id: i64, order: &Value) -> Value {
    let order = merged(&json!({"reason": "the tenant had no licenses", "filter": {}}), order);
    let call = post(&format!("/api/batches/{id}/operate")).json(&order);
    site.ask(call).await.expect(StatusCode::OK)
}

/// A batch in which the last step of every member failed for good.
async fn failed(site: &Site) -> i64 {
    let id = in_cutover(site).await;
    for _ in 0..2 {
        for job in receive(site, "worker-02", 2).await {
            let call = post("/api/worker-results").json(&result(&job, "Failure", &Value::Null));
            site.ask(call).await.expect(StatusCode::ACCEPTED);
        }
        site.advance(31);
    }
    id
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let before = site.written().await;
    let order = json!({"operation": "skip", "filter": {"phase": "cutover"}, "dry_run": true});
    let told = operate(&site, id, &order).await;
    assert_eq!(told["matched"], 2);
    let step = &steps(&site, id, "phase=cutover").await[0];
    let expected = json!({
        "member_id": step["batch_member_id"], "member_key": "ada@contoso.com",
        "step_id": step["id"], "outcome": "would",
    });
    assert_eq!(told["results"][0], expected);
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn steps_are_skipped_or_taken_as_done_by_filter() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let order =
        json!({"operation": "skip", "filter": {"step": "start-move", "keys": ["ada@contoso.com"]}});
    assert_eq!(operate(&site, id, &order).await["results"][0]["outcome"], "done");
    let order = json!({
        "operation": "mark_done", "filter": {"step_status": ["dispatched"]}, "result": {"moved": "by hand"},
    });
    let told = operate(&site, id, &order).await;
    assert_eq!(
        (&told["matched"], &told["results"][0]["member_key"]),
        (&json!(1), &json!("bob@contoso.com"))
    );
    until(&site, id, |batch| batch.status.word() == "completed").await;
    let done = steps(&site, id, "phase=cutover").await;
    assert_eq!(
        (&done[0]["status"], &done[0]["skip_reason"]),
        (&json!("cancelled"), &json!("operator"))
    );
    assert_eq!(
        (&done[1]["status"], &done[1]["result"]),
        (&json!("succeeded"), &json!({"moved": "by hand"}))
    );
}

#[tokio::test]
async fn members_that_failed_are_taken_up_again_where_they_failed() {
    // a person may try again what the policy has given up.
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let jobs = receive(&site, "worker-02", 2).await;
    report(&site, &jobs[0], "Failure", &Value::Null).await;
    site.advance(31);
    let again = &receive(&site, "worker-02", 1).await[0];
    report(&site, again, "Failure", &Value::Null).await;
    until(&site, id, |batch| batch.tally.failed == 1).await;
    let order = json!({"operation": "retry", "filter": {"member_status": ["failed"]}});
    let told = operate(&site, id, &order).await;
    assert_eq!(
        (&told["matched"], &told["results"][0]["outcome"]),
        (&json!(1), &json!("done")),
        "{told}"
    );
    assert_eq!(work(&site, "worker-02", 1).await, ["Start-Move"]);
    report(&site, &jobs[1], "Success", &Value::Null).await;
    until(&site, id, |batch| batch.status.word() == "completed").await;
    assert_eq!(batch(&site, id).await["members"]["succeeded"], 2);
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_item_by_item() {
    let site = site_with(MAILBOXES).await;
    let id = failed(&site).await;
    until(&site, id, |batch| batch.status.is_terminal()).await;
    let order = json!({"operation": "retry", "filter": {"member_status": "failed"}});
    let told = operate(&site, id, &order).await;
    assert_eq!(told["matched"], 2);
    for result in told["results"].as_array().unwrap() {
        assert_eq!(
            (&result["outcome"], &result["code"]),
            (&json!("refused"), &json!("batch_ended"))
        );
        assert!(result["message"].is_string());
    }
}

#[tokio::test]
async fn members_are_stopped_removed_and_rolled_back_by_filter() {
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let order = json!({"operation": "rollback", "filter": {"step": "start-move", "keys": ["ada@contoso.com"]}});
    assert_eq!(operate(&site, id, &order).await["results"][0]["outcome"], "done");
    let undo = &receive(&site, "worker-01", 1).await[0];
    assert_eq!(undo["body"]["FunctionName"], "Undo-Move");
    let order = json!({"operation": "remove", "filter": {"keys": ["bob@contoso.com"]}});
    assert_eq!(operate(&site, id, &order).await["results"][0]["outcome"], "done");
    assert_eq!(work(&site, "worker-01", 1).await, ["Disable-User"]);
    let told = members(&site, id).await;
    assert_eq!(
        (&told[0]["run_status"], &told[1]["status"]),
        (&json!("cancelled"), &json!("removed"))
    );
    let order = json!({"operation": "cancel", "filter": {"member_status": ["active"]}, "limit": 1});
    let told = operate(&site, id, &order).await;
    assert_eq!(
        (&told["results"][0]["outcome"], &told["results"][0]["code"]),
        (&json!("refused"), &json!("run_ended"))
    );
}
