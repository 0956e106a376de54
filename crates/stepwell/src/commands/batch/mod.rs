//! `stepwell batch`: make, see, follow and steer batches.

mod act;
mod create;
mod list;
mod members;
mod operate;
mod pages;
mod plan;
mod show;
mod steps;
mod watch;
mod watch_view;

use clap::{Args, Subcommand};

use super::advice::advised;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What to do with batches.
#[derive(Debug, Subcommand)]
pub(crate) enum BatchCommand {
    /// List batches, newest first
    List(list::ListArguments),
    /// Show a batch with its phases and where its members stand
    Get(BatchArguments),
    /// Make a batch of a list of members; you then move it on from phase to phase
    ///
    /// The list is CSV with the columns of `stepwell template download`. Every fault of it is
    /// reported with its line, and then nothing is made.
    Create(create::CreateArguments),
    /// Show exactly what is still to happen in a batch: steps, times and how many jobs
    Plan(BatchArguments),
    /// Follow a batch to its end; the exit code tells how it ended
    Watch(watch::WatchArguments),
    /// Say why a batch is where it is, and what a person could do
    Explain(BatchArguments),
    /// Move a batch that a person made on: its init first, then phase by phase
    Advance(act::AdvanceArguments),
    /// Hold a batch: no phase begins, nothing new is sent to workers
    Pause(act::ReasonArguments),
    /// Let a held batch go on
    Resume(act::ReasonArguments),
    /// Cancel a batch: open steps are stopped, later phases are passed over, nothing is rolled back
    Cancel(act::ReasonArguments),
    /// Move T-0; phases that have not begun move with it
    Move(act::MoveArguments),
    /// List the members of a batch
    Members(members::ListArguments),
    /// Add members to a batch that a person made
    ///
    /// They catch up with the phases that have begun, each on its own.
    AddMembers(create::AddArguments),
    /// Take a member out of a batch that a person made
    ///
    /// Its open steps are stopped, and what the runbook says for members that left is done.
    RemoveMember(members::RemoveArguments),
    /// List the phases of a batch
    Phases(BatchArguments),
    /// List the steps of a batch, member by member
    Steps(steps::StepsArguments),
    /// Show everything that ever happened to a batch, with who and why
    Events(BatchArguments),
    /// Retry, skip, mark done, roll back, cancel or remove many at once, with a result for each
    Operate(Box<operate::OperateArguments>),
}

/// Names a batch.
#[derive(Debug, Args)]
pub(crate) struct BatchArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    #[command(flatten)]
    client: ClientFlags,
}

pub(crate) async fn run(global: Global, command: BatchCommand) -> Result<Exit, Failure> {
    let outcome = match command {
        BatchCommand::List(arguments) => list::run(global, arguments).await,
        BatchCommand::Get(arguments) => show::get(global, arguments).await,
        BatchCommand::Create(arguments) => create::create(global, arguments).await,
        BatchCommand::Plan(arguments) => plan::run(global, arguments).await,
        BatchCommand::Watch(arguments) => watch::run(global, arguments).await,
        BatchCommand::Explain(arguments) => show::explain(global, arguments).await,
        BatchCommand::Advance(arguments) => act::advance(global, arguments).await,
        BatchCommand::Pause(arguments) => act::with_reason(global, arguments, "pause").await,
        BatchCommand::Resume(arguments) => act::with_reason(global, arguments, "resume").await,
        BatchCommand::Cancel(arguments) => act::with_reason(global, arguments, "cancel").await,
        BatchCommand::Move(arguments) => act::move_start(global, arguments).await,
        BatchCommand::Members(arguments) => members::list(global, arguments).await,
        BatchCommand::AddMembers(arguments) => create::add(global, arguments).await,
        BatchCommand::RemoveMember(arguments) => members::remove(global, arguments).await,
        BatchCommand::Phases(arguments) => show::phases(global, arguments).await,
        BatchCommand::Steps(arguments) => steps::run(global, arguments).await,
        BatchCommand::Events(arguments) => show::events(global, arguments).await,
        BatchCommand::Operate(arguments) => operate::run(global, *arguments).await,
    };
    outcome.map_err(advised)
}
