//! One command a file. Each has its arguments, its doc for the help text, and a `run`.

mod advice;
pub(crate) mod auth;
pub(crate) mod automation;
pub(crate) mod batch;
pub(crate) mod command;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod credits;
pub(crate) mod dead_letter;
pub(crate) mod event;
pub(crate) mod job;
pub(crate) mod query;
pub(crate) mod runbook;
mod secret;
#[cfg(feature = "postgres")]
pub(crate) mod store;
pub(crate) mod template;
pub(crate) mod token;
pub(crate) mod trigger;
pub(crate) mod validate;
pub(crate) mod worker;
pub(crate) mod workflow;
pub(crate) mod workspace;

use crate::args::{Arguments, Subcommands};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;
use crate::{bench, demo, rehearse, serve};

/// Runs the command that was asked for.
pub(crate) async fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let Arguments { subcommand, every, config } = arguments;
    let global = Global { given: every.0, file: config };
    match subcommand {
        Subcommands::Serve(flags) => serve::run(&global.session(flags.0)?).await,
        Subcommands::Validate(arguments) => validate::run(global, &arguments),
        Subcommands::Workflow(command) => workflow::run(global, command).await,
        Subcommands::Runbook(command) => runbook::run(global, command).await,
        Subcommands::Batch(command) => batch::run(global, command).await,
        Subcommands::Automation(command) => automation::run(global, command).await,
        Subcommands::Query(command) => query::run(global, command).await,
        Subcommands::Template(command) => template::run(global, command).await,
        Subcommands::Rehearse(arguments) => rehearse::run(global, *arguments).await,
        Subcommands::Command(command) => command::run(global, command).await,
        Subcommands::Job(command) => job::run(global, command).await,
        Subcommands::Trigger(command) => trigger::run(global, command).await,
        Subcommands::Credits(command) => credits::run(global, command).await,
        Subcommands::Workspace(command) => workspace::run(global, command).await,
        Subcommands::Event(command) => event::run(global, command).await,
        Subcommands::DeadLetter(command) => dead_letter::run(global, command).await,
        Subcommands::Auth(command) => auth::run(global, command).await,
        Subcommands::Token(command) => token::run(global, command).await,
        Subcommands::Worker(command) => worker::run(global, command).await,
        #[cfg(feature = "postgres")]
        Subcommands::Store(command) => store::run(global, command).await,
        Subcommands::Demo(arguments) => demo::run(global, arguments).await,
        Subcommands::Bench(arguments) => bench::run(global, arguments).await,
        Subcommands::Config(command) => config::run(global, command),
        Subcommands::Completions(arguments) => completions::run(&arguments),
    }
}
