//! Versions of runbooks, and batches under way that follow a newer one.

use stepwell_core::batch::{Batch, BatchCommand, BatchMode, BatchStatus, Overdue};
use stepwell_core::command::Act;
use stepwell_core::id::{BatchId, PhaseId};
use stepwell_dialects::problem::Problems;
use stepwell_dialects::runbooks::accept::{OverdueBehavior, Publication};
use stepwell_store::{BatchFilter, NewRunbook, Numbered, RunbookDocument, Signal, Slice};

use super::error::BatchError;
use super::write;
use crate::intake::Intake;
use crate::shared::Shared;

/// Batches under way that are read at once.
const PAGE: usize = 200;

/// A version that was published.
#[derive(Clone, Debug)]
pub struct Published {
    /// as it is stored
    pub document: RunbookDocument,
    /// what its author should look at
    pub warnings: Option<Problems>,
    /// it was not there before
    pub is_new: bool,
    /// batches under way that follow it from now on
    pub batches: Vec<BatchId>,
}

/// Stores a version, makes it the active one, and lets batches under way follow it.
pub(super) async fn publish(
    shared: &Shared,
    intake: &Intake,
    publication: Publication,
    actor: &str,
) -> Result<Published, BatchError> {
    let name = publication.reading.runbook.name.clone();
    let active = shared.store.runbook(name.clone(), None).await?;
    let document = shared
        .store
        .publish_runbook(NewRunbook {
            name,
            source: publication.source,
            overdue: match publication.overdue_behavior {
                OverdueBehavior::Rerun => Overdue::Rerun,
                OverdueBehavior::Ignore => Overdue::Ignore,
            },
            rerun_init: publication.rerun_init,
            created_at: shared.now(),
            created_by: actor.to_owned(),
        })
        .await?;
    if shared.store.is_shared() {
        // Others ask again by themselves, only later.
        let _ = shared.store.tell(shared.epoch(), Signal::Published).await;
    }
    let batches = follow(shared, intake, &document).await?;
    Ok(Published {
        is_new: active.is_none_or(|active| active.id != document.id),
        warnings: publication.reading.warnings,
        document,
        batches,
    })
}

/// Lets every batch under way that is at an older version follow this one, if it is the active one.
///
/// Runs again until it was whole: a crash in between leaves the version marked as not applied, and
/// the next pass of the scheduler goes on.
pub(super) async fn follow(
    shared: &Shared,
    intake: &Intake,
    document: &RunbookDocument,
) -> Result<Vec<BatchId>, BatchError> {
    let mut moved = Vec::new();
    if !document.is_active {
        return Ok(moved);
    }
    for batch in under_way(shared, &document.name).await? {
        let is_older = batch.runbook_version < document.version;
        if batch.header.mode == BatchMode::Manual || !is_older {
            continue;
        }
        let compiled = shared.catalog.runbook(&document.name, document.version).await?;
        let count = u32::try_from(compiled.compiled.phases.len()).unwrap_or(u32::MAX);
        let first = PhaseId(shared.store.reserve(Numbered::Phase, count).await?);
        let command = BatchCommand::Adopt {
            timeline: compiled.compiled.timeline(first),
            overdue: document.overdue,
            rerun_init: document.rerun_init,
            by: Act::new(&document.created_by, "a newer version was published"),
        };
        match write::command(shared, intake, batch.id(), &command).await {
            Ok(_) => moved.push(batch.id()),
            // It ended while we looked.
            Err(BatchError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    if !document.overdue_applied {
        shared.store.overdue_applied(document.id).await?;
    }
    Ok(moved)
}

/// Batches of a runbook that have not ended.
pub(super) async fn under_way(shared: &Shared, runbook: &str) -> Result<Vec<Batch>, BatchError> {
    let mut found = Vec::new();
    loop {
        let filter = BatchFilter {
            runbook: Some(runbook.to_owned()),
            statuses: vec![BatchStatus::Detected, BatchStatus::InitDispatched, BatchStatus::Active],
            ..BatchFilter::default()
        };
        let slice = Slice { offset: found.len(), limit: PAGE };
        let page = shared.store.batches(filter, slice).await?.items;
        let is_last = page.len() < PAGE;
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}
