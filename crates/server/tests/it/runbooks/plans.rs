//! What will happen, before it does.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{MAILBOXES, TWO, detected, made, publish, site_with, until, without_init};
use crate::site::{Site, get, post};

#[tokio::test]
async fn the_plan_of_a_batch_has_its_members_steps_and_times() {
    let site = site_with(MAILBOXES).await;
    let id = detected(&site, 7 * 86_400).await.id().0;
    let plan = site.ask(get(&format!("/api/batches/{id}/plan"))).await.expect(StatusCode::OK);
    assert_eq!(plan["batch_id"], id);
    assert_eq!(plan["phases"][0]["due_at"], "2025-03-16T12:00:00.000Z");
    assert_eq!(
        (&plan["phases"][0]["members"], &plan["phases"][0]["dispatches"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(
        plan["phases"][1]["steps"][0]["poll"],
        json!({"interval_sec": 30, "timeout_sec": 3600})
    );
    assert_eq!(plan["totals"], json!({"members": 2, "steps": 3, "dispatches": 5}));
}

#[tokio::test]
async fn a_batch_is_planned_from_its_list_before_it_exists() {
    let site = site_with(MAILBOXES).await;
    let before = site.written().await;
    let path = "/api/runbooks/mailboxes/plan-batch?batch_start_time=2025-04-01T00:00:00Z";
    let plan = site.ask(post(path).csv(TWO)).await.expect(StatusCode::OK);
    assert_eq!((&plan["batch_id"], &plan["problems"]), (&Value::Null, &json!([])));
    assert_eq!(plan["phases"][0]["due_at"], "2025-03-31T00:00:00.000Z");
    assert_eq!(plan["totals"]["dispatches"], 5);
    let plan = site.ask(post("/api/runbooks/mailboxes/plan-batch").csv(TWO)).await;
    assert_eq!(plan.expect(StatusCode::OK)["phases"][0]["due_at"], Value::Null);
    let call = post("/api/runbooks/mailboxes/plan-batch").csv("Name\nAda\n");
    site.ask(call).await.refused(400, "invalid_members");
    let call = post("/api/runbooks/mailboxes/plan-batch?batch_start_time=soon").csv(TWO);
    site.ask(call).await.refused(400, "malformed_parameter");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_placeholder_that_stays_open_is_found_before_anything_starts() {
    //
    let site = site_with(&MAILBOXES.replace("{{Name}}", "{{Name.first}}")).await;
    let list = "Email,Name\nada@contoso.com,Ada\nbob@contoso.com,Bob\n";
    let plan = site.ask(post("/api/runbooks/mailboxes/plan-batch").csv(list)).await;
    let plan = plan.expect(StatusCode::OK);
    let problem = &plan["problems"][0];
    assert_eq!((&problem["phase"], &problem["step"]), (&json!("prepare"), &json!("create-user")));
    assert_eq!(
        (&problem["members"], &problem["first_member"]),
        (&json!(2), &json!("ada@contoso.com"))
    );
    assert!(problem["message"].as_str().unwrap().contains("Name"), "{problem}");
}

async fn planned(site: &Site, fields: &Value) -> Value {
    let call = post("/api/runbooks/mailboxes/plan").json(fields);
    site.ask(call).await.expect(StatusCode::OK)
}

#[tokio::test]
async fn what_publishing_would_do_is_what_publishing_does() {
    // the plan and the batch afterwards agree; manual ones are pinned.
    let site = site_with(&without_init()).await;
    let id = detected(&site, 3_600).await.id().0;
    made(&site).await;
    until(&site, id, |batch| {
        batch.phases[0].status.word() == "dispatched" && batch.sweeps.is_empty()
    })
    .await;
    let newer = without_init().replace("New-User", "New-Account");
    let before = site.written().await;
    let plan = planned(&site, &json!({"yaml_content": newer})).await;
    assert_eq!(site.written().await, before);
    assert_eq!((&plan["version"], &plan["is_new"]), (&json!(2), &json!(true)));
    assert_eq!(plan["batches"].as_array().unwrap().len(), 1, "a manual batch keeps its version");
    assert_eq!(
        (&plan["batches"][0]["batch_id"], &plan["batches"][0]["init"]),
        (&json!(id), &json!("kept"))
    );
    let told: Vec<_> = plan["batches"][0]["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            format!("{}@{} {}", it["name"], it["runbook_version"], it["becomes"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        told,
        [
            "prepare@1 finishes_under_version",
            "cutover@1 superseded",
            "prepare@2 skipped",
            "cutover@2 pending"
        ]
    );
    let published = publish(&site, &newer).await;
    assert_eq!(published["batches"], json!([{"batch_id": id}]));
    let phases = super::batch(&site, id).await["phases"].clone();
    let words: Vec<_> =
        phases.as_array().unwrap().iter().map(|it| it["status"].as_str().unwrap()).collect();
    assert_eq!(words, ["dispatched", "superseded", "skipped", "pending"]);
}

#[tokio::test]
async fn a_document_that_is_active_already_would_change_nothing() {
    let site = site_with(MAILBOXES).await;
    let plan = planned(&site, &json!({"yaml_content": MAILBOXES})).await;
    assert_eq!((&plan["version"], &plan["is_new"]), (&json!(1), &json!(false)));
    let plan = planned(&site, &json!({"yaml_content": MAILBOXES, "rerun_init": true})).await;
    assert_eq!((&plan["version"], &plan["is_new"]), (&json!(2), &json!(true)));
    let call = post("/api/runbooks/others/plan").json(&json!({"yaml_content": MAILBOXES}));
    let problem = site.ask(call).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["code"], "name_mismatch");
}
