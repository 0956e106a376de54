//! `stepwell bench`: how fast this machine is, beside the ceiling that its store sets.
//!
//! The work is always the same: jobs of three steps in sequence, every result durable before the next
//! step starts, schemas and tenant limits checked. The ceiling is measured in the same run: the same
//! rows written by the same statements, in groups of 128, with no engine above them.

mod batch;
#[cfg(feature = "postgres")]
mod cluster;
mod figures;
mod http;
mod idle;
mod load;
mod retention;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Map, Value, json};
use stepwell_engine::EngineError;
use stepwell_store::sqlite::ceiling;

use crate::config::StorePlace;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress;
use crate::serve::{Plan, Running};
use crate::session::{Global, Session};
use figures::{Latencies, memory_mb};
use load::Worked;

/// Step completions that the ceiling is measured with.
const CEILING_STEPS: usize = 90_000;

/// Step completions that the ceiling commits together.
const CEILING_GROUP: usize = 128;

/// What `bench` is told.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    what: Option<What>,
    /// Jobs of three steps to run
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    jobs: u64,
    /// Where the workers are: inside the process, or on the other side of HTTP
    #[arg(long, value_enum, default_value_t = Workers::InProcess)]
    workers: Workers,
    /// Jobs to run one at a time, for the latency
    #[arg(long, default_value_t = 200, value_name = "N")]
    singles: u64,
    /// Measure again with so many other jobs open
    #[arg(long, value_name = "N")]
    backlog: Option<u64>,
    /// Measure also how soon a fresh server accepts, and what it costs to do nothing
    #[arg(long)]
    idle: bool,
    /// Where to put the files; a temporary directory if not given
    #[arg(long, value_name = "DIR")]
    place: Option<PathBuf>,
    /// A PostgreSQL to measure on instead of SQLite, postgres://…; in schemas of its own, which are
    /// dropped in the end
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Measure again with so many servers that share the work; on PostgreSQL only
    #[arg(long, value_name = "N", default_value_t = 1, requires = "store")]
    instances: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What else can be measured.
#[derive(Debug, Subcommand)]
enum What {
    /// A batch of members through phases
    Batch(batch::BatchArguments),
    /// Deleting old jobs while others run, and the size of the files
    Retention(retention::RetentionArguments),
}

/// Where the workers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Workers {
    /// inside the process
    InProcess,
    /// on the other side of HTTP, with batch endpoints
    Http,
}

/// Why there is no figure.
#[derive(Debug)]
struct BenchError(String);

impl BenchError {
    fn new(what: String) -> Self {
        Self(what)
    }
}

impl From<EngineError> for BenchError {
    fn from(error: EngineError) -> Self {
        Self(error.to_string())
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let what = format!("the benchmark could not be finished: {}", error.0);
        Self::new(Exit::Failure, "bench_failed", what)
    }
}

pub(crate) async fn run(global: Global, arguments: BenchArguments) -> Result<Exit, Failure> {
    let session = global.session(crate::config::Given::default())?;
    let temporary = tempfile::tempdir()
        .map_err(|cause| Failure::file(&std::env::temp_dir(), "written", &cause))?;
    let place = arguments.place.clone().unwrap_or_else(|| temporary.path().to_owned());
    let json = match &arguments.what {
        Some(What::Batch(batch)) => batch.json,
        Some(What::Retention(retention)) => retention.json,
        None => arguments.json,
    };
    let lines = progress::lines(session.print.is_live() && !json);
    let spinner = progress::spinner(&lines, "bench");
    let tell = |what: &'static str| spinner.set_message(what);
    let figures = match &arguments.what {
        Some(What::Batch(batch)) => batch::figures(&place, batch, tell).await?,
        Some(What::Retention(retention)) => retention::figures(&place, retention, tell).await?,
        None => of_jobs(&place, &arguments, tell).await?,
    };
    spinner.finish_and_clear();
    show(&session, json, figures);
    Ok(Exit::Ok)
}

async fn of_jobs(
    place: &Path,
    arguments: &BenchArguments,
    tell: impl Fn(&'static str),
) -> Result<Map<String, Value>, Failure> {
    match database(arguments)? {
        None => on_sqlite(place, arguments, tell).await,
        #[cfg(feature = "postgres")]
        Some(url) => cluster::figures(place, &url, arguments, tell).await,
        #[cfg(not(feature = "postgres"))]
        Some(_) => Err(Failure::usage("this program was built without PostgreSQL")),
    }
}

/// The PostgreSQL to measure on, if one was named.
fn database(arguments: &BenchArguments) -> Result<Option<String>, Failure> {
    let Some(text) = &arguments.store else { return Ok(None) };
    match text.parse::<StorePlace>() {
        Ok(StorePlace::Postgres(url)) => Ok(Some(url)),
        Ok(StorePlace::Sqlite(_)) => Err(Failure::usage("--store names a file of SQLite")
            .next("give --place, a directory for new files; without --store SQLite is measured")),
        Err(fault) => Err(Failure::usage("--store is not valid").next(fault)),
    }
}

async fn on_sqlite(
    place: &Path,
    arguments: &BenchArguments,
    tell: impl Fn(&'static str),
) -> Result<Map<String, Value>, Failure> {
    tell("running jobs");
    let store = StorePlace::Sqlite(place.join("server").join("stepwell.db"));
    let mut figures = measure(place, store, arguments).await?;
    tell("measuring the ceiling of the store");
    figures.append(&mut ceiling_figures(place, steps_per_s(&figures)).await?);
    if arguments.idle {
        tell("watching a server that does nothing");
        figures.append(&mut idle_figures(&place.join("idle")).await?);
    }
    Ok(figures)
}

/// What the bare store takes, measured last so that its rows do not count as the engine's memory.
async fn ceiling_figures(place: &Path, steps_per_s: f64) -> Result<Map<String, Value>, Failure> {
    let path = place.join("ceiling.db");
    let measured =
        tokio::task::spawn_blocking(move || ceiling(path, CEILING_STEPS, CEILING_GROUP)).await;
    let measured = measured.map_err(|error| BenchError::new(error.to_string()))?;
    let ceiling = measured.map_err(|error| BenchError::new(error.to_string()))?;
    Ok(object(json!({
        "fsync_ms": ceiling.flush.as_secs_f64() * 1000.0,
        "ceiling_steps_per_s": round(ceiling.steps_per_second),
        "ratio": ratio(steps_per_s, ceiling.steps_per_second),
    })))
}

/// A server with the protocols of the benchmark, and a way to load it.
struct Subject {
    running: Running,
    target: http::Target,
    workers: Workers,
}

impl Subject {
    async fn start(data: &Path, store: StorePlace, workers: Workers) -> Result<Self, Failure> {
        let plan = Plan { store, tenant_cap: Some(load::TENANT_CAP), ..Plan::local(data) };
        let running = Running::start(plan).await?;
        let parked = load::PROTOCOL
            .replace("bench-three-steps", "bench-parked")
            .replace("bench.three-steps", "bench.parked")
            .replace("pool: bench", "pool: parked");
        for source in [load::PROTOCOL.to_owned(), parked] {
            let published = running.engine.publish_workflow(source, "bench".to_owned()).await;
            published.map_err(|error| BenchError::new(format!("{error:?}")))?;
        }
        let token = running.admin_token.clone().unwrap_or_default();
        let target = http::Target::new(running.url(), token)?;
        Ok(Self { running, target, workers })
    }

    async fn one_at_a_time(&self, jobs: u64) -> Result<Latencies, BenchError> {
        match self.workers {
            Workers::InProcess => load::one_at_a_time(&self.running.engine, jobs).await,
            Workers::Http => http::one_at_a_time(&self.target, jobs).await,
        }
    }

    async fn work(&self, jobs: u64) -> Result<Worked, BenchError> {
        match self.workers {
            Workers::InProcess => {
                load::work(std::slice::from_ref(&self.running.engine), jobs).await
            }
            Workers::Http => http::work(&self.target, jobs).await,
        }
    }
}

async fn measure(
    place: &Path,
    store: StorePlace,
    arguments: &BenchArguments,
) -> Result<Map<String, Value>, Failure> {
    let subject = Subject::start(&place.join("server"), store, arguments.workers).await?;
    let mut singles = subject.one_at_a_time(arguments.singles).await?;
    let metrics = subject.running.engine.metrics().clone();
    let _ = metrics.take_group_size_median();
    let mut worked = subject.work(arguments.jobs).await?;
    let steps_per_s = rate(&worked, arguments.jobs);
    let mut figures = object(json!({
        "store": subject.running.engine.store().kind(),
        "workers": match arguments.workers { Workers::InProcess => "in-process", Workers::Http => "http" },
        "jobs": arguments.jobs,
        "jobs_per_s": round(steps_per_s / load::STEPS as f64),
        "steps_per_s": round(steps_per_s),
        "p50_ms": singles.percentile_ms(50),
        "p99_ms": singles.percentile_ms(99),
        "commit_group_p50": metrics.take_group_size_median(),
    }));
    if let Some(latencies) = &mut worked.latencies {
        figures.append(&mut object(json!({
            "loaded_p50_ms": latencies.percentile_ms(50),
            "loaded_p99_ms": latencies.percentile_ms(99),
        })));
    }
    if let Some(backlog) = arguments.backlog {
        load::park(&subject.running.engine, backlog).await?;
        let again = subject.work(arguments.jobs).await?;
        let with_backlog = rate(&again, arguments.jobs);
        figures.append(&mut object(json!({
            "backlog": backlog,
            "backlog_steps_per_s": round(with_backlog),
            "backlog_ratio": ratio(with_backlog, steps_per_s),
        })));
    }
    figures.insert("peak_rss_mb".to_owned(), json!(memory_mb("self", "VmHWM:").map(round)));
    subject.running.stop().await;
    Ok(figures)
}

async fn idle_figures(data: &Path) -> Result<Map<String, Value>, Failure> {
    let idle = idle::measure(data).await?;
    Ok(object(json!({
        "first_command_ms": round(idle.first_command_ms),
        "idle_cpu_ms_per_s": idle.processor_ms_per_s,
        "idle_rss_mb": idle.memory_mb.map(round),
    })))
}

fn show(session: &Session, json: bool, figures: Map<String, Value>) {
    if json || session.print.is_json() {
        session.print.json_line(&Value::Object(figures));
        return;
    }
    for (name, value) in &figures {
        session.print.line(&format!("{name:>22}  {}", value.to_string().trim_matches('"')));
    }
}

fn steps_per_s(figures: &Map<String, Value>) -> f64 {
    figures["steps_per_s"].as_f64().unwrap_or(0.0)
}

fn rate(worked: &Worked, jobs: u64) -> f64 {
    (jobs * load::STEPS) as f64 / worked.elapsed.as_secs_f64()
}

fn ratio(part: f64, whole: f64) -> f64 {
    (part / whole * 1000.0).round() / 1000.0
}

fn round(figure: f64) -> f64 {
    (figure * 10.0).round() / 10.0
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
