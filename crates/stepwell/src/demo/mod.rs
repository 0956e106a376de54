//! `stepwell demo`: a server, made-up workers and something to do for them, in one process.
//!
//! Everything goes over HTTP as it would between machines; only the work itself is made up.

mod batch;
mod commands;

use clap::Args;

use crate::config::Given;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What `demo` is told.
#[derive(Debug, Args)]
#[command(after_help = "What the batch does stands in examples/runbooks/branch-cutover.yaml.")]
pub(crate) struct DemoArguments {
    /// Leave the server up afterwards, to look around in what happened
    #[arg(long)]
    keep: bool,
    /// Show commands instead: jobs of several tenants, silent workers, a cancel, a late report
    #[arg(long)]
    commands: bool,
    /// How many jobs, 10 at least
    #[arg(long, requires = "commands", default_value_t = 300, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=10_000))]
    jobs: u32,
    /// Which jobs meet with what; the counts stay the same
    #[arg(long, requires = "commands", default_value_t = 1, value_name = "N")]
    seed: u64,
}

pub(crate) async fn run(global: Global, arguments: DemoArguments) -> Result<Exit, Failure> {
    let print = global.session(Given::default())?.print;
    let data = tempfile::tempdir().map_err(|cause| {
        Failure::file(&std::env::temp_dir(), "used for a temporary directory", &cause)
    })?;
    if arguments.commands {
        commands::run(print, data.path(), &arguments).await
    } else {
        batch::run(print, data.path(), arguments.keep).await
    }
}
