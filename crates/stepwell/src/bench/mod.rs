//! `stepwell bench`: how fast this machine is.

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What `bench` is told.
#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// How many jobs
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub(crate) jobs: u32,
    /// How many workers run at once
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub(crate) workers: u32,
    /// How many steps a job has
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) steps: u32,
}

pub(crate) async fn run(global: Global, arguments: BenchArguments) -> Result<Exit, Failure> {
    let _ = (global, arguments);
    Err(Failure::usage("this build has no benchmark"))
}
