//! Reading jobs.

use std::sync::Arc;

use axum::http::StatusCode;
use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::duration::Interval;
use stepwell_engine::{Keep, Retention};
use stepwell_server::auth::Role;
use stepwell_store::memory::MemoryStore;
use uuid::Uuid;

use crate::site::{Call, Site, envelope_with, get, merged, post, report_body, run_id};

// D-007, D-009: the job with its list of steps.
#[tokio::test]
async fn a_job_is_shown_with_its_steps() {
    let site = Site::on_sqlite().await;
    let fields = json!({"correlation_id": "order-7", "mode": "BURST", "doc_id": "doc-001"});
    let started = site.ask(post("/v1/commands").json(&envelope_with(&fields))).await;
    let id = started.expect(StatusCode::ACCEPTED)["jobId"].as_str().unwrap().to_owned();
    let job = site.job(&id).await;
    let fields =
        ["tenant_id", "protocol_id", "status", "current_step_id", "created_at", "correlation_id"];
    let shown: Vec<_> = fields.into_iter().map(|field| job[field].to_string()).collect();
    expect![[r#""acme" "intake" "IN_PROGRESS" "ocr" "2025-03-10T12:00:00.000Z" "order-7""#]]
        .assert_eq(&shown.join(" "));
    let ocr = &job["steps"][0];
    assert_eq!((&ocr["step_id"], &ocr["lane"]), (&json!("ocr"), &json!(5)));
    assert_eq!(job["steps"].as_array().unwrap().len(), 2);
}

// X-148: a job without a recorded attempt is QUEUED.
#[tokio::test]
async fn a_job_is_queued_until_its_first_attempt_is_recorded() {
    let site = Site::in_memory().await;
    site.publish(crate::site::GATED).await;
    let call =
        post("/v1/commands").json(&envelope_with(&json!({"request_type": "document.approve"})));
    let id = site.ask(call).await.json()["jobId"].as_str().unwrap().to_owned();
    assert_eq!(site.job(&id).await["status"], "QUEUED");
    site.ask(post(&format!("/v1/jobs/{id}/gates/approval:open")))
        .await
        .expect(StatusCode::ACCEPTED);
    assert_eq!(site.job(&id).await["status"], "IN_PROGRESS");
}

// D-031: the tag of what was last seen.
#[tokio::test]
async fn an_unchanged_job_is_not_sent_again() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let path = format!("/v1/jobs/{id}");
    let tag = site.ask(get(&path)).await.header("etag").to_owned();
    let again = site.ask(get(&path).header("If-None-Match", &tag)).await;
    assert_eq!((again.status, again.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "SUCCEEDED").await;
    let changed = site.ask(get(&path).header("If-None-Match", &tag)).await;
    assert_eq!(changed.expect(StatusCode::OK)["steps"][0]["status"], "SUCCEEDED");
    assert_ne!(changed.header("etag"), tag);
}

// D-010, X-131: steps with every attempt, and one step alone.
#[tokio::test]
async fn steps_are_listed_with_every_attempt() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "FAILED_RETRYABLE").await;
    let directive = site.lease("ocr-service").await;
    site.report(&directive, "SUCCEEDED").await;
    let steps = site.ask(get(&format!("/v1/jobs/{id}/steps"))).await.expect(StatusCode::OK);
    assert_eq!(steps["items"].as_array().unwrap().len(), 2);
    let path = format!("/v1/jobs/{id}/steps?step_id=ocr");
    let one = site.ask(get(&path)).await.expect(StatusCode::OK);
    let attempts = one["items"][0]["attempts"].as_array().unwrap();
    let shown: Vec<_> = attempts.iter().map(|it| (&it["attempt_no"], &it["status"])).collect();
    assert_eq!(shown, [(&json!(1), &json!("FAILED_RETRYABLE")), (&json!(2), &json!("SUCCEEDED"))]);
    assert_ne!(attempts[0]["lease_id"], attempts[1]["lease_id"]);
    let none = site.ask(get(&format!("/v1/jobs/{id}/steps?step_id=nope"))).await;
    none.refused(404, "unknown_step");
}

// D-063, X-162: the history is the trace, with moments in UTC.
#[tokio::test]
async fn the_history_says_everything_that_happened_page_by_page() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    site.finish().await;
    let mut words = Vec::new();
    let mut after = json!(0);
    loop {
        let path = format!("/v1/jobs/{id}/history?after={after}&limit=1");
        let page = site.ask(get(&path)).await.expect(StatusCode::OK);
        for record in page["items"].as_array().unwrap() {
            assert_eq!(record["at"], "2025-03-10T12:00:00.000Z");
            for entry in record["entries"].as_array().unwrap() {
                words.push(format!("{} {}", entry["entry"], entry["step_id"]));
                assert!(entry.get("expires_at").is_none_or(Value::is_string), "{entry}");
            }
        }
        after = page["next_after"].clone();
        if after.is_null() {
            break;
        }
    }
    expect![[r#"
        "run_started" null
        "step_dispatched" "ocr"
        "step_succeeded" "ocr"
        "step_dispatched" "embed"
        "step_succeeded" "embed"
        "run_succeeded" null"#]]
    .assert_eq(&words.join("\n"));
}

#[tokio::test]
async fn a_job_explains_why_it_waits() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let explained = site.ask(get(&format!("/v1/jobs/{id}/explain"))).await.expect(StatusCode::OK);
    assert_eq!(explained["waits"][0]["waiting_for"], "worker");
    assert_eq!(explained["waits"][1]["waiting_for"], "steps");
}

#[tokio::test]
async fn jobs_are_listed_by_filter_and_page_by_page() {
    let site = Site::on_sqlite().await;
    site.publish(crate::site::GATED).await;
    let mut ids = vec![site.start().await];
    site.finish().await;
    // Ids of one millisecond have no order among themselves.
    site.advance(1);
    ids.push(site.start().await);
    site.advance(1);
    let other =
        json!({"request_type": "document.approve", "correlation_id": "c", "tenant_id": "globex"});
    let other = site.ask(post("/v1/commands").json(&envelope_with(&other))).await.json();
    ids.push(other["jobId"].as_str().unwrap().to_owned());
    ids.reverse();
    let list = async |query: &str| -> Vec<String> {
        let page = site.ask(get(&format!("/v1/jobs{query}"))).await.expect(StatusCode::OK);
        let items = page["items"].as_array().unwrap();
        items.iter().map(|item| item["job_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(list("").await, ids);
    assert_eq!(list("?status=SUCCEEDED").await, [ids[2].clone()]);
    assert_eq!(list("?status=SUCCEEDED,QUEUED").await, [ids[0].clone(), ids[2].clone()]);
    assert_eq!(list("?status=SUCCEEDED&status=IN_PROGRESS").await, ids[1..]);
    assert_eq!(list("?workflow=gated").await, ids[..1]);
    assert_eq!(list("?request_type=document.ingest").await, ids[1..]);
    assert_eq!(list("?request_type=unknown.type").await, Vec::<String>::new());
    assert_eq!(list("?correlation_id=c").await, ids[..1]);
    assert_eq!(list("?tenant=globex").await, ids[..1]);
    assert_eq!(list("?created_from=2025-03-10T12:00:01Z").await, ids[..2]);
    assert_eq!(list("?created_until=2025-03-10T12:00:01Z").await, ids[2..]);
    let mut paged = Vec::new();
    let mut query = "?limit=1".to_owned();
    while paged.len() < 3 {
        let page = site.ask(get(&format!("/v1/jobs{query}"))).await.expect(StatusCode::OK);
        paged.push(page["items"][0]["job_id"].as_str().unwrap().to_owned());
        query = format!("?limit=1&cursor={}", page["next_cursor"].as_str().unwrap());
    }
    assert_eq!(paged, ids);
}

#[tokio::test]
async fn a_filter_that_cannot_be_meant_is_refused() {
    let site = Site::in_memory().await;
    let check = async |query: &str, name: &str| {
        let reply = site.ask(get(&format!("/v1/jobs?{query}"))).await;
        let problem = reply.refused(400, "malformed_parameter");
        assert_eq!(problem["details"][0]["path"], name, "{query}");
    };
    check("statsu=QUEUED", "\"statsu\"").await;
    check("status=DONE", "status").await;
    check("limit=0", "limit").await;
    check("limit=201", "limit").await;
    check("limit=x", "limit").await;
    check("limit=1&limit=2", "limit").await;
    check("cursor=zzz", "cursor").await;
    check("created_from=yesterday", "created_from").await;
}

// X-150: a job of another tenant is answered exactly as one that does not exist.
#[tokio::test]
async fn a_job_of_another_tenant_does_not_exist() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let token = site.token(Role::Operator, Some("globex")).await;
    let before = site.written().await;
    let calls: [fn(&str) -> Call; 11] = [
        |id| get(&format!("/v1/jobs/{id}")),
        |id| get(&format!("/v1/jobs/{id}/steps")),
        |id| get(&format!("/v1/jobs/{id}/history")),
        |id| get(&format!("/v1/jobs/{id}/events")),
        |id| get(&format!("/v1/jobs/{id}/explain")),
        |id| get(&format!("/v1/jobs/{id}/stale-reports")),
        |id| post(&format!("/v1/jobs/{id}:cancel")),
        |id| post(&format!("/v1/jobs/{id}:pause")),
        |id| post(&format!("/v1/jobs/{id}:retry")),
        |id| post(&format!("/v1/jobs/{id}/steps/ocr:skip")),
        |id| post(&format!("/v1/jobs/{id}/gates/approval:open")),
    ];
    for call in calls {
        let foreign = site.send(call(&id).token(&token)).await;
        let missing = site.send(call(&Uuid::from_u128(1).to_string()).token(&token)).await;
        let malformed = site.send(call("no-id").token(&token)).await;
        let body = |reply: &crate::site::Reply| {
            let problem = reply.refused(404, "job_not_found");
            merged(&problem, &json!({"request_id": "", "correlation_id": ""}))
        };
        assert_eq!(body(&foreign), body(&missing));
        assert_eq!(body(&foreign), body(&malformed));
    }
    assert_eq!(site.written().await, before);
    let list = site.send(get("/v1/jobs").token(&token)).await.expect(StatusCode::OK);
    assert_eq!(list["items"], json!([]));
    let other = site.send(get("/v1/jobs?tenant=acme").token(&token)).await;
    other.refused(403, "tenant_mismatch");
}

// D-038, X-139: what came too late is recorded.
#[tokio::test]
async fn reports_without_effect_are_listed() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let late = report_body(&directive, &json!({"status": "SUCCEEDED", "attempt_no": 7}));
    site.ask(post("/v1/workers/results").json(&json!({"results": [late]}))).await;
    let reports = site.ask(get(&format!("/v1/jobs/{id}/stale-reports"))).await;
    let report = &reports.expect(StatusCode::OK)["items"][0];
    assert_eq!(report["reason"], "stale_attempt");
    assert_eq!((&report["kind"], &report["attempt_no"]), (&json!("result"), &json!(7)));
    let stored = site.store.stale_reports(run_id(&id)).await.unwrap();
    assert_eq!(stored.len(), 1);
}

// X-161: what retention has deleted is gone, and only the fact remains.
#[tokio::test]
async fn a_job_that_was_deleted_says_so_to_its_own_tenant_only() {
    let commands = Keep::all(Some(Interval::from_secs(60)));
    let retention = Retention { commands, ..Retention::default() };
    let settings = stepwell_engine::Settings { retention, ..Default::default() };
    let site = Site::with_engine(Arc::new(MemoryStore::new()), settings, |_| {}).await;
    let id = site.start().await;
    site.finish().await;
    site.advance(61);
    site.store.sweep(site.engine.now(), 10).await.unwrap();
    let path = format!("/v1/jobs/{id}");
    let problem = site.ask(get(&path)).await.refused(410, "job_deleted");
    assert!(problem["detail"].as_str().unwrap().contains("ended as SUCCEEDED"), "{problem}");
    let other = site.token(Role::Viewer, Some("globex")).await;
    site.send(get(&path).token(&other)).await.refused(404, "job_not_found");
}

// D-011: reading asks nothing of the task that decides.
#[tokio::test]
async fn jobs_can_be_read_while_nothing_can_be_decided() {
    let site = Site::on_sqlite().await;
    let id = site.start().await;
    site.store.open_epoch("another process").await.unwrap();
    let refused = site.ask(post(&format!("/v1/jobs/{id}:cancel"))).await;
    refused.refused(503, "stopping");
    assert_eq!(site.job(&id).await["status"], "IN_PROGRESS");
    site.ask(get(&format!("/v1/jobs/{id}/steps"))).await.expect(StatusCode::OK);
    let ready = site.send(get("/readyz")).await.refused(503, "unavailable");
    assert_eq!(ready["detail"], "another process has taken the store over");
}
