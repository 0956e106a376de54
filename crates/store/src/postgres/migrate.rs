//! Brings a schema to that of this release.
//!
//! Each migration is one transaction that also notes its number, so an interrupted one leaves nothing
//! behind and simply runs again. Whoever comes first does it, the others wait. Every migration only
//! adds, and may be run again; published ones are never edited.

use super::columns::Columns;
use super::connection::Connection;
use super::place::Place;
use crate::error::StoreError;

/// In order; the table `stepwell_migration` says how many a schema has seen.
const MIGRATIONS: [(&str, &str); 10] = [
    ("0001_runs_and_history", include_str!("../../migrations/postgres/0001_runs_and_history.sql")),
    ("0002_submissions", include_str!("../../migrations/postgres/0002_submissions.sql")),
    ("0003_seed_views", include_str!("../../migrations/postgres/0003_seed_views.sql")),
    ("0004_expanded_steps", include_str!("../../migrations/postgres/0004_expanded_steps.sql")),
    ("0005_batches", include_str!("../../migrations/postgres/0005_batches.sql")),
    ("0006_runbook_views", include_str!("../../migrations/postgres/0006_runbook_views.sql")),
    (
        "0007_credits_and_events",
        include_str!("../../migrations/postgres/0007_credits_and_events.sql"),
    ),
    (
        "0008_triggers_and_policies",
        include_str!("../../migrations/postgres/0008_triggers_and_policies.sql"),
    ),
    ("0009_carried_lines", include_str!("../../migrations/postgres/0009_carried_lines.sql")),
    (
        "0010_messages_without_runs",
        include_str!("../../migrations/postgres/0010_messages_without_runs.sql"),
    ),
];

/// What the statements need: `MERGE`, for one.
const SERVER_VERSION_MIN: i32 = 150_000;

/// Keeps two instances that start at once from migrating both.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtext('stepwell'), hashtext('migration'));";

const NOTES: &str = "CREATE TABLE IF NOT EXISTS stepwell_migration (
    number     integer     PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
";

/// Everything that brings an empty database to this release's schema, for review. It may be applied by
/// hand, more than once: the program then finds nothing left to do.
pub(super) fn ddl(schema: &str) -> String {
    let mut text =
        format!("CREATE SCHEMA IF NOT EXISTS {schema};\nSET search_path = {schema};\n\n{NOTES}\n");
    for (number, (name, migration)) in (1..).zip(MIGRATIONS) {
        text.push_str(&format!("BEGIN;\n{LOCK}\n{migration}\n{}\nCOMMIT;\n\n", note(number, name)));
    }
    text
}

fn note(number: i32, name: &str) -> String {
    format!(
        "INSERT INTO stepwell_migration (number, name) VALUES ({number}, '{name}') ON CONFLICT DO NOTHING;"
    )
}

/// Looks at the server, and runs the migrations that the schema has not seen; answers with their names.
///
/// # Errors
/// `Refused` if the server is too old, a newer release or another program made the schema, or
/// migrations are missing and not wanted.
pub(super) async fn migrate(
    db: &mut Connection,
    place: &Place,
    wanted: bool,
) -> Result<Vec<String>, StoreError> {
    check_server(db, place).await?;
    let known = i32::try_from(MIGRATIONS.len()).expect("there are few migrations");
    let seen = seen(db, place).await?;
    let refused = |reason: String| Err(StoreError::Refused { reason });
    if seen > known {
        return refused(format!(
            "schema {} at {} was made by a newer release (schema {seen}, this release knows up to \
             {known}); run that release, or restore a backup made before the upgrade",
            place.schema,
            place.shown()
        ));
    }
    if seen < known && !wanted {
        return refused(format!(
            "schema {} at {} is at {seen}, this release needs {known}; apply the DDL that this \
             release prints, or let it migrate",
            place.schema,
            place.shown()
        ));
    }
    let mut applied = Vec::new();
    if seen < known {
        db.at_leisure().await?;
    }
    for (number, (name, migration)) in (1..).zip(MIGRATIONS) {
        if number > seen && run(db, place, number, name, migration).await? {
            applied.push(name.to_owned());
        }
    }
    Ok(applied)
}

/// What we need of the server, and what a person should know about it.
async fn check_server(db: &mut Connection, place: &Place) -> Result<(), StoreError> {
    let rows = db
        .query(
            "SELECT current_setting('server_version_num')::integer,
                    current_setting('server_encoding'), current_setting('fsync')",
            &[],
        )
        .await?;
    let Some(row) = rows.first() else { return Err(StoreError::broken("no settings")) };
    let mut columns = Columns::of(row);
    let (version, encoding, fsync): (i32, &str, &str) =
        (columns.take()?, columns.take()?, columns.take()?);
    let shown = place.shown();
    if version < SERVER_VERSION_MIN {
        let reason = format!(
            "PostgreSQL at {shown} is of version {}; 15 or later is needed",
            version / 10_000
        );
        return Err(StoreError::Refused { reason });
    }
    if encoding != "UTF8" {
        let reason = format!(
            "the database at {shown} is encoded as {encoding}; create one with ENCODING 'UTF8'"
        );
        return Err(StoreError::Refused { reason });
    }
    if fsync != "on" {
        tracing::warn!(
            at = shown,
            "fsync_is_off: a power cut may lose or damage what was accepted"
        );
    }
    Ok(())
}

/// How many migrations the schema has seen. Refuses one that other tables stand in, rather than mixing
/// ours with them.
async fn seen(db: &mut Connection, place: &Place) -> Result<i32, StoreError> {
    let schema = place.schema.as_str();
    let rows = db
        .query(
            "SELECT to_regclass(quote_ident($1) || '.stepwell_migration') IS NOT NULL,
                    (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1))",
            &[&schema],
        )
        .await?;
    let Some(row) = rows.first() else { return Err(StoreError::broken("no schema")) };
    let mut columns = Columns::of(row);
    let (ours, relations): (bool, i64) = (columns.take()?, columns.take()?);
    if ours {
        let rows = db.query("SELECT coalesce(max(number), 0) FROM stepwell_migration", &[]).await?;
        return rows.first().map_or(Ok(0), |row| Columns::of(row).take());
    }
    if relations > 0 {
        let reason = format!(
            "schema {schema} at {} holds tables of another program; name another one with ?schema=",
            place.shown()
        );
        return Err(StoreError::Refused { reason });
    }
    Ok(0)
}

/// Runs one migration, unless somebody else has meanwhile; says whether it did.
async fn run(
    db: &mut Connection,
    place: &Place,
    number: i32,
    name: &str,
    migration: &str,
) -> Result<bool, StoreError> {
    let schema = &place.schema;
    // The right to create a schema is asked for before it is looked whether there is one.
    let create = format!(
        "BEGIN; {LOCK}
         DO $$ BEGIN
             IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA {schema}; END IF;
         END $$;
         {NOTES}"
    );
    db.batch(&create).await?;
    let rows =
        db.query("SELECT count(*) FROM stepwell_migration WHERE number = $1", &[&number]).await?;
    let done: i64 = rows.first().map_or(Ok(0), |row| Columns::of(row).take())?;
    if done == 0 {
        db.batch(migration).await?;
        db.batch(&note(number, name)).await?;
    }
    db.batch("COMMIT").await?;
    Ok(done == 0)
}
