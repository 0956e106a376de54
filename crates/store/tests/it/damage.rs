//! A damaged file: it is recognized, or the damage is harmless, but nobody panics over it.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{World, all, header, run_id};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Filter, Store, StoreError};

/// So many that the pages of tables which stay empty are few among those of the file.
const RUNS: u64 = 120;

async fn filled(path: &Path) {
    let store = Arc::new(SqliteStore::open(path, Options::default()).unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    for number in 0..RUNS {
        let run = world.begins(header(number)).await;
        world.finishes(run).await;
    }
    store.close().await.unwrap();
    // As after a crash, so that the file is checked when it is opened.
    let db = Connection::open(path).unwrap();
    db.execute_batch("UPDATE meta SET clean = 0; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_database_any_more_is_told_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    filled(&path).await;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..64].fill(0xAA);
    std::fs::write(&path, bytes).unwrap();
    let told = SqliteStore::open(&path, Options::default()).unwrap_err();
    assert!(matches!(told, StoreError::Broken { .. }), "{told:?}");
    assert!(told.to_string().contains("restore it from a backup"), "{told}");
}

#[tokio::test]
async fn damage_anywhere_is_recognized_or_harmless() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    filled(&path).await;
    let sound = std::fs::read(&path).unwrap();
    let mut recognized = 0;
    for variant in 0..40_usize {
        let mut bytes = sound.clone();
        // From end to end, and at another place of its page each time.
        let start = variant * (bytes.len() - 64) / 40 / 4_096 * 4_096 + variant * 97 % 4_032;
        for (offset, byte) in bytes[start..start + 64].iter_mut().enumerate() {
            *byte ^= u8::try_from((offset * 37 + variant * 11) % 255 + 1).unwrap();
        }
        std::fs::write(&path, bytes).unwrap();
        recognized += usize::from(is_recognized(&path).await);
    }
    assert!(recognized >= 8, "most of the file is in use, but only {recognized} were noticed");
}

/// Whether opening the file or using it says that it is damaged.
async fn is_recognized(path: &Path) -> bool {
    let Ok(store) = SqliteStore::open(path, Options::default()) else { return true };
    let page = store.runs(Filter::default(), all()).await;
    let runs = store.load((0..RUNS).map(run_id).collect()).await;
    page.is_err() || runs.is_err()
}
