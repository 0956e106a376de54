//! Health, metrics, headers, the API page.

use std::sync::Arc;

use axum::http::{Method, StatusCode};
use stepwell_server::Hosts;
use stepwell_store::memory::MemoryStore;

use crate::site::{Call, Site, get, post};

#[tokio::test]
async fn a_server_says_that_it_lives_and_whether_it_is_ready() {
    let site = Site::on_sqlite().await;
    assert_eq!(site.send(get("/livez")).await.expect(StatusCode::OK)["status"], "alive");
    assert_eq!(site.send(get("/readyz")).await.expect(StatusCode::OK)["status"], "ready");
    site.engine.stop().await;
    site.send(get("/livez")).await.expect(StatusCode::OK);
    let reply = site.send(get("/readyz")).await;
    let problem = reply.refused(503, "unavailable");
    assert_eq!(problem["detail"], "the process is stopping");
    assert!(!reply.header("retry-after").is_empty());
    let reply = site.ask(post("/v1/commands").json(&crate::site::envelope())).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!reply.header("retry-after").is_empty());
}

// D-062: how long steps take, how often they are retried and time out, is measured.
#[tokio::test]
async fn metrics_tell_of_steps_requests_and_pools() {
    let site = Site::in_memory().await;
    site.start().await;
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "FAILED_RETRYABLE").await;
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "SUCCEEDED").await;
    let mut changes = site.engine.changes();
    site.advance(15 * 60);
    changes.recv().await.unwrap();
    let text = site.ask(get("/metrics")).await.text;
    for line in [
        r#"stepwell_step_seconds_count{workflow="intake",step="ocr"} 1"#,
        r#"stepwell_step_retries_total{workflow="intake",step="ocr"} 1"#,
        r#"stepwell_step_timeouts_total{workflow="intake",step="embed"} 1"#,
        "stepwell_runs_open 1",
        r#"stepwell_pool_depth{pool="embed-service",state="ready"} 1"#,
        r#"stepwell_http_requests_total{method="POST",route="/v1/commands",status="202"} 1"#,
        r#"route="/v1/workers/{pool}/lease""#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn every_answer_forbids_a_browser_what_it_does_not_need() {
    let site = Site::in_memory().await;
    for path in ["/livez", "/v1/jobs", "/nowhere", "/docs"] {
        let reply = site.send(get(path)).await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(reply.header("x-frame-options"), "DENY");
        assert_eq!(reply.header("cache-control"), "no-store");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert!(reply.header("content-security-policy").starts_with("default-src 'none'"));
        assert!(reply.headers.get("access-control-allow-origin").is_none());
    }
}

#[tokio::test]
async fn a_request_keeps_its_name() {
    let site = Site::in_memory().await;
    let reply = site.send(get("/v1/jobs").header("X-Request-Id", "order-7")).await;
    assert_eq!(reply.refused(401, "unauthenticated")["request_id"], "order-7");
    let reply = site.send(get("/v1/jobs").header("X-Request-Id", "two words")).await;
    assert_eq!(reply.header("x-request-id").len(), 32);
}

#[tokio::test]
async fn addresses_and_methods_that_do_not_exist_are_problems_too() {
    let site = Site::in_memory().await;
    site.send(get("/nowhere")).await.refused(404, "route_not_found");
    site.send(get("/")).await.refused(404, "route_not_found");
    let reply = site.send(post("/livez")).await;
    reply.refused(405, "method_not_allowed");
    assert!(reply.header("allow").contains("GET"), "{}", reply.header("allow"));
    site.ask(post("/v1/jobs/x:explode")).await.refused(404, "route_not_found");
    site.ask(post("/v1/jobs/x/~cancel")).await.refused(404, "route_not_found");
    let options = Call::new(Method::OPTIONS, "/v1/jobs").header("Origin", "https://evil.example");
    site.send(options).await.refused(405, "method_not_allowed");
}

// F129: a page that points its own name at this machine gets nothing.
#[tokio::test]
async fn a_loopback_server_does_not_answer_to_other_names() {
    let site = Site::with(Arc::new(MemoryStore::new()), |settings| {
        settings.hosts = Hosts::LoopbackAnd(Vec::new());
    });
    let site = site.await;
    let call = |host: &str| get("/v1/jobs").header("Host", host).token(&site.admin);
    site.send(call("127.0.0.1:8080")).await.expect(StatusCode::OK);
    site.send(call("evil.example:8080")).await.refused(421, "host_not_allowed");
    let open = get("/livez").header("Host", "evil.example");
    site.send(open).await.refused(421, "host_not_allowed");
}

#[tokio::test]
async fn the_api_page_needs_nothing_from_elsewhere_and_holds_no_data() {
    let site = Site::in_memory().await;
    let page = site.send(get("/docs")).await;
    assert_eq!(
        (page.status, page.header("content-type")),
        (StatusCode::OK, "text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    let files = [("/docs/app.js", "text/javascript"), ("/docs/app.css", "text/css")];
    for (path, kind) in files {
        assert!(page.text.contains(path));
        let file = site.send(get(path)).await;
        assert!(file.header("content-type").starts_with(kind));
        for text in [&page.text, &file.text] {
            assert!(!text.contains("http://") && !text.contains("https://"), "{path}");
            assert!(!text.contains("innerHTML"));
        }
    }
    assert!(!page.text.contains("<style") && !page.text.contains("onclick"));
}
