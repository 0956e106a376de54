//! Load a batch, decide, commit; again if somebody was faster.

use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, BatchDecision, BatchEffect, decide_batch};
use stepwell_core::command::{Act, Command};
use stepwell_core::decide::At;
use stepwell_core::id::{BatchId, RunId};
use stepwell_core::time::Timestamp;
use stepwell_store::{BatchWrite, Group, Item, Verdict};

use super::error::BatchError;
use crate::error::EngineError;
use crate::group::Write;
use crate::intake::{Ask, Intake};
use crate::shared::Shared;

/// How often a decision is made again because the batch had changed in between.
const TRIES_MAX: u32 = 20;

/// What is committed together with a decision on a batch.
#[derive(Default)]
pub(super) struct Along {
    pub(super) joined: Vec<(stepwell_store::NewMember, Write)>,
    pub(super) removed: Vec<stepwell_store::Removal>,
    pub(super) retaken: Vec<Write>,
    pub(super) refreshed: Vec<(stepwell_core::id::MemberId, stepwell_store::DataHash)>,
}

/// Decides `command` for the batch as it is, and commits it.
pub(super) async fn command(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    command: &BatchCommand,
) -> Result<Batch, BatchError> {
    for _ in 0..TRIES_MAX {
        let batch = load(shared, id).await?;
        if let Some(after) = commit(shared, intake, &batch, command, Along::default()).await? {
            return Ok(after);
        }
    }
    Err(kept_changing())
}

pub(super) fn kept_changing() -> BatchError {
    BatchError::Engine(EngineError::Unavailable("the batch kept changing".to_owned()))
}

pub(super) async fn load(shared: &Shared, id: BatchId) -> Result<Batch, BatchError> {
    shared.store.batch(id).await?.ok_or(BatchError::BatchNotFound(id))
}

/// Decides from `batch` as it was loaded, and commits; `None` if it has changed since.
pub(super) async fn commit(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
    command: &BatchCommand,
    along: Along,
) -> Result<Option<Batch>, BatchError> {
    let now = shared.now();
    let mut fresh = || shared.settings.ids.id(now);
    let decision = decide_batch(batch, command, &mut At { now, fresh: &mut fresh })?;
    if decision.entries.is_empty() && along.is_empty() {
        return Ok(Some(decision.batch));
    }
    let from_version = (batch.version > 0).then_some(batch.version);
    store(shared, intake, decision, from_version, along, now).await
}

async fn store(
    shared: &Shared,
    intake: &Intake,
    mut decision: BatchDecision,
    from_version: Option<u64>,
    along: Along,
    now: Timestamp,
) -> Result<Option<Batch>, BatchError> {
    let mut writes = Vec::new();
    for effect in &decision.effects {
        if let BatchEffect::StartInit { run } = effect {
            writes.push(shared.init_run(&decision.batch, *run, now).await?);
        }
    }
    let runs: Vec<_> = writes.iter_mut().map(Write::create_alone).collect();
    if decision.entries.is_empty() {
        // Members changed, and the batch itself did not; whoever decides next must see it.
        decision.batch.version += 1;
    }
    let mut write = BatchWrite {
        record: decision.record(),
        batch: Arc::new(decision.batch),
        from_version,
        joined: Vec::with_capacity(along.joined.len()),
        removed: along.removed,
        retaken: Vec::with_capacity(along.retaken.len()),
        runs,
        refreshed: along.refreshed,
    };
    for (member, joined) in along.joined {
        write.joined.push(member);
        writes.push(joined);
    }
    for mut retaken in along.retaken {
        write.retaken.push(retaken.create_alone());
        writes.push(retaken);
    }
    let batch = Arc::clone(&write.batch);
    let mut group = Group::of(shared.epoch(), vec![Item::Batch(Box::new(write))]);
    group.free = !shared.settings.ownership.decides;
    let verdicts = shared.store.commit(group).await?;
    if verdicts.first() != Some(&Verdict::Done) {
        return Ok(None);
    }
    shared.follow(writes.iter()).await;
    shared.batches.touch(batch.id());
    for effect in decision.effects {
        if let BatchEffect::CancelInit { run } = effect {
            cancel(intake, run).await;
        }
    }
    Ok(Some(Arc::unwrap_or_clone(batch)))
}

/// Stops a run that prepares a batch. If that fails the run ends in vain, and changes nothing.
async fn cancel(intake: &Intake, run: RunId) {
    let by = Act::new("system", "the batch no longer needs it");
    let ask = Ask::command(run, Command::Cancel { mode: None, by });
    if let Err(error) = intake.ask_patiently(vec![ask]).await {
        tracing::warn!(%run, %error, "init_not_cancelled");
    }
}

impl Along {
    fn is_empty(&self) -> bool {
        self.joined.is_empty()
            && self.removed.is_empty()
            && self.retaken.is_empty()
            && self.refreshed.is_empty()
    }
}
