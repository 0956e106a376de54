//! The schema as it is after all migrations, how it comes about, and that it repeats the kernel's
//! invariants.

use std::path::Path;

use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_store::{Store, StoreError};

use crate::golden::golden;
use crate::postgres::Place;

/// Everything that stands in a schema, as text that names no schema.
fn dump(place: &Place) -> String {
    let schema = &place.schema;
    let lines = place.query(&format!(
        "SELECT line FROM (
             SELECT 1 AS part, c.relname || '.' || lpad(a.attnum::text, 2, '0') AS place,
                    c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
                    || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
                    || CASE WHEN a.attidentity <> '' THEN ' identity' ELSE '' END
                    || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
               FROM pg_class c
               JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
               LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
              WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'v')
             UNION ALL
             SELECT 2, c.relname || k.conname,
                    c.relname || ' ' || pg_get_constraintdef(k.oid)
               FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
              WHERE c.relnamespace = '{schema}'::regnamespace
             UNION ALL
             SELECT 3, indexname, indexdef FROM pg_indexes WHERE schemaname = '{schema}'
             UNION ALL
             SELECT 4, proname, pg_get_functiondef(oid) FROM pg_proc
              WHERE pronamespace = '{schema}'::regnamespace
             UNION ALL
             SELECT 5, viewname, viewname || ':' || chr(10) || definition
               FROM pg_views WHERE schemaname = '{schema}') AS lines
          ORDER BY part, place COLLATE \"C\", line COLLATE \"C\""
    ));
    lines.join("\n").replace(&format!("{schema}."), "").replace("CREATE", "\nCREATE") + "\n"
}

/// How many migrations this release has.
fn migrations() -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
    std::fs::read_dir(folder).unwrap().count()
}

fn applied_at(place: &Place) -> Vec<String> {
    place.query("SELECT number, applied_at FROM stepwell_migration ORDER BY number")
}

// one relational store, and this is all of it.
#[tokio::test]
async fn the_schema_is_the_one_that_was_reviewed() {
    let Some(place) = Place::fresh() else { return };
    let store = place.open().await;
    assert_eq!(store.migrated().len(), migrations());
    golden("postgres_schema.txt").assert_eq(&dump(&place));
}

// B-001, B-026, B-028: the text for review makes the same schema as the program, and may be applied
// again.
#[tokio::test]
async fn the_ddl_for_review_is_what_the_program_applies() {
    let (Some(by_hand), Some(by_program)) = (Place::fresh(), Place::fresh()) else { return };
    let program = by_program.open().await;
    let ddl = program.ddl().replace(&by_program.schema, &by_hand.schema);
    let nothing_yet =
        format!("SELECT count(*) FROM pg_namespace WHERE nspname = '{}'", by_hand.schema);
    assert_eq!(by_hand.query(&nothing_yet), ["0"], "looking at it applies nothing");
    by_hand.query(&ddl);
    by_hand.query("INSERT INTO secret (name, value) VALUES ('kept', '\\x01')");
    let applied = applied_at(&by_hand);
    by_hand.query(&ddl);
    assert_eq!(dump(&by_hand), dump(&by_program));
    assert_eq!(applied_at(&by_hand), applied, "the second time nothing was done");

    let store = by_hand.open().await;
    assert_eq!(store.migrated(), [""; 0], "the program finds nothing left to do");
    assert_eq!(store.secret("kept".to_owned(), vec![2]).await.unwrap(), [1]);
}

// B-027, B-028: applied once, existing rows survive, again is a no-op.
#[tokio::test]
async fn a_migration_runs_once_however_many_start() {
    let Some(place) = Place::fresh() else { return };
    let mut starts = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let url = place.url.clone();
        starts.spawn(async move { PostgresStore::open(&url, Options::default()).await.unwrap() });
    }
    let stores = starts.join_all().await;
    let migrated: usize = stores.iter().map(|store| store.migrated().len()).sum();
    assert_eq!(migrated, migrations(), "whoever was first did each");
    assert_eq!(stores[0].migrate().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_schema_that_is_behind_is_left_alone_where_that_is_wanted() {
    let Some(place) = Place::fresh() else { return };
    let options = Options { migrate: false, ..Options::default() };
    let reason = refusal(PostgresStore::open(&place.url, options.clone()).await);
    let needs = format!("is at 0, this release needs {}", migrations());
    assert!(reason.contains(&needs), "{reason}");
    assert!(reason.contains("apply the DDL"), "{reason}");
    place.open().await;
    PostgresStore::open(&place.url, options).await.unwrap();
}

#[tokio::test]
async fn a_schema_of_a_newer_release_is_refused() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    place.query("INSERT INTO stepwell_migration (number, name) VALUES (99, 'later')");
    let reason = refusal(PostgresStore::open(&place.url, Options::default()).await);
    assert!(reason.contains("made by a newer release (schema 99"), "{reason}");
    assert!(reason.contains("run that release"), "{reason}");
}

#[tokio::test]
async fn tables_of_another_program_are_left_alone() {
    let Some(place) = Place::fresh() else { return };
    place.query(&format!("CREATE SCHEMA {0}; CREATE TABLE {0}.run (id integer)", place.schema));
    let reason = refusal(PostgresStore::open(&place.url, Options::default()).await);
    assert!(reason.contains("holds tables of another program"), "{reason}");
    let tables = format!(
        "SELECT relname FROM pg_class WHERE relnamespace = '{}'::regnamespace",
        place.schema
    );
    assert_eq!(place.query(&tables), ["run"]);
}

// a run has one kernel id of sixteen bytes, and no two runs share it.
#[tokio::test]
async fn a_row_that_breaks_an_invariant_is_refused_by_the_schema_too() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    // Each is tried inside of one statement, which says which of them the schema let pass.
    let passed = |table: &str, base: &str, tries: &[(&str, &str)]| -> Vec<String> {
        let (columns, values) = base.split_once(" = ").unwrap();
        let tries = tries.iter().map(|(more, with)| {
            format!(
                "BEGIN INSERT INTO {table} ({columns}, {more}) VALUES ({values}, {with});
                 passed := passed || '{}'::text; EXCEPTION WHEN OTHERS THEN NULL; END;",
                format!("{more}={with}").replace('\'', "")
            )
        });
        let block = format!(
            "CREATE TEMP TABLE seen (it text);
             DO $do$ DECLARE passed text[] := '{{}}'; BEGIN {}
                 INSERT INTO seen SELECT unnest(passed); END $do$;
             SELECT it FROM seen",
            tries.collect::<String>()
        );
        place.query(&block)
    };
    let run = "id, owner, tenant, dialect, workflow, workflow_version, created_at, step_count, version, \
               attempt, paused, updated_at = gen_random_uuid(), 0, 'acme', 'commands', 'onboard', 1, 0, \
               1, 1, 1, FALSE, 0";
    let runs = [
        ("status", "'running'"),
        ("status, ended_at", "'succeeded', 5"),
        ("status", "'succeeded'"),
        ("status, ended_at", "'running', 5"),
        ("status, ended_at, wake_at", "'failed', 5, 6"),
        ("status, expires_at", "'running', 9"),
        ("status", "'retry_wait'"),
        ("status", "'odd'"),
        ("status, error_code", "'running', 'x'"),
        ("status, wake_at", "'running', 'soon'"),
    ];
    assert_eq!(passed("run", run, &runs), ["status=running", "status, ended_at=succeeded, 5"]);

    let step = "run_id, owner, position, attempt, tries = gen_random_uuid(), 0, 0, 1, 1";
    let leased = "status, lease_id, lease_expires_at, lease_stage";
    let steps = [
        ("status", "'waiting'"),
        (leased, "'acked', gen_random_uuid(), 5, 'acked'"),
        (leased, "'retry_wait', gen_random_uuid(), 5, 'acked'"),
        (leased, "'dispatched', gen_random_uuid(), 5, 'recorded'"),
        (leased, "'acked', gen_random_uuid(), 5, 'odd'"),
        ("status", "'dispatched'"),
        ("status", "'succeeded'"),
        ("status, ended_at", "'waiting', 5"),
    ];
    let sound =
        ["status=waiting".to_owned(), format!("{leased}=acked, gen_random_uuid(), 5, acked")];
    assert_eq!(passed("step", step, &steps), sound);
}

#[track_caller]
fn refusal(opened: Result<PostgresStore, StoreError>) -> String {
    match opened {
        Err(StoreError::Refused { reason }) => reason,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

// B-024: what the seed's tools look for by status, workflow, creation, owner and sign of life is found by
// an index. Creation is the order of the ids; signs of life are one row an instance, not one a job.
#[tokio::test]
async fn what_the_seed_indexes_is_indexed() {
    let Some(place) = Place::fresh() else { return };
    place.open().await;
    let indexes = place.query(&format!(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = '{}' AND tablename = 'run'",
        place.schema
    ));
    for columns in ["(status, ", "(workflow, ", "(id)", "(owner, "] {
        assert!(indexes.iter().any(|index| index.contains(columns)), "{columns}: {indexes:#?}");
    }
}
