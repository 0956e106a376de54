//! Lists of runs, newest first, each served by an index that already has that order.
//!
//! A page is found in two steps: first ids, then the rows of those on the page. Several statuses are
//! several short walks that are merged here, because one walk over all of them would have to sort
//! everything it finds.

use rusqlite::{Connection, Row, params};
use stepwell_core::definition::Part;
use stepwell_core::id::RunId;
use stepwell_core::run::{Dialect, RunStatus};

use super::columns::{Columns, key, limit, millis};
use super::load::read_parent;
use crate::error::StoreError;
use crate::model::{Filter, Page, RunSummary};
use crate::rows::credit_state;

const RUNS_BY_CORRELATION: &str = include_str!("../../sql/sqlite/runs_by_correlation.sql");
const RUNS_BY_WORKFLOW: &str = include_str!("../../sql/sqlite/runs_by_workflow.sql");
const RUNS_BY_TENANT: &str = include_str!("../../sql/sqlite/runs_by_tenant.sql");
const RUNS_BY_STATUS: &str = include_str!("../../sql/sqlite/runs_by_status.sql");
const RUNS_NEWEST: &str = include_str!("../../sql/sqlite/runs_newest.sql");
const RUN_SUMMARY: &str = include_str!("../../sql/sqlite/run_summary.sql");
const COMPENSATIONS: &str = include_str!("../../sql/sqlite/compensations.sql");

/// Stands after every id, which has one byte less.
const AFTER_ALL: [u8; 17] = [0xFF; 17];

/// A page of runs, newest first.
pub(super) fn runs(
    db: &Connection,
    filter: &Filter,
    page: Page,
) -> Result<Vec<RunSummary>, StoreError> {
    let tx = db.unchecked_transaction()?;
    let mut ids = Vec::new();
    for (statement, status) in walks(filter) {
        ids.extend(walk(&tx, statement, status, filter, page)?);
    }
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids.truncate(page.limit);
    summaries(&tx, &ids)
}

/// Runs that undo steps of a run, oldest first.
pub(super) fn compensations(db: &Connection, run: RunId) -> Result<Vec<RunSummary>, StoreError> {
    let tx = db.unchecked_transaction()?;
    let ids: Vec<RunId> = tx
        .prepare_cached(COMPENSATIONS)?
        .query_and_then([key(&run)], |row| Columns::of(row).run_id())?
        .collect::<Result<_, StoreError>>()?;
    summaries(&tx, &ids)
}

/// The statements that together find a page: one for each status where the index begins with more
/// than the id.
fn walks(filter: &Filter) -> Vec<(&'static str, Option<RunStatus>)> {
    let statement = match filter {
        Filter { correlation_id: Some(_), statuses, .. } if statuses.is_empty() => {
            return vec![(RUNS_BY_CORRELATION, None)];
        }
        Filter { correlation_id: Some(_), .. } => RUNS_BY_CORRELATION,
        Filter { workflow: Some(_), .. } => RUNS_BY_WORKFLOW,
        Filter { tenant: Some(_), .. } => RUNS_BY_TENANT,
        Filter { statuses, .. } if !statuses.is_empty() => RUNS_BY_STATUS,
        Filter { .. } => return vec![(RUNS_NEWEST, None)],
    };
    let wanted =
        |status: &RunStatus| filter.statuses.is_empty() || filter.statuses.contains(status);
    RunStatus::ALL.into_iter().filter(wanted).map(|status| (statement, Some(status))).collect()
}

fn walk(
    db: &Connection,
    statement: &str,
    status: Option<RunStatus>,
    filter: &Filter,
    page: Page,
) -> Result<Vec<RunId>, StoreError> {
    let before: &[u8] = page.before.as_ref().map_or(&AFTER_ALL, key);
    let mut statement = db.prepare_cached(statement)?;
    let found = statement.query_and_then(
        params![
            filter.tenant.as_ref().map(|tenant| tenant.as_str()),
            status.map(RunStatus::word),
            filter.workflow,
            filter.correlation_id,
            filter.dialect.map(Dialect::word),
            millis(filter.created_from),
            millis(filter.created_until),
            filter.with_compensations,
            before,
            limit(page.limit),
        ],
        |row| Columns::of(row).run_id(),
    )?;
    found.collect()
}

fn summaries(db: &Connection, ids: &[RunId]) -> Result<Vec<RunSummary>, StoreError> {
    let mut statement = db.prepare_cached(RUN_SUMMARY)?;
    ids.iter()
        .map(|id| {
            let mut found = statement.query([key(id)])?;
            let row = found.next()?.ok_or_else(|| {
                StoreError::broken(format!("run {id} is in an index but not in its table"))
            })?;
            read_summary(row)
        })
        .collect()
}

fn read_summary(row: &Row<'_>) -> Result<RunSummary, StoreError> {
    let mut columns = Columns::of(row);
    Ok(RunSummary {
        id: columns.run_id()?,
        tenant: columns.tenant()?,
        dialect: columns.word(Dialect::of_word)?,
        workflow: columns.take()?,
        workflow_version: columns.count()?,
        part: columns.take::<Option<String>>()?.map_or(Part::Main, Part::Compensation),
        parent: read_parent(&mut columns)?,
        version: columns.count()?,
        status: columns.word(RunStatus::of_word)?,
        paused: columns.take()?,
        attempt: columns.count()?,
        current_step: columns.take()?,
        correlation_id: columns.take()?,
        error: columns.error_if_any()?,
        created_at: columns.moment()?,
        updated_at: columns.moment()?,
        started_at: columns.moment_if_any()?,
        ended_at: columns.moment_if_any()?,
        credits: credit_state(columns.take()?, columns.take()?),
    })
}
