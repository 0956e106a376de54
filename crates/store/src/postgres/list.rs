//! Lists of runs, newest first, each served by an index that already has that order.
//!
//! Several statuses are several short walks that are merged here, because one walk over all of them
//! would have to sort everything it finds. They are sent together, and see the same moment.

use std::cmp::Reverse;

use stepwell_core::definition::Part;
use stepwell_core::id::RunId;
use stepwell_core::run::{Dialect, RunStatus};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::columns::{Columns, Text, limit, millis, text};
use super::connection::Connection;
use super::load::{BEGIN_READ, read_parent};
use super::pipeline::begun;
use super::send::COMMIT;
use crate::error::StoreError;
use crate::model::{Filter, Page, RunSummary};
use crate::rows::credit_state;

const RUNS_BY_STATUS: &str = include_str!("../../sql/postgres/runs_by_status.sql");
const RUNS_NEWEST: &str = include_str!("../../sql/postgres/runs_newest.sql");
const COMPENSATIONS: &str = include_str!("../../sql/postgres/compensations.sql");

/// A page of runs, newest first.
pub(super) async fn runs(
    db: &mut Connection,
    filter: &Filter,
    page: Page,
) -> Result<Vec<RunSummary>, StoreError> {
    let question = Question::of(filter, page);
    db.prepare(&[BEGIN_READ, COMMIT]).await?;
    let db: &Connection = db;
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN_READ, vec![]);
    let walks: Vec<_> =
        statuses(filter).into_iter().map(|it| begun(question.walk(db, it))).collect();
    pipeline.send(COMMIT, vec![]);
    let mut found = Vec::new();
    for walk in walks {
        for row in db.waits_for(walk).await? {
            found.push(read_summary(&row)?);
        }
    }
    db.waits_for(pipeline.wait()).await?;
    found.sort_unstable_by_key(|run| Reverse(run.id));
    found.truncate(page.limit);
    Ok(found)
}

/// Runs that undo steps of a run, oldest first.
pub(super) async fn compensations(
    db: &mut Connection,
    run: RunId,
) -> Result<Vec<RunSummary>, StoreError> {
    db.query(COMPENSATIONS, &[&run.0]).await?.iter().map(read_summary).collect()
}

/// The walks that together find a page: one for each status where the index begins with more than the
/// id, else one for all.
fn statuses(filter: &Filter) -> Vec<Option<RunStatus>> {
    let one_walk = filter.statuses.is_empty()
        && (filter.correlation_id.is_some()
            || (filter.workflow.is_none() && filter.tenant.is_none()));
    if one_walk {
        return vec![None];
    }
    let wanted =
        |status: &RunStatus| filter.statuses.is_empty() || filter.statuses.contains(status);
    RunStatus::ALL.into_iter().filter(wanted).map(Some).collect()
}

/// What is asked, as it is bound.
struct Question<'a> {
    tenant: Option<Text<'a>>,
    workflow: Option<Text<'a>>,
    correlation_id: Option<Text<'a>>,
    dialect: Option<&'static str>,
    created_from: Option<i64>,
    created_until: Option<i64>,
    with_compensations: bool,
    before: Uuid,
    rows: i64,
}

impl<'a> Question<'a> {
    fn of(filter: &'a Filter, page: Page) -> Self {
        Self {
            tenant: filter.tenant.as_ref().map(|tenant| Text(tenant.as_str())),
            workflow: text(filter.workflow.as_ref()),
            correlation_id: text(filter.correlation_id.as_ref()),
            dialect: filter.dialect.map(Dialect::word),
            created_from: millis(filter.created_from),
            created_until: millis(filter.created_until),
            with_compensations: filter.with_compensations,
            // No id stands after this one, which no clock will ever give.
            before: page.before.map_or(Uuid::max(), |before| before.0),
            rows: limit(page.limit),
        }
    }

    /// One walk, planned for these very values: how many runs a tenant has, or failed, decides the
    /// index.
    async fn walk(
        &self,
        db: &Connection,
        status: Option<RunStatus>,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = if status.is_some() { RUNS_BY_STATUS } else { RUNS_NEWEST };
        let status = status.map(RunStatus::word);
        let bound: [(&(dyn ToSql + Sync), Type); 10] = [
            (&self.tenant, Type::TEXT),
            (&status, Type::TEXT),
            (&self.workflow, Type::TEXT),
            (&self.correlation_id, Type::TEXT),
            (&self.dialect, Type::TEXT),
            (&self.created_from, Type::INT8),
            (&self.created_until, Type::INT8),
            (&self.with_compensations, Type::BOOL),
            (&self.before, Type::UUID),
            (&self.rows, Type::INT8),
        ];
        db.client().query_typed(statement, &bound).await
    }
}

fn read_summary(row: &Row) -> Result<RunSummary, StoreError> {
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
