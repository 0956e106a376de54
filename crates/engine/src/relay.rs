//! Station 5, publish: committed effects → bus, outbox rows → the outside. Struck off only after they were accepted.
//!
//! With the embedded bus a dispatched step in the store is the queue entry itself, so a crash between
//! commit and publish loses nothing: the window is refilled from the store. Messages to the outside
//! are outbox rows: bytes that were promised with the decision, so that an upgrade cannot change them.

use std::sync::Arc;

use bytes::Bytes;
use stepwell_connectors::bus::{Address, Lane, Message, MessageId, Order, Published};
use stepwell_core::duration::Interval;
use stepwell_core::effect::Directive;
use stepwell_core::id::LeaseId;
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use stepwell_store::{NewDeadLetter, OutboxMessage, OutboxSettlement, Outgoing};
use tokio::task::JoinSet;

use crate::group::{Staged, Write};
use crate::outside::{Keyrings, Sender};
use crate::shared::{Change, Shared, stopped};
use crate::tell::{UNDELIVERED, Whose};

/// Outbox rows sent at once.
const PAGE: usize = 64;

/// How long they are kept from other instances: longer than the slowest receiver may take, and no longer,
/// because what a dead instance had kept rests for so long.
const KEEP: Interval = Interval::from_secs(20);

/// How often to look for what other instances have left unsent.
const LOOK: Interval = Interval::from_secs(30);

impl Shared {
    /// Lets the effects of committed writes follow.
    pub(crate) async fn follow<'a>(&self, writes: impl Iterator<Item = &'a Write>) {
        let (mut published, mut withdrawn) = (Vec::new(), Vec::new());
        let mut committed = Vec::new();
        for write in writes {
            for (run, publish, directive) in write.directives() {
                if publish {
                    published.push(message(run, directive));
                } else {
                    withdrawn.push(message_id(run, directive));
                }
            }
            for written in std::iter::once(write).chain(&write.children) {
                if written.has_messages {
                    self.outbox.notify_one();
                }
                self.metrics.written(&written.run, &written.records);
                self.announce(&written.run);
                committed.push(&written.run);
            }
        }
        self.batches.moved(committed.iter().map(|run| &***run));
        self.stats.committed(published.len());
        if self.settings.ownership.decides {
            self.cache.put_all(committed);
            self.to_bus(published, withdrawn).await;
        }
    }

    /// A commit failed, and may have happened all the same: whatever it would have led to is looked
    /// up in the store, because nobody will ask for it again.
    pub(crate) fn look_again(&self, group: &Staged) {
        for write in &group.writes {
            for written in std::iter::once(write).chain(&write.children) {
                self.cache.forget(written.run.id());
            }
            for (run, _, directive) in write.directives() {
                if let Some(window) = self.bus.window() {
                    let pool = &run.spec(directive.step).pool;
                    window.refill_from_start(Arc::from(pool.as_str()));
                }
            }
        }
        self.wake_at(self.now());
        self.outbox.notify_one();
    }

    fn announce(&self, run: &Run) {
        if let Some(at) = run.wake_at() {
            self.wake_at(at);
        }
        if self.changes.receiver_count() > 0 {
            let change = Change { run: run.id(), version: run.version, status: run.status };
            // Nobody listening is no fault.
            let _ = self.changes.send(change);
        }
    }

    async fn to_bus(&self, published: Vec<Message>, withdrawn: Vec<MessageId>) {
        if !published.is_empty() {
            let nobody_hungry = self.hunger.is_nowhere();
            for answer in self.bus.publish(published).await {
                match answer {
                    Ok(Published::Accepted | Published::Deferred) => {}
                    // The step stays queued in the store; its timeout publishes it again.
                    Err(error) => tracing::warn!(%error, "publish_failed"),
                }
            }
            if !nobody_hungry {
                self.hunger.changed.notify_one();
            }
        }
        if !withdrawn.is_empty()
            && let Err(error) = self.bus.withdraw(withdrawn).await
        {
            tracing::debug!(%error, "withdraw_failed");
        }
    }
}

/// A directive as the embedded bus carries it: only the lease, because the state is in the store.
pub(crate) fn message(run: &Run, directive: Directive) -> Message {
    let spec = run.spec(directive.step);
    let lane = run.header.routing.as_ref().map_or(0, |routing| routing.lane.number());
    parts(message_id(run, directive), &spec.pool, lane, run.header.priority, directive.lease)
}

pub(crate) fn parts(id: MessageId, pool: &str, lane: u8, priority: u8, lease: LeaseId) -> Message {
    Message {
        id,
        address: Address {
            pool: Arc::from(pool),
            lane: Lane::new(lane).expect("a lane is a number below 16"),
        },
        order: Order { priority, key: id.run },
        body: Bytes::copy_from_slice(lease.0.as_bytes()),
        // The step's own timeout decides; the bus need not know it.
        expires_at_ms: None,
    }
}

fn message_id(run: &Run, directive: Directive) -> MessageId {
    MessageId {
        run: run.id().as_u128(),
        step: u32::from(directive.step.0),
        attempt: directive.attempt,
        poll: directive.poll,
    }
}

/// Sends outbox rows to the outside until the engine stops.
pub(crate) async fn relay(shared: Arc<Shared>, sender: Arc<Sender>) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let mut look_again_at = send_due(&shared, &sender).await;
        if shared.store.is_shared() {
            // Another instance may have died over its own.
            look_again_at = look_again_at.min(shared.now().after(LOOK));
        }
        let look_again = shared.clock.sleep_until_ms(look_again_at.as_millis());
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.outbox.notified() => {}
            () = look_again => {}
        }
    }
}

/// Sends everything that is due, and says when the next row will be.
async fn send_due(shared: &Arc<Shared>, sender: &Arc<Sender>) -> Timestamp {
    loop {
        let now = shared.now();
        let Outgoing { due, next } = match shared.store.outbox(now, KEEP, PAGE).await {
            Ok(outgoing) => outgoing,
            Err(error) => {
                tracing::warn!(%error, "outbox_not_read");
                return now.after(Interval::from_secs(5));
            }
        };
        if due.is_empty() {
            return next.unwrap_or(Timestamp::from_millis(i64::MAX));
        }
        let keyrings = match sender.keyrings(shared, &due).await {
            Ok(keyrings) => Arc::new(keyrings),
            Err(error) => {
                tracing::warn!(%error, "secrets_not_read");
                return now.after(Interval::from_secs(5));
            }
        };
        // Each to its own host: one that is slow must not hold up the others.
        let mut sending = JoinSet::new();
        for row in due {
            let (shared, sender) = (Arc::clone(shared), Arc::clone(sender));
            let keyrings = Arc::clone(&keyrings);
            sending.spawn(async move { send(&shared, &sender, &keyrings, &row).await });
        }
        let settlements = sending.join_all().await;
        if let Err(error) = shared.store.settle_outbox(settlements).await {
            // They are sent again, with the same id: receivers can tell.
            tracing::warn!(%error, "outbox_not_settled");
            return now.after(Interval::from_secs(5));
        }
    }
}

async fn send(
    shared: &Shared,
    sender: &Sender,
    keyrings: &Keyrings,
    row: &OutboxMessage,
) -> OutboxSettlement {
    let id = row.id;
    let error = match sender.send(shared.now(), keyrings, row).await {
        Ok(()) => return OutboxSettlement::Sent { id },
        Err(error) => error,
    };
    if error.is_retryable() && row.tries + 1 < shared.settings.webhook_tries_max {
        let delay = shared.settings.webhook_retry.saturating_mul(1 << row.tries.min(12));
        return OutboxSettlement::PutOff { id, due_at: shared.now().after(delay) };
    }
    let run = row.run.map(tracing::field::display);
    tracing::warn!(run, %error, "webhook_given_up");
    let letter = NewDeadLetter {
        first_error: None,
        reason: UNDELIVERED.to_owned(),
        step: None,
        error: StepError::new(UNDELIVERED, error.to_string()),
        at: shared.now(),
    };
    OutboxSettlement::GivenUp { id, given_up: shared.give_up(&Whose::message(row), letter) }
}
