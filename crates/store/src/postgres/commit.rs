//! Station 4, commit: a group of decisions in one transaction, and one round trip for all of it.
//!
//! Each run's state, steps, history, messages and counters land together. The statements are sent one
//! after the other without waiting: which runs really moved is known to the server alone until the
//! answer, so everything that hangs on a run is joined to the row version that this transaction made of
//! it. A run that moved since it was loaded is left out and reported as stale, so that one lost race
//! never costs its neighbors their commit.
//!
//! Only a cap on a tenant's open runs, a run that sets credits aside and a decision on a batch need a second
//! round trip: between the two it is judged here what can be done, in the order of the items.

use stepwell_core::id::RunId;
use tokio_postgres::Error;

use super::connection::Connection;
use super::error::{fenced, met_another};
use super::judge::Judgment;
use super::listen::Word;
use super::send::{Admitted, STATEMENTS, Work};
use super::sorted::{Named, Sorted};
use super::verdict::Facts;
use super::{batch_moves, batch_write, credit, event};
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
    if !sorted.moves.is_empty() {
        connection.prepare(&batch_moves::STATEMENTS).await?;
    }
    if !sorted.batches.is_empty() {
        connection.prepare(&batch_write::STATEMENTS).await?;
    }
    if !sorted.credits.is_empty() {
        connection.prepare(&credit::STATEMENTS).await?;
    }
    if !sorted.events.is_empty() {
        connection.prepare(&event::STATEMENTS).await?;
    }
    let work = Work::new(&group.rows, &sorted, slot);
    let met = |error| setback(group.rows.epoch, error);

    let mut first = connection.pipeline();
    let sent = work.send_first(&mut first);
    let mut judgment = Judgment::default();
    if sorted.is_judged_here() {
        connection.patiently(first.wait()).await?.map_err(met)?;
        judgment = Facts::of_first(&first, &sent)?.judge(&group.rows);
    }
    let admitted = Admitted::of(&sorted, &judgment);
    let mut rest = connection.pipeline();
    let sent_rest = work.send_rest(&mut rest, &admitted);
    connection.patiently(first.wait()).await?.map_err(met)?;
    connection.patiently(rest.wait()).await?.map_err(met)?;

    let facts = Facts::of_first(&first, &sent)?.and_rest(&rest, &sent_rest, judgment)?;
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
