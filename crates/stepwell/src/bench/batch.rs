//! `stepwell bench batch`: members through phases, as a migration night would have it.
//!
//! A batch is made, and every phase begins while workers inside the process take and report as fast
//! as it goes. Beside them somebody looks at the batch and at pages of its members over HTTP, as
//! people do who watch it. What is measured: steps a second over the whole way, the processor time of
//! a step, how long a phase takes from its beginning to the last first step with the bus, the memory
//! of the whole process (the load included), and how long the pages take.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Map, Value, json};
use stepwell_connectors::bus::LaneSet;
use stepwell_core::batch::{Batch, BatchCommand, BatchStatus, PhaseStatus};
use stepwell_core::command::{Act, Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::id::BatchId;
use stepwell_core::step::Outcome;
use stepwell_dialects::runbooks::accept::publication;
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_engine::{Ask, BatchError, Engine, Take};

use super::figures::{Latencies, memory_mb, processor_ms};
use super::{BenchError, http, ratio, round};
use crate::failure::Failure;
use crate::serve::{Plan, Running};

/// Directives that travel together.
const TOGETHER: usize = 64;

/// Workers that take directives at the same time.
const WORKERS: usize = 4;

/// How often somebody looks at the batch.
const LOOK: Duration = Duration::from_millis(50);

/// Members on a page.
const PAGE: u32 = 50;

/// What `bench batch` is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct BatchArguments {
    /// Members of the batch
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    members: u32,
    /// Phases that they go through
    #[arg(long, default_value_t = 6, value_name = "N")]
    phases: u32,
    /// Steps of each phase
    #[arg(long, default_value_t = 5, value_name = "N")]
    steps: u32,
    /// Measure a batch of so many members first, and what a step costs beside it
    #[arg(long, value_name = "N")]
    baseline: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

impl From<BatchError> for BenchError {
    fn from(error: BatchError) -> Self {
        Self::new(error.to_string())
    }
}

/// Everything that is measured.
pub(super) async fn figures(
    place: &Path,
    arguments: &BatchArguments,
    tell: impl Fn(&'static str),
) -> Result<Map<String, Value>, Failure> {
    let mut figures = Map::new();
    let mut baseline = None;
    if let Some(members) = arguments.baseline {
        tell("a small batch, to compare with");
        let small = BatchArguments { members, ..arguments.clone() };
        let measured = measure(&place.join("baseline"), &small).await?;
        figures.insert("baseline_members".to_owned(), json!(members));
        figures.insert("baseline_steps_per_s".to_owned(), json!(round(measured.steps_per_s)));
        figures.insert("baseline_cpu_us_per_step".to_owned(), json!(measured.cpu_us_per_step));
        baseline = Some(measured);
    }
    tell("the batch");
    let mut measured = measure(&place.join("batch"), arguments).await?;
    figures.append(&mut measured.figures(arguments));
    if let Some(baseline) = baseline {
        let cost = ratio(baseline.steps_per_s, measured.steps_per_s);
        figures.insert("cost_per_step_ratio".to_owned(), json!(cost));
        let cpu = measured.cpu_us_per_step.zip(baseline.cpu_us_per_step);
        let cpu = cpu.map(|(large, small)| ratio(large, small));
        figures.insert("cpu_per_step_ratio".to_owned(), json!(cpu));
    }
    Ok(figures)
}

/// What came of a batch.
struct Measured {
    create: Duration,
    steps_per_s: f64,
    /// of the whole process, the load included
    cpu_us_per_step: Option<f64>,
    /// of each phase, from its beginning to the last first step with the bus
    dispatches: Vec<Duration>,
    pages: Latencies,
    memory_mb: Option<f64>,
}

impl Measured {
    fn figures(&mut self, arguments: &BatchArguments) -> Map<String, Value> {
        let slowest = self.dispatches.iter().max().copied().unwrap_or_default();
        super::object(json!({
            "members": arguments.members,
            "phases": arguments.phases,
            "steps": arguments.steps,
            "create_s": seconds(self.create),
            "steps_per_s": round(self.steps_per_s),
            "cpu_us_per_step": self.cpu_us_per_step,
            "phase_dispatch_s": seconds(slowest),
            "page_p95_ms": self.pages.percentile_ms(95),
            "pages": self.pages.count(),
            "peak_rss_mb": self.memory_mb.map(round),
        }))
    }
}

fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

async fn measure(data: &Path, arguments: &BatchArguments) -> Result<Measured, Failure> {
    let running = Running::start(Plan::local(data)).await?;
    let token = running.admin_token.clone().unwrap_or_default();
    let target = http::Target::new(running.url(), token)?;
    let measured = work(&running.engine, &target, arguments).await;
    running.stop().await;
    Ok(measured?)
}

async fn work(
    engine: &Engine,
    target: &http::Target,
    arguments: &BatchArguments,
) -> Result<Measured, BenchError> {
    let body = json!({ "name": "bench", "yaml_content": runbook(arguments) }).to_string();
    let body = publication(body.as_bytes()).map_err(|no| BenchError::new(format!("{no:?}")))?;
    engine.publish_runbook(body, "bench").await?;
    let members = (0..arguments.members).map(member).collect();
    let began = Instant::now();
    let batch = engine.create_batch("bench", members, "bench").await?.id();
    let create = began.elapsed();

    let over = Arc::new(AtomicBool::new(false));
    let workers = (0..WORKERS).map(|_| {
        let (engine, over) = (engine.clone(), Arc::clone(&over));
        tokio::spawn(async move { worker(&engine, &over).await })
    });
    let workers: Vec<_> = workers.collect();
    let watcher = {
        let (target, over, members) = (target.clone(), Arc::clone(&over), arguments.members);
        tokio::spawn(async move { watch(&target, batch, members, &over).await })
    };
    let (began, cpu_began) = (Instant::now(), processor_ms(std::process::id()));
    let mut dispatches = Vec::new();
    for _ in 0..arguments.phases {
        dispatches.push(phase(engine, batch).await?);
    }
    until(engine, batch, |batch| batch.status.is_terminal()).await?;
    let (elapsed, cpu_ended) = (began.elapsed(), processor_ms(std::process::id()));
    over.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.await.map_err(|error| BenchError::new(error.to_string()))??;
    }
    let pages = watcher.await.map_err(|error| BenchError::new(error.to_string()))??;
    must_be_whole(&engine.batch(batch).await?, arguments)?;
    let steps = f64::from(arguments.members) * f64::from(arguments.phases * arguments.steps);
    let cpu = cpu_ended.zip(cpu_began).map(|(ended, began)| (ended - began) as f64 * 1000.0);
    Ok(Measured {
        create,
        cpu_us_per_step: cpu.map(|micros| round(micros / steps)),
        steps_per_s: steps / elapsed.as_secs_f64(),
        dispatches,
        pages,
        memory_mb: memory_mb("self", "VmHWM:"),
    })
}

/// A figure is worth nothing if not everything was done.
fn must_be_whole(batch: &Batch, arguments: &BatchArguments) -> Result<(), BenchError> {
    let whole = batch.status == BatchStatus::Completed
        && batch.tally.succeeded == i64::from(arguments.members)
        && batch.phases.iter().all(|phase| phase.status == PhaseStatus::Completed);
    if whole { Ok(()) } else { Err(BenchError::new(format!("the batch is not whole: {batch:?}"))) }
}

/// Lets the next phase begin, and waits until it is over.
async fn phase(engine: &Engine, batch: BatchId) -> Result<Duration, BenchError> {
    let by = Act::new("bench", "");
    let began = Instant::now();
    engine.command_batch(batch, BatchCommand::Advance { by }).await?;
    until(engine, batch, |batch| batch.sweeps.is_empty()).await?;
    let dispatched = began.elapsed();
    until(engine, batch, |batch| {
        batch.phases.iter().all(|phase| phase.status != PhaseStatus::Dispatched)
    })
    .await?;
    Ok(dispatched)
}

async fn until(
    engine: &Engine,
    batch: BatchId,
    wanted: impl Fn(&Batch) -> bool,
) -> Result<(), BenchError> {
    let mut changes = engine.batch_changes();
    while !wanted(&engine.batch(batch).await?) {
        // A word that was missed is made good for by the next look.
        let _ = tokio::time::timeout(Duration::from_millis(20), changes.recv()).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

async fn worker(engine: &Engine, over: &AtomicBool) -> Result<(), BenchError> {
    let ask = Take {
        pool: "bench",
        lanes: LaneSet::ALL,
        max: TOGETHER,
        wait: Duration::from_millis(200),
        visibility: Duration::from_secs(60),
    };
    while !over.load(Ordering::Relaxed) {
        let taken = engine.take(ask).await?;
        if taken.is_empty() {
            continue;
        }
        let reports = taken.iter().map(|taken| {
            let directive = taken.directive;
            let fence = Fence { attempt: directive.attempt, lease: directive.lease };
            let outcome = Outcome::Succeeded { result: json!({ "complete": true }) };
            let step = StepRef::Index(directive.step);
            Ask::command(
                taken.run.id(),
                Command::Report { step, fence, outcome, spent: Credits::ZERO },
            )
        });
        for answer in engine.ask(reports.collect()).await? {
            answer?;
        }
    }
    Ok(())
}

/// Looks at the batch and at a page of its members, in turn, until it is over.
async fn watch(
    target: &http::Target,
    batch: BatchId,
    members: u32,
    over: &AtomicBool,
) -> Result<Latencies, BenchError> {
    let mut latencies = Latencies::default();
    let mut offset = 0_u32;
    while !over.load(Ordering::Relaxed) {
        // Steps through the list in strides, so that near and far pages are asked for.
        offset = (offset + 7 * PAGE + 3) % members.max(1);
        let page = format!("/api/batches/{batch}/members?limit={PAGE}&offset={offset}");
        for path in [format!("/api/batches/{batch}"), page] {
            let began = Instant::now();
            target.get(&path).await?;
            latencies.add(began.elapsed());
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(latencies)
}

fn member(number: u32) -> MemberRow {
    let key = format!("user{number:06}@example.com");
    let data = json!({ "user": key, "name": format!("User {number}"), "site": number % 40 });
    MemberRow { key, data: super::object(data) }
}

fn runbook(arguments: &BatchArguments) -> String {
    let mut yaml = String::from(
        "name: bench\ndata_source: {type: csv, connection: BENCH_CSV, primary_key: user, \
         batch_time: immediate}\nretry: {max_retries: 2, interval: 1m}\nphases:\n",
    );
    for phase in 0..arguments.phases {
        let before = arguments.phases - phase - 1;
        let offset = if before == 0 { "T-0".to_owned() } else { format!("T-{before}d") };
        let _ = writeln!(yaml, "  - name: phase-{phase}\n    offset: {offset}\n    steps:");
        for step in 0..arguments.steps {
            let _ = writeln!(
                yaml,
                "      - {{name: step-{step}, worker_id: bench, function: Do-Step{step}, \
                 params: {{user: \"{{{{user}}}}\", site: \"{{{{site}}}}\"}}}}"
            );
        }
    }
    yaml
}
