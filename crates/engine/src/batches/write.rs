//! Load a batch, decide, commit; again if somebody was faster.

use std::pin::Pin;
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

/// What is to be done to a batch as it was loaded.
pub(super) enum Attempt<T> {
    /// this is committed, and then that is the answer
    Commit(Change, T),
    /// nothing has to be committed, and this is the answer
    Settled(T),
}

/// An attempt that is being thought about. A box, because the compiler does not believe of an async closure
/// that what it does may move to another thread.
pub(super) type Attempting<'a, T> =
    Pin<Box<dyn Future<Output = Result<Attempt<T>, BatchError>> + Send + 'a>>;

/// What is committed.
pub(super) struct Change {
    /// what is decided; `None` if only members change, which is nothing for the batch to decide about
    pub(super) command: Option<BatchCommand>,
    pub(super) along: Along,
}

/// Loads a batch, lets `attempt` say what is to be done to it, and commits that; all of it again if the
/// batch has changed in between. Answers with the batch as it is then; `None` if it kept changing.
pub(super) async fn until_committed<'a, T>(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    attempt: impl Fn(Arc<Batch>) -> Attempting<'a, T>,
) -> Result<Option<(Arc<Batch>, T)>, BatchError> {
    for _ in 0..TRIES_MAX {
        let batch = Arc::new(load(shared, id).await?);
        let (change, answer) = match attempt(Arc::clone(&batch)).await? {
            Attempt::Commit(change, answer) => (change, answer),
            Attempt::Settled(answer) => return Ok(Some((batch, answer))),
        };
        let after = match &change.command {
            Some(command) => commit(shared, intake, &batch, command, change.along).await?,
            None => commit_members(shared, intake, &batch, change.along).await?,
        };
        if let Some(after) = after {
            return Ok(Some((Arc::new(after), answer)));
        }
    }
    Ok(None)
}

/// A change that needs no look at the batch.
pub(super) fn at_once<'a>(change: Change) -> Attempting<'a, ()> {
    Box::pin(std::future::ready(Ok(Attempt::Commit(change, ()))))
}

/// Decides `command` for the batch as it is, and commits it.
pub(super) async fn command(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    command: &BatchCommand,
) -> Result<Batch, BatchError> {
    let attempt = |_| at_once(Change { command: Some(command.clone()), along: Along::default() });
    let done = until_committed(shared, intake, id, attempt).await?;
    let (after, ()) = done.ok_or_else(kept_changing)?;
    Ok(Arc::unwrap_or_clone(after))
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

/// Commits what changes about members; `None` if the batch has changed since it was loaded.
async fn commit_members(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
    along: Along,
) -> Result<Option<Batch>, BatchError> {
    let from_version = Some(batch.version);
    let decision = BatchDecision { entries: Vec::new(), effects: Vec::new(), batch: batch.clone() };
    store(shared, intake, decision, from_version, along, shared.now()).await
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
    match shared.store.commit(group).await?.pop() {
        Some(Verdict::Done) => {}
        Some(Verdict::Duplicate(holder)) => {
            return Err(EngineError::KeyReused { run: holder.run }.into());
        }
        Some(Verdict::Stale | Verdict::TenantFull { .. } | Verdict::CreditsShort { .. }) | None => {
            return Ok(None);
        }
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
