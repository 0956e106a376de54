//! `stepwell workspace`: what is agreed for one workspace.

use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};

use super::token::without_null;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// Names a workspace.
#[derive(Clone, Debug, Args)]
pub(crate) struct WorkspaceFlag {
    /// The workspace [env: STEPWELL_WORKSPACE]
    #[arg(long, value_name = "ID")]
    workspace: Option<String>,
}

impl WorkspaceFlag {
    /// The workspace that was named, on the command line or in the environment.
    pub(crate) fn given(&self) -> Option<String> {
        let named = || std::env::var("STEPWELL_WORKSPACE").ok();
        self.workspace.clone().or_else(named).filter(|name| !name.is_empty())
    }

    /// The same, where there must be one.
    pub(crate) fn name(&self) -> Result<String, Failure> {
        self.given().ok_or_else(|| {
            Failure::usage("no workspace was named")
                .next("name it with --workspace, or set STEPWELL_WORKSPACE")
        })
    }
}

/// What to do about a workspace.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Show what is agreed for a workspace
    Policy(PolicyArguments),
    /// Agree on something for a workspace; what is not named follows the server's settings
    SetPolicy(SetPolicyArguments),
}

/// Names a workspace.
#[derive(Debug, Args)]
pub(crate) struct PolicyArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    client: ClientFlags,
}

/// What is to be agreed.
#[derive(Debug, Args)]
pub(crate) struct SetPolicyArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    /// How long jobs that completed or were canceled are kept, such as 30d
    #[arg(long, value_name = "TIME")]
    keep: Option<String>,
    /// How long dead jobs are kept, such as 90d
    #[arg(long, value_name = "TIME")]
    keep_dead: Option<String>,
    /// When spent credits come back
    #[arg(long, value_name = "WHEN")]
    restore: Option<Restore>,
    /// Jobs that may be open at a time
    #[arg(long, value_name = "N")]
    jobs_open_max: Option<u32>,
    #[command(flatten)]
    client: ClientFlags,
}

/// When spent credits come back.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Restore {
    /// Never: work was done, whatever became of it
    Never,
    /// When a job is dead
    Failed,
    /// When a job is dead or was canceled
    Unfinished,
}

const POLICY: [Column; 5] = [
    ("workspace", "workspace_id"),
    ("keep", "keep"),
    ("keep dead", "keep_dead"),
    ("restore credits", "restore"),
    ("open jobs at most", "jobs_open_max"),
];

pub(crate) async fn run(global: Global, command: WorkspaceCommand) -> Result<Exit, Failure> {
    let (workspace, client, policy) = match command {
        WorkspaceCommand::Policy(PolicyArguments { workspace, client }) => {
            (workspace, client, None)
        }
        WorkspaceCommand::SetPolicy(arguments) => {
            let policy = policy(&arguments);
            (arguments.workspace, arguments.client, Some(policy))
        }
    };
    let (session, api) = global.connected(client)?;
    let name = workspace.name()?;
    let path = ["v1", "workspaces", &name, "policy"];
    let answer = match policy {
        None => api.get(&path, &[]).await?,
        Some(policy) => api.put(&path, &policy).await?,
    };
    session.print.answer(&answer, |answer| {
        let mut answer = answer.clone();
        answer["workspace_id"] = json!(name);
        session.print.object(&answer, &POLICY);
        if POLICY[1..].iter().all(|(_, field)| answer[field].is_null()) {
            session.print.note("nothing is agreed: the settings of the server hold");
        }
    });
    Ok(Exit::Ok)
}

fn policy(arguments: &SetPolicyArguments) -> Value {
    let restore = arguments.restore.map(|restore| match restore {
        Restore::Never => "never",
        Restore::Failed => "failed",
        Restore::Unfinished => "unfinished",
    });
    without_null(json!({
        "keep": arguments.keep,
        "keep_dead": arguments.keep_dead,
        "restore": restore,
        "jobs_open_max": arguments.jobs_open_max,
    }))
}
