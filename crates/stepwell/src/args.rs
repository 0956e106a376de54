//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::bench::BenchArguments;
#[cfg(feature = "postgres")]
use crate::commands::store;
use crate::commands::{
    auth, automation, batch, command, completions, config as config_command, credits, dead_letter,
    event, job, query, runbook, template, token, trigger, validate, worker, workflow, workspace,
};
use crate::config::{EVERYWHERE, EveryFlags, ServeFlags};
use crate::demo::DemoArguments;
use crate::exit::Exit;
use crate::rehearse::RehearseArguments;

/// Carries long-running, multi-step work through to its end.
///
/// One program is server, client and worker. Start with `stepwell demo`: it needs nothing and shows
/// a batch in half a minute. Then run `stepwell serve` and talk to it with the other commands.
#[derive(Debug, Parser)]
#[command(name = "stepwell", version, max_term_width = 100, after_help = exit_codes())]
#[command(
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    /// What to do
    #[command(subcommand)]
    pub(crate) subcommand: Subcommands,
    #[command(flatten)]
    pub(crate) every: EveryFlags,
    /// The configuration file; by default stepwell.toml here, else in the XDG configuration
    /// directory [env: STEPWELL_CONFIG]
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    pub(crate) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Subcommands {
    /// Run the server
    ///
    /// Everything is in this one process: the HTTP interface, the engine, the queue for workers and
    /// the database, a single file in the data directory. The first start makes an admin token and
    /// shows it once. SIGTERM or Ctrl-C stop it cleanly; a second one stops it at once.
    Serve(ServeFlags),
    /// Check workflow, runbook and trigger documents without a server
    Validate(validate::ValidateArguments),
    /// Publish and read workflows
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    /// Publish and read runbooks
    #[command(subcommand)]
    Runbook(runbook::RunbookCommand),
    /// Make, see, follow and steer batches of members
    #[command(subcommand)]
    Batch(batch::BatchCommand),
    /// Switch whether batches of a runbook are made by themselves
    #[command(subcommand)]
    Automation(automation::AutomationCommand),
    /// See what the data source of a runbook returns
    #[command(subcommand)]
    Query(query::QueryCommand),
    /// Get a list of members to fill in
    #[command(subcommand)]
    Template(template::TemplateCommand),
    /// Rehearse a runbook: its timeline in seconds, with workers that only pretend
    ///
    /// Needs no server. The members go through all phases on a compressed clock; attempts take as
    /// long and fail as often as you state. Shows when each phase would begin and end, who would
    /// fail and be rolled back, and how many workers each pool needs.
    Rehearse(Box<RehearseArguments>),
    /// Submit commands: each becomes a job
    #[command(subcommand)]
    Command(command::CommandCommand),
    /// See, follow and steer jobs
    #[command(subcommand)]
    Job(job::JobCommand),
    /// Make, see and fire triggers: jobs by the clock, by a webhook, or by a file that appears
    #[command(subcommand)]
    Trigger(trigger::TriggerCommand),
    /// See and grant the credits of workspaces
    #[command(subcommand)]
    Credits(credits::CreditsCommand),
    /// See and change what is agreed for a workspace
    #[command(subcommand)]
    Workspace(workspace::WorkspaceCommand),
    /// Follow events, and tell other systems of them
    #[command(subcommand)]
    Event(event::EventCommand),
    /// See what was given up, and replay or discard it
    #[command(subcommand)]
    DeadLetter(dead_letter::DeadLetterCommand),
    /// Sign in to a server, see as whom, and sign out
    #[command(subcommand)]
    Auth(auth::AuthCommand),
    /// Make, list and revoke access tokens
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Be a worker
    #[command(subcommand)]
    Worker(worker::WorkerCommand),
    /// Take everything to another database
    #[cfg(feature = "postgres")]
    #[command(subcommand)]
    Store(store::StoreCommand),
    /// See it work: a batch of 50 members on a fast clock, from T-90m to its end in half a minute
    ///
    /// A server and made-up workers in one process, over HTTP as between machines: three phases,
    /// retries, polling, a member that fails and is rolled back, one that joins late, one that leaves.
    Demo(DemoArguments),
    /// Measure how fast this machine is
    Bench(BenchArguments),
    /// See and change the configuration
    #[command(subcommand)]
    Config(config_command::ConfigCommand),
    /// Print the completion script of a shell
    ///
    /// For bash: `stepwell completions bash > ~/.local/share/bash-completion/completions/stepwell`
    Completions(completions::CompletionsArguments),
}

impl Arguments {
    /// Whether JSON was asked for, as far as that is known before the configuration is read.
    pub(crate) fn wants_json(&self) -> bool {
        let asked = self.every.0.0.get("output").cloned();
        asked.or_else(|| std::env::var("STEPWELL_OUTPUT").ok()).as_deref() == Some("json")
    }
}

fn exit_codes() -> String {
    let lines: Vec<String> = Exit::ALL
        .iter()
        .map(|(exit, meaning)| format!("  {:>3}  {meaning}", exit.number()))
        .collect();
    format!("Exit codes:\n{}", lines.join("\n"))
}
