//! `stepwell credits`: what workspaces may spend, and where it went.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use stepwell_dialects::amount::Amount;

use super::workflow::items;
use super::workspace::WorkspaceFlag;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, Printer};
use crate::session::Global;

/// What to do about credits.
#[derive(Debug, Subcommand)]
pub(crate) enum CreditsCommand {
    /// Show what a workspace may still promise, has set aside and has spent
    Show(ShowArguments),
    /// Put credits into the account of a workspace, or take them out with a negative amount
    Grant(GrantArguments),
    /// Show the movements in the account of a workspace, newest first; old ones are one line a day
    Ledger(LedgerArguments),
}

/// Names a workspace.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `credits grant` is told.
#[derive(Debug, Args)]
pub(crate) struct GrantArguments {
    /// How many credits, such as 250 or -12.5
    #[arg(value_name = "CREDITS", allow_negative_numbers = true, value_parser = amount)]
    amount: Amount,
    #[command(flatten)]
    workspace: WorkspaceFlag,
    /// Why, for those who come later
    #[arg(long)]
    reason: String,
    /// Makes a repetition of this command harmless
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `credits ledger` is told.
#[derive(Debug, Args)]
pub(crate) struct LedgerArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    /// Of this job only
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    #[command(flatten)]
    client: ClientFlags,
}

const ACCOUNT: [Column; 4] = [
    ("workspace", "workspace_id"),
    ("balance", "balance"),
    ("set aside", "reserved"),
    ("spent", "spent"),
];

const LEDGER: [Column; 8] = [
    ("AT", "at"),
    ("KIND", "kind"),
    ("BALANCE", "balance"),
    ("SET ASIDE", "reserved"),
    ("SPENT", "spent"),
    ("AFTER", "balance_after"),
    ("JOB", "job_id"),
    ("WHY", "reason"),
];

/// An amount of credits on a command line.
pub(super) fn amount(text: &str) -> Result<Amount, String> {
    let amount = text.parse().map(Amount);
    amount.map_err(|why: stepwell_core::credit::NotCredits| why.to_string())
}

pub(crate) async fn run(global: Global, command: CreditsCommand) -> Result<Exit, Failure> {
    match command {
        CreditsCommand::Show(ShowArguments { workspace, client }) => {
            let name = workspace.name()?;
            let (print, answer) =
                global.get(client, &["v1", "workspaces", &name, "credits"]).await?;
            print.answer(&answer, |answer| account(print, answer));
        }
        CreditsCommand::Grant(arguments) => return grant(global, arguments).await,
        CreditsCommand::Ledger(arguments) => return ledger(global, arguments).await,
    }
    Ok(Exit::Ok)
}

fn account(print: Printer, answer: &Value) {
    print.object(answer, &ACCOUNT);
    if answer["charged"] == false {
        print.note(
            "this server only counts what jobs cost; `stepwell serve --charge-credits` charges it",
        );
    }
}

async fn grant(global: Global, arguments: GrantArguments) -> Result<Exit, Failure> {
    let GrantArguments { amount, workspace, reason, idempotency_key, client } = arguments;
    let (session, api) = global.connected(client)?;
    let name = workspace.name()?;
    let path = ["v1", "workspaces", &name, "credits", "grants"];
    let body = json!({ "amount": amount.to_json(), "reason": reason });
    let answer = api.post_once(&path, &body, idempotency_key.as_deref()).await?;
    session.print.answer(&answer, |answer| account(session.print, answer));
    Ok(Exit::Ok)
}

async fn ledger(global: Global, arguments: LedgerArguments) -> Result<Exit, Failure> {
    let LedgerArguments { workspace, job, limit, client } = arguments;
    let (session, api) = global.connected(client)?;
    let (name, limit) = (workspace.name()?, limit.to_string());
    let mut query = vec![("limit", limit.as_str())];
    query.extend(job.as_deref().map(|job| ("job_id", job)));
    let answer: Value = api.get(&["v1", "workspaces", &name, "credits", "ledger"], &query).await?;
    session.print.answer(&answer, |answer| session.print.list(items(answer), &LEDGER));
    Ok(Exit::Ok)
}
