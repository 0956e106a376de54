//! `stepwell job cancel`, `pause`, `resume`, `retry`, `step …`, `open-gate`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::show::acted;
use crate::commands::token::without_null;
use crate::commands::workspace::WorkspaceFlag;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// Names a job and a reason.
#[derive(Debug, Args)]
pub(crate) struct ReasonArguments {
    /// The job
    #[arg(value_name = "JOB")]
    job: String,
    /// Why, for those who come later
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// Names a job, perhaps as one of a workspace, and a reason.
#[derive(Debug, Args)]
pub(crate) struct OrderArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    rest: ReasonArguments,
}

/// How to override a step.
#[derive(Debug, Subcommand)]
pub(crate) enum StepCommand {
    /// Try the step again at once
    Retry(StepArguments),
    /// Pass over the step; what comes after it goes on
    Skip(StepArguments),
    /// Take the step as done
    Complete {
        #[command(flatten)]
        step: StepArguments,
        /// What it produced, as JSON
        #[arg(long, value_name = "JSON")]
        result: Option<String>,
    },
}

/// Names a step.
#[derive(Debug, Args)]
pub(crate) struct StepArguments {
    /// The job
    #[arg(value_name = "JOB")]
    job: String,
    /// The step
    #[arg(value_name = "STEP")]
    step: String,
    /// Why, for those who come later
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// Names a gate.
#[derive(Debug, Args)]
pub(crate) struct GateArguments {
    /// The job
    #[arg(value_name = "JOB")]
    job: String,
    /// The gate
    #[arg(value_name = "GATE")]
    gate: String,
    #[command(flatten)]
    client: ClientFlags,
}

pub(super) async fn on_job(
    global: Global,
    arguments: ReasonArguments,
    verb: &str,
) -> Result<Exit, Failure> {
    act(global, arguments, None, verb).await
}

/// Asks for what jobs of workspaces can be asked for too.
pub(super) async fn order(
    global: Global,
    arguments: OrderArguments,
    verb: &str,
) -> Result<Exit, Failure> {
    let OrderArguments { workspace, rest } = arguments;
    act(global, rest, workspace.given(), verb).await
}

async fn act(
    global: Global,
    arguments: ReasonArguments,
    workspace: Option<String>,
    verb: &str,
) -> Result<Exit, Failure> {
    let ReasonArguments { job, reason, client } = arguments;
    let (session, api) = global.connected(client)?;
    let body = without_null(json!({ "reason": reason }));
    let job = format!("{job}:{verb}");
    let answer = api.post(&super::path(workspace.as_deref(), &job), &body).await?;
    acted(session.print, &answer, verb);
    Ok(Exit::Ok)
}

pub(super) async fn on_step(global: Global, command: StepCommand) -> Result<Exit, Failure> {
    let (arguments, verb, result) = match command {
        StepCommand::Retry(step) => (step, "retry", None),
        StepCommand::Skip(step) => (step, "skip", None),
        StepCommand::Complete { step, result } => (step, "complete", result),
    };
    let result: Option<Value> = result
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(|error| Failure::invalid(format!("--result is not JSON: {error}")))?;
    let StepArguments { job, step, reason, client } = arguments;
    let session = global.session(client.0)?;
    let body = without_null(json!({ "reason": reason, "result": result }));
    let path = ["v1", "jobs", &job, "steps", &format!("{step}:{verb}")];
    let answer = session.api()?.post(&path, &body).await?;
    acted(session.print, &answer, &format!("{verb} {step}"));
    Ok(Exit::Ok)
}

pub(super) async fn open_gate(global: Global, arguments: GateArguments) -> Result<Exit, Failure> {
    let GateArguments { job, gate, client } = arguments;
    let session = global.session(client.0)?;
    let path = ["v1", "jobs", &job, "gates", &format!("{gate}:open")];
    let answer = session.api()?.post(&path, &json!({})).await?;
    acted(session.print, &answer, &format!("open {gate}"));
    Ok(Exit::Ok)
}
