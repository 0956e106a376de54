//! `stepwell batch advance`, `pause`, `resume`, `cancel`, `move`.

use clap::Args;
use serde_json::{Value, json};

use super::show::next;
use super::watch::{self, Until};
use crate::commands::token::without_null;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Printer, cell};
use crate::session::Global;

/// What `batch advance` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell batch advance 7 --wait && stepwell batch advance 7 --wait"
)]
pub(crate) struct AdvanceArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// Follow what was begun to its end; the exit code tells how it ended
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    client: ClientFlags,
}

/// Names a batch and a reason.
#[derive(Debug, Args)]
pub(crate) struct ReasonArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// Why, for those who come later
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `batch move` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell batch move 7 2026-08-02T06:00:00Z --reason 'freeze lifted late'"
)]
pub(crate) struct MoveArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// The new T-0, such as 2026-08-01T06:00:00Z
    #[arg(value_name = "TIME")]
    start: jiff::Timestamp,
    /// Why, for those who come later
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

pub(super) async fn advance(global: Global, arguments: AdvanceArguments) -> Result<Exit, Failure> {
    let AdvanceArguments { batch, wait, client } = arguments;
    let (session, api) = global.connected(client)?;
    let batch = batch.to_string();
    let answer = api.post(&["api", "batches", &batch, "advance"], &json!({})).await?;
    if !wait {
        session.print.answer(&answer, |batch| told(session.print, "advance", batch));
        return Ok(Exit::Ok);
    }
    let until = match answer["current_phase"].as_str() {
        Some(phase) if answer["status"] != "init_dispatched" => Until::Phase(phase.to_owned()),
        _ => Until::Init,
    };
    watch::follow(session.print, api, batch, until).await
}

pub(super) async fn with_reason(
    global: Global,
    arguments: ReasonArguments,
    verb: &str,
) -> Result<Exit, Failure> {
    let ReasonArguments { batch, reason, client } = arguments;
    act(global, client, batch, verb, &without_null(json!({ "reason": reason }))).await
}

pub(super) async fn move_start(global: Global, arguments: MoveArguments) -> Result<Exit, Failure> {
    let MoveArguments { batch, start, reason, client } = arguments;
    let body = json!({ "batch_start_time": start.to_string(), "reason": reason });
    act(global, client, batch, "move", &without_null(body)).await
}

async fn act(
    global: Global,
    client: ClientFlags,
    batch: u64,
    verb: &str,
    body: &Value,
) -> Result<Exit, Failure> {
    let path = ["api", "batches", &batch.to_string(), verb];
    let (print, answer) = global.post(client, &path, body).await?;
    print.answer(&answer, |batch| told(print, verb, batch));
    Ok(Exit::Ok)
}

/// Where the batch stands after it was acted on.
fn told(print: Printer, verb: &str, batch: &Value) {
    let mut line = format!("{verb}: batch {} {}", cell(batch, "id"), cell(batch, "status"));
    if batch["paused"] == true {
        line.push_str(", paused");
    }
    let phase = cell(batch, "current_phase");
    if verb == "advance" && !phase.is_empty() {
        line.push_str(&format!(", phase {phase}"));
    }
    let next = next(batch);
    if !next.is_empty() {
        line.push_str(&format!(", next {next}"));
    }
    print.line(&line);
}
