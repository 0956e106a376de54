//! Station 4, commit: a group of decisions in one transaction, and one round trip for all of it.
//!
//! Each run's state, steps, history, messages and counters land together. The statements are sent one
//! after the other without waiting: which runs really moved is known to the server alone until the
//! answer, so everything that hangs on a run is joined to the row version that this transaction made of
//! it. A run that moved since it was loaded is left out and reported as stale, so that one lost race
//! never costs its neighbors their commit.
//!
//! Only a cap on a tenant's open runs needs a second round trip: between the two, room is counted here,
//! in the order of the items.

use std::collections::BTreeMap;

use stepwell_core::id::RunId;
use tokio_postgres::Error;

use super::connection::Connection;
use super::error::{fenced, met_another};
use super::listen::Word;
use super::run_write::NewRun;
use super::send::{STATEMENTS, Work};
use super::sorted::{Named, Sorted};
use super::verdict::Facts;
use crate::error::StoreError;
use crate::model::{Epoch, Verdict};

/// A group that is committed.
pub(super) struct Committed {
    /// for each item in order
    pub(super) verdicts: Vec<Verdict>,
    /// what others are told now that it stands
    pub(super) words: Vec<Word>,
}

/// A group of which nothing is committed, as far as anybody can say.
pub(super) enum Setback {
    /// it met another transaction, and may well succeed if it is tried again at once
    Met(StoreError),
    /// the caller must know
    Final(StoreError),
}

impl From<StoreError> for Setback {
    fn from(error: StoreError) -> Self {
        Self::Final(error)
    }
}

/// Commits a group on a connection of this slot; with `only`, those of its items that write one of
/// these runs.
pub(super) async fn write(
    connection: &mut Connection,
    slot: i32,
    group: &Named,
    only: Option<&[RunId]>,
) -> Result<Committed, Setback> {
    connection.prepare(&STATEMENTS).await?;
    let sorted = Sorted::of(group, only);
    let work = Work::new(&group.rows, &sorted, slot);
    let met = |error| setback(group.rows.epoch, error);

    let mut first = connection.pipeline();
    let sent = work.send_first(&mut first);
    let mut refused = BTreeMap::new();
    if !sorted.capped.is_empty() {
        connection.patiently(first.wait()).await?.map_err(met)?;
        refused = Facts::of_first(&first, &sent)?.refused(&group.rows);
    }
    let is_refused = |new: &NewRun<'_>| refused.contains_key(&new.rows.header.id);
    let (released, admitted): (Vec<_>, Vec<_>) =
        sorted.asked_for.iter().copied().partition(is_refused);
    let mut rest = connection.pipeline();
    let sent_rest = work.send_rest(&mut rest, &admitted, &released);
    connection.patiently(first.wait()).await?.map_err(met)?;
    connection.patiently(rest.wait()).await?.map_err(met)?;

    let facts = Facts::of_first(&first, &sent)?.and_rest(&rest, &sent_rest, refused)?;
    Ok(Committed { verdicts: facts.verdicts(&group.rows), words: facts.words(&group.rows) })
}

/// What an error says about the group.
fn setback(mine: Epoch, error: Error) -> Setback {
    if let Some(current) = fenced(&error) {
        return Setback::Final(StoreError::Fenced { mine: mine.0, current });
    }
    if met_another(&error) {
        return Setback::Met(error.into());
    }
    Setback::Final(error.into())
}
