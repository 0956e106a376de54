//! How PostgreSQL finds what each statement asks for: never by reading a whole table of runs, neither
//! while the tables are empty and unknown to the planner, nor when they are large.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::golden::golden;
use crate::postgres::Place;

/// Tables that grow with the work.
const LARGE: [&str; 19] = [
    "run",
    "run_header",
    "step",
    "history",
    "idempotency",
    "stub",
    "submission",
    "input",
    "outbox",
    "dead_letter",
    "batch",
    "batch_phase",
    "batch_member",
    "batch_run",
    "batch_history",
    "step_spec",
    "seen_key",
    "firing",
    "credit_movement",
];

/// The id of a run.
const RUN: &str = "'01959c5b-3c00-7000-8000-000000000007'";

/// Statements that are planned for the values of each question; here with some.
const PLANNED: [(&str, &[&str]); 22] = [
    ("runs_by_status", &["'acme'", "'failed'", "NULL", "NULL"]),
    ("runs_by_status", &["NULL", "'failed'", "NULL", "NULL"]),
    ("runs_by_status", &["NULL", "'failed'", "'onboard'", "NULL"]),
    ("runs_newest", &["NULL", "NULL", "NULL", "'case-7'"]),
    ("runs_newest", &["NULL", "NULL", "NULL", "NULL"]),
    ("batches", &["NULL", "NULL", "NULL", "NULL", "NULL", "FALSE", "0", "50"]),
    ("batches", &["NULL", "NULL", "NULL", "NULL", "NULL", "TRUE", "0", "50"]),
    ("batches", &["NULL", "'wave'", "'{active}'::text[]", "NULL", "NULL", "FALSE", "0", "50"]),
    ("batches", &["NULL", "'wave'", "NULL", "NULL", "7", "FALSE", "0", "50"]),
    ("batches_count", &["NULL", "NULL", "NULL", "NULL", "NULL", "TRUE"]),
    ("batches_count", &["NULL", "'wave'", "NULL", "NULL", "7", "FALSE"]),
    ("members", &["7", "0", "NULL", "FALSE", "400", "50"]),
    ("members", &["7", "0", "NULL", "TRUE", "0", "50"]),
    ("members", &["7", "0", "'{107, 207}'::bigint[]", "FALSE", "0", "50"]),
    ("members_by_status", &["7", "0", "NULL", "FALSE", "0", "50", "'{failed}'::text[]"]),
    ("members_by_status_count", &["7", "0", "'{107}'::bigint[]", "FALSE", "'{failed}'::text[]"]),
    ("members_count", &["7", "0", "NULL", "TRUE"]),
    ("events", &["7", "40000", "NULL", "NULL", "NULL", "NULL::text[]", "NULL::text[]", "50"]),
    ("events", &["7", "40000", "'globex'", "NULL", "NULL", "'{a}'::text[]", "NULL::text[]", "50"]),
    ("events", &["7", "40000", "NULL", "NULL", "'odd'", "NULL::text[]", "NULL::text[]", "50"]),
    (
        "events",
        &["7", "40000", "NULL", RUN, "NULL", "NULL::text[]", "'{workspaces}'::text[]", "50"],
    ),
    // C-004: the jobs of a workspace by creation time.
    ("runs_by_status", &["'initech'", "'succeeded'", "NULL", "NULL"]),
];

/// The rest of the values that a list of runs is asked with.
const REST: [&str; 6] =
    ["NULL", "NULL", "NULL", "FALSE", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "50"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/postgres")
}

/// Statements that move runs to another owner; they end alike.
const MOVING: [&str; 3] = ["orphans_take", "run_adopt", "run_give"];

fn text(name: &str) -> String {
    let read = |name| std::fs::read_to_string(folder().join(format!("{name}.sql"))).unwrap();
    let end = if MOVING.contains(&name) { read("run_moved") } else { String::new() };
    read(name) + &end
}

/// Every statement that is prepared, with the types of its parameters where they must be said.
fn statements() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = files
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .filter(|name| !["session", "dead_letters", "run_moved"].contains(&name.as_str()))
        .filter(|name| PLANNED.iter().all(|(planned, _)| planned != name))
        .collect();
    names.sort_unstable();
    names
}

fn explain(place: &Place, name: &str) -> Vec<String> {
    let sql = text(name);
    let count = (1..).take_while(|number| sql.contains(&format!("${number}"))).count();
    let values = vec!["NULL"; count].join(", ");
    let values = if count == 0 { String::new() } else { format!("({values})") };
    place.query(&format!(
        "{}; SET plan_cache_mode = force_generic_plan; PREPARE it AS {sql};
         EXPLAIN (COSTS OFF) EXECUTE it{values}",
        text("session")
    ))
}

fn explain_planned(place: &Place, name: &str, values: &[&str]) -> Vec<String> {
    let mut sql = text(name);
    let rest: &[&str] = if name.starts_with("runs_") { &REST } else { &[] };
    for (number, value) in (1..).zip(values.iter().chain(rest)).collect::<Vec<_>>().iter().rev() {
        sql = sql.replace(&format!("${number}"), value);
    }
    place.query(&format!("{}; EXPLAIN (COSTS OFF) {sql}", text("session")))
}

/// A line that reads a large table from end to end, or sorts what it finds in one.
fn is_costly(plan: &[String], line: usize) -> bool {
    let this = &plan[line];
    let of_large = |scan: &str| {
        this.split_once(scan).is_some_and(|(_, rest)| {
            let table = rest.split_whitespace().next().unwrap_or_default();
            LARGE.contains(&table)
        })
    };
    let by_index = this.contains("Scan using") || this.contains("Scan Backward using");
    let has_condition = plan.get(line + 1).is_some_and(|next| next.contains("Index Cond"));
    of_large("Seq Scan on ") || (by_index && of_large(" on ") && !has_condition)
}

fn check(name: &str, plan: &[String], allowed: &[&str]) {
    for (line, text) in plan.iter().enumerate() {
        let passes = !is_costly(plan, line) || allowed.iter().any(|some| text.contains(some));
        assert!(passes, "{name} reads a whole table:\n{}", plan.join("\n"));
    }
}

/// What may be walked from end to end, because it is done once at the start, or is short by its nature.
fn whole_walks(name: &str) -> &'static [&'static str] {
    match name {
        "latest_change" => &["run_by_owner"],
        "figures" => &["outbox"],
        "dead_letter_depths" => &["dead_letter_open"],
        "inputs" | "reclaim_look" | "orphans_take" => &["on input"],
        _ => &[],
    }
}

/// Rows as they are after a while: most runs have ended, some wait, few failed.
const FILLED: &str = "
    INSERT INTO instance (id) SELECT 'instance ' || n FROM generate_series(1, 3) n;
    INSERT INTO run (id, owner, tenant, dialect, workflow, workflow_version, created_at, step_count,
                     version, attempt, paused, updated_at, status, ended_at, wake_at, correlation_id)
    SELECT ('01959c5b-3c00-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 1 + n % 3,
           CASE WHEN n % 10 = 0 THEN 'globex' ELSE 'acme' END, 'commands',
           CASE WHEN n % 3 = 0 THEN 'offboard' ELSE 'onboard' END, 1, n, 2, 3, 1, FALSE, n,
           CASE WHEN n % 5 = 0 THEN 'running' WHEN n % 997 = 0 THEN 'failed' ELSE 'succeeded' END,
           CASE WHEN n % 5 <> 0 THEN n END, CASE WHEN n % 5 = 0 THEN n END, 'case-' || n
      FROM generate_series(1, 50000) n;
    INSERT INTO run_header (run_id, priority, actor, idempotency_hash)
    SELECT id, 5, 'ada', sha256(id::text::bytea) FROM run;
    INSERT INTO idempotency (tenant, hash, run_id, request_hash, created_at)
    SELECT tenant, sha256(id::text::bytea), id, sha256(id::text::bytea), 0 FROM run;
    INSERT INTO stub (run_id, tenant, workflow, status, ended_at, deleted_at)
    SELECT id, tenant, workflow, 'failed', 0, 0 FROM run;
    INSERT INTO step (run_id, owner, position, attempt, tries, status, lease_id, lease_stage,
                      lease_expires_at, pool, rank, lane, poll_count)
    SELECT id, owner, 0, 1, 1, 'dispatched', id, 'recorded', 5, 'default', 5, 0, 0
      FROM run WHERE ended_at IS NULL;
    INSERT INTO step (run_id, owner, position, attempt, tries, status, ended_at)
    SELECT id, owner, 1, 1, 1, 'succeeded', 5 FROM run;
    INSERT INTO history (run_id, version, at, entries) SELECT id, 1, 0, '[]' FROM run;
    INSERT INTO submission (queue, message_id, workflow, priority, body, enqueued_at, expires_at, place)
    SELECT 'dag-jobs', n::text, 'onboard', 0, '{}', n, n, n FROM generate_series(1, 20000) n;
    INSERT INTO input (id, run_id, from_epoch, at, body) SELECT id, id, 1, 0, '{}' FROM run LIMIT 20000;
    INSERT INTO outbox (run_id, due_at, kind, destination, body)
    SELECT id, created_at, 'webhook', 'https://receiver.example', '{}' FROM run LIMIT 20000;
    INSERT INTO dead_letter (run_id, at, tenant, workflow, reason, error_code, error_message)
    SELECT id, 0, tenant, workflow, 'run_failed', 'x', 'y' FROM run LIMIT 20000;
    INSERT INTO runbook (name, version, source, is_active, overdue, rerun_init, created_at, created_by)
    SELECT 'wave ' || n % 100, 1 + n / 100, '', n >= 900, 'rerun', FALSE, 0, 'ada'
      FROM generate_series(0, 999) n;
    INSERT INTO batch (id, version, slot, created_at, updated_at, ended_at, joined, removed, runbook_version,
                       paused, settled, status, mode, tenant, runbook, actor, init, sweeps)
    SELECT n, 1, n, n, n, CASE WHEN n % 50 <> 0 THEN n END, 500, 10, 1, FALSE, n % 50 <> 0,
           CASE WHEN n % 50 = 0 THEN 'active' ELSE 'completed' END, 'scheduled', 'acme',
           CASE WHEN n % 2 = 0 THEN 'wave' ELSE 'other' END, 'ada', '{}', '[]'
      FROM generate_series(1, 5000) n;
    INSERT INTO batch_phase (id, batch, version, offset_minutes, steps, status, gate, name)
    SELECT n, 1 + n / 4, 1, n % 4, 5, 'pending', 'phase ' || n % 4, 'phase ' || n % 4
      FROM generate_series(0, 19999) n;
    INSERT INTO batch_member (id, batch, added_at, removed_at, removed_by, run_id, data_hash, key)
    SELECT n, 1 + n % 100, n, CASE WHEN n % 50 = 0 THEN n END, CASE WHEN n % 50 = 0 THEN 'ada' END,
           ('01959c5b-3c00-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, sha256(n::text::bytea),
           'key-' || n
      FROM generate_series(1, 50000) n;
    INSERT INTO batch_run (number, batch, member, run_id, role)
    SELECT id, batch, id, run_id, 'member' FROM batch_member;
    INSERT INTO batch_history (batch, version, at, entries)
    SELECT 1 + n % 100, n, n, '[]' FROM generate_series(1, 50000) n;
    INSERT INTO step_spec (workflow, workflow_version, position, step, gate_position, kind, pool,
                           retries_max, retry_interval_s)
    SELECT 'wave ' || n / 100, 1, n % 100, 'step', 0, 'work', 'default', 0, 0
      FROM generate_series(1, 20000) n;
    INSERT INTO event (at, run_id, tenant, dialect, kind, body)
    SELECT created_at, id, tenant, dialect, CASE WHEN created_at % 997 = 0 THEN 'odd' ELSE 'queued' END, '{}'
      FROM run;
    INSERT INTO credit_account (tenant, balance, reserved, spent)
    SELECT 'tenant ' || n, 0, 0, 0 FROM generate_series(1, 5000) n;
    INSERT INTO credit_movement (balance, reserved, spent, balance_after, reserved_after, spent_after, at,
                                 run_id, kind, tenant, actor, reason)
    SELECT 0, 0, 0, 0, 0, 0, 0, id, 'reserved', tenant, '', '' FROM run;
    INSERT INTO seen_key (runbook, key) SELECT 'wave', n::text FROM generate_series(1, 20000) n;
    INSERT INTO trigger (tenant, name, kind, workflow, document, enabled, version, next_at, actor,
                         created_at, updated_at)
    SELECT 'acme', 'trigger ' || n, 'schedule', 'onboard', '{}', n % 2 = 0, 1, n, 'ada', 0, 0
      FROM generate_series(1, 500) n;
    INSERT INTO firing (tenant, trigger, key, at, outcome)
    SELECT 'acme', 'trigger ' || 1 + n % 500, n::text, n, 'started' FROM generate_series(1, 50000) n;
    DO $$
    DECLARE ours text;
    BEGIN
        FOR ours IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
            EXECUTE 'ANALYZE ' || ours;
        END LOOP;
    END $$";

#[tokio::test]
async fn every_statement_finds_its_rows_as_reviewed() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    place.query(FILLED);
    let mut plans = String::new();
    for name in statements() {
        let plan = explain(&place, &name);
        check(&name, &plan, whole_walks(&name));
        writeln!(plans, "{name}\n    {}", plan.join("\n    ")).unwrap();
    }
    for (name, values) in PLANNED {
        let plan = explain_planned(&place, name, values);
        check(name, &plan, &["run_pkey", "batch_pkey", "batch_unsettled"]);
        assert!(!plan.iter().any(|line| line.contains("Sort")), "{name}:\n{}", plan.join("\n"));
        writeln!(plans, "{name} {}\n    {}", values.join(" "), plan.join("\n    ")).unwrap();
    }
    // Another release may well choose other plans that are as good.
    if place.query("SHOW server_version_num")[0].starts_with("15") {
        golden("postgres_plans.txt").assert_eq(&plans);
    }
}

#[tokio::test]
async fn what_a_commit_prepares_at_the_first_start_is_right_for_ever() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    let of_a_commit = [
        "run_advance",
        "run_reschedule",
        "run_insert",
        "run_header_insert",
        "run_owners",
        "step_write",
        "history_insert",
        "outbox_insert",
        "dead_letter_insert",
        "stale_report_insert",
        "key_insert",
        "key_holders",
        "key_release",
        "tenant_count",
        "tenant_open",
        "input_insert",
        "input_delete",
        "run_header_refresh",
        "run_follow",
        "step_spec_insert",
        "batch_run_insert",
        "batch_lock",
        "batch_phase_lock",
        "batch_member_conflicts",
        "batch_insert",
        "batch_advance",
        "batch_phase_write",
        "batch_member_remove",
        "batch_member_insert",
        "batch_member_retake",
        "batch_member_refresh",
        "batch_history_insert",
        "batch_count",
        "batch_phase_count",
        "account_lock",
        "credit_move",
        "event_insert",
        "beginnings",
    ];
    for name in of_a_commit {
        check(name, &explain(&place, name), &[]);
    }
}
