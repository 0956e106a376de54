//! Members whose runs failed are taken up again: what was done stays done, the rest is done now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchRefusal, Phase};
use stepwell_core::command::{Act, Carried};
use stepwell_core::definition::Workflow;
use stepwell_core::id::{BatchId, RunId, RunNumber};
use stepwell_core::run::{Membership, Run};
use stepwell_dialects::resume;
use stepwell_store::{MemberFilter, Numbered, Slice};

use super::error::BatchError;
use super::members::{self, begin, standing};
use super::order::{BatchOrder, Matched, OrderOutcome};
use super::sweep::chained;
use super::write::{Along, Attempt, Attempting, Change, until_committed};
use crate::group::Write;
use crate::intake::Intake;
use crate::shared::Shared;

/// Takes members up again whose runs failed: what was done stays done, the rest is done now.
pub(super) async fn retake(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    order: &BatchOrder,
    matched: &[Matched],
    retaken: Vec<(usize, Vec<Carried>)>,
) -> Result<Vec<(usize, OrderOutcome)>, BatchError> {
    if retaken.is_empty() {
        return Ok(Vec::new());
    }
    let retaken = &retaken;
    let attempt = |batch: Arc<Batch>| -> Attempting<'_, _> {
        Box::pin(async move {
            let newest = newest_runs(shared, id, matched, retaken).await?;
            let (mut writes, mut outcomes) = (Vec::new(), Vec::new());
            let mut takes = Takes::of(shared, &batch, &order.by, retaken.len()).await?;
            for (place, carried) in retaken {
                let run = &matched[*place].run;
                let hindrance = hindrance(&batch).or_else(|| {
                    // The same order twice at once: one of them was first.
                    let is_newest = newest.contains(&run.id());
                    (!is_newest)
                        .then(|| OrderOutcome::refused("taken_up", "it was taken up already"))
                });
                if hindrance.is_none() {
                    writes.push(takes.taken_up(run, carried).await?);
                }
                outcomes.push((*place, hindrance.unwrap_or(OrderOutcome::Done)));
            }
            if writes.is_empty() {
                return Ok(Attempt::Settled(outcomes));
            }
            // The batch has nothing to decide: what its counters mean is judged with these runs in them.
            let along = Along { retaken: writes, ..Along::default() };
            Ok(Attempt::Commit(Change { command: None, along }, outcomes))
        })
    };
    let done = until_committed(shared, intake, id, attempt).await?;
    Ok(done.map(|(_, outcomes)| outcomes).unwrap_or_default())
}

/// Why nobody is taken up again in this batch, if so.
pub(super) fn hindrance(batch: &Batch) -> Option<OrderOutcome> {
    if batch.status.is_terminal() {
        let message = format!("the batch has ended as {}", batch.status.word());
        return Some(OrderOutcome::refused("batch_ended", message));
    }
    if batch.paused {
        // A new run would begin at once with what has begun for the others.
        let refusal = BatchRefusal::Paused;
        return Some(OrderOutcome::refused(refusal.code(), refusal.to_string()));
    }
    None
}

/// The newest runs of the members meant, as they are by now.
async fn newest_runs(
    shared: &Shared,
    id: BatchId,
    matched: &[Matched],
    retaken: &[(usize, Vec<Carried>)],
) -> Result<BTreeSet<RunId>, BatchError> {
    let ids = retaken.iter().map(|(place, _)| matched[*place].member.id).collect();
    let filter = MemberFilter { ids, ..MemberFilter::of(id) };
    let page = Slice { offset: 0, limit: usize::MAX };
    let members = shared.store.members(filter, page).await?.items;
    let staying = members.into_iter().filter(|member| member.removed_at.is_none());
    Ok(staying.map(|member| member.run).collect())
}

/// How runs go on where others failed, all of them in the same commit.
struct Takes<'a> {
    shared: &'a Shared,
    batch: &'a Batch,
    by: &'a Act,
    /// for the next run
    number: i64,
    /// the workflows that runs follow from now on, by those that they followed
    chains: BTreeMap<(String, u32), Arc<Workflow>>,
}

impl<'a> Takes<'a> {
    /// Reserves numbers for so many.
    async fn of(
        shared: &'a Shared,
        batch: &'a Batch,
        by: &'a Act,
        runs: usize,
    ) -> Result<Self, BatchError> {
        let count = u32::try_from(runs).unwrap_or(u32::MAX);
        let number = shared.store.reserve(Numbered::Run, count).await?;
        Ok(Self { shared, batch, by, number, chains: BTreeMap::new() })
    }

    /// A run that goes on where another one failed, on the way that the batch follows now.
    async fn taken_up(&mut self, run: &Arc<Run>, settled: &[Carried]) -> Result<Write, BatchError> {
        let (shared, now) = (self.shared, self.shared.now());
        let number = RunNumber(self.number);
        self.number += 1;
        let (mut header, mut carried) =
            resume::resume(run, RunId(shared.settings.ids.id(now)), self.by.actor.clone(), now);
        header.special = members::special(self.batch);
        header.context.insert("reason".to_owned(), self.by.reason.clone().into());
        header.membership = header.membership.map(|it| Membership { number, ..it });
        header.workflow = self.way_of(run).await?;
        carried.extend_from_slice(settled);
        carried.extend(standing(self.batch, &header.workflow));
        begin(shared, Arc::new(header), carried, Some(Arc::clone(run)), now)
    }

    /// The workflow of a run, longer by what the others have followed meanwhile.
    async fn way_of(&mut self, run: &Run) -> Result<Arc<Workflow>, BatchError> {
        let old = &run.header.workflow;
        let key = (old.name.clone(), old.version);
        if let Some(known) = self.chains.get(&key) {
            return Ok(Arc::clone(known));
        }
        let newer = versions_since(self.batch, old.version);
        let mut workflow = Arc::clone(old);
        if !newer.is_empty() {
            let chained = chained(self.shared, run, &newer).await?;
            workflow = chained.definition.unwrap_or(workflow);
        }
        self.chains.insert(key, Arc::clone(&workflow));
        Ok(workflow)
    }
}

/// The versions that the others have followed meanwhile, oldest first: those that began a phase, and
/// the newest.
fn versions_since(batch: &Batch, version: u32) -> Vec<u32> {
    let has_begun = |phase: &&Phase| phase.dispatched_at.is_some();
    let is_newest = |phase: &&Phase| phase.version == batch.runbook_version;
    let newer = batch.phases.iter().filter(|phase| phase.version > version);
    let mut versions: Vec<u32> = newer
        .filter(|phase| has_begun(phase) || is_newest(phase))
        .map(|phase| phase.version)
        .collect();
    versions.dedup();
    versions
}
