//! `stepwell batch create`, `add-members`.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::plan;
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Printer, cell};
use crate::session::Global;

/// What `batch create` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  stepwell batch create mailbox-migration wave-7.csv --plan\n  \
    stepwell batch create mailbox-migration wave-7.csv"
)]
pub(crate) struct CreateArguments {
    /// Name of the runbook
    #[arg(value_name = "RUNBOOK")]
    runbook: String,
    /// The members as CSV; - reads standard input
    #[arg(value_name = "CSV")]
    list: PathBuf,
    /// Only show what would happen: nothing is made
    #[arg(long)]
    plan: bool,
    /// With --plan: as if this were T-0, such as 2026-08-01T06:00:00Z
    #[arg(long, value_name = "TIME", requires = "plan")]
    start: Option<jiff::Timestamp>,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `batch add-members` is told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  stepwell batch add-members 7 late-joiners.csv")]
pub(crate) struct AddArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// The members as CSV; - reads standard input
    #[arg(value_name = "CSV")]
    list: PathBuf,
    #[command(flatten)]
    client: ClientFlags,
}

pub(super) async fn create(global: Global, arguments: CreateArguments) -> Result<Exit, Failure> {
    let CreateArguments { runbook, list, plan, start, client } = arguments;
    let (session, api) = global.connected(client)?;
    let bytes = read(&list)?;
    let print = session.print;
    if plan {
        let start = start.map(|start| start.to_string());
        let query: Vec<_> =
            start.iter().map(|start| ("batch_start_time", start.as_str())).collect();
        let answer =
            api.post_csv(&["api", "runbooks", &runbook, "plan-batch"], &query, bytes).await;
        let answer = answer.map_err(|failure| failure.in_file(&list))?;
        print.answer(&answer, |answer| plan::show(print, answer));
        return Ok(Exit::Ok);
    }
    let query = [("runbook", runbook.as_str())];
    let answer = api.post_csv(&["api", "batches"], &query, bytes).await;
    let answer = answer.map_err(|failure| failure.in_file(&list))?;
    print.answer(&answer, |batch| {
        warn(print, &list, batch);
        let (id, members) = (cell(batch, "id"), cell(batch, "members.total"));
        print.line(&format!("batch {id}: {members} members, {}", cell(batch, "status")));
        print.note(&format!("begin with `stepwell batch advance {id}`"));
    });
    Ok(Exit::Ok)
}

pub(super) async fn add(global: Global, arguments: AddArguments) -> Result<Exit, Failure> {
    let AddArguments { batch, list, client } = arguments;
    let (session, api) = global.connected(client)?;
    let bytes = read(&list)?;
    let path = ["api", "batches", &batch.to_string(), "members"];
    let answer = api.post_csv(&path, &[], bytes).await;
    let answer = answer.map_err(|failure| failure.in_file(&list))?;
    let print = session.print;
    print.answer(&answer, |answer| {
        warn(print, &list, answer);
        print.list(items(&answer["added"]), &[("MEMBER", "id"), ("KEY", "member_key")]);
    });
    Ok(Exit::Ok)
}

/// What is accepted and was perhaps meant otherwise.
fn warn(print: Printer, list: &Path, answer: &Value) {
    for warning in items(&answer["warnings"]) {
        let (line, message) = (cell(warning, "line"), cell(warning, "message"));
        print.note(&format!("{}:{line}: warning: {message}", list.display()));
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    bytes.map_err(|cause| Failure::file(path, "read", &cause))
}
