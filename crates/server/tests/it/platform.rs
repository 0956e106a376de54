//! The platform dialect over HTTP: orders, jobs, the queue between them, and the instances.

mod bootstrap;
mod callback;
mod direct;
mod instances;
mod orders;
mod postgres;
mod refused;
mod submit;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_core::duration::Interval;
use stepwell_dialects::platform::queue::{NAME_DEFAULT, TTL};
use stepwell_store::{Filter, NewSubmission, Page};

use crate::site::{Site, get, merged, post};

/// Two branches that join.
const DIAMOND: &str = "
name: raster_ingest
input_schema:
  type: object
  required: [blob_name]
  properties: {blob_name: {type: string}}
steps:
  - {id: fetch, type: FETCH, pool: io}
  - {id: tile, type: TILE, pool: tiles, after: [fetch]}
  - {id: stats, type: STATS, pool: stats, after: [fetch]}
  - {id: publish, type: PUBLISH, pool: io, after: [tile, stats]}
";

/// A site with the diamond published, on a store in memory.
async fn site() -> Site {
    let site = Site::in_memory().await;
    site.publish(DIAMOND).await;
    site
}

/// A request that is taken.
fn request() -> Value {
    json!({"workflow_id": "raster_ingest", "input_params": {"blob_name": "data/file.tif"}})
}

fn request_with(fields: &Value) -> Value {
    merged(&request(), fields)
}

async fn submit(site: &Site, fields: &Value) -> Value {
    let call = post("/api/platform/submit").json(&request_with(fields));
    site.ask(call).await.expect(StatusCode::OK)
}

/// The jobs that a query finds.
async fn found(site: &Site, query: &str) -> Vec<Value> {
    let page = site.ask(get(&format!("/api/platform/jobs?{query}"))).await.expect(StatusCode::OK);
    page["items"].as_array().unwrap().clone()
}

/// The job that a query finds, as soon as an instance has taken its order.
async fn job(site: &Site, query: &str) -> Value {
    let mut changes = site.engine.changes();
    loop {
        if let Some(job) = found(site, query).await.first() {
            return show(site, job["job_id"].as_str().unwrap()).await;
        }
        changes.recv().await.unwrap();
    }
}

async fn show(site: &Site, id: &str) -> Value {
    site.ask(get(&format!("/api/platform/jobs/{id}"))).await.expect(StatusCode::OK)
}

/// Returns when everything that waits in the queue has been settled.
///
/// An instance takes the next orders only after it has settled the last ones: so once an order has
/// become a job that came after another had, whatever was there before is settled.
async fn until_settled(site: &Site) {
    for _ in 0..2 {
        let id = format!("waited-for-{}", jobs(site).await);
        submit(site, &json!({"correlation_id": id})).await;
        job(site, &format!("correlation_id={id}")).await;
    }
}

/// How many jobs there are.
async fn jobs(site: &Site) -> usize {
    let page = Page { before: None, limit: 1_000 };
    site.store.runs(Filter::default(), page).await.unwrap().len()
}

/// Puts a message in the queue that did not come through the gateway.
async fn enqueue(site: &Site, message_id: &str, body: &str) {
    enqueue_for(site, message_id, body, TTL).await;
}

/// The same, for a message that may wait so long.
async fn enqueue_for(site: &Site, message_id: &str, body: &str, life: Interval) {
    let now = site.engine.now();
    let submission = NewSubmission {
        queue: NAME_DEFAULT.to_owned(),
        message_id: message_id.to_owned(),
        workflow: "as it says".to_owned(),
        priority: 0,
        body: body.to_owned(),
        enqueued_at: now,
        expires_at: now.after(life),
    };
    assert_eq!(site.engine.submit(vec![submission]).await.unwrap(), [true]);
}
