//! `stepwell runbook publish`, `plan`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use stepwell_dialects::runbooks;

use crate::commands::token::without_null;
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Printer, cell};
use crate::session::Global;

/// What `runbook publish` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  stepwell runbook publish mailbox-migration.yaml\n  \
    stepwell runbook publish mailbox-migration.yaml --overdue rerun --rerun-init")]
pub(crate) struct PublishArguments {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    transition: TransitionFlags,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `runbook plan` is told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  stepwell runbook plan mailbox-migration.yaml --overdue rerun")]
pub(crate) struct PlanArguments {
    /// The document
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    transition: TransitionFlags,
    #[command(flatten)]
    client: ClientFlags,
}

/// How batches under way go over to a new version.
#[derive(Debug, Args)]
struct TransitionFlags {
    /// What becomes of phases that are past due in batches under way: passed over, or run again
    /// [default: ignore]
    #[arg(long, value_parser = PossibleValuesParser::new(["ignore", "rerun"]), value_name = "WORD")]
    overdue: Option<String>,
    /// Prepare batches under way again before anything else
    #[arg(long)]
    rerun_init: bool,
}

impl TransitionFlags {
    fn body(&self, source: &str) -> Value {
        without_null(json!({
            "yaml_content": source,
            "overdue_behavior": self.overdue,
            "rerun_init": self.rerun_init.then_some(true),
        }))
    }
}

pub(super) async fn publish(global: Global, arguments: PublishArguments) -> Result<Exit, Failure> {
    let (session, api) = global.connected(arguments.client)?;
    for path in &arguments.files {
        let (source, name) = read(path)?;
        let mut body = arguments.transition.body(&source);
        body["name"] = name.into();
        let answer = api.post(&["api", "runbooks"], &body).await;
        let answer = answer.map_err(|failure| failure.in_file(path))?;
        session.print.answer(&answer, |answer| told(session.print, path, answer));
    }
    Ok(Exit::Ok)
}

fn told(print: Printer, path: &Path, answer: &Value) {
    for warning in items(&answer["warnings"]) {
        let place = match (warning["line"].as_u64(), warning["column"].as_u64()) {
            (Some(line), Some(column)) => format!("{line}:{column}:"),
            _ => String::new(),
        };
        let message = cell(warning, "message");
        print.note(&format!("{}:{place} warning: {message}", path.display()));
    }
    let (name, version) = (cell(answer, "name"), cell(answer, "version"));
    print.line(&format!("{}: runbook {name:?}, version {version}", path.display()));
    let batches: Vec<String> =
        items(&answer["batches"]).iter().map(|batch| cell(batch, "batch_id")).collect();
    if !batches.is_empty() {
        print.line(&format!("  followed by batches under way: {}", batches.join(", ")));
    }
}

pub(super) async fn plan(global: Global, arguments: PlanArguments) -> Result<Exit, Failure> {
    let PlanArguments { file, transition, client } = arguments;
    let (session, api) = global.connected(client)?;
    let (source, name) = read(&file)?;
    let answer = api.post(&["api", "runbooks", &name, "plan"], &transition.body(&source)).await;
    let answer = answer.map_err(|failure| failure.in_file(&file))?;
    let print = session.print;
    print.answer(&answer, |answer| {
        let batches = items(&answer["batches"]);
        let version = cell(answer, "version");
        if batches.is_empty() {
            print.line(&format!("version {version} of {name:?}: no batch under way would follow"));
            return;
        }
        print.line(&format!("version {version} of {name:?} would be followed by"));
        for batch in batches {
            print.line("");
            print.line(&format!(
                "batch {} ({}), init {}",
                cell(batch, "batch_id"),
                cell(batch, "status"),
                cell(batch, "init"),
            ));
            print.list(
                items(&batch["phases"]),
                &[
                    ("PHASE", "name"),
                    ("VERSION", "runbook_version"),
                    ("IS", "from"),
                    ("BECOMES", "becomes"),
                    ("DUE", "due_at"),
                ],
            );
        }
    });
    Ok(Exit::Ok)
}

/// A document and the name in it. What is wrong with it is said without asking a server.
fn read(path: &Path) -> Result<(String, String), Failure> {
    let source =
        std::fs::read_to_string(path).map_err(|cause| Failure::file(path, "read", &cause))?;
    let reading = runbooks::read(source.as_bytes()).map_err(|problems| {
        Failure::problems("is not a runbook that could be published", path, &problems)
            .next("correct it; `stepwell validate` checks it too")
    })?;
    Ok((source, reading.runbook.name))
}
