//! The schema as it is after all migrations, and that it repeats the kernel's invariants.

use std::fmt::Write;

use crate::golden::{golden, made_by_a_store};

// one relational store, and this is all of it.
#[test]
fn the_schema_is_the_one_that_was_reviewed() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let mut statement = db
        .prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type DESC, name")
        .unwrap();
    let mut dump = String::new();
    for sql in statement.query_map([], |row| row.get::<_, String>(0)).unwrap() {
        writeln!(dump, "{};\n", sql.unwrap()).unwrap();
    }
    golden("sqlite_schema.sql").assert_eq(&dump);
}

// a run has one kernel id of sixteen bytes, and no two runs share it.
#[test]
fn an_id_is_sixteen_bytes_and_given_once() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let insert = |id: &str| {
        db.execute_batch(&format!(
            "INSERT INTO run (id, tenant, dialect, workflow, workflow_version, created_at,
                              step_count, version, status, attempt, paused, updated_at)
             VALUES ({id}, 'acme', 'commands', 'onboard', 1, 0, 1, 1, 'running', 1, 0, 0)"
        ))
    };
    insert("zeroblob(16)").unwrap();
    insert("zeroblob(16)").unwrap_err();
    insert("zeroblob(15)").unwrap_err();
    insert("'0195f3c0-0000-7000-8000-000000000000'").unwrap_err();
    insert("42").unwrap_err();
}

#[test]
fn a_row_that_breaks_an_invariant_is_refused_by_the_schema_too() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let run = |columns: &str, values: &str| {
        db.execute_batch(&format!(
            "INSERT INTO run (id, tenant, dialect, workflow, workflow_version, created_at,
                              step_count, version, attempt, paused, updated_at, {columns})
             VALUES (randomblob(16), 'acme', 'commands', 'onboard', 1, 0, 1, 1, 1, 0, 0, {values})"
        ))
    };
    run("status", "'running'").unwrap();
    run("status, ended_at", "'succeeded', 5").unwrap();
    run("status", "'succeeded'").unwrap_err();
    run("status, ended_at", "'running', 5").unwrap_err();
    run("status, ended_at, wake_at", "'failed', 5, 6").unwrap_err();
    run("status, expires_at", "'running', 9").unwrap_err();
    run("status", "'retry_wait'").unwrap_err();
    run("status", "'odd'").unwrap_err();
    run("status, error_code", "'running', 'x'").unwrap_err();
    run("status, wake_at", "'running', 'soon'").unwrap_err();

    let step = |columns: &str, values: &str| {
        db.execute_batch(&format!(
            "INSERT INTO step (run_id, position, attempt, tries, {columns})
             VALUES (randomblob(16), 0, 1, 1, {values})"
        ))
    };
    let leased = "status, lease_id, lease_expires_at, lease_stage";
    step("status", "'waiting'").unwrap();
    step(leased, "'acked', randomblob(16), 5, 'acked'").unwrap();
    step(leased, "'retry_wait', randomblob(16), 5, 'acked'").unwrap_err();
    step(leased, "'dispatched', randomblob(16), 5, 'recorded'").unwrap_err();
    step(leased, "'acked', randomblob(16), 5, 'odd'").unwrap_err();
    step("status", "'dispatched'").unwrap_err();
    step("status", "'succeeded'").unwrap_err();
    step("status, ended_at", "'waiting', 5").unwrap_err();
}

// what is true of runbooks, batches, phases and members is refused otherwise.
#[test]
fn a_batch_that_breaks_an_invariant_is_refused_by_the_schema_too() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let batch = |columns: &str, values: &str| {
        db.execute_batch(&format!(
            "INSERT INTO batch (tenant, runbook, mode, actor, created_at, version, paused,
                                runbook_version, init, sweeps, updated_at, joined, {columns})
             VALUES ('acme', 'move', 'manual', 'ada', 0, 1, 0, 1, '{{}}', '[]', 0, 2, {values})"
        ))
    };
    batch("removed, status, settled", "1, 'active', 0").unwrap();
    batch("removed, status, settled, ended_at", "0, 'completed', 1, 5").unwrap();
    batch("removed, status, settled", "3, 'active', 0").unwrap_err();
    batch("removed, status, settled", "0, 'active', 1").unwrap_err();
    batch("removed, status, settled", "0, 'completed', 0").unwrap_err();
    batch("removed, status, settled", "0, 'odd', 0").unwrap_err();
    batch("removed, status, settled, open", "0, 'active', 0, -1").unwrap_err();

    let phase = |gate: &str, columns: &str, values: &str| {
        db.execute_batch(&format!(
            "INSERT INTO batch_phase (batch, name, version, gate, offset_minutes, steps, {columns})
             VALUES (1, 'prepare', 1, '{gate}', 0, 1, {values})"
        ))
    };
    phase("one", "status", "'pending'").unwrap();
    phase("one", "status", "'pending'").unwrap_err();
    phase("two", "status", "'dispatched'").unwrap_err();
    phase("two", "status, dispatched_at, failed", "'dispatched', 5, -1").unwrap_err();
    phase("two", "status, dispatched_at", "'dispatched', 5").unwrap();

    let member = |columns: &str, values: &str| {
        db.execute_batch(&format!(
            "INSERT INTO batch_member (batch, key, data_hash, run_id, added_at, {columns})
             VALUES (1, 'ada', zeroblob(32), zeroblob(16), 0, {values})"
        ))
    };
    member("removed_at, removed_by", "NULL, NULL").unwrap();
    member("removed_at, removed_by", "NULL, NULL").unwrap_err();
    member("removed_at, removed_by", "5, 'bob'").unwrap();
    member("removed_at, removed_by", "5, NULL").unwrap_err();
    member("removed_at, removed_by, removal_dispatched_at", "NULL, NULL, 6").unwrap_err();

    let runbook = |version: u32, is_active: u8| {
        db.execute_batch(&format!(
            "INSERT INTO runbook (name, version, source, is_active, overdue, rerun_init, created_at,
                                  created_by)
             VALUES ('move', {version}, '', {is_active}, 'rerun', 0, 0, 'ada')"
        ))
    };
    runbook(1, 0).unwrap();
    runbook(2, 1).unwrap();
    runbook(3, 1).unwrap_err();
    runbook(2, 0).unwrap_err();
}
