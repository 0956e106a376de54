//! Who may do what: every route of the document, with no token and with each role.

use axum::http::{Method, StatusCode};
use serde_json::json;
use stepwell_server::auth::{Permission, Role};
use stepwell_server::{Access, Route, table};

use crate::documents;
use crate::site::{Call, Reply, Site};

/// A call of a route, with something for each of its parameters.
pub(crate) fn call(route: &Route, job: &str) -> Call {
    let path = route
        .path
        .replace("{job}", job)
        .replace("{step}", "ocr")
        .replace("{gate}", "approval")
        .replace("{pool}", "ocr-service")
        .replace("{name}", "intake")
        .replace("{version}", "1")
        .replace("{id}", "1")
        .replace("{batch}", "1")
        .replace("{member}", "1")
        .replace("{worker_id}", "worker-01")
        .replace("{workspace_id}", "acme");
    let call = Call::new(Method::from_bytes(route.method.as_bytes()).unwrap(), &path);
    // Of events that never end, a page.
    call.header("Accept", "application/json")
}

fn is_forbidden(reply: &Reply) -> bool {
    reply.status == StatusCode::FORBIDDEN && reply.json()["code"] == "forbidden"
}

// D-001, D-064, X-160: the same check on every route; without a token only health and the page answer.
#[tokio::test]
async fn nothing_but_health_and_the_page_answers_without_a_token() {
    let site = Site::in_memory().await;
    let job = site.start().await;
    let before = site.written().await;
    let mut open = Vec::new();
    for route in table(site.api.clone()) {
        let reply = site.send(call(&route, &job).json(&json!({}))).await;
        if route.access == Access::Open {
            open.push(route.path);
            assert_eq!(reply.status, StatusCode::OK);
        } else if route.access == Access::Signature {
            reply.refused(401, "invalid_signature");
        } else {
            reply.refused(401, "unauthenticated");
            assert_eq!(reply.header("www-authenticate"), "Bearer", "{route:?}");
        }
    }
    assert_eq!(open, ["/livez", "/readyz", "/docs", "/docs/app.js", "/docs/app.css"]);
    assert_eq!(site.written().await, before);
}

// D-064, F122: route by route, each role may do what the table says and nothing else.
#[tokio::test]
async fn each_role_may_do_what_the_table_says() {
    let site = Site::in_memory().await;
    let job = site.start().await;
    site.finish().await;
    for role in Role::ALL {
        let token = site.token(role, None).await;
        for route in table(site.api.clone()) {
            let Access::Needs(permission) = route.access else { continue };
            let before = site.written().await;
            let reply = site.send(call(&route, &job).token(&token)).await;
            assert_ne!(reply.status, StatusCode::UNAUTHORIZED, "{role:?} {route:?}");
            assert_eq!(is_forbidden(&reply), !role.has(permission), "{role:?} {route:?}");
            if is_forbidden(&reply) {
                assert_eq!(site.written().await, before);
            }
        }
    }
}

// The roles as they are meant, so that a slip in the table is seen.
#[tokio::test]
async fn no_role_but_the_administrators_reaches_tokens_and_workflows() {
    let site = Site::in_memory().await;
    for route in table(site.api.clone()) {
        let Access::Needs(permission) = route.access else { continue };
        let changes_all = route.path.starts_with("/v1/tokens")
            || (route.method == "POST" && route.path == "/v1/workflows")
            || permission == Permission::ManageBatches
            || permission == Permission::ManageWorkspaces;
        for role in [Role::Operator, Role::Client, Role::Viewer, Role::Worker] {
            assert!(!(changes_all && role.has(permission)), "{role:?} {route:?}");
            let is_read = route.method == "GET" || route.path == "/v1/workflows:validate";
            let may_only_read = role == Role::Viewer;
            assert!(is_read || !may_only_read || !role.has(permission), "{role:?} {route:?}");
        }
        let is_work = ["/v1/workers/", "/api/worker-jobs/", "/api/worker-results"]
            .iter()
            .any(|prefix| route.path.starts_with(prefix));
        assert!(!(is_work && Role::Client.has(permission)), "{route:?}");
        // whoever has a valid token may read runbooks and batches.
        let reads_batches = permission == Permission::ReadBatches && route.method == "GET";
        let may_worker = is_work || reads_batches || matches!(permission, Permission::ReadSchemas);
        assert_eq!(Role::Worker.has(permission), may_worker, "{route:?}");
    }
}

#[tokio::test]
async fn the_table_in_the_documents_is_the_one_in_force() {
    let site = Site::in_memory().await;
    let mut rows = String::from(
        "| route | permission | admin | operator | client | viewer | worker |\n|---|---|:-:|:-:|:-:|:-:|:-:|\n",
    );
    for Route { method, path, access } in table(site.api.clone()) {
        let (permission, marks) = match access {
            Access::Open => ("none: open to everybody".to_owned(), " | | | | |".to_owned()),
            Access::Callback => {
                ("the callback token of the attempt".to_owned(), " | | | | |".to_owned())
            }
            Access::Signature => {
                ("a signature with the trigger's secret".to_owned(), " | | | | |".to_owned())
            }
            Access::Needs(permission) => {
                let mark = |role: Role| if role.has(permission) { " yes |" } else { " |" };
                (format!("`{}`", permission.word()), Role::ALL.map(mark).concat())
            }
        };
        rows += &format!("| `{method} {path}` | {permission} |{marks}\n");
    }
    documents::check_part("docs/access.md", "table", &rows);
}
