//! Instances and their figures.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_core::time::Timestamp;
use stepwell_store::memory::MemoryStore;

use super::{DIAMOND, job, site, submit};
use crate::site::{NOON_MS, Site, get};

// B-059: every field, with its type.
#[tokio::test]
async fn an_instance_tells_everything_about_itself() {
    let site = site().await;
    submit(&site, &json!({"correlation_id": "c-1"})).await;
    job(&site, "correlation_id=c-1").await;
    site.advance(90);
    let stats = site.ask(get("/api/v1/stats")).await.expect(StatusCode::OK);
    assert_eq!((&stats["running"], &stats["jobs_claimed"]), (&json!(true), &json!(1)));
    assert_eq!((&stats["jobs_reclaimed"], &stats["errors"]), (&json!(0), &json!(0)));
    assert_eq!(
        (&stats["uptime_seconds"], &stats["started_at"]),
        (&json!(90.0), &json!("2025-03-10T12:00:00.000Z"))
    );
    assert!(stats["poll_interval"].is_number() && stats["owner_id"].is_string());
    for count in ["cycles", "tasks_dispatched"] {
        assert!(stats[count].as_u64().unwrap() > 0, "{count}");
    }
    assert_eq!(stats["results_processed"], 0);
    let directive = site.lease("io").await;
    site.report(&directive, "SUCCEEDED").await;
    let stats = site.ask(get("/api/v1/stats")).await.expect(StatusCode::OK);
    assert_eq!(stats["results_processed"], 1);
    for moment in ["last_heartbeat_at", "last_orphan_scan_at"] {
        assert_eq!(stats[moment], Value::Null, "nobody else is there");
    }
}

async fn instances(site: &Site) -> Vec<Value> {
    let list = site.ask(get("/api/v1/instances")).await.expect(StatusCode::OK);
    list["items"].as_array().unwrap().clone()
}

// B-060: one instance on a store of its own is listed as well.
#[tokio::test]
async fn an_instance_on_a_store_of_its_own_is_the_only_one() {
    let site = Site::on_sqlite().await;
    site.start().await;
    let [instance] = instances(&site).await.try_into().unwrap();
    assert_eq!((&instance["healthy"], &instance["jobs_owned"]), (&json!(true), &json!(1)));
    let stats = site.ask(get("/api/v1/stats")).await.expect(StatusCode::OK);
    assert_eq!(instance["owner_id"], stats["owner_id"]);
    let metrics = site.ask(get("/metrics")).await.text;
    let owner = stats["owner_id"].as_str().unwrap();
    let line = format!("stepwell_instance_owned_runs{{instance=\"{owner}\"}} 1");
    assert!(metrics.contains(&line), "{line} in\n{metrics}");
}

/// Two servers whose engines share a store, and have both given a sign of life.
async fn two() -> (Site, Site) {
    let clock = Arc::new(ManualClock::new(NOON_MS));
    let of_store = Arc::clone(&clock);
    let store = MemoryStore::shared(move || Timestamp::from_millis(of_store.now_ms()));
    let second = Arc::new(store.another());
    let first = Site::sharing(Arc::new(store), Arc::clone(&clock)).await;
    let second = Site::sharing(second, clock).await;
    first.publish(DIAMOND).await;
    for site in [&first, &second] {
        while site.engine.stats().last_heartbeat_at.is_none() {
            tokio::task::yield_now().await;
        }
    }
    (first, second)
}

// B-045, B-059, B-060: everybody is listed with their health, at whichever instance one asks.
#[tokio::test]
async fn instances_that_share_a_store_are_listed_by_each() {
    let (first, second) = two().await;
    submit(&first, &json!({"correlation_id": "c-1"})).await;
    let listed = instances(&second).await;
    assert_eq!(listed, instances(&first).await);
    let ids: Vec<&Value> = listed.iter().map(|it| &it["owner_id"]).collect();
    assert_eq!(
        ids,
        [&json!(first.engine.stats().owner_id), &json!(second.engine.stats().owner_id)]
    );
    for instance in &listed {
        assert_eq!((&instance["state"], &instance["healthy"]), (&json!("alive"), &json!(true)));
        assert_eq!(instance["heartbeat_at"], "2025-03-10T12:00:00.000Z");
    }
    second.engine.stop().await;
    let listed = instances(&first).await;
    assert_eq!((&listed[1]["state"], &listed[1]["healthy"]), (&json!("stopped"), &json!(false)));
    assert_eq!(listed[0]["healthy"], true);
}

// B-022, B-037, B-060: a job shows who owns it, and metrics how many everybody has.
#[tokio::test]
async fn a_job_shows_its_owner_and_metrics_how_jobs_are_spread() {
    let (first, second) = two().await;
    second.engine.stop().await;
    submit(&first, &json!({"correlation_id": "c-1"})).await;
    let job = job(&first, "correlation_id=c-1").await;
    let owner = first.engine.stats().owner_id;
    assert_eq!(job["owner_id"], owner);
    assert_eq!(job["owner_heartbeat_at"], "2025-03-10T12:00:00.000Z");
    let metrics = first.ask(get("/metrics")).await.text;
    for line in [
        format!("stepwell_instance_owned_runs{{instance=\"{owner}\"}} 1"),
        "stepwell_jobs_claimed_total 1".to_owned(),
        "stepwell_jobs_reclaimed_total 0".to_owned(),
        "stepwell_fenced_writes_total 0".to_owned(),
        "stepwell_heartbeat_age_seconds 0.0".to_owned(),
    ] {
        assert!(metrics.contains(&line), "{line} in\n{metrics}");
    }
}

// whoever could not give a sign of life for too long says that it decides nothing.
#[tokio::test]
async fn an_instance_that_may_not_decide_is_not_ready() {
    let (first, _second) = two().await;
    first.send(get("/readyz")).await.expect(StatusCode::OK);
    // Nothing else runs before the question is answered: no sign of life comes in between.
    first.advance(120);
    let problem = first.send(get("/readyz")).await.refused(503, "unavailable");
    assert!(problem["detail"].as_str().unwrap().contains("sign of life"), "{problem}");
    first.send(get("/livez")).await.expect(StatusCode::OK);
}
