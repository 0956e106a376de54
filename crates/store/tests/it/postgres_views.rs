//! Runbooks, batches and members as the tools of the seed read them.

use std::sync::Arc;

use expect_test::expect;
use stepwell_core::batch::Overdue;
use stepwell_core::id::BatchId;
use stepwell_core::run::BatchRole;
use stepwell_core::step::Outcome;
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::batch_world::{
    batch_header, decided_batch, detected, leave, leaving, opened, other_run,
};
use stepwell_store::conformance::world::{World, at, failure, report, success};
use stepwell_store::{BatchWrite, NewRunbook};

use crate::postgres::Place;

async fn world(place: &Place) -> World {
    World::of(&Subject { store: Arc::new(place.open().await), reopen: None }).await
}

/// Columns of a step, as both tables of the seed have them.
const OF_A_STEP: &str = "step_name, step_index, worker_id, function_name, params_json, status, job_id, \
                         result_json, error_message, dispatched_at, completed_at, is_poll_step, \
                         poll_interval_sec, poll_timeout_sec, poll_started_at, last_polled_at, \
                         poll_count, on_failure, retry_count, max_retries, retry_interval_sec, \
                         retry_after";

// A-206, A-207, A-208, A-209, A-210, A-211, A-212, X-014: names and order of the seed, in snake case.
#[tokio::test]
async fn the_tables_of_the_seed_are_there_column_by_column() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    let steps = format!("id, phase_execution_id, batch_member_id, {OF_A_STEP}");
    let inits = format!("id, batch_id, runbook_version, {OF_A_STEP}");
    let tables = [
        (
            "runbooks",
            "id, name, version, yaml_content, data_table_name, is_active, overdue_behavior, \
             ignore_overdue_applied, rerun_init, created_at, last_error, last_error_at",
        ),
        (
            "batches",
            "id, runbook_id, batch_start_time, status, detected_at, init_dispatched_at, is_manual, \
             created_by, current_phase",
        ),
        (
            "batch_members",
            "id, batch_id, member_key, data_json, worker_data_json, status, added_at, removed_at, \
             failed_at, add_dispatched_at, remove_dispatched_at",
        ),
        (
            "phase_executions",
            "id, batch_id, phase_name, offset_minutes, due_at, runbook_version, status, \
             dispatched_at, completed_at",
        ),
        ("step_executions", &steps),
        ("init_executions", &inits),
        (
            "runbook_automation_settings",
            "runbook_name, automation_enabled, enabled_at, enabled_by, disabled_at, disabled_by",
        ),
    ];
    for (table, columns) in tables {
        let found = place.query(&format!(
            "SELECT string_agg(attname, ', ' ORDER BY attnum) FROM pg_attribute
              WHERE attrelid = '{table}'::regclass AND attnum > 0"
        ));
        assert_eq!(found, [columns], "{table}");
    }
}

// A-213: ids are whole numbers, and times have their zone with them.
#[tokio::test]
async fn ids_are_numbers_and_times_are_moments() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    let odd = place.query(
        "SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
           FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
          WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'v'
            AND c.relname !~ '^dag_' AND c.relname <> 'batch_step'
            AND ((a.attname ~ '(^|_)id$' AND a.attname NOT IN ('worker_id', 'job_id')
                  AND a.atttypid <> 'bigint'::regtype)
              OR (a.attname ~ '(_at|_time|retry_after)$' AND a.atttypid <> 'timestamptz'::regtype))",
    );
    assert_eq!(odd, [""; 0]);
}

fn runbook() -> NewRunbook {
    NewRunbook {
        name: "move".to_owned(),
        source: "name: move".to_owned(),
        overdue: Overdue::Ignore,
        rerun_init: true,
        created_at: at(0),
        created_by: "ada".to_owned(),
    }
}

/// A batch with its preparation under way, one member at work, one who failed, and one who left.
async fn lived_in(world: &World) {
    let published = world.store.publish_runbook(runbook()).await.unwrap();
    let gone_wrong = Some("the source does not answer".to_owned());
    world.store.note_runbook(published.id, gone_wrong, at(7)).await.unwrap();
    let ada = "ada".to_owned();
    world.store.set_automation("move".to_owned(), true, ada, at(8)).await.unwrap();
    let mut write = detected(batch_header(3), &[5, 6, 7]);
    write.runs = vec![other_run(BatchId(3), None, BatchRole::Init, 90)];
    let batch = world.decides(write).await;

    let run = world.member_run(5).await;
    world.stores(opened(&run, "prepare")).await;
    let run = world.member_run(5).await;
    let run = world.moves(&run, &success(&run)).await;
    world.moves(&run, &report(&run, Outcome::Incomplete)).await;
    let run = world.member_run(6).await;
    world.stores(opened(&run, "prepare")).await;
    let run = world.member_run(6).await;
    world.moves(&run, &failure(&run)).await;
    let gone = decided_batch(&batch, &leave(1));
    world.decides(BatchWrite { removed: vec![leaving(7, "ada")], ..gone }).await;
}

// A-029, A-206, A-207, A-209, A-212
#[tokio::test]
async fn a_batch_is_read_as_the_seed_wrote_it() {
    let Some(place) = Place::fresh() else { return };
    let world = world(&place).await;
    lived_in(&world).await;
    let shown = |sql: &str| place.query(&format!("SET timezone = 'UTC'; {sql}")).join("\n");
    expect![[r#"
        1|move|1|name: move|runbook_move_v1|t|ignore|f|t|2025-03-15 00:00:00+00|the source does not answer|2025-03-15 00:00:07+00"#]]
    .assert_eq(&shown("TABLE runbooks"));
    expect![[r#"
        move|t|2025-03-15 00:00:08+00|ada||"#]]
    .assert_eq(&shown("TABLE runbook_automation_settings"));
    expect![[r#"
        3|1|2025-03-15 02:00:00+00|active|2025-03-15 00:00:00+00||f|scheduler|"#]]
    .assert_eq(&shown("TABLE batches"));
    expect![[r#"
        30|3|prepare|60|2025-03-15 01:00:00+00|1|pending||
        31|3|cutover|0|2025-03-15 02:00:00+00|1|pending||"#]]
    .assert_eq(&shown("SELECT * FROM phase_executions ORDER BY id"));
}

// A-049, A-208
#[tokio::test]
async fn a_member_is_read_with_its_data_and_what_became_of_it() {
    let Some(place) = Place::fresh() else { return };
    let world = world(&place).await;
    lived_in(&world).await;
    let members = place.query(
        "SET timezone = 'UTC';
         SELECT id, member_key, data_json, worker_data_json, status, added_at, removed_at,
                failed_at IS NOT NULL, remove_dispatched_at
           FROM batch_members WHERE batch_id = 3 ORDER BY id",
    );
    expect![[r#"
        5|member-5@contoso.example|{"name":"ada","ratio":0.1}|{"found":0.1}|active|2025-03-15 00:00:05+00||f|
        6|member-6@contoso.example|{"name":"ada","ratio":0.1}||failed|2025-03-15 00:00:05+00||t|
        7|member-7@contoso.example|{"name":"ada","ratio":0.1}||removed|2025-03-15 00:00:05+00|2025-03-15 00:00:50+00|f|"#]]
    .assert_eq(&members.join("\n"));
}

// A-053, A-062, A-079, A-210, A-211: words of the seed, and ids that its messages name.
#[tokio::test]
async fn a_step_is_read_with_its_phase_its_member_and_its_job() {
    let Some(place) = Place::fresh() else { return };
    let world = world(&place).await;
    lived_in(&world).await;
    let steps = place.query(
        "SELECT id, phase_execution_id, batch_member_id, step_name, step_index, worker_id, function_name,
                params_json, status, job_id, result_json, error_message, is_poll_step,
                poll_interval_sec, poll_timeout_sec, poll_started_at IS NOT NULL, poll_count, on_failure,
                retry_count, max_retries, retry_interval_sec
           FROM step_executions ORDER BY id",
    );
    expect![[r#"
        327680|30|5|invite|0|default|work|{"who":"ada"}|succeeded|step-327680-attempt-1|{"found":0.1,"note":"done"}||t|60|600|f|0|undo|0|2|30
        327681|30|5|copy|1|default|work|{"who":"ada"}|polling|step-327681-attempt-1|||t|60|600|t|0|undo|0|2|30
        393216|30|6|invite|0|default|work|{"who":"ada"}|failed|step-393216-attempt-1||there is no such user|t|60|600|f|0|undo|0|2|30
        393217|30|6|copy|1|default|work||cancelled||||t|60|600|f|0|undo|0|2|30
        393218|31|6|switch|0|default|work||cancelled||||t|60|600|f|0|undo|0|2|30"#]].assert_eq(&steps.join("\n"));
    let inits = place.query(
        "SELECT id, batch_id, runbook_version, step_name, step_index, worker_id, status, job_id
           FROM init_executions ORDER BY id",
    );
    expect!["5898240|3|1|first|0|default|dispatched|init-5898240-attempt-1"]
        .assert_eq(&inits.join("\n"));
}
