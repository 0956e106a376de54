//! Workers of every kind: quick, slow, silent, dying, repeating themselves, lying, early and late.

mod keep;

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use stepwell_connectors::bus::LaneSet;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::duration::Interval;
use stepwell_core::id::LeaseId;
use stepwell_core::step::{Outcome, StepError};
use stepwell_engine::{Answered, Ask, Take, Taken};
use uuid::Uuid;

use crate::chance::Chance;
use crate::door::{Door, Instance};
use crate::faults::Kind;
use crate::jobs::price;
use crate::oracle::Probe;
use crate::shared::Shared;

/// How often a worker sends an answer that nobody takes.
const TRIES: u32 = 12;

/// One worker of one pool.
pub struct Worker {
    /// what everybody shares
    pub shared: Arc<Shared>,
    /// where it asks
    pub door: Arc<Door>,
    /// whose directives it takes
    pub pool: &'static str,
    /// tells it from others
    pub name: String,
    /// tells it from all workers of all pools
    pub number: u64,
}

impl Worker {
    /// Takes directives and does them, for ever.
    pub async fn work(self) {
        let worker = Arc::new(self);
        let mut chance = Chance::of(worker.shared.plan.seed, &worker.name);
        loop {
            let Some(instance) = worker.door.newest() else {
                worker.shared.clock.sleep_ms(1_000).await;
                continue;
            };
            let taken = worker.take(&instance, &mut chance).await;
            if taken.is_empty() {
                // Whoever is told nothing at once must not ask again at once. Each rests a little
                // differently, because an engine that stops wakes its callers in no certain order.
                worker.shared.clock.sleep_ms(2_000 + worker.number).await;
            }
            for taken in taken {
                let attempt = Attempt {
                    worker: Arc::clone(&worker),
                    instance: Arc::clone(&instance),
                    chance: Chance::of(chance.bits(), &worker.name),
                    taken,
                };
                if attempt.taken.run.keeping().is_some() {
                    tokio::spawn(attempt.keep());
                } else {
                    tokio::spawn(attempt.run());
                }
            }
        }
    }

    async fn take(&self, instance: &Instance, chance: &mut Chance) -> Vec<Taken> {
        let ask = Take {
            pool: self.pool,
            lanes: LaneSet::ALL,
            max: 1 + chance.index(3),
            wait: Duration::from_secs(20),
            visibility: Duration::from_secs(60),
        };
        tokio::select! {
            biased;
            taken = instance.engine.take(ask) => taken.unwrap_or_default(),
            () = self.shared.clock.sleep_ms(40_000) => Vec::new(),
        }
    }
}

/// One directive in the hands of one worker.
struct Attempt {
    worker: Arc<Worker>,
    instance: Arc<Instance>,
    chance: Chance,
    taken: Taken,
}

impl Attempt {
    async fn run(mut self) {
        if self.strikes(Kind::WorkerSilent) || self.gives_back().await {
            return;
        }
        if self.chance.permille(600) {
            let fence = self.fence();
            self.send(Command::Ack { step: self.step(), fence }).await;
        }
        self.takes_its_time().await;
        if self.strikes(Kind::NeverDelivered) {
            self.answers_for_nobody().await;
        }
        let outcome = self.makes();
        if self.strikes(Kind::WorkerCrash) {
            return;
        }
        if self.strikes(Kind::AnswerLate) {
            self.sleep_minutes(5, 40).await;
        }
        if let Some(fence) = self.lie() {
            self.report(fence, outcome.clone()).await;
            if self.chance.permille(500) {
                return;
            }
        }
        self.report(self.fence(), outcome).await;
        if self.strikes(Kind::AnswerTwice) {
            let another = self.makes();
            self.report(self.fence(), another).await;
        }
    }

    /// A directive that is given back comes again, perhaps to somebody else.
    async fn gives_back(&mut self) -> bool {
        if !self.strikes(Kind::Nack) {
            return false;
        }
        let delay = Duration::from_secs(self.chance.between(0, 60));
        let _ = self.instance.engine.give_back(vec![(self.taken.held, delay)]).await;
        true
    }

    async fn takes_its_time(&mut self) {
        if self.strikes(Kind::Extend) {
            let visibility = Duration::from_secs(120);
            let _ = self.instance.engine.extend(vec![self.taken.held], visibility).await;
        }
        if self.strikes(Kind::WorkerSlow) {
            self.sleep_minutes(1, 15).await;
        } else {
            let nap_ms = self.chance.between(0, 3_000);
            self.worker.shared.clock.sleep_ms(nap_ms).await;
        }
    }

    /// Somebody who was given nothing answers all the same: under a lease of its own invention.
    async fn answers_for_nobody(&mut self) {
        let lease = LeaseId(Uuid::from_u128(u128::from(self.chance.bits())));
        let fence = Fence { attempt: self.taken.directive.attempt, lease };
        let result = json!({ "id": 0, "made": "by nobody" });
        self.report(fence, Outcome::Succeeded { result }).await;
    }

    /// Does the work, and remembers that it was really done.
    fn makes(&mut self) -> Outcome {
        let serial = self.chance.bits() >> 16;
        let error = StepError::new("tool_broke", format!("failure {serial}"));
        let outcome = if self.strikes(Kind::FailFinal) {
            Outcome::Failed { error, retryable: false, retry_after: None }
        } else if self.strikes(Kind::FailRetryable) {
            let rest = self.chance.between(1, 300);
            let retry_after = self.chance.permille(300).then(|| Interval::from_secs(rest));
            Outcome::Failed { error, retryable: true, retry_after }
        } else if self.strikes(Kind::Unfinished) {
            Outcome::Incomplete
        } else if self.strikes(Kind::OutputMissing) {
            Outcome::Succeeded { result: json!({ "made": serial }) }
        } else {
            Outcome::Succeeded { result: json!({ "id": serial, "made": serial }) }
        };
        let lease = self.taken.directive.lease;
        self.worker.shared.oracle().made.add(lease, outcome.clone());
        outcome
    }

    /// A fence that is not the one it was given.
    fn lie(&mut self) -> Option<Fence> {
        let fence = self.fence();
        if self.strikes(Kind::WrongAttempt) {
            let attempt = if self.chance.permille(500) { fence.attempt + 1 } else { 0 };
            return Some(Fence { attempt, ..fence });
        }
        if self.strikes(Kind::WrongLease) {
            let lease = LeaseId(Uuid::from_u128(u128::from(self.chance.bits())));
            return Some(Fence { lease, ..fence });
        }
        None
    }

    async fn report(&mut self, fence: Fence, outcome: Outcome) -> Option<Answered> {
        let priced = self.taken.run.credit_terms().is_some();
        let spent = if priced { price(self.taken.directive.lease) } else { Credits::ZERO };
        self.send(Command::Report { step: self.step(), fence, outcome, spent }).await
    }

    async fn send(&mut self, command: Command) -> Option<Answered> {
        let run = self.taken.run.id();
        let ask = Ask::command(run, command);
        let answer = self.worker.door.insist(&mut self.chance, ask, TRIES).await;
        if self.instance.life.is_dead() && matches!(answer, Some(Ok(_))) {
            self.worker.shared.oracle().saw(Probe::AnswerToAnother);
        }
        answer
    }

    async fn sleep_minutes(&mut self, low: u64, high: u64) {
        let millis = self.chance.between(low * 60_000, high * 60_000);
        self.worker.shared.clock.sleep_ms(millis).await;
    }

    fn strikes(&self, kind: Kind) -> bool {
        self.worker.shared.strikes(kind, &self.worker.name)
    }

    fn step(&self) -> StepRef {
        StepRef::Index(self.taken.directive.step)
    }

    fn fence(&self) -> Fence {
        let directive = self.taken.directive;
        Fence { attempt: directive.attempt, lease: directive.lease }
    }
}
