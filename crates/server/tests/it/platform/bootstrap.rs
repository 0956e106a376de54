//! The schema of the store.

use axum::http::StatusCode;
use serde_json::json;
use stepwell_server::auth::Role;

use crate::site::{Site, get, post};

// B-026, B-069: to be read, not applied; and no lease of a single leader in it.
#[tokio::test]
async fn the_schema_can_be_read_without_being_applied() {
    let site = Site::on_sqlite().await;
    let before = site.written().await;
    let reply = site.ask(get("/api/v1/bootstrap/ddl")).await;
    assert_eq!((reply.status, reply.header("content-type")), (StatusCode::OK, "application/sql"));
    assert!(reply.text.contains("CREATE TABLE"), "{}", reply.text);
    assert!(!reply.text.contains("dag_orchestrator_lease"));
    assert_eq!(site.written().await, before);
}

// B-027, B-028: only when confirmed, and only once.
#[tokio::test]
async fn the_schema_is_brought_up_to_date_only_when_that_is_confirmed() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let before = site.written().await;
    for query in ["", "?confirm=no", "?confirm=", "?confirm=YES", "?confirm=yes&confirm=yes"] {
        let reply = site.ask(post(&format!("/api/v1/bootstrap/migrate{query}"))).await;
        let problem = reply.refused(400, "malformed_parameter");
        assert_eq!(problem["details"][0]["path"], "confirm", "{query}");
    }
    let problem = site.ask(post("/api/v1/bootstrap/migrate")).await.json();
    assert!(problem["detail"].as_str().unwrap().contains("nothing was changed"), "{problem}");
    for _ in 0..2 {
        let reply = site.ask(post("/api/v1/bootstrap/migrate?confirm=yes")).await;
        assert_eq!(reply.expect(StatusCode::OK), json!({"store": "sqlite", "applied": []}));
    }
    assert_eq!(site.written().await, before);
    assert_eq!(site.job(&id).await["status"], "IN_PROGRESS");
}

#[tokio::test]
async fn whoever_is_bound_to_a_tenant_has_no_say_in_the_schema() {
    let site = Site::in_memory().await;
    let token = site.token(Role::Admin, Some("default")).await;
    let ddl = get("/api/v1/bootstrap/ddl").token(&token);
    site.send(ddl).await.refused(403, "all_tenants_required");
    let migrate = post("/api/v1/bootstrap/migrate?confirm=yes").token(&token);
    site.send(migrate).await.refused(403, "all_tenants_required");
}
