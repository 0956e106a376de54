//! The bus of one instance: messages get lost, doubled, late, out of order or spoiled; deliveries
//! vanish, repeat or are unlocked early; settlements do not arrive.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::bus::{
    Address, Answer, Bus, DeadLetter, Delivery, DeliveryTag, Depth, Lane, Message, MessageId,
    Order, PublishError, Published, Receive, Settled, Settlement, Unavailable, Window,
};
use stepwell_connectors::clock::Clock;
use stepwell_core::effect::Directive;
use stepwell_core::id::LeaseId;
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_store::{Group, Item};
use uuid::Uuid;

use crate::chance::Chance;
use crate::faults::Kind;
use crate::life::Life;
use crate::oracle::Probe;
use crate::shared::Shared;

/// How long a delivery is locked that should have been locked for longer.
const SHORT: Duration = Duration::from_secs(2);

/// The bus of one instance.
pub struct SimBus {
    shared: Arc<Shared>,
    life: Arc<Life>,
    inner: Arc<EmbeddedBus>,
}

impl SimBus {
    /// An empty bus.
    #[must_use]
    pub fn new(shared: Arc<Shared>, life: Arc<Life>, clock: Arc<dyn Clock>) -> Self {
        let settings = Settings {
            capacity: shared.plan.window,
            deliveries_max: shared.plan.deliveries_max,
            ..Settings::default()
        };
        Self { inner: Arc::new(EmbeddedBus::new(settings, clock)), shared, life }
    }

    fn strikes(&self, kind: Kind) -> bool {
        self.shared.strikes(kind, &self.life)
    }

    async fn reach(&self, kind: Kind) -> Result<(), Unavailable> {
        if self.shared.is_out_of_reach(&self.life, Kind::BusAway, kind).await {
            return Err(Unavailable("out of reach".into()));
        }
        Ok(())
    }

    async fn put(&self, mut message: Message) -> Result<Published, PublishError> {
        self.shared.oracle().published(&message);
        self.reach(Kind::PublishRefused).await?;
        if self.strikes(Kind::PublishLost) {
            return Ok(Published::Accepted);
        }
        if self.strikes(Kind::Poison) {
            message.body = Bytes::from_static(b"?");
        }
        if self.strikes(Kind::PublishDelayed) {
            self.put_later(message);
            return Ok(Published::Accepted);
        }
        if self.strikes(Kind::PublishDoubled) {
            self.pass_on(message.clone()).await?;
        }
        self.pass_on(message).await
    }

    fn put_later(&self, message: Message) {
        let mut chance = Chance::of(self.shared.plan.seed, &format!("late {}", message.id));
        let delay_ms = chance.between(1_000, 400_000);
        let (shared, inner) = (Arc::clone(&self.shared), Arc::clone(&self.inner));
        tokio::spawn(async move {
            shared.clock.sleep_ms(delay_ms).await;
            inner.publish(vec![message]).await;
        });
    }

    async fn pass_on(&self, message: Message) -> Result<Published, PublishError> {
        let mut answers = self.inner.publish(vec![message]).await;
        answers.pop().unwrap_or(Ok(Published::Accepted))
    }

    /// A planted bug: whatever a group would publish goes out before the group is stored.
    pub(crate) async fn publish_ahead(&self, group: &Group) {
        for item in &group.items {
            let Item::Advance(advance) = item else { continue };
            for (index, step) in advance.run.indexed() {
                let Some(directive) = step.directive(index) else { continue };
                // It is the oracle that must notice, not the caller.
                let _ = self.put(message_of(&advance.run, &directive)).await;
            }
        }
    }

    /// A planted bug: what a worker goes on with is handed to others too.
    pub(crate) async fn publish_too(&self, directives: &[(Arc<Run>, Directive)]) {
        for (run, directive) in directives {
            let _ = self.put(message_of(run, directive)).await;
        }
    }

    async fn deliver(&self, ask: Receive<'_>) -> Result<Vec<Delivery>, Unavailable> {
        self.reach(Kind::ReceiveFailed).await?;
        let mut deliveries = self.inner.receive(ask).await?;
        self.life.pass().await;
        if deliveries.is_empty() {
            return Ok(deliveries);
        }
        if deliveries.iter().any(|delivery| delivery.deliveries > 1) {
            self.shared.oracle().saw(Probe::SecondDirective);
        }
        if self.strikes(Kind::EarlyExpiry) {
            for delivery in &deliveries {
                self.inner.extend(delivery.tag, SHORT).await?;
            }
        }
        if self.strikes(Kind::DeliveryLost) {
            return Ok(Vec::new());
        }
        if self.strikes(Kind::DeliveryDoubled) {
            deliveries.extend_from_within(..);
        }
        Ok(deliveries)
    }

    /// Remembers what the bus gave up, in the words in which the engine will report it.
    fn note_given_up(&self, letter: &DeadLetter) {
        let Ok(lease) = Uuid::from_slice(&letter.message.body).map(LeaseId) else { return };
        let words =
            format!("{} ({}, {} deliveries)", letter.description, letter.reason, letter.deliveries);
        self.shared.note(&self.life, format_args!("gave up {}", letter.message.id));
        self.shared.oracle().gave_up(lease, StepError::new("job_undelivered", words));
    }
}

fn message_of(run: &Run, directive: &Directive) -> Message {
    let (id, step) = (run.id().as_u128(), directive.step);
    Message {
        id: MessageId {
            run: id,
            step: u32::from(step.0),
            attempt: directive.attempt,
            poll: directive.poll,
        },
        address: Address {
            pool: run.spec(step).pool.as_str().into(),
            lane: Lane::new(0).expect("there is a lane 0"),
        },
        order: Order { priority: run.header.priority, key: id },
        body: Bytes::copy_from_slice(directive.lease.0.as_bytes()),
        expires_at_ms: None,
    }
}

impl Bus for SimBus {
    fn publish(
        &self,
        mut messages: Vec<Message>,
    ) -> Answer<'_, Vec<Result<Published, PublishError>>> {
        Box::pin(async move {
            let reordered = messages.len() > 1 && self.strikes(Kind::PublishReordered);
            if reordered {
                messages.reverse();
            }
            let mut answers = Vec::with_capacity(messages.len());
            for message in messages {
                answers.push(self.put(message).await);
            }
            if reordered {
                answers.reverse();
            }
            answers
        })
    }

    fn receive<'a>(&'a self, ask: Receive<'a>) -> Answer<'a, Result<Vec<Delivery>, Unavailable>> {
        Box::pin(self.deliver(ask))
    }

    fn settle(
        &self,
        settlements: Vec<(DeliveryTag, Settlement)>,
    ) -> Answer<'_, Vec<Result<Settled, Unavailable>>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(settlements.len());
            for settlement in settlements {
                match self.reach(Kind::SettleLost).await {
                    Ok(()) => answers.extend(self.inner.settle(vec![settlement]).await),
                    Err(error) => answers.push(Err(error)),
                }
            }
            answers
        })
    }

    fn extend(
        &self,
        tag: DeliveryTag,
        visibility: Duration,
    ) -> Answer<'_, Result<Settled, Unavailable>> {
        Box::pin(async move {
            self.reach(Kind::SettleLost).await?;
            self.inner.extend(tag, visibility).await
        })
    }

    fn withdraw(&self, ids: Vec<MessageId>) -> Answer<'_, Result<(), Unavailable>> {
        Box::pin(async move {
            self.reach(Kind::WithdrawLost).await?;
            self.inner.withdraw(ids).await
        })
    }

    fn depth(&self) -> Answer<'_, Result<Vec<Depth>, Unavailable>> {
        self.inner.depth()
    }

    fn exhausted(&self, max: usize) -> Answer<'_, Result<Vec<DeadLetter>, Unavailable>> {
        Box::pin(async move {
            self.reach(Kind::ExhaustedFailed).await?;
            let letters = self.inner.exhausted(max).await?;
            letters.iter().for_each(|letter| self.note_given_up(letter));
            Ok(letters)
        })
    }

    fn window(&self) -> Option<&dyn Window> {
        self.inner.window()
    }
}
