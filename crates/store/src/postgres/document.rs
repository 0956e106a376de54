//! Workflows as they were published.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{Columns, Text, small, text};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{NewWorkflow, WorkflowDocument};

const WORKFLOW_LOCK: &str = include_str!("../../sql/postgres/workflow_lock.sql");
const WORKFLOW_NEWEST: &str = include_str!("../../sql/postgres/workflow_newest.sql");
const WORKFLOW_VERSION: &str = include_str!("../../sql/postgres/workflow_version.sql");
const WORKFLOW_BY_REQUEST_TYPE: &str =
    include_str!("../../sql/postgres/workflow_by_request_type.sql");
const WORKFLOWS: &str = include_str!("../../sql/postgres/workflows.sql");
const WORKFLOW_INSERT: &str = include_str!("../../sql/postgres/workflow_insert.sql");

/// Stores a new version, unless the newest one has the same text.
pub(super) async fn publish(
    db: &mut Connection,
    document: NewWorkflow,
) -> Result<WorkflowDocument, StoreError> {
    let name = Text(&document.name);
    db.batch(BEGIN).await?;
    db.query(WORKFLOW_LOCK, &[&name]).await?;
    let newest = one(db, WORKFLOW_NEWEST, &[&name]).await?;
    let version = match newest {
        Some(newest) if newest.source == document.source => {
            db.batch(COMMIT).await?;
            return Ok(newest);
        }
        Some(newest) => newest.version + 1,
        None => 1,
    };
    db.execute(
        WORKFLOW_INSERT,
        &[
            &name,
            &small(version),
            &text(document.request_type.as_ref()),
            &Text(&document.source),
            &document.created_at.as_millis(),
            &Text(&document.created_by),
        ],
    )
    .await?;
    db.batch(COMMIT).await?;
    Ok(document.with_version(version))
}

/// One version of a workflow, or the newest.
pub(super) async fn find(
    db: &mut Connection,
    name: &str,
    version: Option<u32>,
) -> Result<Option<WorkflowDocument>, StoreError> {
    match version {
        Some(version) => one(db, WORKFLOW_VERSION, &[&Text(name), &small(version)]).await,
        None => one(db, WORKFLOW_NEWEST, &[&Text(name)]).await,
    }
}

/// The newest version of the workflow that last claimed a request type.
pub(super) async fn find_protocol(
    db: &mut Connection,
    request_type: &str,
) -> Result<Option<WorkflowDocument>, StoreError> {
    one(db, WORKFLOW_BY_REQUEST_TYPE, &[&Text(request_type)]).await
}

/// The newest version of every workflow, by name.
pub(super) async fn list(db: &mut Connection) -> Result<Vec<WorkflowDocument>, StoreError> {
    db.query(WORKFLOWS, &[]).await?.iter().map(read).collect()
}

async fn one(
    db: &mut Connection,
    statement: &'static str,
    bound: &[&(dyn ToSql + Sync)],
) -> Result<Option<WorkflowDocument>, StoreError> {
    db.query(statement, bound).await?.first().map(read).transpose()
}

fn read(row: &Row) -> Result<WorkflowDocument, StoreError> {
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
