//! How SQLite finds what each statement asks for: never by reading a whole table of runs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::golden::{golden, made_by_a_store};

fn statements() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort_unstable();
    let read = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(file).unwrap())
    };
    files.into_iter().map(read).collect()
}

fn plan(db: &Connection, sql: &str) -> Vec<String> {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let count = statement.parameter_count();
    let unbound = rusqlite::params_from_iter(vec![rusqlite::types::Null; count]);
    statement.query_map(unbound, |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_statement_finds_its_rows_as_reviewed() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let mut plans = String::new();
    for (name, sql) in statements() {
        writeln!(plans, "{name}").unwrap();
        for line in plan(&db, &sql) {
            writeln!(plans, "    {line}").unwrap();
        }
    }
    golden("sqlite_plans.txt").assert_eq(&plans);
}

#[test]
fn no_statement_reads_a_large_table_from_end_to_end_or_sorts_it() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    for (name, sql) in statements() {
        for line in plan(&db, &sql) {
            let large = [
                "run",
                "step",
                "history",
                "run_header",
                "idempotency",
                "stub",
                "batch_member",
                "batch_run",
                "batch_history",
                "member",
            ];
            let scans = large.iter().any(|table| line == format!("SCAN {table}"));
            assert!(!scans, "{name}: {line}");
            let sorts = line.contains("TEMP B-TREE");
            assert!(!sorts || name == "tokens" || name == "workflows", "{name}: {line}");
        }
    }
}
