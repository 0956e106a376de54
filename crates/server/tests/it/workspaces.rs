//! The workspaces dialect over HTTP: jobs, their workers, credits, policies, events.

mod credits;
mod events;
mod jobs;
mod letters;
mod lifebook;
mod messages;
mod policy;
mod redaction;
mod refused;
mod subscriptions;
mod told;
mod triggers;
mod workers;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::site::{Site, get, merged, post, report_body};

/// Where the work of workspaces waits (C-001).
pub(crate) const QUEUE: &str = "lifebook-orchestrator-queue";

/// Two steps that one worker does one after the other, and a third elsewhere.
pub(crate) const REPORT: &str = "
name: report
credits: 3
input_schema:
  type: object
  properties: {day: {type: string}}
steps:
  - {id: fetch, type: FETCH, pool: lifebook-orchestrator-queue}
  - {id: write, type: WRITE, pool: lifebook-orchestrator-queue}
";

/// A site with the workflow published, on a store in memory.
async fn site() -> Site {
    let site = Site::in_memory().await;
    site.publish(REPORT).await;
    site
}

/// The same on a SQLite file.
async fn site_on_sqlite() -> Site {
    let site = Site::on_sqlite().await;
    site.publish(REPORT).await;
    site
}

/// A request that is taken.
fn request() -> Value {
    json!({"workflow_id": "report", "user_id": "user-7", "input": {"day": "monday"}})
}

fn request_with(fields: &Value) -> Value {
    merged(&request(), fields)
}

const JOBS: &str = "/v1/workspaces/acme/jobs";

/// Makes a job of acme, and answers its record.
pub(crate) async fn create(site: &Site, fields: &Value) -> Value {
    let reply = site.ask(post(JOBS).json(&request_with(fields))).await;
    reply.expect(StatusCode::CREATED)
}

/// The path of a job.
pub(crate) fn path(job: &Value) -> String {
    format!("{JOBS}/{}", job["job_id"].as_str().unwrap())
}

/// A job as it is now.
async fn record(site: &Site, job: &Value) -> Value {
    site.ask(get(&path(job))).await.expect(StatusCode::OK)
}

/// Leases one directive, and says that it was taken.
pub(crate) async fn take(site: &Site) -> Value {
    let directive = site.lease(QUEUE).await;
    let acks = json!({"acks": [report_body(&directive, &json!({}))]});
    let reply = site.ask(post("/v1/workers/acks").json(&acks)).await.expect(StatusCode::OK);
    assert_eq!(reply, json!({"answers": [{"applied": true}]}), "{directive}");
    directive
}

/// Reports on a directive; answers what the worker is told.
pub(crate) async fn report(site: &Site, directive: &Value, fields: &Value) -> Value {
    let results = json!({"results": [report_body(directive, fields)]});
    let reply = site.ask(post("/v1/workers/results").json(&results)).await;
    reply.expect(StatusCode::OK)["answers"][0].take()
}

/// Does all steps of the job whose message waits.
async fn finish(site: &Site) {
    let mut directive = take(site).await;
    loop {
        let mut told = report(site, &directive, &json!({"status": "SUCCEEDED"})).await;
        assert_eq!(told["applied"], true, "{told}");
        match told["next"]["directive"].take() {
            Value::Null => break,
            next => directive = next,
        }
    }
}

/// Fails the job whose message waits for good.
async fn kill(site: &Site) {
    let directive = take(site).await;
    let error = json!({"code": "no_such_day", "message": "there is no such day"});
    report(site, &directive, &json!({"status": "FAILED_FINAL", "error": error})).await;
}
