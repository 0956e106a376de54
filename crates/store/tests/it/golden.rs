//! Golden files: `UPDATE_EXPECT=1 cargo test` writes them anew.

use std::path::Path;

use expect_test::ExpectFile;
use rusqlite::Connection;
use stepwell_store::sqlite::{Options, SqliteStore};

/// A golden file by name.
pub(crate) fn golden(name: &str) -> ExpectFile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden").join(name);
    expect_test::expect_file![path]
}

/// A connection of our own to a database that a store has made.
pub(crate) fn made_by_a_store(directory: &Path) -> Connection {
    let path = directory.join("stepwell.db");
    drop(SqliteStore::open(&path, Options::default()).unwrap());
    Connection::open(path).unwrap()
}
