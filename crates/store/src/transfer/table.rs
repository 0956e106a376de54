//! What is moved: every table with its columns. A test holds this list against both schemas.

/// A table that both databases have.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// the order in which rows are read, so that what belongs together comes together
    pub(crate) order: &'static str,
    pub(crate) columns: &'static [Column],
    /// has ids that are counted, and must go on where they were
    pub(crate) counted: bool,
}

/// A column of the target.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) origin: Origin,
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// the column of the same name
    Same,
    /// nowhere: the source knows no owners, and nobody owns what has just been moved
    Nobody,
    /// the name of a step, which SQLite does not keep
    StepName,
}

/// A value on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

const fn same(name: &'static str) -> Column {
    Column { name, origin: Origin::Same }
}

const fn nobody(name: &'static str) -> Column {
    Column { name, origin: Origin::Nobody }
}

const RUN: &[Column] = &[
    same("id"),
    nobody("owner"),
    same("tenant"),
    same("dialect"),
    same("workflow"),
    same("workflow_version"),
    same("compensation"),
    same("parent_run"),
    same("parent_step"),
    same("correlation_id"),
    same("created_at"),
    same("step_count"),
    same("version"),
    same("status"),
    same("attempt"),
    same("paused"),
    same("cancel"),
    same("gates_open"),
    same("outputs"),
    same("current_step"),
    same("error_code"),
    same("error_message"),
    same("retry_at"),
    same("wake_at"),
    same("updated_at"),
    same("started_at"),
    same("ended_at"),
    same("expires_at"),
    same("credits_reserved"),
    same("credits_spent"),
];

const RUN_HEADER: &[Column] = &[
    same("run_id"),
    same("resumes"),
    same("input"),
    same("special"),
    same("context"),
    same("lane"),
    same("routing_key"),
    same("priority"),
    same("traceparent"),
    same("actor"),
    same("idempotency_hash"),
    same("batch"),
    same("member"),
    same("role"),
    same("number"),
    same("terms"),
];

const STEP: &[Column] = &[
    same("run_id"),
    same("position"),
    nobody("owner"),
    Column { name: "node", origin: Origin::StepName },
    same("status"),
    same("attempt"),
    same("tries"),
    same("lease_id"),
    same("lease_stage"),
    same("lease_expires_at"),
    same("pool"),
    same("rank"),
    same("lane"),
    same("poll_count"),
    same("kind"),
    same("params"),
    same("result"),
    same("detail"),
    same("error_code"),
    same("error_message"),
    same("wake_at"),
    same("dispatched_at"),
    same("ended_at"),
];

const HISTORY: &[Column] = &[same("run_id"), same("version"), same("at"), same("entries")];

const IDEMPOTENCY: &[Column] =
    &[same("tenant"), same("hash"), same("run_id"), same("request_hash"), same("created_at")];

const TENANT_LOAD: &[Column] =
    &[same("tenant"), nobody("epoch"), nobody("slot"), same("open"), same("compensations")];

const STALE_REPORT: &[Column] = &[
    same("run_id"),
    same("step"),
    same("kind"),
    same("attempt"),
    same("lease"),
    same("reason"),
    same("at"),
];

const DEAD_LETTER: &[Column] = &[
    same("id"),
    same("run_id"),
    same("message"),
    same("tenant"),
    same("dialect"),
    same("workflow"),
    same("reason"),
    same("step"),
    same("error_code"),
    same("error_message"),
    same("first_error_code"),
    same("first_error_message"),
    same("at"),
    same("settled"),
    same("settlement"),
];

const OUTBOX: &[Column] = &[
    same("id"),
    same("run_id"),
    same("tenant"),
    same("dialect"),
    same("tries"),
    same("kind"),
    same("destination"),
    same("body"),
    same("due_at"),
];

const SUBMISSION: &[Column] = &[
    same("id"),
    same("queue"),
    same("message_id"),
    same("workflow"),
    same("priority"),
    same("body"),
    same("enqueued_at"),
    same("expires_at"),
    same("place"),
    same("deliveries"),
    same("locked_until"),
];

const WORKFLOW: &[Column] = &[
    same("id"),
    same("name"),
    same("version"),
    same("request_type"),
    same("source"),
    same("created_at"),
    same("created_by"),
];

const TOKEN: &[Column] = &[
    same("id"),
    same("secret_hash"),
    same("name"),
    same("role"),
    same("tenant"),
    same("created_at"),
    same("expires_at"),
    same("revoked_at"),
];

const SECRET: &[Column] = &[same("name"), same("value")];

const STUB: &[Column] = &[
    same("run_id"),
    same("tenant"),
    same("workflow"),
    same("status"),
    same("ended_at"),
    same("deleted_at"),
    same("lasting"),
];

const RUNBOOK: &[Column] = &[
    same("id"),
    same("name"),
    same("version"),
    same("source"),
    same("is_active"),
    same("overdue"),
    same("overdue_applied"),
    same("rerun_init"),
    same("created_at"),
    same("created_by"),
    same("last_error"),
    same("last_error_at"),
];

const AUTOMATION: &[Column] = &[
    same("runbook"),
    same("enabled"),
    same("enabled_at"),
    same("enabled_by"),
    same("disabled_at"),
    same("disabled_by"),
];

const BATCH: &[Column] = &[
    same("id"),
    same("tenant"),
    same("runbook"),
    same("mode"),
    same("slot"),
    same("actor"),
    same("created_at"),
    same("version"),
    same("status"),
    same("paused"),
    same("runbook_version"),
    same("start"),
    same("advanced_at"),
    same("init"),
    same("init_dispatched_at"),
    same("sweeps"),
    same("current_phase"),
    same("updated_at"),
    same("ended_at"),
    same("wake_at"),
    same("settled"),
    same("joined"),
    same("removed"),
    same("open"),
    same("succeeded"),
    same("failed"),
    same("cancelled"),
];

const BATCH_PHASE: &[Column] = &[
    same("id"),
    same("batch"),
    same("name"),
    same("version"),
    same("gate"),
    same("offset_minutes"),
    same("steps"),
    same("due_at"),
    same("status"),
    same("dispatched_at"),
    same("completed_at"),
    same("open"),
    same("succeeded"),
    same("failed"),
    same("cancelled"),
    same("skipped"),
    same("steps_ended"),
];

const BATCH_MEMBER: &[Column] = &[
    same("id"),
    same("batch"),
    same("key"),
    same("data_hash"),
    same("run_id"),
    same("added_at"),
    same("removed_at"),
    same("removed_by"),
    same("removal_dispatched_at"),
];

const BATCH_RUN: &[Column] =
    &[same("number"), same("run_id"), same("batch"), same("member"), same("role")];

const BATCH_HISTORY: &[Column] =
    &[same("id"), same("batch"), same("version"), same("at"), same("entries")];

const STEP_SPEC: &[Column] = &[
    same("workflow"),
    same("workflow_version"),
    same("position"),
    same("step"),
    same("gate"),
    same("gate_position"),
    same("kind"),
    same("pool"),
    same("on_failure"),
    same("poll_interval_s"),
    same("poll_timeout_s"),
    same("retries_max"),
    same("retry_interval_s"),
];

const SEQUENCE_NUMBER: &[Column] = &[same("name"), same("next")];

const SEEN_KEY: &[Column] = &[same("runbook"), same("key")];

const TRIGGER: &[Column] = &[
    same("tenant"),
    same("name"),
    same("kind"),
    same("workflow"),
    same("document"),
    same("enabled"),
    same("version"),
    same("next_at"),
    same("fired_until"),
    same("last_error"),
    same("actor"),
    same("created_at"),
    same("updated_at"),
];

const FIRING: &[Column] = &[
    same("tenant"),
    same("trigger"),
    same("key"),
    same("scheduled_for"),
    same("at"),
    same("run_id"),
    same("outcome"),
    same("reason"),
];

const TENANT_POLICY: &[Column] = &[same("tenant"), same("policy")];

const CREDIT_ACCOUNT: &[Column] =
    &[same("tenant"), same("balance"), same("reserved"), same("spent")];

const CREDIT_MOVEMENT: &[Column] = &[
    same("id"),
    same("tenant"),
    same("run_id"),
    same("kind"),
    same("balance"),
    same("reserved"),
    same("spent"),
    same("balance_after"),
    same("reserved_after"),
    same("spent_after"),
    same("actor"),
    same("reason"),
    same("key"),
    same("at"),
];

const EVENT: &[Column] = &[
    same("id"),
    same("tenant"),
    same("dialect"),
    same("run_id"),
    same("kind"),
    same("body"),
    same("at"),
];

const SUBSCRIPTION: &[Column] = &[
    same("id"),
    same("tenant"),
    same("dialects"),
    same("kinds"),
    same("url"),
    same("description"),
    same("enabled"),
    same("actor"),
    same("created_at"),
];

const fn table(name: &'static str, order: &'static str, columns: &'static [Column]) -> Table {
    Table { name, order, columns, counted: false }
}

const fn counted(name: &'static str, columns: &'static [Column]) -> Table {
    Table { name, order: "id", columns, counted: true }
}

/// The table over which a hash is compared in the end.
pub(crate) const HISTORY_TABLE: &str = "history";

/// Every table, in the order in which they are moved.
pub(crate) const TABLES: [Table; 31] = [
    counted("workflow", WORKFLOW),
    table("token", "id", TOKEN),
    table("secret", "name", SECRET),
    table("stub", "run_id", STUB),
    table("run", "id", RUN),
    table("run_header", "run_id", RUN_HEADER),
    table("step", "run_id, position", STEP),
    table(HISTORY_TABLE, "run_id, version", HISTORY),
    table("idempotency", "tenant, hash", IDEMPOTENCY),
    table("tenant_load", "tenant", TENANT_LOAD),
    table("stale_report", "run_id, number", STALE_REPORT),
    counted("dead_letter", DEAD_LETTER),
    counted("outbox", OUTBOX),
    counted("submission", SUBMISSION),
    counted("runbook", RUNBOOK),
    table("automation", "runbook", AUTOMATION),
    table("batch", "id", BATCH),
    table("batch_phase", "id", BATCH_PHASE),
    table("batch_member", "id", BATCH_MEMBER),
    table("batch_run", "number", BATCH_RUN),
    counted("batch_history", BATCH_HISTORY),
    table("step_spec", "workflow, workflow_version, position", STEP_SPEC),
    table("sequence_number", "name", SEQUENCE_NUMBER),
    table("seen_key", "runbook, key", SEEN_KEY),
    table("credit_account", "tenant", CREDIT_ACCOUNT),
    counted("credit_movement", CREDIT_MOVEMENT),
    counted("event", EVENT),
    table("subscription", "id", SUBSCRIPTION),
    table("trigger", "tenant, name", TRIGGER),
    table("firing", "tenant, trigger, key", FIRING),
    table("tenant_policy", "tenant", TENANT_POLICY),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stepwell_testing::postgres;

    use super::*;
    use crate::Store;
    use crate::postgres::{Options, PostgresStore};
    use crate::sqlite::SqliteStore;

    /// What only one of the two has, or fills by itself.
    const LEFT_OUT: [&str; 13] = [
        "input.*",
        "instance.*",
        // Whoever held one has stopped.
        "lease.*",
        "meta.*",
        "outbox.kept_until",
        "run.owner",
        "sqlite_sequence.*",
        "stale_report.id",
        "stale_report.number",
        "step.node",
        "step.owner",
        "stepwell_migration.*",
        "tenant_load.*",
    ];

    fn is_left_out(column: &str) -> bool {
        let table = column.split('.').next().unwrap_or_default();
        LEFT_OUT.contains(&column) || LEFT_OUT.contains(&format!("{table}.*").as_str())
    }

    /// Holds the columns of a database against those that are moved.
    #[track_caller]
    fn check(columns: impl IntoIterator<Item = String>) {
        let found: BTreeSet<String> = columns.into_iter().filter(|it| !is_left_out(it)).collect();
        let moved = TABLES.iter().flat_map(|table| {
            table.columns.iter().map(move |column| format!("{}.{}", table.name, column.name))
        });
        let moved: BTreeSet<String> = moved.filter(|it| !is_left_out(it)).collect();
        assert_eq!(found, moved, "a column that is not moved is lost; name it in TABLES");
    }

    #[test]
    fn every_column_of_sqlite_is_moved() {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        let path = folder.path().join("store.db");
        drop(SqliteStore::open(&path, crate::sqlite::Options::default()).expect("it is made"));
        let db = rusqlite::Connection::open(&path).expect("it is there");
        let sql = "SELECT tables.name || '.' || columns.name
                     FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                    WHERE tables.type = 'table'";
        let mut statement = db.prepare(sql).expect("it is right");
        let columns = statement.query_map([], |row| row.get(0)).expect("it is read");
        check(columns.map(|column| column.expect("a text")));
    }

    #[tokio::test]
    async fn every_column_of_postgres_is_filled() {
        let Ok(server) = postgres::server() else { return };
        let url = server.database("columns");
        let store = PostgresStore::open(&url, Options::default()).await.expect("it is made");
        store.close().await.expect("it closes");
        let sql = "select t.table_name || '.' || c.column_name
                     from information_schema.tables t
                     join information_schema.columns c using (table_schema, table_name)
                    where t.table_schema = 'stepwell' and t.table_type = 'BASE TABLE'";
        check(server.query(&url, sql));
    }
}
