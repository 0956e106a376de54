//! `stepwell runbook`: publish and read runbooks.

mod publish;

use clap::{Args, Subcommand};

use super::advice::advised;
use super::workflow::items;
use crate::config::{ClientFlags, Given};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// What to do with runbooks.
#[derive(Debug, Subcommand)]
pub(crate) enum RunbookCommand {
    /// Publish documents, each as the next version of its name
    ///
    /// New batches follow the new version at once, and so do batches under way, except those that a
    /// person made. Phases of theirs that are past due are passed over, unless you say otherwise.
    /// See beforehand what that means with `stepwell runbook plan`. The same text again changes
    /// nothing.
    Publish(publish::PublishArguments),
    /// Show what publishing a document would do to batches under way
    ///
    /// Nothing is written.
    Plan(publish::PlanArguments),
    /// List the active version of every runbook
    List {
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Print the document of a runbook
    Get {
        /// Its name
        name: String,
        /// A version instead of the active one
        #[arg(long, value_name = "N")]
        version: Option<u32>,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// List every version of a runbook, newest first
    Versions(NameArguments),
    /// Take a version out of use
    ///
    /// It makes no new batches and is kept for those that follow it. No earlier version takes its
    /// place.
    Delete {
        /// Its name
        name: String,
        /// The version
        version: u32,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Print the JSON Schema of runbook documents, for editors
    Schema,
}

/// Names a runbook.
#[derive(Debug, Args)]
pub(crate) struct NameArguments {
    /// Name of the runbook
    #[arg(value_name = "RUNBOOK")]
    pub(super) name: String,
    #[command(flatten)]
    pub(super) client: ClientFlags,
}

const RUNBOOKS: [Column; 7] = [
    ("NAME", "name"),
    ("VERSION", "version"),
    ("PHASES", "timeline"),
    ("SOURCE", "data_source_type"),
    ("PUBLISHED", "created_at"),
    ("BY", "created_by"),
    ("LAST ERROR", "last_error"),
];

const VERSIONS: [Column; 7] = [
    ("VERSION", "version"),
    ("ACTIVE", "is_active"),
    ("PHASES", "timeline"),
    ("OVERDUE", "overdue_behavior"),
    ("RERUN INIT", "rerun_init"),
    ("PUBLISHED", "created_at"),
    ("BY", "created_by"),
];

pub(crate) async fn run(global: Global, command: RunbookCommand) -> Result<Exit, Failure> {
    let outcome = match command {
        RunbookCommand::Publish(arguments) => publish::publish(global, arguments).await,
        RunbookCommand::Plan(arguments) => publish::plan(global, arguments).await,
        RunbookCommand::List { client } => {
            list(global, client, &["api", "runbooks"], &RUNBOOKS).await
        }
        RunbookCommand::Versions(NameArguments { name, client }) => {
            list(global, client, &["api", "runbooks", &name, "versions"], &VERSIONS).await
        }
        RunbookCommand::Get { name, version, client } => get(global, client, &name, version).await,
        RunbookCommand::Delete { name, version, client } => {
            delete(global, client, &name, version).await
        }
        RunbookCommand::Schema => {
            global.session(Given::default())?.print.value(&stepwell_dialects::runbooks::schema());
            Ok(Exit::Ok)
        }
    };
    outcome.map_err(advised)
}

async fn list(
    global: Global,
    client: ClientFlags,
    path: &[&str],
    columns: &[Column],
) -> Result<Exit, Failure> {
    let (print, answer) = global.get(client, path).await?;
    print.answer(&answer, |answer| {
        let mut runbooks = items(answer).to_vec();
        for runbook in &mut runbooks {
            let offset = |phase: &serde_json::Value| phase["offset"].as_str().map(str::to_owned);
            let offsets: Vec<String> =
                items(&runbook["phases"]).iter().filter_map(offset).collect();
            runbook["timeline"] = offsets.join(" ").into();
        }
        print.list(&runbooks, columns);
    });
    Ok(Exit::Ok)
}

async fn get(
    global: Global,
    client: ClientFlags,
    name: &str,
    version: Option<u32>,
) -> Result<Exit, Failure> {
    let version = version.map(|version| version.to_string());
    let mut path = vec!["api", "runbooks", name];
    path.extend(version.iter().flat_map(|version| ["versions", version.as_str()]));
    let (print, answer) = global.get(client, &path).await?;
    print.answer(&answer, |answer| {
        print.line(answer["yaml_content"].as_str().unwrap_or_default().trim_end());
    });
    Ok(Exit::Ok)
}

async fn delete(
    global: Global,
    client: ClientFlags,
    name: &str,
    version: u32,
) -> Result<Exit, Failure> {
    let (session, api) = global.connected(client)?;
    let number = version.to_string();
    api.delete(&["api", "runbooks", name, "versions", &number]).await?;
    let answer = serde_json::json!({ "name": name, "version": version, "is_active": false });
    session.print.answer(&answer, |_| {
        session.print.line(&format!("version {version} of {name:?} is out of use"));
    });
    Ok(Exit::Ok)
}
