//! Members whose runs failed are taken up again: what was done stays done, the rest is done now.

use std::collections::BTreeSet;
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, BatchRefusal, Phase};
use stepwell_core::command::{Act, Carried};
use stepwell_core::id::{BatchId, RunId, RunNumber};
use stepwell_core::run::{Membership, Run};
use stepwell_dialects::resume;
use stepwell_store::{MemberFilter, Numbered, Slice};

use super::error::BatchError;
use super::members::{self, begin, standing};
use super::order::{BatchOrder, Matched, OrderOutcome};
use super::sweep::chained;
use super::write::{self, Along};
use crate::group::Write;
use crate::intake::Intake;
use crate::shared::Shared;

/// How often members are taken up again because the batch had changed in between.
const TRIES_MAX: u32 = 20;

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
    for _ in 0..TRIES_MAX {
        let batch = write::load(shared, id).await?;
        let newest = newest_runs(shared, id, matched, &retaken).await?;
        let (mut writes, mut outcomes) = (Vec::new(), Vec::new());
        for (place, carried) in &retaken {
            let run = &matched[*place].run;
            let hindrance = hindrance(&batch).or_else(|| {
                // The same order twice at once: one of them was first.
                let is_newest = newest.contains(&run.id());
                (!is_newest).then(|| OrderOutcome::refused("taken_up", "it was taken up already"))
            });
            if hindrance.is_none() {
                writes.push(taken_up(shared, &batch, run, carried, &order.by).await?);
            }
            outcomes.push((*place, hindrance.unwrap_or(OrderOutcome::Done)));
        }
        if writes.is_empty() {
            return Ok(outcomes);
        }
        let along = Along { retaken: writes, ..Along::default() };
        // Nothing is decided for the batch here: what its counters mean is judged with these runs in them.
        let nothing = BatchCommand::Detect;
        if write::commit(shared, intake, &batch, &nothing, along).await?.is_some() {
            return Ok(outcomes);
        }
    }
    Ok(Vec::new())
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

/// A run that goes on where another one failed, on the way that the batch follows now.
async fn taken_up(
    shared: &Shared,
    batch: &Batch,
    run: &Arc<Run>,
    settled: &[Carried],
    by: &Act,
) -> Result<Write, BatchError> {
    let now = shared.now();
    let number = RunNumber(shared.store.reserve(Numbered::Run, 1).await?);
    let (mut header, mut carried) =
        resume::resume(run, RunId(shared.settings.ids.id(now)), by.actor.clone(), now);
    header.special = members::special(batch);
    header.context.insert("reason".to_owned(), by.reason.clone().into());
    header.membership = header.membership.map(|it| Membership { number, ..it });
    let newer = versions_since(batch, header.workflow.version);
    if !newer.is_empty() {
        let chained = chained(shared, run, &newer).await?;
        header.workflow = chained.definition.unwrap_or(header.workflow);
    }
    carried.extend_from_slice(settled);
    carried.extend(standing(batch, &header.workflow));
    begin(shared, Arc::new(header), carried, Some(Arc::clone(run)), now)
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
