//! What a pass over a runbook would find, without writing anything.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use stepwell_core::batch::{Batch, BatchMode};
use stepwell_core::id::BatchId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::rows::{self, SkippedRow};

use super::error::BatchError;
use super::publish::under_way;
use crate::catalog::CompiledRunbook;
use crate::shared::Shared;

/// Rows that are shown.
const ROWS_MAX: usize = 100;

/// What a pass would find.
#[derive(Clone, Debug, PartialEq)]
pub struct Preview {
    /// every column of the source
    pub columns: Vec<String>,
    /// how many rows there are
    pub total: usize,
    /// the first of them
    pub rows: Vec<Map<String, Value>>,
    /// the batches they would make or belong to
    pub groups: Vec<PreviewGroup>,
    /// rows that would be passed over, in their order
    pub skipped: Vec<SkippedRow>,
    /// what the author of the query should look at
    pub warnings: Vec<String>,
}

/// A batch that the rows would make or belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewGroup {
    /// T-0
    pub start: Timestamp,
    /// how many rows
    pub members: usize,
    /// the batch, if there is one
    pub batch: Option<BatchId>,
    /// how many of them are in it already, or, in immediate mode, in any batch under way
    pub known: usize,
}

pub(super) async fn preview(
    shared: &Shared,
    compiled: &CompiledRunbook,
) -> Result<Preview, BatchError> {
    let source = &compiled.runbook.data_source;
    let found = shared.settings.scheduler.sources.rows(source).await.map_err(BatchError::Source)?;
    let shown = found.rows.iter().take(ROWS_MAX).cloned().collect();
    let grouping = rows::group(source, found.rows, shared.now());
    let runbook = &compiled.runbook.name;
    let by_slot: BTreeMap<Timestamp, BatchId> = under_way(shared, runbook)
        .await?
        .iter()
        .filter(|batch| batch.header.mode != BatchMode::Manual)
        .filter_map(|batch: &Batch| Some((batch.header.slot?, batch.id())))
        .collect();
    let in_batches = shared.store.keys_in_batches(runbook.clone()).await?;
    let is_immediate = source.batch_time.column().is_none();
    let groups = grouping.groups.iter().map(|group| {
        let batch = by_slot.get(&group.start).copied();
        let known: BTreeSet<&str> = in_batches
            .iter()
            .filter(|(_, its)| is_immediate || Some(*its) == batch)
            .map(|(key, _)| key.as_str())
            .collect();
        let is_known = |key: &&str| known.contains(*key);
        let keys = group.members.iter().map(|member| member.key.as_str());
        PreviewGroup {
            start: group.start,
            members: group.members.len(),
            batch,
            known: keys.filter(is_known).count(),
        }
    });
    Ok(Preview {
        columns: found.columns,
        total: grouping.rows,
        rows: shown,
        groups: groups.collect(),
        skipped: grouping.skipped,
        warnings: grouping.warnings,
    })
}
