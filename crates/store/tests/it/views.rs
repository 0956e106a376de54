//! The views of the runbooks dialect: the tables and columns that its tools know, filled from ours.

use std::sync::Arc;

use expect_test::{Expect, expect};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use stepwell_core::id::BatchId;
use stepwell_core::run::BatchRole;
use stepwell_core::step::{Outcome, StepError};
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::batch_world::{
    batch_header, decided_batch, detected, leave, leaving, opened, other_run,
};
use stepwell_store::conformance::world::{World, ack, at, failure, report, success, woken};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{BatchWrite, NewRunbook};

use crate::golden::made_by_a_store;

const STEP_COLUMNS: &str = "worker_id, function_name, params_json, status, job_id, result_json, \
     error_message, dispatched_at, completed_at, is_poll_step, poll_interval_sec, poll_timeout_sec, \
     poll_started_at, last_polled_at, poll_count, on_failure, retry_count, max_retries, \
     retry_interval_sec, retry_after";

fn columns(db: &Connection, view: &str) -> String {
    let sql = format!("SELECT name FROM pragma_table_info('{view}')");
    let mut statement = db.prepare(&sql).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    names.collect::<Result<Vec<_>, _>>().unwrap().join(", ")
}

// A-029, A-136, A-206, A-207, A-208, A-209, A-210, A-211, A-212, X-014: the seven tables of the seed.
#[test]
fn every_table_of_the_dialect_is_there_with_its_columns() {
    let directory = tempfile::tempdir().unwrap();
    let db = made_by_a_store(directory.path());
    let step = "step_name, step_index";
    let known = [
        (
            "runbooks",
            "id, name, version, yaml_content, data_table_name, is_active, overdue_behavior, \
             ignore_overdue_applied, rerun_init, created_at, last_error, last_error_at"
                .to_owned(),
        ),
        (
            "batches",
            "id, runbook_id, batch_start_time, status, detected_at, init_dispatched_at, is_manual, \
             created_by, current_phase"
                .to_owned(),
        ),
        (
            "batch_members",
            "id, batch_id, member_key, data_json, worker_data_json, status, added_at, removed_at, \
             failed_at, add_dispatched_at, remove_dispatched_at"
                .to_owned(),
        ),
        (
            "phase_executions",
            "id, batch_id, phase_name, offset_minutes, due_at, runbook_version, status, \
             dispatched_at, completed_at"
                .to_owned(),
        ),
        (
            "step_executions",
            format!("id, phase_execution_id, batch_member_id, {step}, {STEP_COLUMNS}"),
        ),
        ("init_executions", format!("id, batch_id, runbook_version, {step}, {STEP_COLUMNS}")),
        (
            "runbook_automation_settings",
            "runbook_name, automation_enabled, enabled_at, enabled_by, disabled_at, disabled_by"
                .to_owned(),
        ),
    ];
    for (view, expected) in known {
        assert_eq!(columns(&db, view), expected, "{view}");
    }
}

/// The rows of a statement, a line each.
#[track_caller]
fn check(db: &Connection, sql: &str, expected: &Expect) {
    let mut statement = db.prepare(sql).unwrap();
    let count = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = String::new();
    while let Some(row) = rows.next().unwrap() {
        let shown = (0..count).map(|column| match row.get_ref(column).unwrap() {
            ValueRef::Null => "-".to_owned(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Real(_) | ValueRef::Blob(_) => "?".to_owned(),
        });
        lines.push_str(&shown.collect::<Vec<_>>().join(" | "));
        lines.push('\n');
    }
    expected.assert_eq(&lines);
}

/// A batch in which a member polls, one waits for a retry, one failed, and one left.
async fn busy_batch(world: &World) {
    let document = NewRunbook {
        name: "move".to_owned(),
        source: "name: move".to_owned(),
        overdue: stepwell_core::batch::Overdue::Ignore,
        rerun_init: true,
        created_at: at(0),
        created_by: "ada".to_owned(),
    };
    world.store.publish_runbook(document.clone()).await.unwrap();
    let second = NewRunbook { name: "move it-2".to_owned(), ..document };
    let id = world.store.publish_runbook(second).await.unwrap().id;
    world.store.note_runbook(id, Some("no such table".to_owned()), at(3)).await.unwrap();
    world.store.set_automation("move".to_owned(), true, "ada".to_owned(), at(4)).await.unwrap();

    let mut write = detected(batch_header(1), &[5, 6, 7, 8]);
    write.runs = vec![other_run(BatchId(1), None, BatchRole::Init, 90)];
    let init = Arc::clone(&write.runs[0].run);
    let batch = world.decides(write).await;
    world.moves(&init, &success(&init)).await;
    for number in [5, 6, 7] {
        let run = world.member_run(number).await;
        world.stores(opened(&run, "prepare")).await;
    }
    let run = world.member_run(5).await;
    let run = world.moves(&run, &success(&run)).await;
    let run = world.moves(&run, &ack(&run)).await;
    let run = world.moves(&run, &report(&run, Outcome::Incomplete)).await;
    let run = world.takes(woken(&run)).await;
    world.moves(&run, &report(&run, Outcome::Incomplete)).await;
    let run = world.member_run(6).await;
    let busy = StepError::new("busy", "the mailbox is busy");
    let again = Outcome::Failed { error: busy, retryable: true, retry_after: None };
    world.moves(&run, &report(&run, again)).await;
    let run = world.member_run(7).await;
    world.moves(&run, &failure(&run)).await;
    let gone = decided_batch(&batch, &leave(1));
    world.decides(BatchWrite { removed: vec![leaving(8, "ada")], ..gone }).await;
}

// A-029, A-055, A-089, A-092, A-099, A-130, A-206 … A-213: what the rows of the views say.
#[tokio::test]
async fn a_batch_under_way_is_shown_in_the_words_of_the_dialect() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let world = World::of(&Subject { store, reopen: None }).await;
    busy_batch(&world).await;
    let db = Connection::open(&path).unwrap();

    check(
        &db,
        "SELECT * FROM runbooks",
        &expect![[r#"
        1 | move | 1 | name: move | runbook_move_v1 | 1 | ignore | 0 | 1 | 2025-03-15T00:00:00.000Z | - | -
        2 | move it-2 | 1 | name: move | runbook_move_it_2_v1 | 1 | ignore | 0 | 1 | 2025-03-15T00:00:00.000Z | no such table | 2025-03-15T00:00:03.000Z
    "#]],
    );
    check(
        &db,
        "SELECT * FROM batches",
        &expect![[r#"
        1 | 1 | 2025-03-15T02:00:00.000Z | active | 2025-03-15T00:00:00.000Z | - | 0 | scheduler | -
    "#]],
    );
    check(
        &db,
        "SELECT * FROM batch_members",
        &expect![[r#"
        5 | 1 | member-5@contoso.example | {"name":"ada","ratio":0.1} | {"found":0.1} | active | 2025-03-15T00:00:05.000Z | - | - | 2025-03-15T00:00:05.000Z | -
        6 | 1 | member-6@contoso.example | {"name":"ada","ratio":0.1} | - | active | 2025-03-15T00:00:05.000Z | - | - | 2025-03-15T00:00:05.000Z | -
        7 | 1 | member-7@contoso.example | {"name":"ada","ratio":0.1} | - | failed | 2025-03-15T00:00:05.000Z | - | 2025-03-15T00:00:02.000Z | 2025-03-15T00:00:05.000Z | -
        8 | 1 | member-8@contoso.example | {"name":"ada","ratio":0.1} | - | removed | 2025-03-15T00:00:05.000Z | 2025-03-15T00:00:50.000Z | - | 2025-03-15T00:00:05.000Z | -
    "#]],
    );
    check(
        &db,
        "SELECT * FROM phase_executions",
        &expect![[r#"
        10 | 1 | prepare | 60 | 2025-03-15T01:00:00.000Z | 1 | pending | - | -
        11 | 1 | cutover | 0 | 2025-03-15T02:00:00.000Z | 1 | pending | - | -
    "#]],
    );
    check(
        &db,
        "SELECT * FROM step_executions ORDER BY id",
        &expect![[r#"
            327680 | 10 | 5 | invite | 0 | default | work | {"who":"ada"} | succeeded | step-327680-attempt-1 | {"found":0.1,"note":"done"} | - | 2025-03-15T00:00:01.000Z | 2025-03-15T00:00:02.000Z | 1 | 60 | 600 | - | - | 0 | undo | 0 | 2 | 30 | -
            327681 | 10 | 5 | copy | 1 | default | work | {"who":"ada"} | polling | step-327681-attempt-1-poll-1 | - | - | 2025-03-15T00:01:04.000Z | - | 1 | 60 | 600 | 2025-03-15T00:00:04.000Z | 2025-03-15T00:01:04.000Z | 1 | undo | 0 | 2 | 30 | -
            393216 | 10 | 6 | invite | 0 | default | work | {"who":"ada"} | pending | - | - | the mailbox is busy | 2025-03-15T00:00:01.000Z | - | 1 | 60 | 600 | - | - | 0 | undo | 1 | 2 | 30 | 2025-03-15T00:00:32.000Z
            458752 | 10 | 7 | invite | 0 | default | work | {"who":"ada"} | failed | step-458752-attempt-1 | - | there is no such user | 2025-03-15T00:00:01.000Z | 2025-03-15T00:00:02.000Z | 1 | 60 | 600 | - | - | 0 | undo | 0 | 2 | 30 | -
            458753 | 10 | 7 | copy | 1 | default | work | - | cancelled | - | - | - | - | 2025-03-15T00:00:02.000Z | 1 | 60 | 600 | - | - | 0 | undo | 0 | 2 | 30 | -
            458754 | 11 | 7 | switch | 0 | default | work | - | cancelled | - | - | - | - | 2025-03-15T00:00:02.000Z | 1 | 60 | 600 | - | - | 0 | undo | 0 | 2 | 30 | -
        "#]],
    );
    check(
        &db,
        "SELECT * FROM init_executions ORDER BY id",
        &expect![[r#"
        5898240 | 1 | 1 | first | 0 | default | work | {"who":"ada"} | succeeded | init-5898240-attempt-1 | {"found":0.1,"note":"done"} | - | 2025-03-15T00:00:00.000Z | 2025-03-15T00:00:01.000Z | 1 | 60 | 600 | - | - | 0 | - | 0 | 2 | 30 | -
        5898241 | 1 | 1 | second | 1 | default | work | {"who":"ada"} | dispatched | init-5898241-attempt-1 | - | - | 2025-03-15T00:00:01.000Z | - | 1 | 60 | 600 | - | - | 0 | - | 0 | 2 | 30 | -
    "#]],
    );
    check(
        &db,
        "SELECT * FROM runbook_automation_settings",
        &expect![[r#"
        move | 1 | 2025-03-15T00:00:04.000Z | ada | - | -
    "#]],
    );
}
