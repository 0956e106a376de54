//! Hands directives to workers: lease some, extend, give back.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use stepwell_connectors::bus::{
    DELIVERY_LIMIT, Delivery, DeliveryTag, LaneSet, Receive, Settled, Settlement, Unavailable,
};
use stepwell_core::effect::Directive;
use stepwell_core::id::{LeaseId, RunId, StepIndex};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::error::EngineError;
use crate::shared::Shared;

/// What a worker asks for.
#[derive(Clone, Copy, Debug)]
pub struct Take<'a> {
    /// whose directives
    pub pool: &'a str,
    /// of which lanes
    pub lanes: LaneSet,
    /// at most so many
    pub max: usize,
    /// how long to wait for the first
    pub wait: Duration,
    /// how long each is kept from other workers
    pub visibility: Duration,
}

/// Names a directive in the hands of a worker: what extends it or gives it back. Travels as text.
///
/// It names the process that handed it out, because delivery tags begin anew with each, and the
/// lease, because that is what outlives a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    epoch: u64,
    tag: DeliveryTag,
    run: RunId,
    step: StepIndex,
    lease: LeaseId,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (run, lease) = (self.run.0.simple(), self.lease.0.simple());
        write!(f, "{:x}.{:x}.{run}.{}.{lease}", self.epoch, self.tag.0, self.step.0)
    }
}

impl FromStr for Held {
    type Err = NotHeld;

    fn from_str(text: &str) -> Result<Self, NotHeld> {
        let mut parts = text.split('.');
        let mut next = || parts.next().ok_or(NotHeld);
        let epoch = u64::from_str_radix(next()?, 16).map_err(|_| NotHeld)?;
        let tag = u64::from_str_radix(next()?, 16).map_err(|_| NotHeld)?;
        let run = Uuid::try_parse(next()?).map_err(|_| NotHeld)?;
        let step = next()?.parse().map_err(|_| NotHeld)?;
        let lease = Uuid::try_parse(next()?).map_err(|_| NotHeld)?;
        if parts.next().is_some() {
            return Err(NotHeld);
        }
        let (run, lease) = (RunId(run), LeaseId(lease));
        Ok(Self { epoch, tag: DeliveryTag(tag), run, step: StepIndex(step), lease })
    }
}

/// How long a worker waits before its hunger is told again, if the work that came went to others.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// A text that names no delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a delivery; send back the `delivery` of the lease unchanged")]
pub struct NotHeld;

/// A directive in the hands of a worker.
#[derive(Clone, Debug)]
pub struct Taken {
    /// extends it or gives it back
    pub held: Held,
    /// the run, as it was committed
    pub run: Arc<Run>,
    /// what to report on
    pub directive: Directive,
    /// how often it was handed out, this time included
    pub deliveries: u32,
    /// from here on others may get it
    pub locked_until: Timestamp,
}

impl From<Unavailable> for EngineError {
    fn from(error: Unavailable) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl Shared {
    /// Leases directives. What is no longer in force is dropped on the way.
    pub(crate) async fn take(&self, ask: Take<'_>) -> Result<Vec<Taken>, EngineError> {
        let Take { pool, lanes, max, wait, visibility } = ask;
        self.check_hands_out()?;
        let mut ask = Receive { pool, lanes, max, wait: Duration::ZERO, visibility };
        let mut deliveries = self.bus.receive(ask).await?;
        let mut left = wait;
        while deliveries.is_empty() && !left.is_zero() {
            self.tell_hunger(pool).await;
            // Among others a long wait is cut: the work that came may not have been enough for all who
            // wait here, and then it must be said again.
            ask.wait = if self.store.is_shared() { left.min(WAIT_MAX) } else { left };
            left -= ask.wait;
            deliveries = self.bus.receive(ask).await?;
        }
        if deliveries.is_empty() {
            return Ok(Vec::new());
        }
        // It may have been a long wait.
        self.check_hands_out()?;
        let mut ids: Vec<RunId> = deliveries.iter().map(run_of).collect();
        ids.dedup();
        let runs = self.owned_runs(ids.clone()).await?;
        // Their results come soon, and are decided from memory then.
        self.keep_in_memory(&ids, &runs);
        let mut taken = Vec::with_capacity(deliveries.len());
        let mut outdated = Vec::new();
        for delivery in deliveries {
            let current = runs
                .get(&run_of(&delivery))
                .filter(|found| found.ours)
                .and_then(|found| Some((Arc::clone(&found.run), in_force(&found.run, &delivery)?)));
            match current {
                Some((run, _)) if self.was_received_too_often(&run, &delivery) => {
                    let description = format!("received {} times before", delivery.deliveries - 1);
                    let reason = DELIVERY_LIMIT.into();
                    outdated.push((delivery.tag, Settlement::DeadLetter { reason, description }));
                }
                Some((run, directive)) => taken.push(Taken {
                    held: Held {
                        epoch: self.epoch().0,
                        tag: delivery.tag,
                        run: run.id(),
                        step: directive.step,
                        lease: directive.lease,
                    },
                    run,
                    directive,
                    deliveries: delivery.deliveries,
                    locked_until: Timestamp::from_millis(delivery.locked_until_ms),
                }),
                None => outdated.push((delivery.tag, Settlement::Complete)),
            }
        }
        if !outdated.is_empty() {
            self.bus.settle(outdated).await;
        }
        Ok(taken)
    }

    /// Workers have got the message of an attempt that one of them would keep, and none has ever taken it:
    /// it kills whoever gets it (C-028, C-032).
    fn was_received_too_often(&self, run: &Run, delivery: &Delivery) -> bool {
        run.keeping().is_some() && delivery.deliveries > self.settings.kept_deliveries_max
    }

    /// Work is handed out by instances that own runs, and only while they surely own them.
    fn check_hands_out(&self) -> Result<(), EngineError> {
        if !self.settings.ownership.decides {
            return Err(EngineError::Unavailable(
                "this instance hands out no work; poll one that has the engine role".to_owned(),
            ));
        }
        if !self.may_decide() {
            return Err(EngineError::Unavailable(
                "this instance has lost touch with the store".to_owned(),
            ));
        }
        Ok(())
    }

    /// Keeps deliveries longer; `false` for each that is no longer the worker's.
    ///
    /// After a restart the bus knows none of the deliveries from before. A worker that still holds
    /// the lease in force may go on all the same: its result will count.
    pub(crate) async fn extend(
        &self,
        held: Vec<Held>,
        visibility: Duration,
    ) -> Result<Vec<bool>, EngineError> {
        let mut kept = Vec::with_capacity(held.len());
        for one in &held {
            let current = one.epoch == self.epoch().0;
            kept.push(current && self.bus.extend(one.tag, visibility).await? == Settled::Done);
        }
        if kept.iter().all(|kept| *kept) {
            return Ok(kept);
        }
        let runs = self.owned_runs(held.iter().map(|one| one.run).collect()).await?;
        let in_force = |one: &Held| {
            let step = runs.get(&one.run)?.run.steps.get(one.step.position())?;
            Some(step.lease?.id == one.lease)
        };
        Ok(held.iter().zip(kept).map(|(one, kept)| kept || in_force(one) == Some(true)).collect())
    }

    /// Gives deliveries back; `false` for each that was no longer the worker's.
    pub(crate) async fn give_back(
        &self,
        held: Vec<(Held, Duration)>,
    ) -> Result<Vec<bool>, EngineError> {
        let mut given = Vec::with_capacity(held.len());
        for (one, delay) in held {
            if one.epoch != self.epoch().0 {
                given.push(false);
                continue;
            }
            let settlement = vec![(one.tag, Settlement::Abandon { delay })];
            let answer = self.bus.settle(settlement).await.pop();
            given.push(answer.transpose()? == Some(Settled::Done));
        }
        Ok(given)
    }
}

/// The run that a delivery belongs to.
pub(crate) fn run_of(delivery: &Delivery) -> RunId {
    RunId(Uuid::from_u128(delivery.message.id.run))
}

/// The directive, if its lease is still the one in force.
fn in_force(run: &Run, delivery: &Delivery) -> Option<Directive> {
    let position = usize::try_from(delivery.message.id.step).ok()?;
    if run.steps.get(position).is_some() && run.is_kept(StepIndex::at(position)) {
        // Whoever took it keeps it; a page that was read before may still have brought it here.
        return None;
    }
    let directive = run.steps.get(position)?.directive(StepIndex::at(position))?;
    (Some(directive.lease) == lease_in(&delivery.message.body)).then_some(directive)
}

/// The lease that a message of the embedded bus carries.
pub(crate) fn lease_in(body: &[u8]) -> Option<LeaseId> {
    Uuid::from_slice(body).ok().map(LeaseId)
}
