//! The runbooks dialect over HTTP: documents, batches, members, steps, workers and events.

mod batches;
mod documents;
mod events;
mod histories;
mod lists;
mod members;
mod orders;
mod plans;
mod sources;
mod steps;
mod upload;
mod watch;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_core::batch::{Batch, BatchMode};
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_store::memory::MemoryStore;

use crate::site::{NOON_MS, Site, get, post};

/// A preparation, a phase the day before, and a move that is polled, tried again and undone.
pub(crate) const MAILBOXES: &str = r#"
name: mailboxes
description: Moves mailboxes.
data_source:
  type: csv
  connection: MAILBOXES
  primary_key: Email
  batch_time_column: MoveAt
init:
  - {name: create-group, worker_id: worker-01, function: New-Group, params: {Batch: "{{_batch_id}}"}}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: create-user
        worker_id: worker-01
        function: New-User
        params: {Email: "{{Email}}", Name: "{{Name}}"}
        output_params: {UserId: Id}
  - name: cutover
    offset: T-0
    steps:
      - name: start-move
        worker_id: worker-02
        function: Start-Move
        params: {UserId: "{{UserId}}"}
        poll: {interval: 30s, timeout: 1h}
        retry: {max_retries: 1, interval: 30s}
        on_failure: undo
on_member_removed:
  - {name: disable, worker_id: worker-01, function: Disable-User, params: {Email: "{{Email}}"}}
rollbacks:
  undo:
    - {name: revert, worker_id: worker-01, function: Undo-Move, params: {Email: "{{Email}}"}}
"#;

/// The same without a preparation.
fn without_init() -> String {
    let (before, rest) = MAILBOXES.split_once("init:").unwrap();
    format!("{before}phases:{}", rest.split_once("phases:").unwrap().1)
}

/// Two members.
const TWO: &str = "Email,Name\nada@contoso.com,Ada\nbob@contoso.com,Bob\n";

/// A site with a runbook, on a store in memory.
async fn site_with(yaml: &str) -> Site {
    let site = Site::with(Arc::new(MemoryStore::new()), |_| {}).await;
    publish(&site, yaml).await;
    site
}

/// Publishes a runbook that is called `mailboxes`.
async fn publish(site: &Site, yaml: &str) -> Value {
    let body = json!({"name": "mailboxes", "yaml_content": yaml});
    let reply = site.ask(post("/api/runbooks").json(&body)).await;
    assert!(reply.status.is_success(), "{}", reply.text);
    reply.json()
}

/// Makes a batch of two members by hand; answers its number.
async fn made(site: &Site) -> i64 {
    let reply = site.ask(post("/api/batches?runbook=mailboxes").csv(TWO)).await;
    reply.expect(StatusCode::CREATED)["id"].as_i64().unwrap()
}

/// A batch that follows its timeline, with T-0 so many seconds from now.
async fn detected(site: &Site, seconds: i64) -> Batch {
    let start = Timestamp::from_millis(NOON_MS + seconds * 1_000);
    let member = |name: &str| {
        let data = json!({"Email": format!("{name}@contoso.com"), "Name": name});
        let key = format!("{name}@contoso.com");
        MemberRow { key, data: data.as_object().unwrap().clone() }
    };
    let members = vec![member("ada"), member("bob")];
    let mode = BatchMode::Scheduled;
    site.engine.create_batch_at("mailboxes", members, mode, Some(start), "scheduler").await.unwrap()
}

async fn batch(site: &Site, id: i64) -> Value {
    site.ask(get(&format!("/api/batches/{id}"))).await.expect(StatusCode::OK)
}

/// Does something to a batch.
async fn act(site: &Site, id: i64, verb: &str) -> Value {
    let call = post(&format!("/api/batches/{id}/{verb}"));
    site.ask(call.json(&json!({"reason": "the window"}))).await.expect(StatusCode::OK)
}

/// Waits until a batch is as it should be.
async fn until(site: &Site, id: i64, is_there: impl Fn(&Batch) -> bool) -> Batch {
    let mut changes = site.engine.batch_changes();
    for _ in 0..400 {
        let batch = site.engine.batch(BatchId(id)).await.unwrap();
        if is_there(&batch) {
            return batch;
        }
        // A change is only a hint, and one may stand for several.
        let _ = tokio::time::timeout(Duration::from_millis(50), changes.recv()).await;
    }
    panic!("the batch never came there: {:#?}", site.engine.batch(BatchId(id)).await.unwrap());
}

/// Waits until nothing must be done to every member any more.
async fn quiet(site: &Site, id: i64) -> Batch {
    until(site, id, |batch| batch.sweeps.is_empty()).await
}

/// Receives so many jobs of a worker.
async fn receive(site: &Site, worker: &str, count: usize) -> Vec<Value> {
    let mut jobs = Vec::new();
    while jobs.len() < count {
        let call = post(&format!("/api/worker-jobs/{worker}/receive"));
        let body = json!({"max": count - jobs.len(), "wait_sec": 10});
        let reply = site.ask(call.json(&body)).await.expect(StatusCode::OK);
        let messages = reply["messages"].as_array().unwrap().clone();
        assert!(!messages.is_empty(), "{} of {count} jobs came", jobs.len());
        jobs.extend(messages);
    }
    jobs
}

/// The result that a worker sends for a job.
fn result(job: &Value, status: &str, result: &Value) -> Value {
    let error =
        json!({"Message": "no license", "Type": "Forbidden", "IsThrottled": false, "Attempts": 1});
    json!({
        "JobId": job["body"]["JobId"],
        "Status": status,
        "ResultType": "Object",
        "Result": result,
        "Error": if status == "Success" { Value::Null } else { error },
        "DurationMs": 12.5,
        "Timestamp": "2025-03-10T12:00:01Z",
        "CorrelationData": job["body"]["CorrelationData"],
    })
}

/// Reports on a job; answers what became of it.
async fn report(site: &Site, job: &Value, status: &str, returned: &Value) -> String {
    let call = post("/api/worker-results").json(&result(job, status, returned));
    let reply = site.ask(call).await.expect(StatusCode::ACCEPTED);
    reply["results"][0]["outcome"].as_str().unwrap().to_owned()
}

/// Does so many jobs of a worker; answers what they were.
async fn work(site: &Site, worker: &str, count: usize) -> Vec<String> {
    let mut done = Vec::new();
    for job in receive(site, worker, count).await {
        assert_eq!(report(site, &job, "Success", &json!({"Id": "u-1"})).await, "accepted");
        done.push(job["body"]["FunctionName"].as_str().unwrap().to_owned());
    }
    done
}

/// A manual batch whose members are all in the last phase.
async fn in_cutover(site: &Site) -> i64 {
    let id = made(site).await;
    act(site, id, "advance").await;
    work(site, "worker-01", 1).await;
    until(site, id, |batch| batch.status.word() == "active").await;
    act(site, id, "advance").await;
    work(site, "worker-01", 2).await;
    until(site, id, |batch| batch.phases[0].status.is_terminal()).await;
    act(site, id, "advance").await;
    quiet(site, id).await;
    id
}

async fn steps(site: &Site, id: i64, query: &str) -> Vec<Value> {
    let path = format!("/api/batches/{id}/steps?limit=200&{query}");
    let page = site.ask(get(&path)).await.expect(StatusCode::OK);
    page["items"].as_array().unwrap().clone()
}

async fn members(site: &Site, id: i64) -> Vec<Value> {
    let page = site.ask(get(&format!("/api/batches/{id}/members"))).await.expect(StatusCode::OK);
    page["items"].as_array().unwrap().clone()
}

/// Whether the administrator's token is named as who did it.
fn is_admin(value: &Value) -> bool {
    value.as_str().is_some_and(|name| name.starts_with("first administrator (swl_"))
}
