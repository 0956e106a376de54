//! Keeps batches moving: begins what is due, ends what is over, carries sweeps to every member.
//!
//! Signals (a commit that moved a counter, a command, a moment) and a period lead to the same
//! idempotent function. Whatever is lost is found again by the period, because everything that is
//! still to be done stands in the batch itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, Init};
use stepwell_core::duration::Interval;
use stepwell_core::id::BatchId;
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use stepwell_store::{BatchFilter, Slice};

use super::error::BatchError;
use super::members::follow_removals;
use super::sweep::{self, Progress};
use super::write::{self, Along};
use crate::error::EngineError;
use crate::intake::Intake;
use crate::shared::{Shared, stopped};

/// How often every unsettled batch is looked at, in case a signal was lost.
const PERIOD: Interval = Interval::from_secs(30);

/// The rest of a batch that could not be moved on.
const REST: Interval = Interval::from_secs(1);

/// Unsettled batches read at once.
const PAGE: usize = 500;

/// Keeps batches moving until the engine stops.
pub(crate) async fn keeper(shared: Arc<Shared>, intake: Intake) {
    if !shared.settings.ownership.decides {
        return;
    }
    let mut keeper = Keeper { shared, intake, moments: BTreeMap::new() };
    let mut stopping = keeper.shared.stopping.subscribe();
    let mut look_at = keeper.shared.now();
    loop {
        if keeper.shared.now() >= look_at {
            keeper.look_at_all().await;
            look_at = keeper.shared.now().after(PERIOD);
        }
        keeper.keep_all().await;
        let moment = keeper.moments.values().min().copied();
        let until = moment.map_or(look_at, |moment| moment.min(look_at));
        let shared = Arc::clone(&keeper.shared);
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.batches.look.notified() => look_at = shared.now(),
            // Whatever is touched while we are at it is looked at together.
            () = shared.batches.wake.notified() => {}
            () = shared.clock.sleep_until_ms(until.as_millis()) => {}
        }
    }
}

struct Keeper {
    shared: Arc<Shared>,
    intake: Intake,
    /// when each batch is to be looked at again
    moments: BTreeMap<BatchId, Timestamp>,
}

impl Keeper {
    /// Notes every batch in which something is still to be done.
    async fn look_at_all(&mut self) {
        let mut offset = 0;
        loop {
            let filter = BatchFilter { unsettled: true, ..BatchFilter::default() };
            let slice = Slice { offset, limit: PAGE };
            match self.shared.store.batches(filter, slice).await {
                Ok(page) => {
                    let now = self.shared.now();
                    self.moments.extend(page.items.iter().map(|batch| (batch.id(), now)));
                    offset += page.items.len();
                    if page.items.len() < PAGE {
                        return;
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "batches_not_read");
                    return;
                }
            }
        }
    }

    async fn keep_all(&mut self) {
        let now = self.shared.now();
        let mut due: BTreeSet<BatchId> = self.shared.batches.take_touched();
        due.extend(self.moments.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id));
        for id in due {
            if !self.shared.may_decide() || *self.shared.stopping.borrow() {
                self.moments.insert(id, now.after(REST));
                continue;
            }
            let next = match keep(&self.shared, &self.intake, id).await {
                Ok(next) => next,
                Err(BatchError::Engine(EngineError::Stopped)) => None,
                Err(error) => {
                    tracing::warn!(batch = %id, %error, "batch_not_moved_on");
                    Some(self.shared.now().after(REST))
                }
            };
            match next {
                Some(next) => drop(self.moments.insert(id, next)),
                None => drop(self.moments.remove(&id)),
            }
        }
    }
}

/// Brings a batch as far as it gets without further news; answers when to look again.
async fn keep(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
) -> Result<Option<Timestamp>, BatchError> {
    loop {
        if *shared.stopping.borrow() {
            return Ok(None);
        }
        let Some(batch) = shared.store.batch(id).await? else { return Ok(None) };
        // Before anything that may settle the batch: once it is settled, nobody looks at it again.
        if follow_removals(shared, intake, &batch).await? {
            continue;
        }
        match sweep::sweep(shared, intake, &batch).await? {
            Progress::Idle => {}
            Progress::Moved => continue,
            Progress::Elsewhere => return Ok(Some(shared.now().after(REST))),
        }
        let command = BatchCommand::Check { init: init_status(shared, &batch).await? };
        let Some(after) = write::commit(shared, intake, &batch, &command, Along::default()).await?
        else {
            continue;
        };
        if after.version == batch.version {
            // Another instance may be at the sweeps of the batch; then it will look.
            return Ok(after.wake_at().map(|at| at.max(shared.now())));
        }
    }
}

async fn init_status(shared: &Shared, batch: &Batch) -> Result<Option<RunStatus>, BatchError> {
    let Init::Dispatched(run) = batch.init else { return Ok(None) };
    Ok(shared.runs(vec![run]).await?.remove(&run).map(|run| run.status))
}
