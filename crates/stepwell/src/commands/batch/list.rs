//! `stepwell batch list`.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;

use super::pages::by_place;
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, cell};
use crate::session::Global;

/// What `batch list` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell batch list --runbook mailbox-migration --status active"
)]
pub(crate) struct ListArguments {
    /// Of this runbook
    #[arg(long)]
    runbook: Option<String>,
    /// In one of these
    #[arg(long, value_delimiter = ',', value_name = "STATUS", value_parser = PossibleValuesParser::new(
        ["detected", "init_dispatched", "active", "completed", "failed", "cancelled"]
    ))]
    status: Vec<String>,
    /// Only those that a person made, or only the others
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    manual: Option<bool>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    #[command(flatten)]
    client: ClientFlags,
}

const COLUMNS: [Column; 8] = [
    ("BATCH", "id"),
    ("RUNBOOK", "runbook"),
    ("STATUS", "status"),
    ("T-0", "batch_start_time"),
    ("MEMBERS", "members.total"),
    ("OPEN", "members.open"),
    ("FAILED", "members.failed"),
    ("NEXT", "next"),
];

pub(super) async fn run(global: Global, arguments: ListArguments) -> Result<Exit, Failure> {
    let ListArguments { runbook, status, manual, limit, client } = arguments;
    let (session, api) = global.connected(client)?;
    let manual = manual.map(|manual| manual.to_string());
    let mut filters: Vec<_> = status.iter().map(|status| ("status", status.as_str())).collect();
    filters.extend(runbook.as_deref().map(|runbook| ("runbook", runbook)));
    filters.extend(manual.as_deref().map(|manual| ("manual", manual)));
    let answer = by_place(&api, &["api", "batches"], &filters, limit).await?;
    let print = session.print;
    print.answer(&answer, |answer| {
        let batches: Vec<Value> = items(answer).iter().map(row).collect();
        print.list(&batches, &COLUMNS);
        if answer["total"].as_u64() > u64::try_from(batches.len()).ok() {
            let total = cell(answer, "total");
            print.note(&format!("these are the newest {limit} of {total} (--limit)"));
        }
    });
    Ok(Exit::Ok)
}

fn row(batch: &Value) -> Value {
    let mut row = batch.clone();
    let (name, version) = (cell(batch, "runbook_name"), cell(batch, "runbook_version"));
    row["runbook"] = format!("{name} v{version}").into();
    if batch["paused"] == true {
        row["status"] = format!("{} (paused)", cell(batch, "status")).into();
    }
    row["next"] = super::show::next(batch).into();
    row
}
