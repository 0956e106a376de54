//! `stepwell job create`: a job of a workspace.

use clap::Args;
use serde_json::{Map, Value, json};
use stepwell_dialects::amount::Amount;

use super::watch;
use crate::commands::command::json_argument;
use crate::commands::credits::amount;
use crate::commands::workspace::WorkspaceFlag;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What `job create` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell job create --workspace acme --workflow nightly-report --user ada \
    --input '{\"day\": \"2026-08-01\"}' --idempotency-key report-2026-08-01 --wait"
)]
pub(crate) struct CreateArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    /// The workflow, in its newest version
    #[arg(long, value_name = "NAME")]
    workflow: String,
    /// For whom it is done; steps find it as {{_user_id}}
    #[arg(long, value_name = "ID")]
    user: String,
    /// What the job is given, a JSON object
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Something large that is kept elsewhere, such as transcript=s3://bucket/key; may be repeated
    #[arg(long = "reference", value_name = "NAME=URI", value_parser = reference)]
    references: Vec<(String, String)>,
    /// Makes a repetition of this command harmless
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// How often it is tried in all, 1 to 100; what the workflow says if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    max_attempts: Option<u32>,
    /// What it will probably cost, such as 2.75; set aside until it ends. What the workflow says if not
    /// given
    #[arg(long, value_name = "CREDITS", allow_negative_numbers = true, value_parser = amount)]
    credits_estimate: Option<Amount>,
    /// Ties the job to your logs
    #[arg(long, value_name = "ID")]
    trace_id: Option<String>,
    /// Follow the job to its end; the exit code tells how it ended
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    client: ClientFlags,
}

fn reference(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, uri)) if !name.is_empty() && !uri.is_empty() => {
            Ok((name.to_owned(), uri.to_owned()))
        }
        _ => Err("write it as NAME=URI".to_owned()),
    }
}

pub(super) async fn run(global: Global, arguments: CreateArguments) -> Result<Exit, Failure> {
    let body = body(&arguments)?;
    let CreateArguments { workspace, wait, client, .. } = arguments;
    let (session, api) = global.connected(client)?;
    let workspace = workspace.name()?;
    let answer = api.post(&["v1", "workspaces", &workspace, "jobs"], &body).await?;
    let job = answer["job_id"].as_str().unwrap_or_default().to_owned();
    if wait {
        if !session.print.is_json() {
            session.print.note(&format!("job {job}"));
        }
        return watch::watch(&session, &api, &job, Some(&workspace)).await;
    }
    session.print.answer(&answer, |_| session.print.line(&job));
    Ok(Exit::Ok)
}

fn body(arguments: &CreateArguments) -> Result<Value, Failure> {
    let mut body = Map::new();
    body.insert("workflow_id".to_owned(), json!(arguments.workflow));
    body.insert("user_id".to_owned(), json!(arguments.user));
    if let Some(input) = &arguments.input {
        body.insert("input".to_owned(), json_argument(input, "--input")?);
    }
    if !arguments.references.is_empty() {
        let references: Map<String, Value> =
            arguments.references.iter().map(|(name, uri)| (name.clone(), json!(uri))).collect();
        body.insert("references".to_owned(), Value::Object(references));
    }
    let texts =
        [("idempotency_key", &arguments.idempotency_key), ("trace_id", &arguments.trace_id)];
    for (key, text) in texts {
        if let Some(text) = text {
            body.insert(key.to_owned(), json!(text));
        }
    }
    if let Some(attempts) = arguments.max_attempts {
        body.insert("max_attempts".to_owned(), json!(attempts));
    }
    if let Some(estimate) = arguments.credits_estimate {
        body.insert("credits_estimate".to_owned(), estimate.to_json());
    }
    Ok(Value::Object(body))
}
