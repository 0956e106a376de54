//! `stepwell query`: what the data source of a runbook returns.

use clap::Subcommand;
use serde_json::{Value, json};

use super::advice::advised;
use super::runbook::NameArguments;
use super::workflow::items;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, Printer, cell};
use crate::session::Global;

/// What to do with the query of a runbook.
#[derive(Debug, Subcommand)]
pub(crate) enum QueryCommand {
    /// Ask the data source of a runbook, and make nothing of it
    ///
    /// Shows the batches that the rows would make or belong to, the rows that would be passed over
    /// and why, and the first hundred rows.
    Preview(NameArguments),
}

const GROUPS: [Column; 5] = [
    ("T-0", "batch_start_time"),
    ("MEMBERS", "members"),
    ("NEW", "new"),
    ("KNOWN", "known"),
    ("IS BATCH", "exists_as"),
];

const SKIPPED: [Column; 3] = [("ROW", "row"), ("KEY", "key"), ("PASSED OVER BECAUSE", "reason")];

pub(crate) async fn run(global: Global, command: QueryCommand) -> Result<Exit, Failure> {
    let QueryCommand::Preview(NameArguments { name, client }) = command;
    let path = ["api", "runbooks", &name, "query", "preview"];
    let (print, answer) = global.post(client, &path, &json!({})).await.map_err(advised)?;
    print.answer(&answer, |answer| show(print, answer));
    Ok(Exit::Ok)
}

fn show(print: Printer, answer: &Value) {
    for warning in items(&answer["warnings"]) {
        print.note(&format!("warning: {}", warning.as_str().unwrap_or_default()));
    }
    let rows = items(&answer["rows"]);
    print.line(&format!("{} rows; as batches:", cell(answer, "total")));
    print.list(items(&answer["groups"]), &GROUPS);
    let skipped = items(&answer["skipped"]);
    if !skipped.is_empty() {
        print.line("");
        print.list(skipped, &SKIPPED);
    }
    if rows.is_empty() {
        return;
    }
    print.line("");
    let columns: Vec<&str> = items(&answer["columns"]).iter().filter_map(Value::as_str).collect();
    let value = |row: &Value, name: &str| match &row[name] {
        Value::Null => String::new(),
        Value::String(text) => crate::print::printable(text),
        other => other.to_string(),
    };
    let shown = rows.iter().map(|row| columns.iter().map(|name| value(row, name)).collect());
    print.table(columns.iter().copied(), shown);
}
