//! `stepwell batch plan`: exactly what is still to happen.

use serde_json::Value;

use super::BatchArguments;
use crate::commands::workflow::items;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::moment;
use crate::print::{Printer, cell};
use crate::session::Global;

const TITLES: [&str; 9] =
    ["PHASE", "OFFSET", "DUE", "STATUS", "STEP", "POOL", "FUNCTION", "TRIED AGAIN", "JOBS"];

pub(super) async fn run(global: Global, arguments: BatchArguments) -> Result<Exit, Failure> {
    let BatchArguments { batch, client } = arguments;
    let path = ["api", "batches", &batch.to_string(), "plan"];
    let (print, answer) = global.get(client, &path).await?;
    print.answer(&answer, |answer| show(print, answer));
    Ok(Exit::Ok)
}

/// Shows a plan, of a batch that exists or of one that might.
pub(super) fn show(print: Printer, plan: &Value) {
    let start = match cell(plan, "batch_start_time") {
        start if start.is_empty() => "when a person advances it".to_owned(),
        start => format!("T-0 {start}"),
    };
    let (name, version) = (cell(plan, "runbook_name"), cell(plan, "runbook_version"));
    print.line(&format!("{name} v{version}: {start}"));
    print.line("");
    let blank = String::new;
    let init = items(&plan["init"]).iter().enumerate().map(|(index, step)| {
        let name = if index == 0 { "(init)".to_owned() } else { blank() };
        row([name, blank(), blank(), blank()], step)
    });
    let phases = items(&plan["phases"]).iter().flat_map(phase);
    print.table(TITLES, init.chain(phases));
    print.line("");
    let problems = items(&plan["problems"]);
    if !problems.is_empty() {
        print.list(
            problems,
            &[
                ("PHASE", "phase"),
                ("STEP", "step"),
                ("WILL FAIL BECAUSE", "message"),
                ("MEMBERS", "members"),
                ("FIRST", "first_member"),
            ],
        );
        print.line("");
    }
    print.line(&format!(
        "{} members, {} steps, {} jobs at least",
        cell(plan, "totals.members"),
        cell(plan, "totals.steps"),
        cell(plan, "totals.dispatches"),
    ));
}

/// One row a step; what belongs to the phase stands in its first.
fn phase(phase: &Value) -> Vec<Vec<String>> {
    let rows = items(&phase["steps"]).iter().enumerate().map(|(index, step)| {
        let fields = ["name", "offset", "due_at", "status"];
        let head = fields.map(|key| if index == 0 { cell(phase, key) } else { String::new() });
        row(head, step)
    });
    rows.collect()
}

fn row(head: [String; 4], step: &Value) -> Vec<String> {
    let fields = ["name", "worker_id", "function"].map(|key| cell(step, key));
    head.into_iter().chain(fields).chain([again(step), cell(step, "dispatches")]).collect()
}

/// How often a step is tried or asked again.
fn again(step: &Value) -> String {
    let length = |value: &Value| moment::length(value.as_u64().unwrap_or(0));
    let mut told = Vec::new();
    if let Some(retries) = step["retry"]["max_retries"].as_u64() {
        let times = if retries == 1 { "once" } else { &format!("{retries} times") };
        told.push(format!("{times} after {}", length(&step["retry"]["interval_sec"])));
    }
    if step["poll"].is_object() {
        let (every, until) =
            (length(&step["poll"]["interval_sec"]), length(&step["poll"]["timeout_sec"]));
        told.push(format!("polled every {every} up to {until}"));
    }
    told.join("; ")
}
