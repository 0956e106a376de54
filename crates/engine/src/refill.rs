//! Keeps the embedded bus's windows full from the store, and turns what the bus gave up into failed attempts.

use std::sync::Arc;

use stepwell_connectors::bus::{DeadLetter, Message, MessageId, Refill, Window};
use stepwell_core::command::Command;
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::step::StepError;
use stepwell_store::{QueueKey, Queued};
use uuid::Uuid;

use crate::intake::{Ask, Intake};
use crate::relay::parts;
use crate::shared::{Shared, stopped};
use crate::take::lease_in;

/// The most urgent priority; a step's rank is its distance from it.
const PRIORITY_MAX: u8 = 10;

/// Dead letters of the bus handled at once.
const PAGE: usize = 128;

/// The rest after the bus or the store has failed.
const REST_MS: i64 = 1_000;

/// Tells the bus, once at the start, what the store holds for it.
pub(crate) async fn recover(shared: &Shared) -> Result<(), stepwell_store::StoreError> {
    let Some(window) = shared.bus.window() else { return Ok(()) };
    for pool in shared.store.queued_pools(shared.epoch()).await? {
        window.refill_from_start(Arc::from(pool));
    }
    Ok(())
}

/// Refills windows until the engine stops.
pub(crate) async fn refill(shared: Arc<Shared>) {
    let Some(window) = shared.bus.window() else { return };
    let mut stopping = shared.stopping.subscribe();
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = window.refill_needed() => {}
        }
        for wanted in window.wanted_refills() {
            if let Err(error) = refill_one(&shared, window, &wanted).await {
                tracing::warn!(%error, pool = %wanted.pool, "refill_failed");
                let retry_at = shared.clock.now_ms() + REST_MS;
                tokio::select! {
                    biased;
                    () = stopped(&mut stopping) => return,
                    () = shared.clock.sleep_until_ms(retry_at) => {}
                }
            }
        }
    }
}

async fn refill_one(
    shared: &Shared,
    window: &dyn Window,
    wanted: &Refill,
) -> Result<(), stepwell_store::StoreError> {
    let after = (wanted.after.id != MessageId::FIRST).then(|| QueueKey {
        rank: PRIORITY_MAX - wanted.after.order.priority.min(PRIORITY_MAX),
        run: RunId(Uuid::from_u128(wanted.after.id.run)),
        step: StepIndex(u16::try_from(wanted.after.id.step).unwrap_or(u16::MAX)),
    });
    let (owner, pool) = (shared.epoch(), wanted.pool.to_string());
    let queued = shared.store.queued(owner, pool, after, wanted.limit).await?;
    if owner != shared.epoch() {
        // It was read as somebody whose runs are others' now.
        return Ok(());
    }
    let complete = queued.len() < wanted.limit;
    let page = queued.iter().map(|queued| message(&wanted.pool, queued)).collect();
    window.refill(wanted, page, complete);
    if !queued.is_empty() && !shared.hunger.is_nowhere() {
        // Workers may wait elsewhere for what has just come here.
        shared.hunger.changed.notify_one();
    }
    Ok(())
}

fn message(pool: &str, queued: &Queued) -> Message {
    let id = MessageId {
        run: queued.key.run.as_u128(),
        step: u32::from(queued.key.step.0),
        attempt: queued.attempt,
        poll: queued.poll,
    };
    parts(id, pool, queued.lane, PRIORITY_MAX - queued.key.rank, queued.lease)
}

/// Fails the attempts whose directives the bus gave up, until the engine stops.
pub(crate) async fn give_up(shared: Arc<Shared>, intake: Intake) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let letters = tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            letters = shared.bus.exhausted(PAGE) => letters,
        };
        match letters {
            Ok(letters) => {
                let asks = letters.iter().filter_map(undelivered).collect();
                // A refusal means that the attempt had ended anyway.
                let _ = intake.ask_patiently(asks).await;
            }
            Err(error) => {
                tracing::warn!(%error, "dead_letters_not_read");
                // A bus that is away must not be asked as fast as it can say no.
                let retry_at = shared.clock.now_ms() + REST_MS;
                tokio::select! {
                    biased;
                    () = stopped(&mut stopping) => return,
                    () = shared.clock.sleep_until_ms(retry_at) => {}
                }
            }
        }
    }
}

fn undelivered(letter: &DeadLetter) -> Option<Ask> {
    let id = letter.message.id;
    let command = Command::Undelivered {
        step: StepIndex(u16::try_from(id.step).ok()?),
        lease: lease_in(&letter.message.body)?,
        error: StepError::new(
            "job_undelivered",
            format!("{} ({}, {} deliveries)", letter.description, letter.reason, letter.deliveries),
        ),
    };
    Some(Ask::command(RunId(Uuid::from_u128(id.run)), command))
}
