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
                "credit_movement",
                "event",
                "member",
                "dead_letter",
                "firing",
            ];
            let scans = large.iter().any(|table| line == format!("SCAN {table}"));
            assert!(!scans, "{name}: {line}");
            let sorts = line.contains("TEMP B-TREE");
            // The last one sorts the lines of a page, after it was cut.
            let sorters = ["tokens", "workflows", "dead_letters_since", "ledger_stretches"];
            assert!(!sorts || sorters.contains(&name.as_str()), "{name}: {line}");
        }
    }
}

// C-004: a workspace's jobs by creation time, with what a list shows: an index has them in that order.
#[test]
fn the_jobs_of_a_workspace_are_listed_without_a_scan() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let plans: Vec<String> = statements()
        .into_iter()
        .filter(|(name, _)| name == "runs_by_tenant" || name == "run_summary")
        .flat_map(|(_, sql)| plan(&db, &sql))
        .collect();
    let by_id = "SEARCH run USING PRIMARY KEY (id=?)";
    let by_tenant = "SEARCH run USING INDEX run_by_tenant (tenant=? AND status=? AND id<?)";
    assert_eq!(plans, [by_id, by_tenant]);
}
