//! The load: jobs of three steps, made and worked off inside the process.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepwell_connectors::bus::LaneSet;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::{CreditTerms, Credits, Restore};
use stepwell_core::id::Tenant;
use stepwell_core::run::{Header, Run};
use stepwell_core::step::Outcome;
use stepwell_core::terms::Terms;
use stepwell_dialects::commands;
use stepwell_engine::{Ask, Compiled, Engine, EngineError, Reply, Start, Take, Taken};
use stepwell_store::Grant;
use tokio::sync::Semaphore;

use super::BenchError;
use super::figures::Latencies;

/// Three steps, one after the other, with schemas that are really checked.
pub(super) const PROTOCOL: &str = include_str!("protocol.yaml");

/// The pool that the benchmark's workers serve.
pub(super) const POOL: &str = "bench";

/// Steps of a job.
pub(super) const STEPS: u64 = 3;

/// Jobs that may be open at once while the throughput is measured.
pub(super) const OPEN_MAX: usize = 2_000;

/// Directives or commands that travel together.
pub(super) const BATCH: usize = 64;

/// Clients that make jobs at the same time.
const CLIENTS: u64 = 4;

/// Workers that take directives at the same time.
const WORKERS: usize = 4;

/// The cap that is checked for every job; high enough not to be the thing measured.
pub(super) const TENANT_CAP: u32 = 10_000_000;

/// Tenants whose jobs the load is made of.
const TENANTS: u64 = 16;

/// What a job that is charged sets aside, and what each of its steps costs: a little is left.
const ESTIMATE: Credits = Credits::whole(4);
const COST: Credits = Credits::whole(1);

/// What came of a number of jobs.
pub(super) struct Worked {
    pub(super) elapsed: Duration,
    /// from acceptance to the end, where that was watched
    pub(super) latencies: Option<Latencies>,
}

/// A command of the benchmark, as a client would send it.
pub(super) fn envelope(number: u64, request_type: &str) -> String {
    format!(
        r#"{{"tenant_id":"tenant-{}","request_type":"{request_type}","input_ref":"blob://in/{number}","output_ref":"blob://out/{number}","payload":{{"document":"d-{number}","pages":{}}},"schema_version":"1"}}"#,
        number % TENANTS,
        number % 90 + 1,
    )
}

/// Makes jobs that cost nothing, and works them off.
pub(super) async fn work(engines: &[Engine], jobs: u64) -> Result<Worked, BenchError> {
    work_on(engines, jobs, None).await
}

/// Makes jobs that are charged, and works them off; each has a line in the ledger for what it sets aside,
/// one for each step and one for the rest.
pub(super) async fn work_charged(engines: &[Engine], jobs: u64) -> Result<Worked, BenchError> {
    let credits = CreditTerms { estimate: ESTIMATE, restore: Restore::Never, charged: true };
    let terms = Terms { run_retry: None, keeping: None, credits: Some(credits) };
    work_on(engines, jobs, Some(&Arc::new(terms))).await
}

/// Puts credits into the accounts of all tenants of the load, enough for so many jobs.
pub(super) async fn grant(engine: &Engine, jobs: u64) -> Result<(), BenchError> {
    let jobs = i64::try_from(jobs).unwrap_or(i64::MAX);
    for number in 0..TENANTS {
        let grant = Grant {
            tenant: Tenant::new(&format!("tenant-{number}")),
            amount: Credits(ESTIMATE.0.saturating_mul(jobs)),
            actor: "bench".to_owned(),
            reason: "load".to_owned(),
            key: None,
            at: engine.now(),
        };
        let granted = engine.store().grant(grant).await;
        granted.map_err(|error| BenchError::new(error.to_string()))?;
    }
    Ok(())
}

/// Makes jobs, and works them off with workers inside the process, as fast as it goes.
///
/// Several engines share the work: each has clients and workers, and whoever is done helps the others.
async fn work_on(
    engines: &[Engine],
    jobs: u64,
    terms: Option<&Arc<Terms>>,
) -> Result<Worked, BenchError> {
    let open = Arc::new(Semaphore::new(OPEN_MAX));
    let ended = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let mut workers = Vec::new();
    for engine in engines {
        for _ in 0..WORKERS.div_ceil(engines.len()) {
            let (engine, open, ended) = (engine.clone(), Arc::clone(&open), Arc::clone(&ended));
            workers.push(tokio::spawn(async move { worker(&engine, &open, &ended, jobs).await }));
        }
    }
    make_all(engines, "bench.three-steps", jobs, &open, terms).await?;
    let mut latencies = Latencies::default();
    for worker in workers {
        latencies.merge(worker.await.map_err(|error| BenchError::new(error.to_string()))??);
    }
    Ok(Worked { elapsed: began.elapsed(), latencies: Some(latencies) })
}

/// Makes jobs whose workers never come: a backlog.
pub(super) async fn park(engine: &Engine, jobs: u64) -> Result<(), BenchError> {
    let unlimited = Arc::new(Semaphore::new(Semaphore::MAX_PERMITS));
    make_all(std::slice::from_ref(engine), "bench.parked", jobs, &unlimited, None).await
}

/// Runs jobs one at a time, with a worker that waits for each.
pub(super) async fn one_at_a_time(engine: &Engine, jobs: u64) -> Result<Latencies, BenchError> {
    let protocol = protocol(engine, "bench.three-steps").await?;
    let mut latencies = Latencies::default();
    for number in 0..jobs {
        let began = Instant::now();
        engine.ask_one(start(engine, &protocol, number, None)?).await?;
        for _ in 0..STEPS {
            let taken = engine.take(ask(1)).await?;
            for taken in &taken {
                engine.ask_one(report(taken)).await?;
            }
        }
        latencies.add(began.elapsed());
    }
    Ok(latencies)
}

async fn protocol(engine: &Engine, request_type: &str) -> Result<Arc<Compiled>, BenchError> {
    let found = engine.protocol(request_type).await?;
    found.ok_or_else(|| BenchError::new(format!("protocol {request_type} is not there")))
}

/// Clients that ask at the same time: one alone would wait for every commit in turn.
async fn make_all(
    engines: &[Engine],
    request_type: &str,
    jobs: u64,
    open: &Arc<Semaphore>,
    terms: Option<&Arc<Terms>>,
) -> Result<(), BenchError> {
    let mut clients = Vec::new();
    let count = CLIENTS.max(engines.len() as u64);
    for (client, engine) in (0..count).zip(engines.iter().cycle()) {
        let share = client * jobs / count..(client + 1) * jobs / count;
        let protocol = protocol(engine, request_type).await?;
        let (engine, open, terms) = (engine.clone(), Arc::clone(open), terms.cloned());
        clients.push(tokio::spawn(async move {
            make(&engine, &protocol, share, &open, terms.as_ref()).await
        }));
    }
    for client in clients {
        client.await.map_err(|error| BenchError::new(error.to_string()))??;
    }
    Ok(())
}

async fn make(
    engine: &Engine,
    protocol: &Compiled,
    numbers: Range<u64>,
    open: &Semaphore,
    terms: Option<&Arc<Terms>>,
) -> Result<(), BenchError> {
    let Range { start: mut number, end } = numbers;
    while number < end {
        let count = BATCH.min(usize::try_from(end - number).unwrap_or(BATCH));
        let permits = u32::try_from(count).unwrap_or(1);
        let room = open.acquire_many(permits).await;
        room.map_err(|error| BenchError::new(error.to_string()))?.forget();
        let mut asks = Vec::with_capacity(count);
        for _ in 0..count {
            asks.push(start(engine, protocol, number, terms)?);
            number += 1;
        }
        for answer in engine.ask(asks).await? {
            answer?;
        }
    }
    Ok(())
}

/// A job as the server would make it: envelope read, schemas checked, tenant capped.
fn start(
    engine: &Engine,
    protocol: &Compiled,
    number: u64,
    terms: Option<&Arc<Terms>>,
) -> Result<Ask, BenchError> {
    let request_type = protocol.workflow.request_type.as_deref().unwrap_or_default();
    let body = envelope(number, request_type);
    let refused = |rejection: commands::Rejection| BenchError::new(format!("{rejection:?}"));
    let envelope = commands::envelope(body.as_bytes()).map_err(refused)?;
    let at = commands::Accept {
        run: engine.fresh_run_id(),
        actor: "bench".to_owned(),
        now: engine.now(),
        references: &commands::ReferencePolicy::default(),
    };
    let header = commands::accept(envelope, &protocol.workflow, &protocol.checks, at);
    let header = Arc::new(Header { terms: terms.cloned(), ..header.map_err(refused)? });
    let tenant_cap = Some(TENANT_CAP);
    Ok(Ask::Start(Box::new(Start { header, carried: Vec::new(), key: None, tenant_cap })))
}

async fn worker(
    engine: &Engine,
    open: &Semaphore,
    ended: &AtomicU64,
    jobs: u64,
) -> Result<Latencies, EngineError> {
    let mut latencies = Latencies::default();
    while ended.load(Ordering::Relaxed) < jobs {
        let taken = engine.take(ask(BATCH)).await?;
        if taken.is_empty() {
            continue;
        }
        let answers = engine.ask(taken.iter().map(report).collect()).await?;
        for answer in answers {
            let (Reply::Applied(run) | Reply::Started(run)) = answer? else { continue };
            if run.status.is_terminal() {
                latencies.add(lifetime(&run));
                open.add_permits(1);
                ended.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    Ok(latencies)
}

fn lifetime(run: &Run) -> Duration {
    let ended_at = run.ended_at.unwrap_or(run.updated_at);
    ended_at.since(run.header.created_at).into()
}

fn ask(max: usize) -> Take<'static> {
    Take {
        pool: POOL,
        lanes: LaneSet::ALL,
        max,
        wait: Duration::from_millis(200),
        visibility: Duration::from_secs(60),
    }
}

fn report(taken: &Taken) -> Ask {
    let directive = taken.directive;
    let spent = if taken.run.header.terms.is_some() { COST } else { Credits::ZERO };
    let command = Command::Report {
        step: StepRef::Index(directive.step),
        fence: Fence { attempt: directive.attempt, lease: directive.lease },
        outcome: Outcome::Succeeded { result: Value::Null },
        spent,
    };
    Ask::command(taken.run.id(), command)
}
