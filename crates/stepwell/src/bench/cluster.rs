//! Several servers on one PostgreSQL: what they do together, and what it costs when they do nothing.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value, json};
use stepwell_store::postgres::{self, Scratch};
use stepwell_store::sqlite::Ceiling;

use super::figures::memory_mb;
use super::idle::Server;
use super::{
    BenchArguments, BenchError, CEILING_GROUP, CEILING_STEPS, Subject, load, measure, object, rate,
    ratio, round, steps_per_s,
};
use crate::config::StorePlace;
use crate::failure::Failure;

/// How long servers that do nothing are watched; a sign of life comes every few seconds.
const WATCHED: Duration = Duration::from_secs(30);

/// How long servers that have just started may look around.
const SETTLED: Duration = Duration::from_secs(5);

/// The faster profile that docs/operations.md recommends.
const PROFILE: [&str; 6] =
    ["--heartbeat-interval", "3s", "--orphan-threshold", "10s", "--orphan-scan-interval", "5s"];

/// Everything that is asked for, each in a schema of its own.
pub(super) async fn figures(
    place: &Path,
    url: &str,
    arguments: &BenchArguments,
    tell: impl Fn(&'static str),
) -> Result<Map<String, Value>, Failure> {
    tell("measuring the ceiling of the store");
    let before = ceiling(url).await?;
    tell("running jobs");
    let scratch = scratch(url, "jobs").await?;
    let store = StorePlace::Postgres(scratch.url().to_owned());
    let mut figures = measure(place, store, arguments).await?;
    clear(scratch).await?;
    let alone = steps_per_s(&figures);
    tell("measuring the ceiling of the store once more");
    figures.append(&mut ceiling_figures([before, ceiling(url).await?], alone));
    if arguments.instances > 1 {
        tell("running jobs with several instances");
        figures.append(&mut instances_figures(place, url, arguments, alone).await?);
    }
    if arguments.idle {
        tell("watching servers that do nothing");
        figures.append(&mut idle_figures(place, url, arguments.instances).await?);
    }
    Ok(figures)
}

/// A schema of its own, which is dropped in the end.
async fn scratch(url: &str, name: &str) -> Result<Scratch, BenchError> {
    let name = format!("{name}_{:08x}", rand::random::<u32>());
    Scratch::new(url, &name).await.map_err(|error| BenchError::new(error.to_string()))
}

/// Drops it.
async fn clear(scratch: Scratch) -> Result<(), BenchError> {
    scratch.drop().await.map_err(|error| BenchError::new(error.to_string()))
}

/// What the bare database takes: the same rows in multi-row statements, with no engine above them.
async fn ceiling(url: &str) -> Result<Ceiling, BenchError> {
    let scratch = scratch(url, "ceiling").await?;
    let measured = postgres::ceiling(scratch.url(), CEILING_STEPS / 2, CEILING_GROUP).await;
    clear(scratch).await?;
    measured.map_err(|error| BenchError::new(error.to_string()))
}

/// The ceiling of before and after the jobs: a machine that has other things to do has them now and then.
fn ceiling_figures(measured: [Ceiling; 2], steps_per_s: f64) -> Map<String, Value> {
    let flush_s = measured.iter().map(|it| it.flush.as_secs_f64()).sum::<f64>() / 2.0;
    let seconds_per_step = measured.iter().map(|it| it.steps_per_second.recip()).sum::<f64>() / 2.0;
    let ceiling = seconds_per_step.recip();
    object(json!({
        "fsync_ms": flush_s * 1000.0,
        "ceiling_steps_per_s": round(ceiling),
        "ratio": ratio(steps_per_s, ceiling),
    }))
}

/// Several instances work the same number of jobs off, each with clients and workers inside of it.
async fn instances_figures(
    place: &Path,
    url: &str,
    arguments: &BenchArguments,
    alone: f64,
) -> Result<Map<String, Value>, Failure> {
    let instances = arguments.instances.max(1);
    let scratch = scratch(url, "instances").await?;
    let store = StorePlace::Postgres(scratch.url().to_owned());
    let mut subjects = Vec::new();
    for number in 0..instances {
        let place = place.join(format!("instance-{number}"));
        subjects.push(Subject::start(&place, store.clone(), arguments.workers).await?);
    }
    let engines: Vec<_> = subjects.iter().map(|subject| subject.running.engine.clone()).collect();
    let worked = load::work(&engines, arguments.jobs).await?;
    let steps_per_s = rate(&worked, arguments.jobs);
    let memory = memory_mb("self", "VmHWM:").map(round);
    for subject in subjects {
        subject.running.stop().await;
    }
    clear(scratch).await?;
    Ok(object(json!({
        "instances": instances,
        "instances_steps_per_s": round(steps_per_s),
        "instances_ratio": ratio(steps_per_s, alone),
        "instances_peak_rss_mb": memory,
    })))
}

/// Several servers on one database that do nothing: what each costs, and how often they all ask.
async fn idle_figures(
    place: &Path,
    url: &str,
    instances: u32,
) -> Result<Map<String, Value>, Failure> {
    let scratch = scratch(url, "idle").await?;
    let settings = [&["--store", scratch.url()], &PROFILE[..]].concat();
    let mut servers = Vec::new();
    for number in 0..instances.max(1) {
        let data = place.join(format!("idle-{number}"));
        servers.push(Server::start(&data, &settings).await?);
    }
    tokio::time::sleep(SETTLED).await;
    let asked = statements(&scratch).await?;
    let before: Option<u64> = servers.iter().map(Server::processor_ms).sum();
    tokio::time::sleep(WATCHED).await;
    let spent = before.zip(servers.iter().map(Server::processor_ms).sum::<Option<u64>>());
    let asked = statements(&scratch).await? - asked;
    let memory_mb = servers.first().and_then(Server::memory_mb);
    for server in servers {
        server.stop().await?;
    }
    clear(scratch).await?;
    let seconds = WATCHED.as_secs_f64();
    Ok(object(json!({
        "idle_instances": instances,
        "idle_queries_per_s": round(asked as f64 / seconds),
        "idle_cpu_ms_per_s": spent.map(|(before, after)| round((after - before) as f64 / seconds)),
        "idle_rss_mb": memory_mb.map(round),
    })))
}

async fn statements(scratch: &Scratch) -> Result<i64, BenchError> {
    scratch.statements().await.map_err(|error| BenchError::new(error.to_string()))
}
