//! The program: roles, commands, demo, bench.

mod args;
mod bench;
mod client;
mod commands;
mod config;
mod demo;
mod exit;
mod failure;
mod moment;
mod print;
mod private_file;
mod progress;
mod rehearse;
mod serve;
mod session;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Arguments;
use crate::exit::Exit;
use crate::failure::Failure;

/// The system's allocator keeps a heap for each thread, and what one thread frees of another's stays
/// there: with the runs of 20,000 members the process would hold twice the memory it needs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Ok }.into();
        }
    };
    let json = arguments.wants_json();
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            print::Printer::new(json).failure(&failure);
            failure.exit.into()
        }
    }
}

fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| {
        Failure::new(Exit::Failure, "no_runtime", format!("no threads could be started: {error}"))
    })?;
    let outcome = runtime.block_on(commands::run(arguments));
    // What still runs has nothing left to say; the process need not wait for it.
    runtime.shutdown_background();
    outcome
}
