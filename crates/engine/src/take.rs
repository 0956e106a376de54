//! Hands directives to workers: lease some, extend, give back.

use std::sync::Arc;
use std::time::Duration;

use stepwell_connectors::bus::{
    Delivery, DeliveryTag, LaneSet, Receive, Settled, Settlement, Unavailable,
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

/// A directive in the hands of a worker.
#[derive(Clone, Debug)]
pub struct Taken {
    /// extends or gives back this delivery
    pub tag: DeliveryTag,
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
        let deliveries =
            self.bus.receive(Receive { pool, lanes, max, wait, visibility }).await?;
        if deliveries.is_empty() {
            return Ok(Vec::new());
        }
        let mut ids: Vec<RunId> = deliveries.iter().map(run_of).collect();
        ids.dedup();
        let runs = self.runs(ids).await?;
        let mut taken = Vec::with_capacity(deliveries.len());
        let mut outdated = Vec::new();
        for delivery in deliveries {
            let current = runs
                .get(&run_of(&delivery))
                .and_then(|run| Some((Arc::clone(run), in_force(run, &delivery)?)));
            match current {
                Some((run, directive)) => taken.push(Taken {
                    tag: delivery.tag,
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

    /// Keeps a delivery longer; `false` if it is no longer the worker's.
    pub(crate) async fn extend(
        &self,
        tag: DeliveryTag,
        visibility: Duration,
    ) -> Result<bool, EngineError> {
        Ok(self.bus.extend(tag, visibility).await? == Settled::Done)
    }

    /// Gives deliveries back; `false` for each that was no longer the worker's.
    pub(crate) async fn give_back(
        &self,
        tags: Vec<(DeliveryTag, Duration)>,
    ) -> Result<Vec<bool>, EngineError> {
        let settlements =
            tags.into_iter().map(|(tag, delay)| (tag, Settlement::Abandon { delay })).collect();
        let answers = self.bus.settle(settlements).await;
        answers.into_iter().map(|answer| Ok(answer? == Settled::Done)).collect()
    }
}

/// The run that a delivery belongs to.
pub(crate) fn run_of(delivery: &Delivery) -> RunId {
    RunId(Uuid::from_u128(delivery.message.id.run))
}

/// The directive, if its lease is still the one in force.
fn in_force(run: &Run, delivery: &Delivery) -> Option<Directive> {
    let position = usize::try_from(delivery.message.id.step).ok()?;
    let directive = run.steps.get(position)?.directive(StepIndex::at(position))?;
    (Some(directive.lease) == lease_in(&delivery.message.body)).then_some(directive)
}

/// The lease that a message of the embedded bus carries.
pub(crate) fn lease_in(body: &[u8]) -> Option<LeaseId> {
    Uuid::from_slice(body).ok().map(LeaseId)
}
