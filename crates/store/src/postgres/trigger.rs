//! Triggers and their firings.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;
use tokio_postgres::Row;

use super::columns::{Columns, Text, column, limit, millis, small, text as bound};
use super::connection::Connection;
use super::send::{BEGIN, COMMIT};
use crate::error::StoreError;
use crate::model::{Firing, FiringOutcome, Trigger, TriggerFilter, TriggerProgress};
use crate::rows::{text, value};

const TRIGGER_PUT: &str = include_str!("../../sql/postgres/trigger_put.sql");
const TRIGGERS: &str = include_str!("../../sql/postgres/triggers.sql");
const TRIGGER_DELETE: &str = include_str!("../../sql/postgres/trigger_delete.sql");
const TRIGGERS_DUE: &str = include_str!("../../sql/postgres/triggers_due.sql");
const TRIGGERS_DUE_NEXT: &str = include_str!("../../sql/postgres/triggers_due_next.sql");
const TRIGGER_PROGRESS: &str = include_str!("../../sql/postgres/trigger_progress.sql");
const FIRINGS_PUT: &str = include_str!("../../sql/postgres/firings_put.sql");
const FIRINGS: &str = include_str!("../../sql/postgres/firings.sql");
const FIRINGS_BY_OUTCOME: &str = include_str!("../../sql/postgres/firings_by_outcome.sql");
const FIRINGS_KNOWN: &str = include_str!("../../sql/postgres/firings_known.sql");

/// Stores a trigger; `false` if it is not at the version before.
pub(super) async fn put(db: &mut Connection, trigger: &Trigger) -> Result<bool, StoreError> {
    let rows = db
        .execute(
            TRIGGER_PUT,
            &[
                &Text(trigger.tenant.as_str()),
                &Text(&trigger.name),
                &trigger.kind.word(),
                &Text(&trigger.workflow),
                &text(&trigger.document),
                &trigger.enabled,
                &small(trigger.version),
                &millis(trigger.next_at),
                &millis(trigger.fired_until),
                &bound(trigger.last_error.as_ref()),
                &Text(&trigger.actor),
                &trigger.created_at.as_millis(),
                &trigger.updated_at.as_millis(),
            ],
        )
        .await?;
    Ok(rows == 1)
}

/// Triggers by tenant and name.
pub(super) async fn list(
    db: &mut Connection,
    filter: &TriggerFilter,
) -> Result<Vec<Trigger>, StoreError> {
    let tenant = filter.tenant.as_ref().map(|tenant| Text(tenant.as_str()));
    let kind = filter.kind.map(TriggerKind::word);
    let name = bound(filter.name.as_ref());
    let found = db.query(TRIGGERS, &[&tenant, &name, &kind, &filter.enabled_only]).await?;
    found.iter().map(read).collect()
}

/// Forgets a trigger and its firings; `false` if there is none.
pub(super) async fn delete(
    db: &mut Connection,
    tenant: &Tenant,
    name: &str,
) -> Result<bool, StoreError> {
    let rows = db.execute(TRIGGER_DELETE, &[&Text(tenant.as_str()), &Text(name)]).await?;
    Ok(rows == 1)
}

/// Enabled triggers whose next moment has come, and the earliest that has not.
pub(super) async fn due(
    db: &mut Connection,
    now: Timestamp,
    rows: usize,
) -> Result<(Vec<Trigger>, Option<Timestamp>), StoreError> {
    let found = db.query(TRIGGERS_DUE, &[&now.as_millis(), &limit(rows)]).await?;
    let due = found.iter().map(read).collect::<Result<_, StoreError>>()?;
    let found = db.query(TRIGGERS_DUE_NEXT, &[&now.as_millis()]).await?;
    let next = found.first().map(|row| Columns::of(row).moment_if_any()).transpose()?;
    Ok((due, next.flatten()))
}

fn read(row: &Row) -> Result<Trigger, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Trigger {
        tenant: columns.tenant()?,
        name: columns.take()?,
        kind: columns.word(TriggerKind::of_word)?,
        workflow: columns.take()?,
        document: value("trigger.document", columns.take()?)?,
        enabled: columns.take()?,
        version: columns.count()?,
        next_at: columns.moment_if_any()?,
        fired_until: columns.moment_if_any()?,
        last_error: columns.take()?,
        actor: columns.take()?,
        created_at: columns.moment()?,
        updated_at: columns.moment()?,
    })
}

/// Writes what became of triggers; `false` for each that has changed since it was read.
pub(super) async fn progress(
    db: &mut Connection,
    progress: &[TriggerProgress],
) -> Result<Vec<bool>, StoreError> {
    db.prepare(&[FIRINGS_PUT, COMMIT]).await?;
    db.batch(BEGIN).await?;
    let column_of =
        |of: fn(&TriggerProgress) -> Text<'_>| progress.iter().map(of).collect::<Vec<_>>();
    let found = db
        .query(
            TRIGGER_PROGRESS,
            &[
                &column_of(|it| Text(it.tenant.as_str())),
                &column_of(|it| Text(&it.name)),
                &progress.iter().map(|it| small(it.version)).collect::<Vec<_>>(),
                &progress.iter().map(|it| millis(it.next_at)).collect::<Vec<_>>(),
                &progress.iter().map(|it| millis(it.fired_until)).collect::<Vec<_>>(),
                &progress.iter().map(|it| bound(it.last_error.as_ref())).collect::<Vec<_>>(),
            ],
        )
        .await?;
    let places = found.iter().map(|row| Columns::of(row).count());
    let places = places.collect::<Result<BTreeSet<usize>, StoreError>>()?;
    let written: Vec<bool> = (1..=progress.len()).map(|place| places.contains(&place)).collect();
    let firings = firings_of(progress, &written);
    let mut pipeline = db.pipeline();
    if !firings.is_empty() {
        let row = vec![
            column(&firings, |(of, _)| Text(of.tenant.as_str())),
            column(&firings, |(of, _)| Text(&of.name)),
            column(&firings, |(_, it)| Text(&it.key)),
            column(&firings, |(_, it)| millis(it.scheduled_for)),
            column(&firings, |(_, it)| it.at.as_millis()),
            column(&firings, |(_, it)| it.run.map(|run| run.0)),
            column(&firings, |(_, it)| it.outcome.word()),
            column(&firings, |(_, it)| bound(it.reason.as_ref())),
        ];
        pipeline.send(FIRINGS_PUT, row);
    }
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await?;
    Ok(written)
}

/// The firings of what was written, each key once: the last word on it counts.
fn firings_of<'p>(
    progress: &'p [TriggerProgress],
    written: &[bool],
) -> Vec<(&'p TriggerProgress, &'p Firing)> {
    let written = progress.iter().zip(written).filter(|(_, written)| **written);
    let firings = written.flat_map(|(of, _)| of.firings.iter().map(move |firing| (of, firing)));
    let last = firings.map(|(of, firing)| ((&of.tenant, &of.name, &firing.key), (of, firing)));
    last.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Firings of a trigger, newest first.
pub(super) async fn firings(
    db: &mut Connection,
    tenant: &Tenant,
    trigger: &str,
    outcome: Option<FiringOutcome>,
    rows: usize,
) -> Result<Vec<Firing>, StoreError> {
    let (tenant, trigger, rows) = (Text(tenant.as_str()), Text(trigger), limit(rows));
    let found = match outcome {
        None => db.query(FIRINGS, &[&tenant, &trigger, &rows]).await?,
        Some(outcome) => {
            db.query(FIRINGS_BY_OUTCOME, &[&tenant, &trigger, &rows, &outcome.word()]).await?
        }
    };
    found.iter().map(read_firing).collect()
}

fn read_firing(row: &Row) -> Result<Firing, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Firing {
        tenant: columns.tenant()?,
        trigger: columns.take()?,
        key: columns.take()?,
        scheduled_for: columns.moment_if_any()?,
        at: columns.moment()?,
        run: columns.run_id_if_any()?,
        outcome: columns.word(FiringOutcome::of_word)?,
        reason: columns.take()?,
    })
}

/// Whether firings with these keys are noted.
pub(super) async fn known(
    db: &mut Connection,
    tenant: &Tenant,
    trigger: &str,
    keys: &[String],
) -> Result<Vec<bool>, StoreError> {
    let asked: Vec<Text<'_>> = keys.iter().map(|key| Text(key)).collect();
    let found = db.query(FIRINGS_KNOWN, &[&Text(tenant.as_str()), &Text(trigger), &asked]).await?;
    let known = found.iter().map(|row| Columns::of(row).take());
    let known = known.collect::<Result<BTreeSet<&str>, StoreError>>()?;
    Ok(keys.iter().map(|key| known.contains(key.as_str())).collect())
}
