//! Workflow documents over HTTP.

use axum::http::StatusCode;
use serde_json::json;
use stepwell_server::auth::Role;

use crate::site::{GATED, INTAKE, Site, get, post};

// D-006: protocols are published, not compiled in.
#[tokio::test]
async fn a_document_becomes_the_next_version_unless_it_says_the_same() {
    let site = Site::on_sqlite().await;
    let first = site.ask(post("/v1/workflows").yaml(GATED)).await;
    assert_eq!(first.header("location"), "/v1/workflows/gated/versions/1");
    assert_eq!(first.expect(StatusCode::CREATED)["version"], 1);
    let same = site.ask(post("/v1/workflows").yaml(GATED)).await;
    assert_eq!(same.expect(StatusCode::OK)["version"], 1);
    let changed = GATED.replace("approval", "sign-off");
    let next = site.ask(post("/v1/workflows").yaml(&changed)).await;
    assert_eq!(next.expect(StatusCode::CREATED)["version"], 2);
    let newest = site.ask(get("/v1/workflows/gated")).await.expect(StatusCode::OK);
    assert_eq!(newest["source"], changed);
    let old = site.ask(get("/v1/workflows/gated/versions/1")).await.expect(StatusCode::OK);
    assert_eq!(old["source"], GATED);
    for path in
        ["/v1/workflows/none", "/v1/workflows/gated/versions/9", "/v1/workflows/gated/versions/x"]
    {
        site.ask(get(path)).await.refused(404, "workflow_not_found");
    }
    let list = site.ask(get("/v1/workflows")).await.expect(StatusCode::OK);
    let names: Vec<_> = list["items"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["gated", "intake"]);
}

#[tokio::test]
async fn a_document_with_faults_is_refused_with_the_place_of_each() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    let faulty = "name: broken\nsteps:\n  - {id: a, typ: OCR, pool: p}\n  - {id: a, type: X, pool: p, timeout: soon}\n";
    for path in ["/v1/workflows", "/v1/workflows:validate"] {
        let problem = site.ask(post(path).yaml(faulty)).await.refused(422, "invalid_workflow");
        let details = problem["details"].as_array().unwrap();
        assert!(details.len() >= 3, "{problem}");
        assert!(details.iter().all(|it| it["line"].is_u64() && it["column"].is_u64()));
    }
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_document_is_checked_without_being_stored() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    let reply = site.ask(post("/v1/workflows:validate").yaml(GATED)).await.expect(StatusCode::OK);
    assert_eq!(
        reply,
        json!({"name": "gated", "request_type": "document.approve", "steps": ["publish"]})
    );
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_document_that_serves_all_tenants_is_not_published_by_one_of_them() {
    let site = Site::in_memory().await;
    let admin = site.token(Role::Admin, Some("acme")).await;
    let before = site.written().await;
    let call = post("/v1/workflows").yaml(&INTAKE.replace("OCR", "OTHER")).token(&admin);
    site.send(call).await.refused(403, "all_tenants_required");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn editors_get_the_schema_of_documents() {
    let site = Site::in_memory().await;
    let schema = site.ask(get("/v1/schemas/workflow.json")).await.expect(StatusCode::OK);
    assert_eq!(schema, stepwell_dialects::workflow::schema());
}
