//! `stepwell bench retention`: what deleting costs while work goes on, and whether the store stays small.
//!
//! A store is filled with jobs that ended long ago: a server whose clock is days behind runs them, and
//! keeps them for a day. The same load is then measured twice on the full store: by a server on the old
//! clock, for which nothing has expired, and by one on the machine's, for which everything has.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Map, Value, json};
use stepwell_connectors::clock::{Clock, FastClock, SystemClock};
use stepwell_core::duration::Interval;
use stepwell_engine::{Keep, Retention};

use super::{BenchError, load, object, rate, round};
use crate::failure::Failure;
use crate::serve::{Plan, Running};

/// How far the clock is behind under which jobs are made that have expired by now.
const BEHIND: Interval = Interval::from_secs(10 * 24 * 3_600);

/// How long jobs are kept, so that they expire under the machine's clock and not under that one.
const KEPT: Interval = Interval::from_secs(24 * 3_600);

/// The time that is watched for growth, on a clock that runs so many times as fast.
const WATCHED: Interval = Interval::from_secs(3_600);
const FACTOR: u32 = 60;

/// How long jobs are kept meanwhile, and what is left of them.
const KEPT_SHORTLY: Interval = Interval::from_secs(300);
const STUBS_KEPT_SHORTLY: Interval = Interval::from_secs(600);

/// The time before that, in which the store becomes as large as it stays: nothing that is small is older
/// than this when it goes, because that is looked for every ten minutes.
const FILLING: Interval = Interval::from_secs(1_200);

/// How often the load is topped up.
const SLICE: Duration = Duration::from_millis(100);

/// What `bench retention` is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct RetentionArguments {
    /// Expired jobs that the store is filled with
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    runs: u64,
    /// Jobs that are run to measure, with and without a sweep
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    jobs: u64,
    /// Watch instead how large the files are under a constant load, for an hour on a clock that runs
    /// sixty times as fast
    #[arg(long)]
    flat: bool,
    /// Jobs a second of that load
    #[arg(long, default_value_t = 500, value_name = "N", requires = "flat")]
    rate: u64,
    /// Jobs of that load are charged, and lines of ledgers are kept as long as jobs
    #[arg(long, requires = "flat")]
    charged: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Measures what was asked for.
pub(super) async fn figures(
    place: &Path,
    arguments: &RetentionArguments,
    tell: impl Fn(&'static str),
) -> Result<Map<String, Value>, Failure> {
    let data = place.join("server");
    if arguments.flat {
        tell("watching the size of the files for eighty seconds");
        return flat(&data, arguments).await;
    }
    tell("filling a store with jobs of last week");
    let filler = start(&data, Some(behind(BEHIND, 1)), kept_for(KEPT)).await?;
    load::work(std::slice::from_ref(&filler.engine), arguments.runs).await?;
    filler.stop().await;
    tell("running jobs while nothing is deleted");
    let resting = start(&data, Some(behind(BEHIND, 1)), kept_for(KEPT)).await?;
    let before = measure(&resting, arguments.jobs).await?;
    resting.stop().await;
    tell("running jobs while expired ones are deleted");
    let sweeping = start(&data, None, kept_for(KEPT)).await?;
    let meanwhile = measure(&sweeping, arguments.jobs).await?;
    sweeping.stop().await;
    let cost = (before.steps_per_s - meanwhile.steps_per_s) / before.steps_per_s * 100.0;
    Ok(object(json!({
        "runs": arguments.runs,
        "jobs": arguments.jobs,
        "steps_per_s_before": round(before.steps_per_s),
        "steps_per_s_while": round(meanwhile.steps_per_s),
        "cost_percent": round(cost),
        "swept": meanwhile.swept,
        "swept_per_s": round(meanwhile.swept_per_s),
        // Once everything is deleted the rest of the load has the store for itself.
        "swept_all": meanwhile.swept >= arguments.runs,
    })))
}

/// What came of a load.
struct Measured {
    steps_per_s: f64,
    swept: u64,
    swept_per_s: f64,
}

async fn measure(running: &Running, jobs: u64) -> Result<Measured, BenchError> {
    let swept_before = running.engine.metrics().runs_swept();
    let worked = load::work(std::slice::from_ref(&running.engine), jobs).await?;
    let swept = running.engine.metrics().runs_swept() - swept_before;
    Ok(Measured {
        steps_per_s: rate(&worked, jobs),
        swept,
        swept_per_s: swept as f64 / worked.elapsed.as_secs_f64(),
    })
}

/// The size of the files at each quarter of an hour under a constant load, once it is as large as it stays.
async fn flat(data: &Path, arguments: &RetentionArguments) -> Result<Map<String, Value>, Failure> {
    let (jobs_per_s, charged) = (arguments.rate, arguments.charged);
    let retention = Retention {
        stubs: Some(STUBS_KEPT_SHORTLY),
        ledger: Some(KEPT_SHORTLY),
        ..kept_for(KEPT_SHORTLY)
    };
    let clock = behind(WATCHED.saturating_mul(2), FACTOR);
    let running = start(data, Some(clock), retention).await?;
    if charged {
        load::grant(&running.engine, jobs_per_s * 2 * WATCHED.as_millis()).await?;
    }
    let filling = Duration::from(FILLING) / FACTOR;
    let quarter = Duration::from(WATCHED) / FACTOR / 4;
    let slices = u64::try_from(Duration::from_secs(1).as_millis() / SLICE.as_millis()).unwrap_or(1);
    let mut jobs = 0;
    let (mut files_mb, mut logs_mb) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for mark in 1..=4 {
        while began.elapsed() < filling + quarter * mark {
            let next = Instant::now() + SLICE;
            let count = jobs_per_s.div_ceil(slices);
            let engines = std::slice::from_ref(&running.engine);
            let worked = if charged {
                load::work_charged(engines, count).await
            } else {
                load::work(engines, count).await
            };
            worked?;
            jobs += count;
            tokio::time::sleep_until(next.into()).await;
        }
        files_mb.push(size_mb(&data.join("stepwell.db")));
        logs_mb.push(size_mb(&data.join("stepwell.db-wal")));
    }
    let swept = running.engine.metrics().runs_swept();
    running.stop().await;
    let growth = (files_mb[3] - files_mb[0]) / files_mb[0] * 100.0;
    Ok(object(json!({
        "jobs": jobs,
        "charged": charged,
        "jobs_per_s": round(jobs as f64 / began.elapsed().as_secs_f64()),
        "swept": swept,
        "file_mb": files_mb.iter().copied().map(round).collect::<Vec<f64>>(),
        "log_mb": logs_mb.iter().copied().map(round).collect::<Vec<f64>>(),
        "growth_percent": round(growth),
    })))
}

async fn start(
    data: &Path,
    clock: Option<Arc<FastClock>>,
    retention: Retention,
) -> Result<Running, Failure> {
    let plan = Plan { clock, retention, tenant_cap: Some(load::TENANT_CAP), ..Plan::local(data) };
    let running = Running::start(plan).await?;
    let source = load::PROTOCOL.to_owned();
    let published = running.engine.publish_workflow(source, "bench".to_owned()).await;
    published.map_err(|error| BenchError::new(format!("{error:?}")))?;
    Ok(running)
}

/// A clock that is so far behind the machine's.
fn behind(time: Interval, factor: u32) -> Arc<FastClock> {
    let behind_ms = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    Arc::new(FastClock::new(SystemClock::new().now_ms() - behind_ms, factor))
}

fn kept_for(time: Interval) -> Retention {
    Retention { commands: Keep::all(Some(time)), ..Retention::default() }
}

fn size_mb(path: &Path) -> f64 {
    std::fs::metadata(path).map_or(0.0, |file| file.len() as f64 / 1_048_576.0)
}
