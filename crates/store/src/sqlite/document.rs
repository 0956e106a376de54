//! Workflows as they were published.

use rusqlite::{Connection, Params, Row, Transaction, params};

use super::columns::Columns;
use crate::error::StoreError;
use crate::model::{NewWorkflow, WorkflowDocument};

const WORKFLOW_NEWEST: &str = include_str!("../../sql/sqlite/workflow_newest.sql");
const WORKFLOW_VERSION: &str = include_str!("../../sql/sqlite/workflow_version.sql");
const WORKFLOW_BY_REQUEST_TYPE: &str =
    include_str!("../../sql/sqlite/workflow_by_request_type.sql");
const WORKFLOWS: &str = include_str!("../../sql/sqlite/workflows.sql");
const WORKFLOW_INSERT: &str = include_str!("../../sql/sqlite/workflow_insert.sql");

/// Stores a new version, unless the newest one has the same text.
pub(super) fn publish(
    tx: &Transaction<'_>,
    document: NewWorkflow,
) -> Result<WorkflowDocument, StoreError> {
    let newest = one(tx, WORKFLOW_NEWEST, [&document.name])?;
    let version = match newest {
        Some(newest) if newest.source == document.source => return Ok(newest),
        Some(newest) => newest.version + 1,
        None => 1,
    };
    tx.prepare_cached(WORKFLOW_INSERT)?.execute(params![
        document.name,
        version,
        document.request_type,
        document.source,
        document.created_at.as_millis(),
        document.created_by,
    ])?;
    Ok(document.with_version(version))
}

/// One version of a workflow, or the newest.
pub(super) fn find(
    db: &Connection,
    name: &str,
    version: Option<u32>,
) -> Result<Option<WorkflowDocument>, StoreError> {
    match version {
        Some(version) => one(db, WORKFLOW_VERSION, params![name, version]),
        None => one(db, WORKFLOW_NEWEST, [name]),
    }
}

/// The newest version of the workflow that last claimed a request type.
pub(super) fn find_protocol(
    db: &Connection,
    request_type: &str,
) -> Result<Option<WorkflowDocument>, StoreError> {
    one(db, WORKFLOW_BY_REQUEST_TYPE, [request_type])
}

/// The newest version of every workflow, by name.
pub(super) fn list(db: &Connection) -> Result<Vec<WorkflowDocument>, StoreError> {
    db.prepare_cached(WORKFLOWS)?.query_and_then([], read)?.collect()
}

fn one(
    db: &Connection,
    statement: &str,
    bound: impl Params,
) -> Result<Option<WorkflowDocument>, StoreError> {
    let mut statement = db.prepare_cached(statement)?;
    let mut found = statement.query(bound)?;
    found.next()?.map(read).transpose()
}

fn read(row: &Row<'_>) -> Result<WorkflowDocument, StoreError> {
    let mut columns = Columns::of(row);
    Ok(WorkflowDocument {
        name: columns.take()?,
        version: columns.count()?,
        request_type: columns.take()?,
        source: columns.take()?,
        created_at: columns.moment()?,
        created_by: columns.take()?,
    })
}
