//! `stepwell batch get`, `phases`, `events`, `explain`.

use serde_json::Value;

use super::BatchArguments;
use super::pages::by_cursor;
use crate::commands::job::details;
use crate::commands::workflow::items;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, Printer, cell};
use crate::session::Global;

const BATCH: [Column; 14] = [
    ("batch", "id"),
    ("runbook", "runbook_name"),
    ("version", "runbook_version"),
    ("status", "status"),
    ("paused", "paused"),
    ("T-0", "batch_start_time"),
    ("made", "mode"),
    ("made by", "created_by"),
    ("detected", "detected_at"),
    ("init", "init_dispatched_at"),
    ("current phase", "current_phase"),
    ("next", "next"),
    ("ended", "completed_at"),
    ("members", "members"),
];

const PHASES: [Column; 9] = [
    ("PHASE", "phase_name"),
    ("OFFSET", "offset"),
    ("STATUS", "status"),
    ("DUE", "due_at"),
    ("BEGAN", "dispatched_at"),
    ("ENDED", "completed_at"),
    ("OPEN", "members.open"),
    ("DONE", "members.succeeded"),
    ("FAILED", "members.failed"),
];

/// Everything there is; a history is short.
const EVENTS_MAX: usize = usize::MAX;

pub(super) async fn get(global: Global, arguments: BatchArguments) -> Result<Exit, Failure> {
    let BatchArguments { batch, client } = arguments;
    let (print, answer) = global.get(client, &["api", "batches", &batch.to_string()]).await?;
    print.answer(&answer, |batch| show(print, batch));
    Ok(Exit::Ok)
}

/// Shows a batch with its phases.
pub(super) fn show(print: Printer, batch: &Value) {
    let mut shown = batch.clone();
    if batch["paused"] == false {
        shown["paused"] = Value::Null;
    }
    shown["next"] = next(batch).into();
    shown["members"] = members(&batch["members"]).into();
    print.object(&shown, &BATCH);
    print.line("");
    print.list(&current_phases(batch), &PHASES);
}

/// What begins next, for people.
pub(super) fn next(batch: &Value) -> String {
    match cell(batch, "next_due.phase") {
        phase if phase.is_empty() => phase,
        phase => format!("{phase} {}", cell(batch, "next_due.due_at")),
    }
}

fn members(members: &Value) -> String {
    let told = ["open", "succeeded", "failed", "cancelled", "removed"].iter().filter_map(|key| {
        let count = members[key].as_i64().filter(|count| *count > 0)?;
        Some(format!("{count} {key}"))
    });
    let told: Vec<String> = told.collect();
    format!("{} ({})", cell(members, "total"), told.join(", "))
}

/// The phases of the version that a batch follows, and those of earlier ones that were begun.
pub(super) fn current_phases(batch: &Value) -> Vec<Value> {
    let is_shown = |phase: &&Value| {
        phase["runbook_version"] == batch["runbook_version"] || !phase["dispatched_at"].is_null()
    };
    items(&batch["phases"]).iter().filter(is_shown).cloned().collect()
}

pub(super) async fn phases(global: Global, arguments: BatchArguments) -> Result<Exit, Failure> {
    let BatchArguments { batch, client } = arguments;
    let path = ["api", "batches", &batch.to_string(), "phases"];
    let (print, answer) = global.get(client, &path).await?;
    let columns: Vec<Column> = [("VERSION", "runbook_version")].into_iter().chain(PHASES).collect();
    print.answer(&answer, |answer| print.list(items(answer), &columns));
    Ok(Exit::Ok)
}

pub(super) async fn events(global: Global, arguments: BatchArguments) -> Result<Exit, Failure> {
    let BatchArguments { batch, client } = arguments;
    let (session, api) = global.connected(client)?;
    let path = ["api", "batches", &batch.to_string(), "events"];
    let answer = by_cursor(&api, &path, &[], EVENTS_MAX).await?;
    let print = session.print;
    print.answer(&answer, |answer| {
        let rows = items(answer).iter().flat_map(entries);
        print.table(["AT", "WHAT", "DETAILS"], rows);
    });
    Ok(Exit::Ok)
}

/// One row an entry of a record.
fn entries(record: &Value) -> Vec<Vec<String>> {
    let row = |entry: &Value| vec![cell(record, "at"), cell(entry, "event"), details(entry)];
    items(&record["entries"]).iter().map(row).collect()
}

pub(super) async fn explain(global: Global, arguments: BatchArguments) -> Result<Exit, Failure> {
    let BatchArguments { batch, client } = arguments;
    let path = ["api", "batches", &batch.to_string(), "explain"];
    let (print, answer) = global.get(client, &path).await?;
    print.answer(&answer, |answer| {
        print.line(&cell(answer, "summary"));
        for wait in items(&answer["waits"]) {
            print.line(&format!("  {}", cell(wait, "reason")));
            for (title, key) in [("until", "until"), ("you can", "advice")] {
                let told = cell(wait, key);
                if !told.is_empty() {
                    print.line(&format!("    {title}: {told}"));
                }
            }
        }
    });
    Ok(Exit::Ok)
}
