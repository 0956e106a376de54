//! Takes a stopped store from SQLite to PostgreSQL, with its running work: table by table, under the
//! same ids, whole or not at all.
//!
//! Everything is written in one transaction of the target, and compared with the source before that is
//! committed. Whatever goes wrong before leaves the target as empty as it was; and nothing is ever
//! changed in the source but the mark, set last, that it was moved.

mod digest;
mod table;

use std::path::Path;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::StoreError;
use crate::model::StoredRun;
use crate::postgres::Target;
use crate::sqlite::Source;

pub(crate) use digest::Digest;
pub(crate) use table::{Cell, HISTORY_TABLE, Origin, TABLES, Table};

/// Tells what the steps of a run are called, in order, from the text of its workflow; or why it cannot.
pub type StepNames = Box<dyn FnMut(StoredRun, &str) -> Result<Vec<String>, String> + Send>;

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// what is being moved
    pub table: &'static str,
    /// rows of all tables that were moved
    pub done: u64,
    /// rows of all tables
    pub rows: u64,
}

/// What was moved, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// rows of each table
    pub tables: Vec<(&'static str, u64)>,
    /// SHA-256 over the history: every run, version, moment and entry, in order
    pub history: String,
}

/// Pages under way between the thread that reads and the connection that writes.
const PAGES_UNDER_WAY: usize = 4;

/// What the thread that reads says to the connection that writes.
enum Message {
    /// from here on rows of this table, whose numbers have come so far
    Table(&'static Table, i64),
    Rows(Vec<Vec<Cell>>),
}

/// Sees whether a store could be moved, and what that would be. Nothing is written.
///
/// # Errors
/// `Refused` if the source is in use or of another release, or the target is in use or not empty.
pub async fn plan(source: &Path, target: &str) -> Result<Moved, StoreError> {
    let source = open(source).await?;
    Target::look(target).await?;
    blocking(move || contents(&source)).await
}

/// Moves a store; `None` if `stop` came before everything was there, and so nothing was moved.
///
/// No server can start on the source, nor on the target, until this has ended.
///
/// # Errors
/// As [`plan`]; `Unavailable` if the target goes away; `Broken` if what arrived is not what was sent.
pub async fn transfer(
    source: &Path,
    target: &str,
    names: StepNames,
    mut watch: impl FnMut(Progress),
    stop: impl Future<Output = ()>,
) -> Result<Option<Moved>, StoreError> {
    let source = open(source).await?;
    let target = Target::begin(target).await?;
    let (sent, source) = blocking(move || Ok((contents(&source)?, source))).await?;
    let rows = sent.tables.iter().map(|(_, rows)| rows).sum();
    let (pages, reading) = read(source, names);
    tokio::select! {
        written = write(&target, pages, rows, &mut watch) => written?,
        // From the commit on there is no way back, so that is not interrupted.
        () = stop => return Ok(None),
    }
    let source = reading.await.map_err(lost)??;
    compare(&sent, &target.contents().await?)?;
    target.commit().await?;
    blocking(move || source.mark_as_moved()).await.map_err(|cause| {
        StoreError::broken_by(
            "everything was moved, but the file could not be marked as moved; start no server on it",
            cause,
        )
    })?;
    Ok(Some(sent))
}

/// Reads every table in a thread of its own.
fn read(
    source: Source,
    mut names: StepNames,
) -> (mpsc::Receiver<Message>, JoinHandle<Result<Source, StoreError>>) {
    let (sender, pages) = mpsc::channel(PAGES_UNDER_WAY);
    let send = move |message: Message| {
        let gone = |_| StoreError::unavailable("whoever writes has given up");
        sender.blocking_send(message).map_err(gone)
    };
    let reading = tokio::task::spawn_blocking(move || {
        for table in &TABLES {
            let last_number = if table.counted { source.last_number(table)? } else { 0 };
            send(Message::Table(table, last_number))?;
            source.read(table, &mut names, |rows| send(Message::Rows(rows)))?;
        }
        Ok(source)
    });
    (pages, reading)
}

/// Writes whatever is read, until nothing comes any more.
async fn write(
    target: &Target,
    mut pages: mpsc::Receiver<Message>,
    rows: u64,
    watch: &mut impl FnMut(Progress),
) -> Result<(), StoreError> {
    let mut done = 0;
    let mut open = None;
    while let Some(message) = pages.recv().await {
        match (message, &mut open) {
            (Message::Table(table, last_number), open) => {
                if let Some(copy) = open.take() {
                    target.finish(copy).await?;
                }
                target.set_number(table, last_number).await?;
                *open = Some(target.copy(table).await?);
            }
            (Message::Rows(page), Some(copy)) => {
                copy.write(&page).await?;
                done += page.len() as u64;
                watch(Progress { table: copy.table(), done, rows });
            }
            (Message::Rows(_), None) => return Err(StoreError::broken("rows without a table")),
        }
    }
    match open {
        Some(copy) => target.finish(copy).await,
        None => Ok(()),
    }
}

/// What a source holds.
fn contents(source: &Source) -> Result<Moved, StoreError> {
    let counts = source.counts()?;
    let tables = TABLES.iter().map(|table| table.name).zip(counts).collect();
    Ok(Moved { tables, history: source.digest()?.finish() })
}

/// What arrived is what was sent, or nothing was.
fn compare(sent: &Moved, arrived: &Moved) -> Result<(), StoreError> {
    for ((table, sent), (_, arrived)) in sent.tables.iter().zip(&arrived.tables) {
        if sent != arrived {
            return Err(StoreError::broken(format!(
                "{sent} rows of {table} were sent and {arrived} arrived; nothing was moved"
            )));
        }
    }
    if sent.history != arrived.history {
        return Err(StoreError::broken(
            "the history that arrived is not the one that was sent; nothing was moved",
        ));
    }
    Ok(())
}

async fn open(source: &Path) -> Result<Source, StoreError> {
    let source = source.to_owned();
    blocking(move || Source::open(&source)).await
}

/// Works off the async threads: SQLite waits for the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(lost)?
}

fn lost(cause: tokio::task::JoinError) -> StoreError {
    StoreError::broken_by("the thread that reads has ended", cause)
}
