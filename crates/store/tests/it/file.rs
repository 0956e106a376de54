//! The file: who may use it, who may read it, and which releases understand it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use stepwell_core::run::Header;
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{World, at, failure, header, item, started};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Group, Store, StoreError};

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(path, Options::default())
}

#[track_caller]
fn refusal(path: &Path) -> String {
    match open(path) {
        Err(StoreError::Refused { reason }) => reason,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_file_in_use_is_refused_by_name_and_freed_by_a_drop() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let first = open(&path).unwrap();
    let reason = refusal(&path);
    assert!(reason.contains(&path.display().to_string()), "{reason}");
    assert!(reason.contains("in use by another stepwell process"), "{reason}");
    assert!(reason.contains("stop that one, or name another file"), "{reason}");
    drop(first);
    open(&path).unwrap();
}

#[test]
fn a_file_of_a_newer_release_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    drop(open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let reason = refusal(&path);
    assert!(reason.contains("written by a newer release (schema 99"), "{reason}");
    assert!(reason.contains("run that release"), "{reason}");
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("accounts.db");
    let theirs = Connection::open(&path).unwrap();
    theirs.execute_batch("CREATE TABLE account (id INTEGER)").unwrap();
    drop(theirs);
    assert!(refusal(&path).contains("is a database of another program"));
    let theirs = Connection::open(&path).unwrap();
    let tables: i64 =
        theirs.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1);
}

#[tokio::test]
async fn the_latest_change_is_that_of_runs_which_are_still_open() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&directory.path().join("stepwell.db")).unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    assert_eq!(store.latest_change().await.unwrap(), None);
    let earlier = world.begins(header(1)).await;
    let later = world.begins(Header { created_at: at(500), ..header(2) }).await;
    assert!(later.updated_at > earlier.updated_at);
    assert_eq!(store.latest_change().await.unwrap(), Some(later.updated_at));
    let ended = world.moves(&later, &failure(&later)).await;
    assert!(ended.status.is_terminal());
    assert_eq!(store.latest_change().await.unwrap(), Some(earlier.updated_at));
}

#[tokio::test]
async fn a_migration_that_was_interrupted_runs_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let half = include_str!("../../migrations/sqlite/0001_runs_and_history.sql");
    let half = half.split_once("CREATE TABLE history").unwrap().0;
    let interrupted = Connection::open(&path).unwrap();
    interrupted.execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE").unwrap();
    interrupted.execute_batch(half).unwrap();
    drop(interrupted);

    let store = open(&path).unwrap();
    store.probe().await.unwrap();
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

#[cfg(unix)]
#[tokio::test]
async fn the_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("data/stepwell");
    let store = open(&folder.join("stepwell.db")).unwrap();
    store.probe().await.unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 3, "database, log and lock: {files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_commit_waits_for_a_foreign_lock_and_then_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let options = Options { busy_timeout: Duration::from_millis(20), ..Options::default() };
    let store = std::sync::Arc::new(SqliteStore::open(&path, options).unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    let foreign = Connection::open(&path).unwrap();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();

    let group = Group::of(world.epoch, vec![item(started(header(1)))]);
    let refused = store.commit(group.clone()).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");

    foreign.execute_batch("ROLLBACK").unwrap();
    store.commit(group).await.expect("the same commit again, unchanged");
}
