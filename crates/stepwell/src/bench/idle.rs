//! A server of its own, as a user would start it: how soon it accepts, and what it costs to do nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::BenchError;
use super::figures::{memory_mb, processor_ms};
use super::http::Target;
use super::load::{PROTOCOL, envelope};

/// How long doing nothing is watched.
const WATCHED: Duration = Duration::from_secs(5);

/// What a server costs that does nothing.
pub(super) struct Idle {
    /// from the start of the process to the first accepted command
    pub(super) first_command_ms: f64,
    /// processor time for each second of doing nothing
    pub(super) processor_ms_per_s: Option<f64>,
    /// memory
    pub(super) memory_mb: Option<f64>,
}

/// Starts a server twice (the second time on a store that exists) and watches it.
pub(super) async fn measure(data: &Path) -> Result<Idle, BenchError> {
    let (mut first, target, _) = start(data).await?;
    target.post_as("application/yaml", "/v1/workflows", PROTOCOL.to_owned()).await?;
    stop(&mut first).await?;
    let (mut server, target, began) = start(data).await?;
    target.post("/v1/commands", envelope(1, "bench.three-steps")).await?;
    let first_command_ms = began.elapsed().as_secs_f64() * 1000.0;
    let process = server.id().unwrap_or_default();
    let before = processor_ms(process);
    tokio::time::sleep(WATCHED).await;
    let spent = before.zip(processor_ms(process)).map(|(before, after)| after - before);
    let memory_mb = memory_mb(&process.to_string(), "VmRSS:");
    stop(&mut server).await?;
    let processor_ms_per_s = spent.map(|spent| spent as f64 / WATCHED.as_secs_f64());
    Ok(Idle { first_command_ms, processor_ms_per_s, memory_mb })
}

async fn start(data: &Path) -> Result<(Child, Target, Instant), BenchError> {
    let failed = |error: std::io::Error| BenchError::new(format!("the server: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let began = Instant::now();
    let mut server = Command::new(program)
        .args(["--output", "json", "serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let out = server.stdout.take().ok_or_else(|| BenchError::new("no output".to_owned()))?;
    let line = BufReader::new(out).lines().next_line().await.map_err(failed)?.unwrap_or_default();
    let announced: serde_json::Value =
        serde_json::from_str(&line).map_err(|error| BenchError::new(error.to_string()))?;
    let url = announced["url"].as_str().unwrap_or_default().to_owned();
    let token = std::fs::read_to_string(data.join("admin-token")).map_err(failed)?;
    Ok((server, Target::new(url, token.trim().to_owned())?, began))
}

async fn stop(server: &mut Child) -> Result<(), BenchError> {
    let failed = |error: std::io::Error| BenchError::new(error.to_string());
    let process = server.id().unwrap_or_default().to_string();
    Command::new("kill").arg(&process).status().await.map_err(failed)?;
    server.wait().await.map_err(failed)?;
    Ok(())
}
