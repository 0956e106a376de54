//! `stepwell workflow`: publish and read workflows.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::Value;

use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// What to do with workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Publish documents, each as the next version of its name
    ///
    /// Jobs that are under way keep the version they began with. The same text again changes
    /// nothing.
    Publish {
        /// The documents
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// List the newest version of every workflow
    List {
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Print the document of a workflow
    Get {
        /// Its name
        name: String,
        /// A version instead of the newest
        #[arg(long, value_name = "N")]
        version: Option<u32>,
        #[command(flatten)]
        client: ClientFlags,
    },
}

const COLUMNS: [Column; 5] = [
    ("NAME", "name"),
    ("VERSION", "version"),
    ("REQUEST TYPE", "request_type"),
    ("PUBLISHED", "created_at"),
    ("BY", "created_by"),
];

pub(crate) async fn run(global: Global, command: WorkflowCommand) -> Result<Exit, Failure> {
    match command {
        WorkflowCommand::Publish { files, client } => publish(global, client, &files).await,
        WorkflowCommand::List { client } => {
            let session = global.session(client.0)?;
            let answer = session.api()?.get(&["v1", "workflows"], &[]).await?;
            session.print.answer(&answer, |answer| session.print.list(items(answer), &COLUMNS));
            Ok(Exit::Ok)
        }
        WorkflowCommand::Get { name, version, client } => {
            let session = global.session(client.0)?;
            let version = version.map(|version| version.to_string());
            let mut path = vec!["v1", "workflows", &name];
            path.extend(version.iter().flat_map(|version| ["versions", version.as_str()]));
            let answer = session.api()?.get(&path, &[]).await.map_err(|failure| {
                failure.suggesting(Exit::NotFound, "see `stepwell workflow list`")
            })?;
            session.print.answer(&answer, |answer| {
                session.print.line(answer["source"].as_str().unwrap_or_default().trim_end());
            });
            Ok(Exit::Ok)
        }
    }
}

async fn publish(global: Global, client: ClientFlags, files: &[PathBuf]) -> Result<Exit, Failure> {
    let session = global.session(client.0)?;
    let api = session.api()?;
    for path in files {
        let source =
            std::fs::read_to_string(path).map_err(|cause| Failure::file(path, "read", &cause))?;
        let answer = api.post_yaml(&["v1", "workflows"], source).await.map_err(|mut failure| {
            failure.what = format!("{}: {}", path.display(), failure.what);
            failure
        })?;
        session.print.answer(&answer, |answer| {
            let (name, version) = (&answer["name"], &answer["version"]);
            session.print.line(&format!("{}: workflow {name}, version {version}", path.display()));
        });
    }
    Ok(Exit::Ok)
}

/// The items of a list answer.
pub(super) fn items(answer: &Value) -> &[Value] {
    let items = answer.get("items").unwrap_or(answer);
    items.as_array().map_or(&[], Vec::as_slice)
}
