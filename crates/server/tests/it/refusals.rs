//! Bodies that are refused, on every route that takes one. Each time nothing is written.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::{Route, table};

use crate::access::call;
use crate::contract::document;
use crate::site::{Call, Site, envelope_with, post};

/// The routes whose bodies are of this kind.
fn routes_with(site: &Site, kind: &str) -> Vec<Route> {
    let takes = |route: &Route| {
        let operation = &document(site)["paths"][&route.path][route.method.to_lowercase()];
        operation["requestBody"]["content"].get(kind).is_some()
    };
    table(site.api.clone()).into_iter().filter(takes).collect()
}

/// A callback proves itself by its URL; the others have a token.
async fn ask(
    site: &Site,
    route: &Route,
    job: &str,
    change: impl FnOnce(Call) -> Call,
) -> crate::site::Reply {
    let callback = route.path.starts_with("/v1/callbacks/");
    let token = if callback { "cb1.9999999999.AAAA" } else { &site.admin };
    site.send(change(call(route, job)).token(token)).await
}

// D-017, D-037, X-145: 400 for what cannot be read, on every route, and nothing is created.
#[tokio::test]
async fn what_cannot_be_read_is_refused_everywhere() {
    let site = Site::on_sqlite().await;
    let job = site.start().await;
    let before = site.written().await;
    let mut routes = routes_with(&site, "application/json");
    // What came from a queue cannot be sent back to it: it is kept, however it looks.
    routes.retain(|route| route.path != "/v1/workers/messages");
    assert!(routes.len() >= 18, "{}", routes.len());
    for route in routes {
        let deep = format!("{{\"a\": {}{}}}", "[".repeat(40), "]".repeat(40));
        let bodies: [(&[u8], &str); 6] = [
            (b"{", "json_syntax"),
            (b"{} {}", "json_syntax"),
            (b"{\"a\": NaN}", "json_syntax"),
            (b"{\"a\": 1, \"a\": 2}", "duplicate_key"),
            (b"{\"a\": \"\xff\"}", "not_utf8"),
            (deep.as_bytes(), "too_deep"),
        ];
        for (body, code) in bodies {
            let kind = "application/json; charset=utf-8";
            let reply = ask(&site, &route, &job, |call| call.bytes(kind, body.to_vec())).await;
            let problem = reply.refused(400, "malformed_request");
            assert_eq!(problem["details"][0]["code"], code, "{route:?}");
        }
        let reply = ask(&site, &route, &job, |call| call.bytes("text/plain", b"{}".to_vec())).await;
        reply.refused(415, "unsupported_media_type");
        let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(10 * 1024 * 1024)).into_bytes();
        let reply = ask(&site, &route, &job, |call| call.bytes("application/json", huge)).await;
        reply.refused(413, "body_too_large");
        let reply = ask(&site, &route, &job, |call| call.json(&json!([1]))).await;
        assert!(matches!(reply.status.as_u16(), 400 | 422), "{route:?} {}", reply.text);
    }
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_document_that_cannot_be_read_is_refused_too() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    let routes = routes_with(&site, "application/yaml");
    assert_eq!(routes.len(), 2);
    for route in routes {
        let send = async |kind: &str, body: Vec<u8>| {
            ask(&site, &route, "", |call| call.bytes(kind, body)).await
        };
        send("application/yaml", b"name: \xff".to_vec()).await.refused(400, "malformed_request");
        send("application/pdf", b"name: x".to_vec()).await.refused(415, "unsupported_media_type");
        send("text/yaml", b"x: [".to_vec()).await.refused(422, "invalid_workflow");
        send("text/yaml", Vec::new()).await.refused(422, "invalid_workflow");
        let huge = vec![b' '; 10 * 1024 * 1024];
        send("text/yaml", huge).await.refused(413, "body_too_large");
    }
    assert_eq!(site.written().await, before);
}

// F123: a field that nobody knows is a mistake, not something to be ignored.
#[tokio::test]
async fn an_unknown_field_is_refused_everywhere_but_in_messages() {
    let site = Site::in_memory().await;
    let job = site.start().await;
    let before = site.written().await;
    for route in routes_with(&site, "application/json") {
        // Messages of workers and schedulers may be newer than we are.
        let is_message = matches!(
            route.path.as_str(),
            "/api/worker-results" | "/api/orchestrator-events" | "/v1/workers/messages"
        );
        if route.path.starts_with("/v1/callbacks/") || is_message {
            continue;
        }
        let reply = ask(&site, &route, &job, |call| call.json(&json!({"resaon": "x"}))).await;
        let problem = reply.refused(422, "invalid_request");
        let codes = problem["details"].as_array().unwrap();
        assert!(codes.iter().any(|it| it["code"] == "unknown_field"), "{route:?} {problem}");
    }
    assert_eq!(site.written().await, before);
}

/// Field by field: a path, a body, and where its problem is.
fn wrong_fields() -> Vec<(&'static str, Value, &'static str)> {
    let long = "x".repeat(501);
    let token =
        |fields: Value| crate::site::merged(&json!({"name": "x", "role": "client"}), &fields);
    vec![
        ("/v1/jobs/{job}:cancel", json!({"reason": long}), "reason"),
        ("/v1/jobs/{job}:cancel", json!({"reason": 7}), "reason"),
        ("/v1/jobs/{job}:cancel", json!({"mode": "hard"}), "mode"),
        ("/v1/jobs/{job}:pause", json!({"reason": long}), "reason"),
        ("/v1/jobs/{job}:resume", json!({"reason": []}), "reason"),
        ("/v1/jobs/{job}:retry", json!({"reason": long}), "reason"),
        ("/v1/jobs/{job}/steps/ocr:retry", json!({"reason": long}), "reason"),
        ("/v1/jobs/{job}/steps/ocr:skip", json!({"reason": {}}), "reason"),
        ("/v1/jobs/{job}/steps/ocr:complete", json!({"reason": long}), "reason"),
        ("/v1/jobs/{job}/steps/ocr:complete", json!({"result": "x".repeat(256 * 1024)}), "result"),
        ("/v1/jobs/{job}/gates/approval:open", json!({"reason": long}), "reason"),
        ("/v1/workers/ocr-service/lease", json!({"max": 0}), "max"),
        ("/v1/workers/ocr-service/lease", json!({"max": 257}), "max"),
        ("/v1/workers/ocr-service/lease", json!({"wait_seconds": 31}), "wait_seconds"),
        ("/v1/workers/ocr-service/lease", json!({"visibility_seconds": 0}), "visibility_seconds"),
        (
            "/v1/workers/ocr-service/lease",
            json!({"visibility_seconds": 3601}),
            "visibility_seconds",
        ),
        ("/v1/workers/ocr-service/lease", json!({"lanes": [16]}), "lanes[0]"),
        ("/v1/workers/ocr-service/lease", json!({"lanes": 3}), "lanes"),
        ("/v1/workers/extend", json!({"deliveries": ["x"]}), "deliveries[0]"),
        ("/v1/workers/nack", json!({"deliveries": [{"delivery": "x"}]}), "deliveries[0].delivery"),
        ("/v1/workers/nack", json!({"deliveries": [{}]}), "deliveries[0].delivery"),
        ("/v1/dead-letters:replay", json!({"limit": 201}), "limit"),
        ("/v1/dead-letters:replay", json!({"tenant": 1}), "tenant"),
        ("/v1/dead-letters/1:discard", json!({"reason": ""}), "reason"),
        ("/v1/dead-letters/1:replay", json!({"reason": long}), "reason"),
        ("/v1/tokens", json!({"role": "client"}), "name"),
        ("/v1/tokens", json!({"name": "x"}), "role"),
        ("/v1/tokens", token(json!({"name": ""})), "name"),
        ("/v1/tokens", token(json!({"name": "x".repeat(65)})), "name"),
        ("/v1/tokens", token(json!({"role": "root"})), "role"),
        ("/v1/tokens", token(json!({"name": "x\u{1b}[31m"})), "name"),
        ("/v1/tokens", token(json!({"tenant": "x".repeat(129)})), "tenant"),
        ("/v1/tokens", token(json!({"tenant": "a b"})), "tenant"),
        ("/v1/tokens", token(json!({"expires_in_days": 0})), "expires_in_days"),
        ("/v1/tokens", token(json!({"expires_in_days": 3651})), "expires_in_days"),
        ("/api/platform/submit", json!({"workflow_id": "x", "priority": 11}), "priority"),
        ("/api/platform/submit", json!({"correlation_id": "c"}), "workflow_id"),
        ("/api/v1/jobs", json!({"workflow_id": "x", "input_params": 1}), "input_params"),
        ("/api/v1/jobs/{job}/cancel", json!({"reason": long}), "reason"),
        ("/v1/commands", envelope_with(&json!({"tenant_id": "x".repeat(129)})), "tenant_id"),
        ("/v1/commands", envelope_with(&json!({"tenant_id": "a b"})), "tenant_id"),
        (
            "/v1/commands",
            envelope_with(&json!({"idempotency_key": "x".repeat(256)})),
            "idempotency_key",
        ),
        ("/v1/commands", envelope_with(&json!({"input_ref": ""})), "input_ref"),
        ("/v1/commands", envelope_with(&json!({"output_ref": 7})), "output_ref"),
        ("/v1/commands", envelope_with(&json!({"payload": "x"})), "payload"),
        ("/v1/commands", envelope_with(&json!({"mode": "FAST"})), "mode"),
        ("/v1/commands", envelope_with(&json!({"mode": "BURST"})), "doc_id"),
        ("/v1/commands", envelope_with(&json!({"traceparent": "x"})), "traceparent"),
        (
            "/v1/commands",
            envelope_with(&json!({"correlation_id": "x".repeat(129)})),
            "correlation_id",
        ),
    ]
}

/// The same for runbooks and batches.
fn wrong_fields_of_batches() -> Vec<(&'static str, Value, &'static str)> {
    let long = "x".repeat(501);
    let operate = |fields: Value| {
        crate::site::merged(&json!({"operation": "retry", "filter": {}, "reason": "x"}), &fields)
    };
    vec![
        ("/api/runbooks", json!({"name": "x"}), "yaml_content"),
        ("/api/runbooks/x/plan", json!({"yaml_content": 1}), "yaml_content"),
        ("/api/runbooks/x/plan", json!({"yaml_content": "name: y"}), "data_source"),
        ("/api/batches/1/advance", json!({"reason": long}), "reason"),
        ("/api/batches/1/cancel", json!({"reason": 1}), "reason"),
        ("/api/batches/1/pause", json!({"reason": long}), "reason"),
        ("/api/batches/1/resume", json!({"reason": []}), "reason"),
        ("/api/batches/1/move", json!({"batch_start_time": "soon"}), "batch_start_time"),
        ("/api/batches/1/move", json!({"reason": "x"}), "batch_start_time"),
        ("/api/batches/1/operate", operate(json!({"operation": "undo"})), "operation"),
        ("/api/batches/1/operate", operate(json!({"operation": "cancel"})), "operation"),
        ("/api/batches/1/operate", operate(json!({"reason": ""})), "reason"),
        ("/api/batches/1/operate", operate(json!({"limit": 0})), "limit"),
        (
            "/api/batches/1/operate",
            operate(json!({"filter": {"members": ["x"]}})),
            "filter.members[0]",
        ),
        ("/api/worker-jobs/w/receive", json!({"max": 257}), "max"),
        ("/api/worker-jobs/w/receive", json!({"wait_sec": 31}), "wait_sec"),
        ("/api/worker-jobs/w/receive", json!({"lock_sec": 0}), "lock_sec"),
        ("/api/worker-jobs/renew", json!({"lock_tokens": ["x"]}), "lock_tokens[0]"),
        ("/api/worker-jobs/renew", json!({"lock_tokens": []}), "lock_tokens"),
    ]
}

// D-015, D-017: field by field, and nothing is written.
#[tokio::test]
async fn a_field_that_is_not_what_it_must_be_is_named() {
    let site = Site::on_sqlite().await;
    let job = site.start().await;
    let before = site.written().await;
    for (path, body, field) in wrong_fields().into_iter().chain(wrong_fields_of_batches()) {
        let reply = site.ask(post(&path.replace("{job}", &job)).json(&body)).await;
        let problem = reply.refused(422, "invalid_request");
        assert_eq!(problem["details"][0]["path"], field, "{path} {body} {problem}");
        assert_eq!(site.written().await, before, "{path} {body}");
    }
}

#[tokio::test]
async fn an_act_without_a_body_is_no_fault() {
    let site = Site::in_memory().await;
    let job = site.start().await;
    for verb in ["pause", "resume", "cancel"] {
        site.ask(post(&format!("/v1/jobs/{job}:{verb}"))).await.expect(StatusCode::ACCEPTED);
    }
}
