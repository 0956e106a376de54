//! The same load over HTTP: clients that post commands, workers that lease and report in batches.
//!
//! Client and server share the machine, so the client does as little as it can: it reads only what
//! it must send back.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Deserialize;
use tokio::sync::Semaphore;

use super::BenchError;
use super::figures::Latencies;
use super::load::{BATCH, OPEN_MAX, POOL, STEPS, Worked, envelope};

/// Connections that post commands.
const CLIENTS: u64 = 64;

/// Connections that lease and report.
const WORKERS: usize = 8;

/// Where the server is, and the right to call it.
#[derive(Clone)]
pub(super) struct Target {
    client: reqwest::Client,
    url: String,
    token: String,
}

/// What a worker must send back of a directive.
#[derive(Deserialize)]
struct Directive<'a> {
    #[serde(rename = "jobId", borrow)]
    job_id: &'a str,
    #[serde(rename = "stepId", borrow)]
    step_id: &'a str,
    #[serde(borrow)]
    tenant_id: &'a str,
    attempt_no: u32,
    #[serde(borrow)]
    lease_id: &'a str,
}

#[derive(Deserialize)]
struct Leased<'a> {
    #[serde(borrow)]
    directive: Directive<'a>,
}

#[derive(Deserialize)]
struct Leases<'a> {
    #[serde(borrow)]
    directives: Vec<Leased<'a>>,
}

#[derive(Deserialize)]
struct Answers {
    answers: Vec<Applied>,
}

#[derive(Deserialize)]
struct Applied {
    applied: bool,
}

impl Target {
    pub(super) fn new(url: String, token: String) -> Result<Self, BenchError> {
        let client = reqwest::Client::builder().no_proxy().build();
        let client = client.map_err(|error| BenchError::new(error.to_string()))?;
        Ok(Self { client, url, token })
    }

    /// Asks for a page; anything but success is a fault of the benchmark.
    pub(super) async fn get(&self, path: &str) -> Result<Vec<u8>, BenchError> {
        self.send(path, self.client.get(format!("{}{path}", self.url))).await
    }

    /// Posts JSON, and gives the answer's body; anything but success is a fault of the benchmark.
    pub(super) async fn post(&self, path: &str, body: String) -> Result<Vec<u8>, BenchError> {
        self.post_as("application/json", path, body).await
    }

    /// Posts a body of another kind.
    pub(super) async fn post_as(
        &self,
        kind: &str,
        path: &str,
        body: String,
    ) -> Result<Vec<u8>, BenchError> {
        let request = self.client.post(format!("{}{path}", self.url));
        self.send(path, request.header("content-type", kind).body(body)).await
    }

    async fn send(
        &self,
        path: &str,
        request: reqwest::RequestBuilder,
    ) -> Result<Vec<u8>, BenchError> {
        let failed = |error: reqwest::Error| BenchError::new(error.to_string());
        let response = request.bearer_auth(&self.token).send().await.map_err(failed)?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(failed)?;
        if status.is_success() {
            return Ok(bytes.to_vec());
        }
        Err(BenchError::new(format!("{path}: {status}: {}", String::from_utf8_lossy(&bytes))))
    }
}

/// Makes jobs, and works them off with workers of its own, all over HTTP.
pub(super) async fn work(target: &Target, jobs: u64) -> Result<Worked, BenchError> {
    let open = Arc::new(Semaphore::new(OPEN_MAX));
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let mut tasks = Vec::new();
    for client in 0..CLIENTS {
        let (target, open) = (target.clone(), Arc::clone(&open));
        let numbers = client * jobs / CLIENTS..(client + 1) * jobs / CLIENTS;
        tasks.push(tokio::spawn(async move {
            for number in numbers {
                let room = open.acquire().await;
                room.map_err(|error| BenchError::new(error.to_string()))?.forget();
                target.post("/v1/commands", envelope(number, "bench.three-steps")).await?;
            }
            Ok::<(), BenchError>(())
        }));
    }
    for _ in 0..WORKERS {
        let (target, open, done) = (target.clone(), Arc::clone(&open), Arc::clone(&done));
        tasks.push(tokio::spawn(async move { worker(&target, &open, &done, jobs * STEPS).await }));
    }
    for task in tasks {
        task.await.map_err(|error| BenchError::new(error.to_string()))??;
    }
    Ok(Worked { elapsed: began.elapsed(), latencies: None })
}

/// Runs jobs one at a time.
pub(super) async fn one_at_a_time(target: &Target, jobs: u64) -> Result<Latencies, BenchError> {
    let mut latencies = Latencies::default();
    for number in 0..jobs {
        let began = Instant::now();
        target.post("/v1/commands", envelope(number, "bench.three-steps")).await?;
        let mut done = 0;
        while done < STEPS {
            done += lease_and_report(target, 1).await?;
        }
        latencies.add(began.elapsed());
    }
    Ok(latencies)
}

async fn worker(
    target: &Target,
    open: &Semaphore,
    done: &AtomicU64,
    steps: u64,
) -> Result<(), BenchError> {
    while done.load(Ordering::Relaxed) < steps {
        let reported = lease_and_report(target, BATCH).await?;
        let before = done.fetch_add(reported, Ordering::Relaxed);
        // A job has ended for every three steps; which job it was does not matter for the room.
        let ended = (before + reported) / STEPS - before / STEPS;
        open.add_permits(usize::try_from(ended).unwrap_or(0));
    }
    Ok(())
}

/// One round of a worker: lease some, report them all as done; how many reports counted.
async fn lease_and_report(target: &Target, max: usize) -> Result<u64, BenchError> {
    let ask = format!(r#"{{"max":{max},"wait_seconds":1,"visibility_seconds":60}}"#);
    let leased = target.post(&format!("/v1/workers/{POOL}/lease"), ask).await?;
    let unread = |error: serde_json::Error| BenchError::new(error.to_string());
    let leases: Leases<'_> = serde_json::from_slice(&leased).map_err(unread)?;
    if leases.directives.is_empty() {
        return Ok(0);
    }
    let mut body = String::from(r#"{"results":["#);
    for (place, leased) in leases.directives.iter().enumerate() {
        let Directive { job_id, step_id, tenant_id, attempt_no, lease_id } = &leased.directive;
        let comma = if place > 0 { "," } else { "" };
        let _ = write!(
            body,
            r#"{comma}{{"jobId":"{job_id}","stepId":"{step_id}","tenant_id":"{tenant_id}","attempt_no":{attempt_no},"lease_id":"{lease_id}","status":"SUCCEEDED"}}"#
        );
    }
    body.push_str("]}");
    let answers = target.post("/v1/workers/results", body).await?;
    let answers: Answers = serde_json::from_slice(&answers).map_err(unread)?;
    Ok(answers.answers.iter().filter(|answer| answer.applied).count() as u64)
}
