//! Who may decide which run: signs of life, takeover, handover, good-bye. By the server's clock alone.

use serde_json::Value;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use tokio_postgres::Row;

use super::columns::{Columns, bind, epoch as bound, limit, number};
use super::connection::Connection;
use super::error::fenced;
use super::pipeline::Pipeline;
use super::run_write::ids;
use super::send::{BEGIN, COMMIT, FENCE};
use crate::error::StoreError;
use crate::model::{Epoch, Input, Instance, InstanceState, Pulse, Reclaimed};
use crate::rows::{text, value};

/// A statement that moves runs to another owner: each chooses in its own way, and all end alike.
macro_rules! moving {
    ($chosen:literal) => {
        concat!(
            include_str!(concat!("../../sql/postgres/", $chosen)),
            include_str!("../../sql/postgres/run_moved.sql")
        )
    };
}

const EPOCH_OPEN: &str = include_str!("../../sql/postgres/epoch_open.sql");
const INSTANCES_FORGET: &str = include_str!("../../sql/postgres/instances_forget.sql");
const TENANT_FORGET: &str = include_str!("../../sql/postgres/tenant_forget.sql");
const TENANT_FOLD: &str = include_str!("../../sql/postgres/tenant_fold.sql");
const HEARTBEAT: &str = include_str!("../../sql/postgres/heartbeat.sql");
const NEWEST_EPOCH: &str = include_str!("../../sql/postgres/newest_epoch.sql");
const RECLAIM_LOOK: &str = include_str!("../../sql/postgres/reclaim_look.sql");
const SILENT_LOCK: &str = include_str!("../../sql/postgres/silent_lock.sql");
const SILENT_BURY: &str = include_str!("../../sql/postgres/silent_bury.sql");
const ORPHANS_TAKE: &str = moving!("orphans_take.sql");
const RUN_ADOPT: &str = moving!("run_adopt.sql");
const RUN_GIVE: &str = moving!("run_give.sql");
const RETIRE_LOCK: &str = include_str!("../../sql/postgres/retire_lock.sql");
const RETIRE: &str = include_str!("../../sql/postgres/retire.sql");
const INSTANCES: &str = include_str!("../../sql/postgres/instances.sql");
const INPUTS: &str = include_str!("../../sql/postgres/inputs.sql");

/// A new instance. Those that ended long ago and own nothing are forgotten on this occasion: there are as
/// many of them as there were starts.
pub(super) async fn open_epoch(db: &mut Connection, id: &str) -> Result<Epoch, StoreError> {
    db.prepare(&[BEGIN, COMMIT, EPOCH_OPEN, INSTANCES_FORGET, TENANT_FORGET, TENANT_FOLD]).await?;
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    pipeline.send(INSTANCES_FORGET, vec![]);
    pipeline.send(TENANT_FORGET, vec![]);
    pipeline.send(TENANT_FOLD, vec![]);
    let opened = pipeline.send(EPOCH_OPEN, vec![bind(id)]);
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await?;
    let row = pipeline.rows(Some(opened)).first();
    row.map_or_else(|| Err(StoreError::broken("no epoch")), |row| Columns::of(row).epoch())
}

/// A sign of life.
pub(super) async fn heartbeat(
    db: &mut Connection,
    me: Epoch,
    stats: &Value,
) -> Result<Pulse, StoreError> {
    let rows = db.query(HEARTBEAT, &[&bound(me), &text(stats)]).await?;
    let Some(row) = rows.first() else { return Err(no_longer(db, me).await?) };
    Ok(Pulse { now: Some(Columns::of(row).moment()?) })
}

/// What an instance is told that may no longer write.
async fn no_longer(db: &mut Connection, me: Epoch) -> Result<StoreError, StoreError> {
    let rows = db.query(NEWEST_EPOCH, &[]).await?;
    let newest = rows.first().map(|row| Columns::of(row).count_if_any()).transpose()?.flatten();
    Ok(StoreError::Fenced { mine: me.0, current: newest.unwrap_or(0) })
}

/// Takes over open runs that nobody living owns.
pub(super) async fn reclaim(
    db: &mut Connection,
    me: Epoch,
    silence: Interval,
    rows: usize,
) -> Result<Reclaimed, StoreError> {
    let silence = number(silence.as_millis());
    let looked = db.query(RECLAIM_LOOK, &[&bound(me), &silence]).await?;
    let Some(row) = looked.first() else { return Err(StoreError::broken("no look")) };
    let mut columns = Columns::of(row);
    let (alive, someone_silent, orphans): (bool, bool, bool) =
        (columns.take()?, columns.take()?, columns.take()?);
    let next_in: Option<i64> = columns.take()?;
    if !alive {
        return Err(no_longer(db, me).await?);
    }
    let (mut runs, mut dead) = (Vec::new(), Vec::new());
    if someone_silent || orphans {
        (runs, dead) = take_over(db, me, someone_silent.then_some(silence), rows).await?;
    }
    let next_in = next_in.map(|millis| Interval::from_millis(millis.max(0).unsigned_abs()));
    Ok(Reclaimed { runs, dead, next_in })
}

/// Declares everybody dead who was silent for too long and still is, once nothing of theirs is under way,
/// and takes what belongs to the dead. Answers what was taken, and who was declared dead.
async fn take_over(
    db: &mut Connection,
    me: Epoch,
    silence: Option<i64>,
    rows: usize,
) -> Result<(Vec<RunId>, Vec<Epoch>), StoreError> {
    db.prepare(&[BEGIN, FENCE, SILENT_LOCK, SILENT_BURY, ORPHANS_TAKE, COMMIT]).await?;
    let mut whole = begin(db, me);
    let buried = silence.map(|silence| {
        whole.send(SILENT_LOCK, vec![bind(bound(me)), bind(silence)]);
        whole.send(SILENT_BURY, vec![bind(bound(me)), bind(silence)])
    });
    let taken = whole.send(ORPHANS_TAKE, vec![bind(bound(me)), bind(limit(rows))]);
    finish(db, me, &mut whole).await?;
    let buried = whole.rows(buried).iter().map(|row| Columns::of(row).epoch());
    let mut dead: Vec<Epoch> = buried.collect::<Result<_, _>>()?;
    dead.sort_unstable();
    for epoch in &dead {
        tracing::warn!(epoch = epoch.0, "instance_declared_dead");
    }
    Ok((moved(whole.rows(Some(taken)))?, dead))
}

/// Takes those of these runs whose owner does not live; they are about to be written.
pub(super) async fn adopt(
    db: &mut Connection,
    me: Epoch,
    runs: &[RunId],
) -> Result<Vec<RunId>, StoreError> {
    db.prepare(&[BEGIN, FENCE, RUN_ADOPT, COMMIT]).await?;
    let mut whole = begin(db, me);
    let taken = whole.send(RUN_ADOPT, vec![bind(bound(me)), bind(ids(runs.iter().copied()))]);
    finish(db, me, &mut whole).await?;
    moved(whole.rows(Some(taken)))
}

/// Gives runs to another instance.
pub(super) async fn hand_over(
    db: &mut Connection,
    from: Epoch,
    mut runs: Vec<RunId>,
    to: Epoch,
) -> Result<Vec<RunId>, StoreError> {
    runs.sort_unstable();
    db.prepare(&[BEGIN, FENCE, RUN_GIVE, COMMIT]).await?;
    let mut whole = begin(db, from);
    let given = whole.send(RUN_GIVE, vec![bind(bound(to)), bind(ids(runs)), bind(bound(from))]);
    finish(db, from, &mut whole).await?;
    moved(whole.rows(Some(given)))
}

/// Begins a change of owners, which is sent whole and with its end before anything is waited for.
///
/// It waits for locks, and holds some that everybody needs who takes over. If this process stood still
/// between two statements, the others could not even declare it dead. So the server must need nothing
/// more from it to come to the end.
fn begin(db: &Connection, me: Epoch) -> Pipeline<'_> {
    let mut whole = db.pipeline();
    whole.send(BEGIN, vec![]);
    whole.send(FENCE, vec![bind(bound(me))]);
    whole
}

/// Sends the end, and waits for the answers.
async fn finish(db: &Connection, me: Epoch, whole: &mut Pipeline<'_>) -> Result<(), StoreError> {
    whole.send(COMMIT, vec![]);
    db.patiently(whole.wait()).await?.map_err(|error| match fenced(&error) {
        Some(current) => StoreError::Fenced { mine: me.0, current },
        None => error.into(),
    })
}

/// Runs that have another owner now.
fn moved(rows: &[Row]) -> Result<Vec<RunId>, StoreError> {
    let mut runs: Vec<RunId> =
        rows.iter().map(|row| Columns::of(row).run_id()).collect::<Result<_, _>>()?;
    runs.sort_unstable();
    Ok(runs)
}

/// Says good-bye.
pub(super) async fn retire(db: &mut Connection, me: Epoch) -> Result<(), StoreError> {
    db.prepare(&[BEGIN, RETIRE_LOCK, RETIRE, COMMIT]).await?;
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    pipeline.send(RETIRE_LOCK, vec![bind(bound(me))]);
    pipeline.send(RETIRE, vec![bind(bound(me))]);
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await
}

/// Instances that live, and those that ended not long ago.
pub(super) async fn instances(db: &mut Connection) -> Result<Vec<Instance>, StoreError> {
    db.query(INSTANCES, &[]).await?.iter().map(read_instance).collect()
}

fn read_instance(row: &Row) -> Result<Instance, StoreError> {
    let mut columns = Columns::of(row);
    Ok(Instance {
        epoch: columns.epoch()?,
        id: columns.take()?,
        started_at: columns.moment()?,
        heartbeat_at: columns.moment()?,
        silent_for: Interval::from_millis(columns.take::<i64>()?.max(0).unsigned_abs()),
        state: columns.word(state_of_word)?,
        owned: u64::try_from(columns.take::<i64>()?).unwrap_or(0),
        stats: value("instance.stats", columns.take()?)?,
    })
}

fn state_of_word(word: &str) -> Option<InstanceState> {
    match word {
        "alive" => Some(InstanceState::Alive),
        "stopped" => Some(InstanceState::Stopped),
        "dead" => Some(InstanceState::Dead),
        _ => None,
    }
}

/// Inputs for runs that an instance owns, oldest first.
pub(super) async fn inputs(
    db: &mut Connection,
    me: Epoch,
    rows: usize,
) -> Result<Vec<Input>, StoreError> {
    let found = db.query(INPUTS, &[&bound(me), &limit(rows)]).await?;
    let read = |row: &Row| {
        let mut columns = Columns::of(row);
        Ok(Input {
            id: columns.take()?,
            run: columns.run_id()?,
            body: columns.take()?,
            from: columns.epoch()?,
            at: Timestamp::from_millis(columns.take()?),
        })
    };
    found.iter().map(read).collect()
}
