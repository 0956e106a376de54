//! `stepwell store`: takes everything to another database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Map, json};
use stepwell_core::definition::Workflow;
use stepwell_dialects::workflow;
use stepwell_store::StoredRun;
use stepwell_store::transfer::{self, Moved, Progress, StepNames};

use crate::config::{Given, StorePlace};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::{bar, lines};
use crate::serve::{self, store_failure};
use crate::session::{Global, Session};

/// What to do with a store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreCommand {
    /// Move a stopped store from SQLite to PostgreSQL, with its running work
    ///
    /// Everything goes along under the same ids: open jobs go on where they were, tokens work as
    /// before. It is written in one transaction; in the end the number of rows of every table and a
    /// hash over the whole history are compared, and only then it counts. Whatever goes wrong before,
    /// and Ctrl-C, leave the target empty and the source as it was. A file that was moved is marked, so
    /// that no server starts on it by mistake.
    Move(MoveArguments),
}

/// From where to where.
#[derive(Debug, Args)]
pub(crate) struct MoveArguments {
    /// The store to move, sqlite:FILE or its directory; by default stepwell.db in the data directory
    #[arg(long, value_name = "STORE")]
    from: Option<String>,
    /// The empty database to move it to, postgres://…; by default the one that the setting `store`
    /// names, which keeps the password off the command line
    #[arg(long, value_name = "STORE")]
    to: Option<String>,
    /// Check everything and move nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) async fn run(global: Global, command: StoreCommand) -> Result<Exit, Failure> {
    let StoreCommand::Move(arguments) = command;
    let session = global.session(Given::default())?;
    let (source, target) = places(&session, &arguments)?;
    let failed = |error| store_failure(&error);
    if arguments.dry_run {
        let moved = transfer::plan(&source, &target).await.map_err(failed)?;
        show(&session, &moved, false);
        session.print.note("nothing was moved, because of --dry-run; everything is ready for it");
        return Ok(Exit::Ok);
    }
    let Some(moved) = transfer(&session, &source, &target).await? else {
        session.print.note("interrupted; nothing was moved");
        return Ok(Exit::Interrupted);
    };
    serve::carry_webhook_secret(&source, &target).await?;
    show(&session, &moved, true);
    session.print.note(&format!(
        "everything was moved; start servers with --store {}\n{} stays as it was and is marked: no \
         server starts on it any more",
        StorePlace::Postgres(target),
        source.display()
    ));
    Ok(Exit::Ok)
}

/// The file to move and the URL to move it to.
fn places(session: &Session, arguments: &MoveArguments) -> Result<(PathBuf, String), Failure> {
    let read = |flag: &str, text: &str| {
        text.parse::<StorePlace>()
            .map_err(|fault| Failure::usage(format!("{flag} is not valid")).next(fault))
    };
    let source = match &arguments.from {
        Some(text) => read("--from", text)?,
        None => StorePlace::Sqlite(session.config.data()),
    };
    let target = match &arguments.to {
        Some(text) => read("--to", text)?,
        None => session.config.store(),
    };
    match (source, target) {
        (StorePlace::Sqlite(path), StorePlace::Postgres(url)) => Ok((file(path), url)),
        (source, target) => Err(Failure::usage(format!("cannot move {source} to {target}"))
            .next("move from sqlite:FILE to postgres://…; other ways are not supported")),
    }
}

/// Whoever names the data directory means the file in it.
fn file(path: PathBuf) -> PathBuf {
    if path.is_dir() { path.join("stepwell.db") } else { path }
}

async fn transfer(
    session: &Session,
    source: &Path,
    target: &str,
) -> Result<Option<Moved>, Failure> {
    let lines = lines(session.print.is_live());
    let bar = bar(&lines, "rows", 0);
    let watch = |progress: Progress| {
        bar.set_length(progress.rows);
        bar.set_position(progress.done);
        bar.set_prefix(progress.table);
    };
    let stop = serve::signal::first();
    let moved = transfer::transfer(source, target, step_names(), watch, stop).await;
    bar.finish_and_clear();
    moved.map_err(|error| store_failure(&error))
}

/// What steps are called stands in workflows, of which the store knows only the text.
fn step_names() -> StepNames {
    let mut read: BTreeMap<(String, u32), Arc<Workflow>> = BTreeMap::new();
    Box::new(move |run: StoredRun, source: &str| {
        let key = (run.workflow.clone(), run.workflow_version);
        let workflow = match read.get(&key) {
            Some(workflow) => Arc::clone(workflow),
            None => {
                let mut workflow = workflow::read(source.as_bytes())
                    .map_err(|_| format!("the workflow {} cannot be read", key.0))?;
                workflow.version = key.1;
                let workflow = Arc::new(workflow);
                read.insert(key, Arc::clone(&workflow));
                workflow
            }
        };
        let run = run.with_workflow(workflow);
        Ok(run.indexed().map(|(index, _)| run.step_id(index).into_owned()).collect())
    })
}

fn show(session: &Session, moved: &Moved, done: bool) {
    if session.print.is_json() {
        let rows: Map<_, _> =
            moved.tables.iter().map(|(table, rows)| ((*table).to_owned(), json!(rows))).collect();
        let tables = json!({ "moved": done, "rows": rows, "history_sha256": moved.history });
        session.print.value(&tables);
        return;
    }
    let row = |(table, rows): &(&str, u64)| vec![(*table).to_owned(), rows.to_string()];
    session.print.table(["TABLE", "ROWS"], moved.tables.iter().map(row));
    session.print.line(&format!("history sha256 {}", moved.history));
}
