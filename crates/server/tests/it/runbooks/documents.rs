//! Runbooks are published, read and taken out of use.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;
use stepwell_store::memory::MemoryStore;

use super::{MAILBOXES, is_admin, made, publish, site_with};
use crate::site::{Site, delete, get, post, put};

#[tokio::test]
async fn a_runbook_is_published_as_the_next_version_of_its_name() {
    // 201, then 200 for the same again, then the next.
    let site = Site::in_memory().await;
    let body = json!({"name": "mailboxes", "yaml_content": MAILBOXES});
    let reply = site.ask(post("/api/runbooks").json(&body)).await;
    let first = reply.expect(StatusCode::CREATED);
    assert_eq!(reply.header("location"), "/api/runbooks/mailboxes/versions/1");
    assert_eq!((&first["version"], &first["is_active"]), (&json!(1), &json!(true)));
    assert_eq!(first["overdue_behavior"], "ignore");
    assert_eq!(first["rerun_init"], false);
    assert!(is_admin(&first["created_by"]));
    assert_eq!(first["data_table_name"], "runbook_mailboxes_v1");
    assert_eq!(first["data_source_type"], "csv");
    assert_eq!(first["phases"][0]["offset_minutes"], 1_440);
    let again = site.ask(post("/api/runbooks").json(&body)).await.expect(StatusCode::OK);
    assert_eq!((&again["version"], &again["id"]), (&json!(1), &first["id"]));
    let rerun = json!({
        "name": "mailboxes", "yaml_content": MAILBOXES, "overdue_behavior": "rerun", "rerun_init": true,
    });
    let next = site.ask(post("/api/runbooks").json(&rerun)).await.expect(StatusCode::CREATED);
    assert_eq!((&next["version"], &next["overdue_behavior"]), (&json!(2), &json!("rerun")));
}

#[tokio::test]
async fn a_document_with_faults_is_refused_with_all_of_them_and_their_places() {
    //
    let site = Site::in_memory().await;
    let before = site.written().await;
    let yaml = MAILBOXES
        .replace("offset: T-1d", "offset: T-x")
        .replace("on_failure: undo", "on_failure: redo");
    let body = json!({"name": "others", "yaml_content": yaml});
    let problem = site.ask(post("/api/runbooks").json(&body)).await.refused(422, "invalid_request");
    let details = problem["details"].as_array().unwrap();
    assert!(details.len() >= 2, "{problem}");
    assert!(details.iter().all(|it| it["line"].is_u64() && it["column"].is_u64()), "{problem}");
    let body = json!({"name": "others", "yaml_content": MAILBOXES});
    let problem = site.ask(post("/api/runbooks").json(&body)).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["code"], "name_mismatch");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_rollback_that_would_be_rolled_back_is_refused_and_nothing_is_published() {
    // what undoes something is not undone itself, or it might never end.
    let site = Site::in_memory().await;
    let before = site.written().await;
    let yaml = MAILBOXES.replace("function: Undo-Move,", "function: Undo-Move, on_failure: undo,");
    let body = json!({"name": "mailboxes", "yaml_content": yaml});
    let problem = site.ask(post("/api/runbooks").json(&body)).await.refused(422, "invalid_request");
    assert_eq!(problem["details"][0]["path"], "rollbacks.undo[0].on_failure", "{problem}");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn runbooks_are_listed_without_their_texts_and_shown_with_them() {
    //
    let site = site_with(MAILBOXES).await;
    publish(&site, &MAILBOXES.replace("Moves mailboxes.", "Moves them all.")).await;
    let list = site.ask(get("/api/runbooks")).await.expect(StatusCode::OK);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["version"], 2);
    assert_eq!(list["items"][0].get("yaml_content"), None);
    let active = site.ask(get("/api/runbooks/mailboxes")).await.expect(StatusCode::OK);
    assert!(active["yaml_content"].as_str().unwrap().contains("Moves them all."));
    let versions = site.ask(get("/api/runbooks/mailboxes/versions")).await.expect(StatusCode::OK);
    let told: Vec<_> = versions["items"].as_array().unwrap().iter().collect();
    assert_eq!(told.iter().map(|it| &it["version"]).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(told[1]["is_active"], false, "at most one version is in use");
    let first = site.ask(get("/api/runbooks/mailboxes/versions/1")).await.expect(StatusCode::OK);
    assert_eq!((&first["version"], &first["is_active"]), (&json!(1), &json!(false)));
    for path in ["/api/runbooks/nobody", "/api/runbooks/nobody/versions"] {
        site.ask(get(path)).await.refused(404, "runbook_not_found");
    }
    for version in ["3", "0", "x"] {
        let path = format!("/api/runbooks/mailboxes/versions/{version}");
        site.ask(get(&path)).await.refused(404, "runbook_not_found");
    }
}

#[tokio::test]
async fn a_version_that_is_taken_out_of_use_is_kept_and_no_other_takes_its_place() {
    //
    let site = site_with(MAILBOXES).await;
    publish(&site, &MAILBOXES.replace("Moves mailboxes.", "Moves them all.")).await;
    let id = made(&site).await;
    let reply = site.ask(delete("/api/runbooks/mailboxes/versions/2")).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::NO_CONTENT, ""));
    site.ask(get("/api/runbooks/mailboxes")).await.refused(404, "runbook_not_found");
    let kept = site.ask(get("/api/runbooks/mailboxes/versions/2")).await.expect(StatusCode::OK);
    assert_eq!(kept["is_active"], false);
    let call = post("/api/batches?runbook=mailboxes").csv(super::TWO);
    site.ask(call).await.refused(404, "runbook_not_found");
    super::act(&site, id, "advance").await;
    for path in ["/api/runbooks/mailboxes/versions/9", "/api/runbooks/nobody/versions/1"] {
        site.ask(delete(path)).await.refused(404, "runbook_not_found");
    }
}

#[tokio::test]
async fn automation_is_off_until_somebody_switches_it_on() {
    //
    let site = site_with(MAILBOXES).await;
    let path = "/api/runbooks/mailboxes/automation";
    let off = site.ask(get(path)).await.expect(StatusCode::OK);
    assert_eq!((&off["automation_enabled"], &off["enabled_by"]), (&json!(false), &Value::Null));
    let on = site.ask(put(path).json(&json!({"enabled": true}))).await.expect(StatusCode::OK);
    assert_eq!(on["automation_enabled"], true);
    assert!(is_admin(&on["enabled_by"]));
    assert_eq!(on["enabled_at"], "2025-03-10T12:00:00.000Z");
    let off = site.ask(put(path).json(&json!({"enabled": false}))).await.expect(StatusCode::OK);
    assert_eq!(off["automation_enabled"], false);
    assert!(is_admin(&off["disabled_by"]));
    assert!(is_admin(&off["enabled_by"]), "what was is kept");
    site.ask(get("/api/runbooks/nobody/automation")).await.refused(404, "runbook_not_found");
    let call = put("/api/runbooks/nobody/automation").json(&json!({"enabled": true}));
    site.ask(call).await.refused(404, "runbook_not_found");
}

#[tokio::test]
async fn a_template_has_the_columns_that_the_runbook_needs() {
    //
    let site = site_with(MAILBOXES).await;
    let reply = site.ask(get("/api/runbooks/mailboxes/template")).await;
    assert_eq!((reply.status, reply.text.as_str()), (StatusCode::OK, "Email,Name\r\n"));
    assert_eq!(reply.header("content-type"), "text/csv; charset=utf-8");
    let file = "attachment; filename=\"mailboxes-members.csv\"";
    assert_eq!(reply.header("content-disposition"), file);
    site.ask(get("/api/runbooks/nobody/template")).await.refused(404, "runbook_not_found");
}

#[tokio::test]
async fn the_schema_of_runbooks_is_served_to_editors() {
    let site = Site::in_memory().await;
    let schema = site.ask(get("/v1/schemas/runbook.json")).await.expect(StatusCode::OK);
    assert_eq!(schema, stepwell_dialects::runbooks::schema());
}

#[tokio::test]
async fn whoever_may_not_change_anything_may_read_everything() {
    // any valid token reads; writing is for administrators.
    let site = site_with(MAILBOXES).await;
    for role in [Role::Viewer, Role::Client, Role::Worker, Role::Operator] {
        let token = site.token(role, None).await;
        let reply = site.send(get("/api/runbooks/mailboxes").token(&token)).await;
        reply.expect(StatusCode::OK);
        let body = json!({"name": "mailboxes", "yaml_content": MAILBOXES});
        let reply = site.send(post("/api/runbooks").json(&body).token(&token)).await;
        reply.refused(403, "forbidden");
    }
    let other = site.token(Role::Admin, Some("acme")).await;
    let body = json!({"name": "mailboxes", "yaml_content": MAILBOXES});
    let reply = site.send(post("/api/runbooks").json(&body).token(&other)).await;
    reply.refused(403, "tenant_mismatch");
}

#[tokio::test]
async fn an_installation_may_keep_batches_to_those_who_read_them_for_a_living() {
    // the option to require a role.
    let store = Arc::new(MemoryStore::new());
    let site = Site::with(store, |settings| settings.batches_need_a_reader = true).await;
    for (role, may_read) in [
        (Role::Admin, true),
        (Role::Operator, true),
        (Role::Viewer, true),
        (Role::Client, false),
        (Role::Worker, false),
    ] {
        let token = site.token(role, None).await;
        let reply = site.send(get("/api/batches").token(&token)).await;
        let expected = if may_read { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!(reply.status, expected, "{role:?}");
    }
}
