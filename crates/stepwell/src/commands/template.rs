//! `stepwell template`: a list of members to fill in.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use super::advice::advised;
use super::runbook::NameArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What to do with the template of a runbook.
#[derive(Debug, Subcommand)]
pub(crate) enum TemplateCommand {
    /// Download an empty list of members with every column that the runbook uses, as CSV
    Download(DownloadArguments),
}

/// What `template download` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell template download mailbox-migration --file wave-7.csv"
)]
pub(crate) struct DownloadArguments {
    #[command(flatten)]
    runbook: NameArguments,
    /// The file to write; by default standard output
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) async fn run(global: Global, command: TemplateCommand) -> Result<Exit, Failure> {
    let TemplateCommand::Download(DownloadArguments { runbook, file }) = command;
    let NameArguments { name, client } = runbook;
    let (session, api) = global.connected(client)?;
    let text = api.get_text(&["api", "runbooks", &name, "template"]).await.map_err(advised)?;
    let Some(path) = file else {
        let answer = json!({ "runbook_name": name, "csv": text });
        session.print.answer(&answer, |_| session.print.line(text.trim_end()));
        return Ok(Exit::Ok);
    };
    std::fs::write(&path, text).map_err(|cause| Failure::file(&path, "written", &cause))?;
    let answer = json!({ "runbook_name": name, "file": path.display().to_string() });
    session.print.answer(&answer, |_| session.print.line(&format!("wrote {}", path.display())));
    Ok(Exit::Ok)
}
