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
    let first = Server::start(data, &[]).await?;
    first.target.post_as("application/yaml", "/v1/workflows", PROTOCOL.to_owned()).await?;
    first.stop().await?;
    let server = Server::start(data, &[]).await?;
    server.target.post("/v1/commands", envelope(1, "bench.three-steps")).await?;
    let first_command_ms = server.began.elapsed().as_secs_f64() * 1000.0;
    let before = server.processor_ms();
    tokio::time::sleep(WATCHED).await;
    let spent = before.zip(server.processor_ms()).map(|(before, after)| after - before);
    let memory_mb = server.memory_mb();
    server.stop().await?;
    let processor_ms_per_s = spent.map(|spent| spent as f64 / WATCHED.as_secs_f64());
    Ok(Idle { first_command_ms, processor_ms_per_s, memory_mb })
}

/// A process of its own.
pub(super) struct Server {
    child: Child,
    target: Target,
    began: Instant,
}

impl Server {
    /// Starts one and waits until it listens.
    pub(super) async fn start(data: &Path, settings: &[&str]) -> Result<Self, BenchError> {
        let failed = |error: std::io::Error| BenchError::new(format!("the server: {error}"));
        let program = std::env::current_exe().map_err(failed)?;
        let began = Instant::now();
        let mut child = Command::new(program)
            .args(["--output", "json", "serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(settings)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let out = child.stdout.take().ok_or_else(|| BenchError::new("no output".to_owned()))?;
        let line = BufReader::new(out).lines().next_line().await.map_err(failed)?;
        let announced: serde_json::Value = serde_json::from_str(&line.unwrap_or_default())
            .map_err(|error| BenchError::new(format!("the server did not start: {error}")))?;
        let url = announced["url"].as_str().unwrap_or_default().to_owned();
        // Of servers that share a store only the first has made a token; the others are not asked.
        let token = std::fs::read_to_string(data.join("admin-token")).unwrap_or_default();
        Ok(Self { child, target: Target::new(url, token.trim().to_owned())?, began })
    }

    /// Processor time so far.
    pub(super) fn processor_ms(&self) -> Option<u64> {
        processor_ms(self.child.id()?)
    }

    /// Memory now.
    pub(super) fn memory_mb(&self) -> Option<f64> {
        memory_mb(&self.child.id()?.to_string(), "VmRSS:")
    }

    /// Asks it to stop, and waits until it has.
    pub(super) async fn stop(mut self) -> Result<(), BenchError> {
        let failed = |error: std::io::Error| BenchError::new(error.to_string());
        let process = self.child.id().unwrap_or_default().to_string();
        Command::new("kill").arg(&process).status().await.map_err(failed)?;
        self.child.wait().await.map_err(failed)?;
        Ok(())
    }
}
