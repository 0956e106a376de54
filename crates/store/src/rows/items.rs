//! Steps and their items, put in their places again.
//!
//! A step to which nothing has happened has no row, and neither has an item. That an item is there at
//! all is known from its step, which was expanded and therefore has one.

use serde::{Deserialize, Serialize};
use stepwell_core::expansion::Expansion;
use stepwell_core::id::StepIndex;
use stepwell_core::run::Run;
use stepwell_core::steps::Steps;

use super::{HeaderRow, StepRow};
use crate::error::StoreError;

/// Where the items of a step stand. How far they have come is counted when they are read.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct ItemsPlace {
    /// how many steps of the run were expanded before
    number: usize,
    first: u16,
    count: u16,
}

impl ItemsPlace {
    pub(super) fn of(run: &Run, step: StepIndex) -> Option<Self> {
        if run.is_item(step) {
            return None;
        }
        let (number, items) = run.expansions.iter().enumerate().find(|(_, it)| it.step == step)?;
        Some(Self { number, first: items.first, count: items.count })
    }
}

/// The steps of a run with their items. Positions without a row are those to which nothing has
/// happened yet.
pub(super) fn place(
    header: &HeaderRow,
    rows: Vec<StepRow>,
) -> Result<(Steps, Vec<Expansion>), StoreError> {
    let misplaced = |position: usize| {
        StoreError::broken(format!("run {} has no step at position {position}", header.id))
    };
    let mut found = Vec::with_capacity(rows.len());
    let mut places = Vec::new();
    for row in rows {
        let position = row.position;
        let (step, items) = row.decode()?;
        places.extend(items.map(|items| (StepIndex(position), items)));
        found.push((usize::from(position), step));
    }
    places.sort_unstable_by_key(|(_, items)| items.number);
    let mut end = usize::from(header.step_count);
    for (_, items) in &places {
        if usize::from(items.first) != end {
            return Err(misplaced(usize::from(items.first)));
        }
        end += usize::from(items.count);
    }
    // What nothing has happened to is shared with every other run.
    let mut steps = Steps::waiting(end);
    for (position, step) in found {
        if position >= end {
            return Err(misplaced(position));
        }
        steps[position] = step;
    }
    let expansions = places
        .into_iter()
        .map(|(step, items)| Expansion::counted(step, items.first, items.count, &steps))
        .collect();
    Ok((steps, expansions))
}
