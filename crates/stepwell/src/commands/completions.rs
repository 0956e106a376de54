//! `stepwell completions`: the completion script of a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Arguments;
use crate::exit::Exit;
use crate::failure::Failure;

/// What `completions` is told.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "stepwell", &mut script);
    // A reader that has gone away is no reason to complain.
    let _ = std::io::Write::write_all(&mut std::io::stdout(), &script);
    Ok(Exit::Ok)
}
