//! `stepwell job get`, `steps`, `history`, `explain`.

use clap::Args;
use serde_json::{Value, json};
use stepwell_core::credit::Credits;
use stepwell_dialects::amount::Amount;

use super::JobArguments;
use crate::commands::workflow::items;
use crate::commands::workspace::WorkspaceFlag;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, Printer, cell, printable};
use crate::session::Global;

const JOB: [Column; 16] = [
    ("job", "job_id"),
    ("status", "status"),
    ("paused", "paused"),
    ("error", "error.message"),
    ("error code", "error.code"),
    ("workflow", "protocol_id"),
    ("version", "protocol_version"),
    ("request type", "request_type"),
    ("tenant", "tenant_id"),
    ("current step", "current_step_id"),
    ("correlation id", "correlation_id"),
    ("created", "created_at"),
    ("started", "started_at"),
    ("updated", "updated_at"),
    ("completed", "completed_at"),
    ("goes on from", "resumes"),
];

const STEPS: [Column; 7] = [
    ("STEP", "step_id"),
    ("STATUS", "status"),
    ("ATTEMPT", "attempt_no"),
    ("POOL", "service"),
    ("WAITS FOR", "waiting_for"),
    ("UNTIL", "wake_at"),
    ("ERROR", "error.message"),
];

const STEPS_OF_A_WORKSPACE: [Column; 7] = [
    ("STEP", "step_id"),
    ("STATUS", "status"),
    ("ATTEMPT", "attempt_no"),
    ("POOL", "pool"),
    ("WAITS FOR", "waiting_for"),
    ("UNTIL", "wake_at"),
    ("ERROR", "last_error_message"),
];

const HISTORY_PAGE: &str = "200";

/// Names a job, and perhaps the workspace it is shown as a job of.
#[derive(Debug, Args)]
pub(crate) struct GetArguments {
    #[command(flatten)]
    pub(super) workspace: WorkspaceFlag,
    #[command(flatten)]
    pub(super) job: JobArguments,
}

const OF_A_WORKSPACE: [Column; 24] = [
    ("job", "job_id"),
    ("status", "status"),
    ("error", "last_error_message"),
    ("error code", "last_error_code"),
    ("workspace", "workspace_id"),
    ("user", "user_id"),
    ("workflow", "workflow_id"),
    ("trigger", "trigger_type"),
    ("attempts", "attempts"),
    ("attempts at most", "max_attempts"),
    ("next attempt", "next_attempt_at"),
    ("next step", "step_cursor"),
    ("steps", "steps_total"),
    ("paused", "paused"),
    ("goes on from", "resumes"),
    ("credits estimated", "credits_estimate"),
    ("credits set aside", "credits_reserved"),
    ("credits spent", "credits_spent"),
    ("idempotency key", "idempotency_key"),
    ("created", "created_at"),
    ("started", "started_at"),
    ("updated", "updated_at"),
    ("completed", "completed_at"),
    ("deleted after", "ttl_at"),
];

pub(super) async fn get(global: Global, arguments: GetArguments) -> Result<Exit, Failure> {
    let GetArguments { workspace, job: JobArguments { job, client } } = arguments;
    let workspace = workspace.given();
    let path = super::path(workspace.as_deref(), &job);
    let (print, answer) = global.get(client, &path).await?;
    print.answer(&answer, |job| {
        let mut job = job.clone();
        if job["paused"] == false {
            job["paused"] = Value::Null;
        }
        let of_a_workspace = workspace.is_some();
        print.object(&job, if of_a_workspace { &OF_A_WORKSPACE[..] } else { &JOB[..] });
        print.line("");
        for step in job["steps"].as_array_mut().into_iter().flatten() {
            tell_items(step);
        }
        let steps = job["steps"].as_array().map_or(&[][..], Vec::as_slice);
        print.list(steps, if of_a_workspace { &STEPS_OF_A_WORKSPACE } else { &STEPS });
    });
    Ok(Exit::Ok)
}

/// A step that is done once for each item of a list says how many have ended.
fn tell_items(step: &mut Value) {
    if let (Some(ended), Some(count)) =
        (step["items"]["ended"].as_u64(), step["items"]["count"].as_u64())
    {
        let status = cell(step, "status");
        step["status"] = format!("{status} ({ended} of {count} items)").into();
    }
}

pub(super) async fn steps(global: Global, arguments: JobArguments) -> Result<Exit, Failure> {
    let session = global.session(arguments.client.0)?;
    let answer = session.api()?.get(&["v1", "jobs", &arguments.job, "steps"], &[]).await?;
    session.print.answer(&answer, |answer| {
        let steps = answer.get("steps").map_or_else(|| items(answer), items);
        let rows: Vec<Vec<String>> = steps.iter().flat_map(attempts).collect();
        let titles = ["STEP", "STATUS", "ATTEMPT", "DISPATCHED", "TAKEN", "ENDED", "ERROR"];
        session.print.table(titles, rows);
    });
    Ok(Exit::Ok)
}

/// One row an attempt; a step without any has one row all the same.
fn attempts(step: &Value) -> Vec<Vec<String>> {
    let attempts = step["attempts"].as_array().map_or(&[][..], Vec::as_slice);
    if attempts.is_empty() {
        let blank = String::new;
        return vec![vec![
            cell(step, "step_id"),
            cell(step, "status"),
            blank(),
            blank(),
            blank(),
            blank(),
            cell(step, "error.message"),
        ]];
    }
    let row = |attempt: &Value| {
        let fields =
            ["status", "attempt_no", "dispatched_at", "acked_at", "ended_at", "error.message"];
        let cells = fields.map(|field| cell(attempt, field));
        std::iter::once(cell(step, "step_id")).chain(cells).collect()
    };
    attempts.iter().map(row).collect()
}

pub(super) async fn history(global: Global, arguments: JobArguments) -> Result<Exit, Failure> {
    let session = global.session(arguments.client.0)?;
    let api = session.api()?;
    let (mut records, mut after) = (Vec::<Value>::new(), "0".to_owned());
    loop {
        let query = [("after", after.as_str()), ("limit", HISTORY_PAGE)];
        let path = ["v1", "jobs", &arguments.job, "history"];
        let answer = api.get(&path, &query).await?;
        let page = items(&answer);
        records.extend_from_slice(page);
        let last = page.last().and_then(|record| record["version"].as_u64());
        match last {
            Some(version) if page.len().to_string() == HISTORY_PAGE => after = version.to_string(),
            Some(_) | None => break,
        }
    }
    let answer = json!({ "items": records });
    session.print.answer(&answer, |_| {
        let rows = records.iter().flat_map(entries);
        session.print.table(["VERSION", "AT", "WHAT", "DETAILS"], rows);
    });
    Ok(Exit::Ok)
}

/// One row an entry of a record.
fn entries(record: &Value) -> Vec<Vec<String>> {
    let entries = record["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let row = |entry: &Value| {
        vec![cell(record, "version"), cell(record, "at"), cell(entry, "entry"), details(entry)]
    };
    entries.iter().map(row).collect()
}

/// What an entry says beside its name, on one line. Results and parameters may be long and are cut.
pub(crate) fn details(entry: &Value) -> String {
    const NOT_SHOWN: [&str; 5] = ["entry", "event", "at", "version", "lease"];
    let mut shown = Vec::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        match value {
            Value::Object(movement) if key == "movement" => {
                shown.extend(movement.iter().map(|(key, value)| detail(key, &in_credits(value))));
            }
            // Who did it and why, and what went wrong, are objects of their own.
            Value::Object(parts) if matches!(key.as_str(), "by" | "error") => {
                shown.extend(parts.iter().map(|(key, value)| detail(key, value)));
            }
            _ if NOT_SHOWN.contains(&key.as_str()) => {}
            _ => shown.push(detail(key, value)),
        }
    }
    shown.retain(|text| !text.ends_with('='));
    shown.join(" ")
}

/// Histories hold credits in millionths, which nobody reads.
fn in_credits(value: &Value) -> Value {
    value.as_i64().map_or_else(|| value.clone(), |millionths| Amount(Credits(millionths)).to_json())
}

fn detail(key: &str, value: &Value) -> String {
    const SHOWN_MAX: usize = 60;
    let text = value.as_str().map_or_else(|| value.to_string(), printable);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{key}={}…", &text[..end]),
        None => format!("{key}={text}"),
    }
}

pub(super) async fn explain(global: Global, arguments: JobArguments) -> Result<Exit, Failure> {
    let session = global.session(arguments.client.0)?;
    let answer = session.api()?.get(&["v1", "jobs", &arguments.job, "explain"], &[]).await?;
    session.print.answer(&answer, |answer| {
        for line in explained(answer) {
            session.print.line(&line);
        }
    });
    Ok(Exit::Ok)
}

/// An explanation as lines for people.
pub(crate) fn explained(answer: &Value) -> Vec<String> {
    let mut lines = vec![cell(answer, "summary")];
    for wait in answer["waits"].as_array().map_or(&[][..], Vec::as_slice) {
        let text = |key: &str| wait[key].as_str().map(printable).unwrap_or_default();
        lines.push(format!("  {}: {}", text("step"), text("reason")));
        if !text("until").is_empty() {
            lines.push(format!("    until: {}", text("until")));
        }
        if !text("advice").is_empty() {
            lines.push(format!("    you can: {}", text("advice")));
        }
    }
    lines
}

/// Writes the job of an answer to a request to act.
pub(super) fn acted(print: Printer, answer: &Value, what: &str) {
    print.answer(answer, |answer| {
        let id = ["jobId", "job_id"].iter().find_map(|key| answer[key].as_str());
        let status = answer["status"].as_str().unwrap_or_default();
        match id {
            Some(id) => print.line(format!("{what}: job {id} {status}").trim_end()),
            None => print.line(what),
        }
    });
}
